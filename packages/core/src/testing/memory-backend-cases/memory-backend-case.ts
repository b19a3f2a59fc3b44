// The shape of a contract case for memory backends.

import type { MemoryBackend } from '../../servers/memory/memory-backend.js';

/** A contract case. `run` rejects when the backend fails it. */
export interface MemoryBackendCase {
  /** `symbol() does X when Y`. */
  title: string;
  /** Runs the case. @throws {Error} when the backend does not keep this part of the contract */
  run: (backend: MemoryBackend) => Promise<void>;
}
