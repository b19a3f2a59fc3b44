// The memory service in the host's thread, for a backend that the host provides.

import { ToolError } from '../../../contract/errors.js';
import type { MemoryBackend, MemoryScope } from '../memory-backend.js';
import type { Embedder } from '../embeddings/embedder.js';
import type { MemoryConfig, MemoryService } from './memory-service.js';
import type { CallContext } from './call-context.js';
import type { Caller, MemoryWorker, WithNotices } from './memory-thread.js';
import type { MemoryMethod, MethodArguments, MethodResult } from './thread-protocol.js';

/** Returns the store of a scope, or undefined if it has none. The first call of a connection calls it for each scope. */
export type BackendFactory = (scope: MemoryScope) => MemoryBackend | undefined | Promise<MemoryBackend | undefined>;

export class InThreadMemory implements MemoryWorker {
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
  ): Promise<WithNotices<MethodResult<Method>>> {
    if (this.#isClosed) throw new ToolError('CONNECTION_CLOSED', 'The memory server was stopped.');
    const service = await (this.#service ??= this.#open());
    caller.signal.throwIfAborted();
    const call: CallContext = {
      signal: caller.signal,
      progress: (done, message) => caller.progress({ progress: done, message }),
    };
    const { performMethod } = await import('./memory-service.js');
    const result = (await performMethod(service, method, args, call)) as MethodResult<Method>;
    return { result, notices: service.takeNotices() };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#service?.catch(() => undefined))?.close();
  }

  async #open(): Promise<MemoryService> {
    try {
      // Loaded here only: without a custom backend it runs in the memory thread.
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
