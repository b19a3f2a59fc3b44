// The host's side of the memory thread, which the first call starts and the provider's end stops.

import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads';
import { messageOf, ToolError } from '../../../contract/errors.js';
import type { Embedder } from '../embeddings/embedder.js';
import { describeEmbedder, serveEmbedder } from '../embeddings/remote-embedder.js';
import type { MemoryConfig } from './memory-service.js';
import type {
  MemoryMethod,
  MethodArguments,
  MethodResult,
  ThreadData,
  ThreadReply,
  ThreadRequest,
} from './thread-protocol.js';
import { workerProgram } from './worker-program.js';

/** The part of a tool's context that the memory service needs. */
export interface Caller {
  readonly signal: AbortSignal;
  progress(progress: { progress: number; total?: number; message?: string }): void;
}

/** A result, with notices of what happened to the files meanwhile. */
export interface WithNotices<Result> {
  result: Result;
  notices: string[];
}

/** Carries out the tools' calls, in another thread or in this one. */
export interface MemoryWorker {
  call<Method extends MemoryMethod>(
    method: Method,
    args: MethodArguments<Method>,
    caller: Caller,
  ): Promise<WithNotices<MethodResult<Method>>>;
  close(): Promise<void>;
}

/** Methods that change nothing. If the thread exits during such a call, the call can be repeated. */
const READ_ONLY_METHODS: ReadonlySet<MemoryMethod> = new Set<MemoryMethod>([
  'retrieve',
  'list',
  'get',
  'history',
  'scopeOf',
  'stats',
  'bank',
]);
/**
 * V8's limit for short-lived objects. Its default, 48 MB, fills up with what loading leaves behind; with this limit, calls and
 * imports take as long and the thread uses 10 MB less.
 */
const YOUNG_MEGABYTES = 3;
/** How long the thread may take to close its files before it is terminated. */
const CLOSE_TIMEOUT_MS = 2_000;

interface Pending {
  method: MemoryMethod;
  resolve: (result: WithNotices<unknown>) => void;
  reject: (error: unknown) => void;
  caller: Caller;
}

export class MemoryThread implements MemoryWorker {
  readonly #config: MemoryConfig;
  readonly #program: (() => Promise<URL>) | undefined;
  readonly #embedder: Embedder | undefined;
  readonly #pending = new Map<number, Pending>();
  #worker: Promise<Worker> | undefined;
  /** The current thread; events of an earlier one are ignored. */
  #running: Worker | undefined;
  #lastId = 0;
  #isClosed = false;

  /**
   * @param program for tests: the thread's program
   * @param embedder the host's embedder, which runs in this thread
   */
  constructor(config: MemoryConfig, program?: () => Promise<URL>, embedder?: Embedder) {
    this.#config = config;
    this.#embedder = embedder;
    this.#program = program;
  }

  async call<Method extends MemoryMethod>(
    method: Method,
    args: MethodArguments<Method>,
    caller: Caller,
  ): Promise<WithNotices<MethodResult<Method>>> {
    const { signal } = caller;
    signal.throwIfAborted();
    const worker = await this.#started();
    signal.throwIfAborted();
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        this.#settle(worker, id);
        this.#send(worker, { kind: 'cancel', id });
        reject(ToolError.from(signal.reason));
      };
      signal.addEventListener('abort', cancel, { once: true });
      const done = (): void => signal.removeEventListener('abort', cancel);
      if (this.#pending.size === 0) worker.ref(); // a process does not end while it waits for an answer
      this.#pending.set(id, {
        method,
        caller,
        resolve: (result) => {
          done();
          resolve(result as WithNotices<MethodResult<Method>>);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      });
      this.#send(worker, { kind: 'call', id, method, args });
    });
  }

  /** Ends the thread. Pending calls fail, as do later ones. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = await this.#worker?.catch(() => undefined);
    if (worker) await this.#end(worker);
    await this.#embedder?.dispose?.();
  }

  async #end(worker: Worker): Promise<void> {
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    worker.ref();
    this.#send(worker, { kind: 'close' });
    const timeout = setTimeout(() => void worker.terminate(), CLOSE_TIMEOUT_MS);
    await ended;
    clearTimeout(timeout);
  }

  #started(): Promise<Worker> {
    if (this.#isClosed) throw new ToolError('CONNECTION_CLOSED', 'The memory server was stopped.');
    return (this.#worker ??= this.#start().catch((cause: unknown) => {
      this.#worker = undefined;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new ToolError('UNAVAILABLE', `The memory thread did not start: ${why}.`, { cause, retryable: false });
    }));
  }

  async #start(): Promise<Worker> {
    const program = await (this.#program ?? workerProgram)();
    // Without the host's Node options, such as a loader or a debugger.
    const { data, ports } = this.#data();
    const worker = new Worker(program, {
      workerData: data,
      transferList: ports,
      execArgv: [],
      stdin: false,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEGABYTES },
    });
    this.#running = worker;
    worker.unref();
    worker.on('message', (reply: ThreadReply) => this.#onReply(worker, reply));
    worker.on('error', (error) => this.#ended(worker, error));
    worker.on('exit', () => this.#ended(worker, undefined));
    return worker;
  }

  /** Each thread gets a new port to the embedder. */
  #data(): { data: ThreadData; ports: MessagePort[] } {
    if (!this.#embedder) return { data: { config: this.#config }, ports: [] };
    const { port1, port2 } = new MessageChannel();
    serveEmbedder(port1, this.#embedder);
    return { data: { config: this.#config, embedder: describeEmbedder(this.#embedder), port: port2 }, ports: [port2] };
  }

  #onReply(worker: Worker, reply: ThreadReply): void {
    const pending = this.#pending.get(reply.id);
    if (!pending) return; // cancelled
    if (reply.kind === 'progress') {
      pending.caller.progress({ progress: reply.done, message: reply.message });
      return;
    }
    this.#settle(worker, reply.id);
    const { notices } = reply;
    if (reply.kind === 'error') pending.reject(errorWithNotices(reply.error, notices));
    else pending.resolve({ result: reply.json === undefined ? undefined : JSON.parse(reply.json), notices });
  }

  /** Fails the pending calls. The next call starts another thread. */
  #ended(worker: Worker, error: unknown): void {
    if (worker !== this.#running) return;
    this.#running = undefined;
    this.#worker = undefined;
    const why = error === undefined ? '' : `: ${messageOf(error)}`;
    for (const [id, { method, reject }] of [...this.#pending]) {
      this.#settle(worker, id);
      if (this.#isClosed) reject(new ToolError('CONNECTION_CLOSED', 'The memory server was stopped during the call.'));
      else if (READ_ONLY_METHODS.has(method))
        reject(
          new ToolError(
            'UNAVAILABLE',
            `The memory thread exited during the call${why}. Call again: a new one is started.`,
          ),
        );
      else {
        reject(
          new ToolError(
            'OUTCOME_UNKNOWN',
            `The memory thread exited during the call${why}. The change may have been made: check before you call again.`,
          ),
        );
      }
    }
  }

  #settle(worker: Worker, id: number): void {
    this.#pending.delete(id);
    if (this.#pending.size === 0) worker.unref();
  }

  #send(worker: Worker, request: ThreadRequest): void {
    worker.postMessage(request);
  }
}

function errorWithNotices(
  error: ConstructorParameters<typeof ToolError>[0] & object,
  notices: readonly string[],
): ToolError {
  if (notices.length === 0) return new ToolError(error);
  return new ToolError({ ...error, message: `${error.message} (${notices.join(' ')})` });
}
