// The commands of one connection: who may see which, how many are remembered, and that all of them end.

import { randomBytes } from 'node:crypto';
import { ToolError } from '../../../contract/errors.js';
import { endMarked } from '../../../process/index.js';
import type { Job } from './job.js';
import { SpillDirectory } from '../output/spill-directory.js';

const MAX_HISTORY = 100;
const MAX_BACKGROUND = 64;
/** What all finished commands together may keep on disk; the oldest go first. */
const MAX_KEPT_BYTES = 1024 * 1024 * 1024;
/** How long commands get to end by themselves when the provider disconnects. */
const DISCONNECT_GRACE_MS = 1_000;

/** All commands that one connection has started. */
export class Jobs {
  readonly spill = new SpillDirectory();
  /** Begins the mark of every process that is started here. */
  readonly #mark = randomBytes(12).toString('hex');
  /** In the order of their start. */
  readonly #jobs = new Map<string, Job>();
  /** Their calls still need them. */
  readonly #held = new Set<Job>();
  #hasStarted = false;
  #stopped = false;

  /** An id that nobody can guess, and the mark of what runs under it. */
  nextId(): { id: string; mark: string } {
    const id = `job_${randomBytes(6).toString('hex')}`;
    return { id, mark: `${this.#mark}.${id}` };
  }

  /** @throws {ToolError} CONNECTION_CLOSED once they were stopped */
  assertOpen(): void {
    if (this.#stopped) throw new ToolError('CONNECTION_CLOSED', 'The provider was disconnected.');
  }

  /** Takes over a command that was just started, and keeps it at least until it is released. */
  add(job: Job): void {
    this.#hasStarted = true;
    this.#jobs.set(job.id, job);
    this.#held.add(job);
    const forget = (): void => this.#forgetOld();
    job.done.then(forget, forget);
  }

  /** The call that started it has its answer: what is not listed may be forgotten. */
  release(job: Job): void {
    this.#held.delete(job);
    this.#forgetOld();
  }

  /** @throws {ToolError} BUSY when as many run in the background as may */
  assertRoom(): void {
    const running = [...this.#jobs.values()].filter((job) => job.isListed && job.status === 'running');
    if (running.length < MAX_BACKGROUND) return;
    throw new ToolError(
      'BUSY',
      `${MAX_BACKGROUND} jobs run in the background already. End one with job_kill, or wait for one.`,
    );
  }

  /** @throws {ToolError} NOT_FOUND for an id that is not one of this session's */
  get(id: string, sessionId: string | undefined): Job {
    const job = this.#jobs.get(id);
    if (job?.isListed && job.sessionId === sessionId) return job;
    throw new ToolError(
      'NOT_FOUND',
      `There is no job ${JSON.stringify(id.slice(0, 100))} in this session. job_list names those there are; the last ${MAX_HISTORY} are kept.`,
    );
  }

  list(sessionId: string | undefined): Job[] {
    return [...this.#jobs.values()].filter((job) => job.isListed && job.sessionId === sessionId);
  }

  /** Ends what one session has running, also what its commands left behind. */
  async endSession(sessionId: string): Promise<void> {
    const running = [...this.#jobs.values()].filter((job) => job.sessionId === sessionId && job.mayRun);
    await Promise.all(running.map((job) => job.end(DISCONNECT_GRACE_MS)));
  }

  /** Ends all commands and whatever they left running, and removes their output. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const jobs = [...this.#jobs.values()];
    await Promise.all(jobs.map((job) => (job.mayRun ? job.end(DISCONNECT_GRACE_MS) : job.done.catch(() => {})))); // each is told its own failure
    // Also what was left by those that are forgotten.
    if (this.#hasStarted) await endMarked(`${this.#mark}.`);
    await Promise.all(jobs.map((job) => job.output.timeline.remove()));
    await this.spill.remove();
    this.#jobs.clear();
  }

  #forgetOld(): void {
    if (this.#stopped) return;
    const ended = [...this.#jobs.values()].filter((job) => job.status !== 'running' && !this.#held.has(job));
    let listed = ended.filter((job) => job.isListed).length;
    let leaving = ended.filter((job) => !job.isListed && job.mayRun).length;
    let bytes = ended.reduce(
      (sum, job) => sum + (job.output.timeline.path === undefined ? 0 : job.output.timeline.total),
      0,
    );
    for (const job of ended) {
      const isOver = job.isListed
        ? listed > MAX_HISTORY || (bytes > MAX_KEPT_BYTES && listed > 1)
        : !job.mayRun || leaving > MAX_HISTORY; // what it left is swept by its mark in the end
      if (!isOver) continue;
      if (job.isListed) listed--;
      else if (job.mayRun) leaving--;
      if (job.output.timeline.path !== undefined) bytes -= job.output.timeline.total;
      this.#jobs.delete(job.id);
      void job.output.timeline.remove();
    }
  }
}
