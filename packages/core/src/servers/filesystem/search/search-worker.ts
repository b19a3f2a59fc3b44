// A thread that searches files for one call, so that a slow pattern does not block the event loop and ends with the thread.
// Each call starts its own, which costs about 30 ms: no pool has to be shared or closed.

import { Worker } from 'node:worker_threads';
import { ToolError } from '../../../contract/errors.js';
import { runLineSearch, type FoundRow, type LineSearch, type SearchedFile, type SearchReport } from './line-search.js';

/** Maximum number of threads, as each takes some megabytes; further searches wait. */
const MAX_THREADS = 4;
let running = 0;
const waiting: (() => void)[] = [];

/** esbuild inserts calls of `__name` to preserve the names of functions. */
const PROGRAM = `const __name = (value) => value;\n(${runLineSearch.toString()})(require);`;

/** A running search thread. Close it. */
export class SearchWorker implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #onRows: (rows: FoundRow[]) => void;
  readonly #batches: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  #failure: unknown;
  #isClosed = false;

  private constructor(search: LineSearch, onRows: (rows: FoundRow[]) => void) {
    this.#onRows = onRows;
    this.#worker = new Worker(PROGRAM, { eval: true, workerData: search, env: {}, execArgv: [], stdin: false });
    this.#worker.unref();
    this.#worker.on('message', ({ rows, done }: SearchReport) => {
      if (this.#isClosed) return;
      this.#onRows(rows);
      if (done) this.#batches.shift()?.resolve();
    });
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail(new Error('the search thread ended')));
  }

  /**
   * Starts a thread, as soon as fewer than the maximum are running.
   *
   * @param onRows called with rows as they are found
   */
  static async start(
    search: LineSearch,
    onRows: (rows: FoundRow[]) => void,
    signal: AbortSignal,
  ): Promise<SearchWorker> {
    if (running >= MAX_THREADS) await turn(signal);
    else running++;
    try {
      signal.throwIfAborted();
      return new SearchWorker(search, onRows);
    } catch (error) {
      passOn();
      throw error;
    }
  }

  /** Searches files one after the other, after earlier batches. @throws {ToolError} EXECUTION_FAILED */
  search(files: readonly SearchedFile[]): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#asFailure());
    return new Promise((resolve, reject) => {
      this.#batches.push({ resolve, reject });
      this.#worker.postMessage(files);
    });
  }

  /** Terminates the thread immediately. Its open files are closed. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#worker.terminate();
    passOn();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    for (const { reject } of this.#batches.splice(0)) reject(this.#asFailure());
  }

  #asFailure(): ToolError {
    return new ToolError(
      'EXECUTION_FAILED',
      `The search stopped: ${this.#failure instanceof Error ? this.#failure.message : String(this.#failure)}. Try a simpler pattern.`,
      { cause: this.#failure },
    );
  }
}

/** Waits until another thread may start, and reserves its place. */
function turn(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = (): void => {
      signal.removeEventListener('abort', leave);
      resolve();
    };
    const leave = (): void => {
      waiting.splice(waiting.indexOf(enter), 1);
      reject(signal.reason as Error);
    };
    waiting.push(enter);
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
}

/** Passes the place to the next waiting search, or frees it. */
function passOn(): void {
  const next = waiting.shift();
  if (next) next();
  else running--;
}
