// One command from its start to its end: its output, how it ended, when it counts as done, and ending it early.

import { settledWithin } from '../../../call/waiting.js';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { ToolError } from '../../../contract/errors.js';
import type { Child, ChildExit } from '../../../process/index.js';
import type { CommandOutput } from '../output/command-output.js';

/** After the shell has exited, a pipe that something else holds open is read for as long as output comes … */
const IDLE_MS = 50;
/** … but not longer than this. */
const MAX_DRAIN_MS = 250;

/** How a command stands. `killed`: it was ended from here (time-out, abort, job_kill) or by a signal. */
export type JobStatus = 'running' | 'exited' | 'killed';

/** What a {@link Job} is made of. */
export interface JobOptions {
  id: string;
  command: string;
  /** As answers show it. */
  cwd: string;
  sessionId: string | undefined;
  sandboxed: boolean;
  child: Child;
  output: CommandOutput;
  /** Undoes what was made for it to run, and gives what answers should say of that. Never rejects. */
  release: () => Promise<readonly string[] | undefined>;
  /** Ends it at once when it resolves. */
  broken?: Promise<void> | undefined;
}

/** A command that was started. */
export class Job {
  readonly id: string;
  readonly command: string;
  readonly cwd: string;
  readonly sessionId: string | undefined;
  readonly sandboxed: boolean;
  readonly startedAt = new Date();
  readonly output: CommandOutput;
  /**
   * Resolves when it has ended and all that is to be had of its output is there; rejects when it could not be started.
   * Something it started may still run: see {@link leftover}.
   */
  readonly done: Promise<void>;
  exit: ChildExit | undefined;
  /** It ran longer than its time. */
  timedOut = false;
  /** What it started and left running. */
  leftover: readonly number[] = [];
  /** What its sandbox undid of what it did; a clause each. */
  undone: readonly string[] = [];
  /** Listed, and kept in the history. */
  isListed = false;
  /** Where the output begins that {@link job_output} has not given yet. */
  unreadFrom = 0;
  readonly #child: Child;
  readonly #startedAtMs = performance.now();
  readonly #abort = new AbortController();
  #endedAtMs: number | undefined;
  #isDone = false;
  #ended = false;
  #hasLeftover = false;

  constructor(options: JobOptions) {
    this.id = options.id;
    this.command = options.command;
    this.cwd = options.cwd;
    this.sessionId = options.sessionId;
    this.sandboxed = options.sandboxed;
    this.output = options.output;
    this.#child = options.child;
    this.done = this.#run(options).finally(async () => {
      this.#endedAtMs ??= performance.now();
      this.undone = (await options.release()) ?? [];
      this.#isDone = true;
    });
    this.done.catch(() => {}); // whoever waits for it is told
    void options.broken?.then(() => this.end(0));
  }

  get status(): JobStatus {
    if (!this.#isDone) return 'running';
    return this.#ended || this.exit?.signal !== null ? 'killed' : 'exited';
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get durationMs(): number {
    return (this.#endedAtMs ?? performance.now()) - this.#startedAtMs;
  }

  /** True while anything that it started may run. */
  get mayRun(): boolean {
    return !this.#isDone || this.#hasLeftover;
  }

  /** Ends it and all that it started, also what it left running. Never rejects. */
  async end(graceMs?: number): Promise<void> {
    if (!this.#isDone) this.#ended = true;
    await this.#child.end(graceMs === undefined ? {} : { graceMs });
    await this.done.catch(() => {}); // a command that never started has nothing to end
    this.#hasLeftover = false;
    this.leftover = [];
  }

  /** Waits for its end, not longer than that. */
  async endsWithin(ms: number): Promise<void> {
    await settledWithin([this.done], ms);
  }

  /** Sends it a signal, and counts it as killed where that is meant to end it. */
  signal(name: NodeJS.Signals, { isToEnd }: { isToEnd: boolean }): void {
    if (isToEnd && !this.#isDone) this.#ended = true;
    this.#child.signal(name);
  }

  /**
   * Writes to its stdin, and waits until the pipe has taken it.
   *
   * @throws {ToolError} INVALID_ARGUMENT when its stdin is closed, PROCESS_EXITED when it has ended
   */
  async write(input: string, { eof, signal }: { eof: boolean; signal: AbortSignal }): Promise<void> {
    const { stdin } = this.#child;
    if (this.#isDone) throw new ToolError('PROCESS_EXITED', `The job ${this.id} has ended; nothing reads its input.`);
    if (!stdin || stdin.writableEnded || stdin.destroyed) {
      throw new ToolError(
        'INVALID_ARGUMENT',
        `The stdin of the job ${this.id} is closed. Only a job that was started with background: true takes input, until eof.`,
      );
    }
    await new Promise<void>((resolve, reject) => {
      const aborted = (): void => {
        stdin.off('close', closed);
        reject(ToolError.from(signal.reason));
      };
      signal.addEventListener('abort', aborted, { once: true });
      const settle = (error?: Error | null): void => {
        signal.removeEventListener('abort', aborted);
        stdin.off('close', closed);
        if (error) reject(new ToolError('PROCESS_EXITED', `The job ${this.id} does not read its input any more.`));
        else resolve();
      };
      const closed = (): void => settle(eof ? null : new Error('closed'));
      stdin.once('close', closed);
      if (eof) stdin.end(input, () => settle());
      else stdin.write(input, settle);
    });
  }

  async #run({ child, output, sandboxed }: JobOptions): Promise<void> {
    const read = output.read(child.stdout, child.stderr);
    let closed = false;
    void read.then(() => {
      closed = true;
      this.#abort.abort();
    });
    this.exit = await child.exited;
    this.#endedAtMs = performance.now();
    const dueAt = this.#endedAtMs + MAX_DRAIN_MS;
    while (!closed) {
      await output.flowing();
      const idleAt = Math.max(output.lastAt, this.#endedAtMs) + IDLE_MS;
      const leftMs = Math.min(idleAt, dueAt) - performance.now();
      if (leftMs <= 0) break;
      await delay(leftMs, undefined, { signal: this.#abort.signal }).catch(() => {}); // closed meanwhile
      await nextTurn(); // a late timer must not hide output that is there to be read
    }
    // In a sandbox the end of the shell is the end of all.
    this.leftover = sandboxed ? [] : child.runningPids();
    this.#hasLeftover = this.leftover.length > 0 || (!closed && !sandboxed);
    child.stdout.destroy();
    child.stderr.destroy();
    output.finish();
    await output.timeline.drained();
  }
}
