// The engine's side of the memory thread: started by the first call, one at a time, ended with the provider.

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

/** What a call of a tool brings: its signal and where its progress goes. */
export interface Caller {
  readonly signal: AbortSignal;
  progress(progress: { progress: number; total?: number; message?: string }): void;
}

/** A result, and what happened to the files meanwhile. */
export interface Told<Result> {
  result: Result;
  notices: string[];
}

/** Does what the tools ask for, in a thread or beside the engine. */
export interface MemoryWorker {
  call<Method extends MemoryMethod>(
    method: Method,
    args: MethodArguments<Method>,
    caller: Caller,
  ): Promise<Told<MethodResult<Method>>>;
  close(): Promise<void>;
}

/** Calls that change nothing: when their thread dies, they can be sent again. */
const READING: ReadonlySet<MemoryMethod> = new Set<MemoryMethod>([
  'retrieve',
  'list',
  'get',
  'history',
  'scopeOf',
  'stats',
  'bank',
]);
/**
 * For what is garbage soon after. V8 would let it grow to 48 MB, which a memory thread fills with what loading leaves and
 * gains nothing by: with this, answers and imports take as long, and the thread 10 MB less.
 */
const YOUNG_MEGABYTES = 3;
/** How long a thread may take to close its files, before it is ended in the middle. */
const CLOSE_PATIENCE_MS = 2_000;

interface Pending {
  method: MemoryMethod;
  resolve: (told: Told<unknown>) => void;
  reject: (error: unknown) => void;
  caller: Caller;
}

export class MemoryThread implements MemoryWorker {
  readonly #config: MemoryConfig;
  readonly #program: (() => Promise<URL>) | undefined;
  readonly #embedder: Embedder | undefined;
  readonly #pending = new Map<number, Pending>();
  #worker: Promise<Worker> | undefined;
  /** The one that runs; another one's late words count no more. */
  #running: Worker | undefined;
  #lastId = 0;
  #isClosed = false;

  /**
   * @param program for tests: what the thread runs
   * @param embedder the caller's own, which stays in this thread
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
  ): Promise<Told<MethodResult<Method>>> {
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
        resolve: (told) => {
          done();
          resolve(told as Told<MethodResult<Method>>);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      });
      this.#send(worker, { kind: 'call', id, method, args });
    });
  }

  /** Ends the thread. Calls that it has not answered fail; a call after that is refused. */
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
    const patience = setTimeout(() => void worker.terminate(), CLOSE_PATIENCE_MS);
    await ended;
    clearTimeout(patience);
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
    // What the host gives Node on its command line (a loader, a debugger) is not for this thread.
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
    worker.on('message', (reply: ThreadReply) => this.#hear(worker, reply));
    worker.on('error', (error) => this.#ended(worker, error));
    worker.on('exit', () => this.#ended(worker, undefined));
    return worker;
  }

  /** A thread that is started again gets a port of its own to the embedder. */
  #data(): { data: ThreadData; ports: MessagePort[] } {
    if (!this.#embedder) return { data: { config: this.#config }, ports: [] };
    const { port1, port2 } = new MessageChannel();
    serveEmbedder(port1, this.#embedder);
    return { data: { config: this.#config, embedder: describeEmbedder(this.#embedder), port: port2 }, ports: [port2] };
  }

  #hear(worker: Worker, reply: ThreadReply): void {
    const pending = this.#pending.get(reply.id);
    if (!pending) return; // cancelled meanwhile
    if (reply.kind === 'progress') {
      pending.caller.progress({ progress: reply.done, message: reply.message });
      return;
    }
    this.#settle(worker, reply.id);
    const { notices } = reply;
    if (reply.kind === 'error') pending.reject(withNotices(reply.error, notices));
    else pending.resolve({ result: reply.json === undefined ? undefined : JSON.parse(reply.json), notices });
  }

  /** The next call starts another one. */
  #ended(worker: Worker, error: unknown): void {
    if (worker !== this.#running) return;
    this.#running = undefined;
    this.#worker = undefined;
    const why = error === undefined ? '' : `: ${messageOf(error)}`;
    for (const [id, { method, reject }] of [...this.#pending]) {
      this.#settle(worker, id);
      if (this.#isClosed) reject(new ToolError('CONNECTION_CLOSED', 'The memory server was stopped during the call.'));
      else if (READING.has(method))
        reject(
          new ToolError(
            'UNAVAILABLE',
            `The memory thread ended during the call${why}. Call again: it is started anew.`,
          ),
        );
      else {
        reject(
          new ToolError(
            'OUTCOME_UNKNOWN',
            `The memory thread ended during the call${why}. It may have been done: look before you call again.`,
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

function withNotices(
  error: ConstructorParameters<typeof ToolError>[0] & object,
  notices: readonly string[],
): ToolError {
  if (notices.length === 0) return new ToolError(error);
  return new ToolError({ ...error, message: `${error.message} (${notices.join(' ')})` });
}
