// One command from start to end: its output, its exit, when it counts as done, and ending it early.

import { settledWithin } from '../../../call/waiting.js';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { ToolError } from '../../../contract/errors.js';
import type { Child, ChildExit } from '../../../process/index.js';
import type { CommandOutput } from '../output/command-output.js';

/** After the shell has exited, a pipe that another process holds is read until no output arrives for this long … */
const IDLE_MS = 50;
/** … and at most this long. */
const MAX_DRAIN_MS = 250;

/** `killed`: ended by the server (timeout, abort, job_kill) or by a signal. */
export type JobStatus = 'running' | 'exited' | 'killed';

/** What {@link Job} needs. */
export interface JobOptions {
  id: string;
  command: string;
  /** The working directory, as answers show it. */
  cwd: string;
  sessionId: string | undefined;
  sandboxed: boolean;
  child: Child;
  output: CommandOutput;
  /** Releases the sandbox, and returns its notices for the answer. Never rejects. */
  release: () => Promise<readonly string[] | undefined>;
  /** The command is ended immediately when this resolves. */
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
   * Resolves when it has ended and its output is complete; rejects when it could not be started. Processes that it started
   * may still run: see {@link leftover}.
   */
  readonly done: Promise<void>;
  exit: ChildExit | undefined;
  /** It was ended at its timeout. */
  timedOut = false;
  /** The pids of the processes that it left running. */
  leftover: readonly number[] = [];
  /** What its sandbox undid, a clause each. */
  sandboxNotices: readonly string[] = [];
  /** True when job_list shows it, and it is retained after its end. */
  isListed = false;
  /** The position of the first byte that job_output has not returned. */
  unreadFrom = 0;
  readonly #child: Child;
  readonly #startedAtMs = performance.now();
  readonly #abort = new AbortController();
  #endedAtMs: number | undefined;
  #isDone = false;
  #ended = false;
  #mayLeaveProcesses = false;

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
      this.sandboxNotices = (await options.release()) ?? [];
      this.#isDone = true;
    });
    this.done.catch(() => {}); // reported to those who await it
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

  /** True while the command, or a process that it left behind, may run. */
  get mayRun(): boolean {
    return !this.#isDone || this.#mayLeaveProcesses;
  }

  /** Ends it and every process that it started or left running. Never rejects. */
  async end(graceMs?: number): Promise<void> {
    if (!this.#isDone) this.#ended = true;
    await this.#child.end(graceMs === undefined ? {} : { graceMs });
    await this.done.catch(() => {}); // a command that never started has nothing to end
    this.#mayLeaveProcesses = false;
    this.leftover = [];
  }

  /** Waits at most this long for its end. */
  async endsWithin(ms: number): Promise<void> {
    await settledWithin([this.done], ms);
  }

  /** Sends it a signal. With `ends`, its status becomes `killed`. */
  signal(name: NodeJS.Signals, { ends }: { ends: boolean }): void {
    if (ends && !this.#isDone) this.#ended = true;
    this.#child.signal(name);
  }

  /**
   * Writes to its stdin, and waits until the pipe has accepted all of it.
   *
   * @throws {ToolError} INVALID_ARGUMENT when its stdin is closed, PROCESS_EXITED when it has ended
   */
  async write(input: string, { eof, signal }: { eof: boolean; signal: AbortSignal }): Promise<void> {
    const { stdin } = this.#child;
    if (this.#isDone)
      throw new ToolError('PROCESS_EXITED', `The job ${this.id} has ended and no longer accepts input.`);
    if (!stdin || stdin.writableEnded || stdin.destroyed) {
      throw new ToolError(
        'INVALID_ARGUMENT',
        `The stdin of the job ${this.id} is closed. Only a job that was started with background: true accepts input, until eof.`,
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
        if (error) reject(new ToolError('PROCESS_EXITED', `The job ${this.id} has closed its standard input.`));
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
      await output.resumed();
      const idleAt = Math.max(output.lastOutputAt, this.#endedAtMs) + IDLE_MS;
      const leftMs = Math.min(idleAt, dueAt) - performance.now();
      if (leftMs <= 0) break;
      await delay(leftMs, undefined, { signal: this.#abort.signal }).catch(() => {}); // closed meanwhile
      await nextTurn(); // a late timer must not hide output that has already arrived
    }
    // In a sandbox every process ends with the shell.
    this.leftover = sandboxed ? [] : child.runningPids();
    this.#mayLeaveProcesses = this.leftover.length > 0 || (!closed && !sandboxed);
    child.stdout.destroy();
    child.stderr.destroy();
    output.finish();
    await output.timeline.drained();
  }
}
