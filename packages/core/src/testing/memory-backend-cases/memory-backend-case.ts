// One case of the memory backend's contract suite.

import type { MemoryBackend } from '../../servers/memory/memory-backend.js';

/** One promise of the contract. `run` rejects when the backend breaks it. */
export interface MemoryBackendCase {
  /** `symbol() does X when Y`. */
  title: string;
  /** Runs the case. @throws {Error} when the backend does not keep this part of the contract */
  run: (backend: MemoryBackend) => Promise<void>;
}
