// The memory service in the host's thread, for a backend that the host provides.

import { ToolError } from '../../../contract/errors.js';
import { shownValue } from '../../../contract/options.js';
import type { MemoryBackend, MemoryScope } from '../memory-backend.js';
import type { Embedder } from '../embeddings/embedder.js';
import type { MemoryConfig, MemoryService } from './memory-service.js';
import type { CallContext } from './call-context.js';
import type { Caller, MemoryWorker, WithNotices } from './memory-thread.js';
import type { MemoryMethod, MethodArguments, MethodResult } from './thread-protocol.js';

/** Returns the store of a scope, or undefined if it has none. The first call of a connection calls it for each scope. */
export type BackendFactory = (scope: MemoryScope) => MemoryBackend | undefined | Promise<MemoryBackend | undefined>;

/** The methods that a backend must have; the compiler checks that none is missing. */
const METHODS: Readonly<Record<keyof MemoryBackend, true>> = {
  put: true,
  import: true,
  get: true,
  update: true,
  delete: true,
  restore: true,
  history: true,
  idsOf: true,
  list: true,
  search: true,
  alike: true,
  all: true,
  changesSince: true,
  pendingVectors: true,
  setVectors: true,
  vectorsSince: true,
  vectorFloats: true,
  lastSeq: true,
  note: true,
  setNote: true,
  stats: true,
  close: true,
};

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
    const service = await this.#service?.catch(() => undefined);
    if (service) await service.close();
    else await this.#embedder?.dispose?.();
  }

  async #open(): Promise<MemoryService> {
    const opened: MemoryBackend[] = [];
    try {
      // Loaded here only: without a custom backend it runs in the memory thread.
      const { MemoryService } = await import('./memory-service.js');
      const backends: Partial<Record<MemoryScope, MemoryBackend>> = {};
      for (const scope of ['project', 'global'] as const) {
        const backend: unknown = await this.#factory(scope);
        if (backend === undefined) continue;
        assertBackend(backend, scope);
        opened.push((backends[scope] = backend));
      }
      return new MemoryService(this.#config, backends, this.#embedder);
    } catch (error) {
      this.#service = undefined;
      await Promise.allSettled(opened.map(async (backend) => backend.close()));
      throw error;
    }
  }
}

function assertBackend(value: unknown, scope: MemoryScope): asserts value is MemoryBackend {
  const members = (value ?? {}) as Record<string, unknown>;
  const missing = Object.keys(METHODS).find((name) => typeof members[name] !== 'function');
  if (missing === undefined) return;
  const what = typeof value === 'object' && value !== null ? `has no method ${missing}` : `is ${shownValue(value)}`;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `createMemoryServer(): backend must return a MemoryBackend or undefined; what it returned for scope "${scope}" ${what}.`,
  );
}
