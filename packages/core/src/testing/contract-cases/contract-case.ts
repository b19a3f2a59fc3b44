// One case of the contract suite.

import type { ToolProvider } from '../../contract/tool-provider.js';

/** One promise of the contract. `run` rejects when the provider breaks it. */
export interface ContractCase {
  /** `symbol() does X when Y`. */
  title: string;
  run: (provider: ToolProvider) => Promise<void>;
}
