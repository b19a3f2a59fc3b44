// The kill ladder: a request to end, the end of stdin, SIGTERM, a grace period, SIGKILL, exit. It always finishes, and runs
// once; a later call can only shorten its timeouts.

import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { startTimer } from '../call/deadline.js';
import type { ProcessFamily } from './process-family.js';

const DEFAULT_REQUEST_MS = 2_000;
const DEFAULT_GRACE_MS = 2_000;
/** A killed process ends within moments. One that does not, as on a disk that hangs, is not waited for longer. */
const KILL_TIMEOUT_MS = 2_000;
/** How long output may still arrive after the group has ended: a process that left the group may hold the pipe. */
const DRAIN_MS = 250;
const FIRST_POLL_MS = 5;
const LAST_POLL_MS = 50;
/** Interval between scans of all processes, each of which takes about 2 ms. */
const SCAN_MS = 50;

/** How a child is ended. */
export interface EndOptions {
  /**
   * Requests the end in the program's own protocol, so that it can finish its work and save its state. Its signal is aborted
   * when `askMs` has passed or the program has exited. A rejection is ignored. Stdin stays open until then. Default: no
   * request.
   */
  ask?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  /**
   * How long the request, the end of stdin and the exit may take, in milliseconds, before SIGTERM is sent. Without `ask`,
   * stdin is closed immediately. Default: 2,000 with `ask`, 0 without: SIGTERM is sent immediately.
   */
  askMs?: number | undefined;
  /** Time from SIGTERM to SIGKILL, in milliseconds. Default: 2,000. */
  graceMs?: number | undefined;
}

/** What the ladder needs of a child. */
export interface LadderTarget {
  family: ProcessFamily;
  stdin: Writable | null;
  outputs: readonly Readable[];
  /** Resolves when the direct child has exited; never rejects. */
  exited: Promise<unknown>;
}

/** Ends one child. */
export class KillLadder {
  readonly #target: LadderTarget;
  #ending: Promise<void> | undefined;
  #graceMs = DEFAULT_GRACE_MS;
  /** The deadline of the present step; undefined in the last one. */
  #deadline: Deadline | undefined;
  #isRequesting = true;

  constructor(target: LadderTarget) {
    this.#target = target;
  }

  /**
   * Ends the child and every process that it started, and resolves when they have ended, also when the child itself has
   * already exited. Never rejects.
   */
  end(options: EndOptions): Promise<void> {
    const { ask, askMs = ask ? DEFAULT_REQUEST_MS : 0, graceMs = DEFAULT_GRACE_MS } = options;
    if (this.#ending) {
      this.#graceMs = Math.min(this.#graceMs, graceMs);
      this.#deadline?.shorten(this.#isRequesting ? askMs : graceMs);
      return this.#ending;
    }
    this.#graceMs = graceMs;
    return (this.#ending = this.#endFamily(ask, askMs));
  }

  async #endFamily(ask: EndOptions['ask'], askMs: number): Promise<void> {
    const { family, stdin, outputs } = this.#target;
    if (askMs > 0 && family.isAlive()) await this.#requestEnd(ask, askMs);
    this.#isRequesting = false;
    stdin?.end();
    if (family.isAlive()) {
      family.signal('SIGTERM');
      if (!(await this.#endsWithin(this.#graceMs))) {
        family.signal('SIGKILL');
        // Processes that were forked meanwhile are killed at the next check.
        await this.#endsWithin(KILL_TIMEOUT_MS, () => family.signal('SIGKILL'));
      }
    }
    stdin?.destroy();
    await Promise.all(outputs.map(drain));
  }

  async #requestEnd(ask: EndOptions['ask'], askMs: number): Promise<void> {
    const { family, stdin, exited } = this.#target;
    const deadline = (this.#deadline = new Deadline(askMs));
    family.remember();
    const request = new AbortController();
    try {
      const answer = ask?.(request.signal).catch(() => {}); // the next steps end it
      await Promise.race([answer, exited, deadline.over]);
      stdin?.end();
      await this.#endsBefore(deadline);
    } catch {
      // `ask` may also throw.
    } finally {
      deadline.clear();
      request.abort();
    }
  }

  async #endsWithin(timeoutMs: number, onStillAlive?: () => void): Promise<boolean> {
    const deadline = new Deadline(timeoutMs);
    this.#deadline = onStillAlive ? undefined : deadline; // the last step cannot be shortened
    try {
      return await this.#endsBefore(deadline, onStillAlive);
    } finally {
      deadline.clear();
    }
  }

  async #endsBefore(deadline: Deadline, onStillAlive?: () => void): Promise<boolean> {
    const { family, exited } = this.#target;
    // A process that leaves the group can be found only while its parent runs.
    const scanning = setInterval(() => family.remember(), SCAN_MS);
    await Promise.race([exited, deadline.over]);
    clearInterval(scanning);
    // The end of other processes causes no event, so it is polled.
    for (let pollMs = FIRST_POLL_MS; family.isAlive(); pollMs = Math.min(2 * pollMs, LAST_POLL_MS)) {
      if (deadline.leftMs <= 0) return false;
      onStillAlive?.();
      await Promise.race([delay(Math.min(pollMs, deadline.leftMs)), deadline.over]);
    }
    return true;
  }
}

/** A time limit that can be shortened. */
class Deadline {
  readonly over: Promise<void>;
  #at: number;
  #stop: () => void;
  #pass!: () => void;

  constructor(ms: number) {
    this.over = new Promise((resolve) => (this.#pass = resolve));
    this.#at = performance.now() + ms;
    this.#stop = startTimer(ms, this.#pass);
  }

  get leftMs(): number {
    return this.#at - performance.now();
  }

  shorten(ms: number): void {
    if (ms >= this.leftMs) return;
    this.clear();
    this.#at = performance.now() + ms;
    this.#stop = startTimer(ms, this.#pass);
  }

  clear(): void {
    this.#stop();
  }
}

/** Lets a reader receive what is in the pipe, then closes it. A stream without a reader is closed immediately. */
async function drain(output: Readable): Promise<void> {
  const isRead = output.readableFlowing !== null || output.listenerCount('readable') > 0;
  if (isRead && !output.closed) {
    const deadline = new Deadline(DRAIN_MS);
    await Promise.race([new Promise((resolve) => output.once('close', resolve)), deadline.over]);
    deadline.clear();
  }
  output.destroy();
}
