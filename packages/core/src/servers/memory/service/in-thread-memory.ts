// The memory service in the engine's own thread, for a backend that the caller brings: its waiting is its own.

import { ToolError } from '../../../contract/errors.js';
import type { MemoryBackend, MemoryScope } from '../memory-backend.js';
import type { Embedder } from '../embeddings/embedder.js';
import type { MemoryConfig, MemoryService } from './memory-service.js';
import type { Watch } from '../transfer/legacy-import.js';
import type { Caller, MemoryWorker, Told } from './memory-thread.js';
import type { MemoryMethod, MethodArguments, MethodResult } from './thread-protocol.js';

/** Gives the store of a scope; undefined where there is none. Asked once a connection, by the first call. */
export type BackendFactory = (scope: MemoryScope) => MemoryBackend | undefined | Promise<MemoryBackend | undefined>;

export class MemoryBeside implements MemoryWorker {
  readonly #config: MemoryConfig;
  readonly #factory: BackendFactory;
  readonly #embedder: Embedder | undefined;
  #service: Promise<MemoryService> | undefined;
  #isClosed = false;

  constructor(config: MemoryConfig, factory: BackendFactory, embedder?: Embedder) {
    this.#config = config;
    this.#factory = factory;
    this.#embedder = embedder;
  }

  async call<Method extends MemoryMethod>(
    method: Method,
    args: MethodArguments<Method>,
    caller: Caller,
  ): Promise<Told<MethodResult<Method>>> {
    if (this.#isClosed) throw new ToolError('CONNECTION_CLOSED', 'The memory server was stopped.');
    const service = await (this.#service ??= this.#open());
    caller.signal.throwIfAborted();
    const watch: Watch = {
      signal: caller.signal,
      progress: (done, message) => caller.progress({ progress: done, message }),
    };
    const { performMethod } = await import('./memory-service.js');
    const result = (await performMethod(service, method, args, watch)) as MethodResult<Method>;
    return { result, notices: service.takeNotices() };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#service?.catch(() => undefined))?.close();
  }

  async #open(): Promise<MemoryService> {
    try {
      // Loaded by the few who bring a backend; everybody else's is in the thread.
      const { MemoryService } = await import('./memory-service.js');
      const [project, global] = [await this.#factory('project'), await this.#factory('global')];
      return new MemoryService(
        this.#config,
        {
          ...(project && { project }),
          ...(global && { global }),
        },
        this.#embedder,
      );
    } catch (error) {
      this.#service = undefined;
      throw error;
    }
  }
}
