// The commands of one connection: which session may see them, how many are retained, and ending all of them.

import { randomBytes } from 'node:crypto';
import { ToolError } from '../../../contract/errors.js';
import { endMarked } from '../../../process/index.js';
import type { Job } from './job.js';
import { SpillDirectory } from '../output/spill-directory.js';

const MAX_HISTORY = 100;
const MAX_BACKGROUND = 64;
/** Output of all ended commands on disk; that of the oldest is removed first. */
const MAX_STORED_BYTES = 1024 * 1024 * 1024;
/** Time from SIGTERM to SIGKILL when the provider disconnects. */
const DISCONNECT_GRACE_MS = 1_000;

/** All commands that one connection has started. */
export class Jobs {
  readonly spill = new SpillDirectory();
  /** The common prefix of the marks of all processes. */
  readonly #mark = randomBytes(12).toString('hex');
  /** In order of start. */
  readonly #jobs = new Map<string, Job>();
  /** Jobs whose `execute` call has not answered yet. */
  readonly #inCalls = new Set<Job>();
  #hasStarted = false;
  #stopped = false;

  /** An id that cannot be guessed, and the mark of its processes. */
  nextId(): { id: string; mark: string } {
    const id = `job_${randomBytes(6).toString('hex')}`;
    return { id, mark: `${this.#mark}.${id}` };
  }

  /** @throws {ToolError} CONNECTION_CLOSED once they were stopped */
  assertOpen(): void {
    if (this.#stopped) throw new ToolError('CONNECTION_CLOSED', 'The provider was disconnected.');
  }

  /** Adds a started command, which is retained at least until {@link release}. */
  add(job: Job): void {
    this.#hasStarted = true;
    this.#jobs.set(job.id, job);
    this.#inCalls.add(job);
    const drop = (): void => this.#dropOld();
    job.done.then(drop, drop);
  }

  /** To be called when the call that started the job has its answer. A job that is not listed may then be dropped. */
  release(job: Job): void {
    this.#inCalls.delete(job);
    this.#dropOld();
  }

  /** @throws {ToolError} BUSY when the maximum of jobs runs in the background */
  assertRoom(): void {
    const running = [...this.#jobs.values()].filter((job) => job.isListed && job.status === 'running');
    if (running.length < MAX_BACKGROUND) return;
    throw new ToolError(
      'BUSY',
      `${MAX_BACKGROUND} jobs already run in the background. End one with job_kill, or wait for one to end.`,
    );
  }

  /** @throws {ToolError} NOT_FOUND unless the job belongs to this session */
  get(id: string, sessionId: string | undefined): Job {
    const job = this.#jobs.get(id);
    if (job?.isListed && job.sessionId === sessionId) return job;
    throw new ToolError(
      'NOT_FOUND',
      `No job ${JSON.stringify(id.slice(0, 100))} in this session. job_list lists its jobs; the last ${MAX_HISTORY} that ended are retained.`,
    );
  }

  list(sessionId: string | undefined): Job[] {
    return [...this.#jobs.values()].filter((job) => job.isListed && job.sessionId === sessionId);
  }

  /** Ends the commands of one session, and the processes that they left running. */
  async endSession(sessionId: string): Promise<void> {
    const running = [...this.#jobs.values()].filter((job) => job.sessionId === sessionId && job.mayRun);
    await Promise.all(running.map((job) => job.end(DISCONNECT_GRACE_MS)));
  }

  /** Ends all commands and the processes that they left running, and removes their output. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const jobs = [...this.#jobs.values()];
    await Promise.all(jobs.map((job) => (job.mayRun ? job.end(DISCONNECT_GRACE_MS) : job.done.catch(() => {})))); // the call that started it reports its failure
    // Includes what dropped jobs left running.
    if (this.#hasStarted) await endMarked(`${this.#mark}.`);
    await Promise.all(jobs.map((job) => job.output.timeline.remove()));
    await this.spill.remove();
    this.#jobs.clear();
  }

  #dropOld(): void {
    if (this.#stopped) return;
    const ended = [...this.#jobs.values()].filter((job) => job.status !== 'running' && !this.#inCalls.has(job));
    let listed = ended.filter((job) => job.isListed).length;
    let leavers = ended.filter((job) => !job.isListed && job.mayRun).length;
    let bytes = ended.reduce(
      (sum, job) => sum + (job.output.timeline.path === undefined ? 0 : job.output.timeline.total),
      0,
    );
    for (const job of ended) {
      const isDropped = job.isListed
        ? listed > MAX_HISTORY || (bytes > MAX_STORED_BYTES && listed > 1)
        : !job.mayRun || leavers > MAX_HISTORY; // stop() finds what it left running by its mark
      if (!isDropped) continue;
      if (job.isListed) listed--;
      else if (job.mayRun) leavers--;
      if (job.output.timeline.path !== undefined) bytes -= job.output.timeline.total;
      this.#jobs.delete(job.id);
      void job.output.timeline.remove();
    }
  }
}
