// One case of the contract suite.

import type { ToolProvider } from '../../contract/tool-provider.js';

/** One promise of the contract. `run` rejects when the provider breaks it. */
export interface ContractCase {
  /** `symbol() does X when Y`. */
  title: string;
  /** Runs the case. @throws {Error} when the provider does not keep this part of the contract */
  run: (provider: ToolProvider) => Promise<void>;
}
