// The kill ladder: a question, the end of stdin, SIGTERM, patience, SIGKILL, exit. It always comes to an end, and is
// climbed once; who calls again can only make it faster.

import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { startTimer } from '../call/deadline.js';
import type { ProcessFamily } from './process-family.js';

const DEFAULT_ASK_MS = 2_000;
const DEFAULT_GRACE_MS = 2_000;
/** A killed process is gone within moments; what is not (a disk that hangs) is not waited for any longer. */
const KILLED_WITHIN_MS = 2_000;
/** How long output may still arrive once nothing of the group runs: a process that left the group may hold the pipe. */
const DRAIN_MS = 250;
const FIRST_POLL_MS = 5;
const LAST_POLL_MS = 50;
/** A look at all processes takes some 2 ms. */
const LOOK_MS = 50;

/** How a child is ended. */
export interface EndOptions {
  /**
   * Asks the program to end, in its own way: to finish what it is at, to save its state. It gets a signal that is aborted
   * when its time is over or the program has exited; that it fails is no matter. Stdin is open until then. Default: nothing
   * is asked.
   */
  ask?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  /**
   * How long the answer, the end of stdin and the exit may take, in milliseconds, before SIGTERM is sent. Without `ask`
   * stdin is closed at once. Default: 2,000 with `ask`, 0 without: SIGTERM at once.
   */
  askMs?: number | undefined;
  /** How long the program gets from SIGTERM to SIGKILL, in milliseconds. Default: 2,000. */
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

/** The way up, for one child. */
export class KillLadder {
  readonly #target: LadderTarget;
  #climbing: Promise<void> | undefined;
  #graceMs = DEFAULT_GRACE_MS;
  /** Of the rung that it stands on, while there is a next one. */
  #deadline: Deadline | undefined;
  #isAsking = true;

  constructor(target: LadderTarget) {
    this.#target = target;
  }

  /**
   * Ends everything of the child and resolves when it is gone: what it leaves running is killed, also when the direct child
   * has exited by itself and only its children are left. Never rejects.
   */
  climb(options: EndOptions): Promise<void> {
    const { ask, askMs = ask ? DEFAULT_ASK_MS : 0, graceMs = DEFAULT_GRACE_MS } = options;
    if (this.#climbing) {
      this.#graceMs = Math.min(this.#graceMs, graceMs);
      this.#deadline?.hasten(this.#isAsking ? askMs : graceMs);
      return this.#climbing;
    }
    this.#graceMs = graceMs;
    return (this.#climbing = this.#climb(ask, askMs));
  }

  async #climb(ask: EndOptions['ask'], askMs: number): Promise<void> {
    const { family, stdin, outputs } = this.#target;
    if (askMs > 0 && family.isAlive()) await this.#askToEnd(ask, askMs);
    this.#isAsking = false;
    stdin?.end();
    if (family.isAlive()) {
      family.signal('SIGTERM');
      if (!(await this.#isGoneWithin(this.#graceMs))) {
        family.signal('SIGKILL');
        // What was forked while the others were killed is killed at the next look.
        await this.#isGoneWithin(KILLED_WITHIN_MS, () => family.signal('SIGKILL'));
      }
    }
    stdin?.destroy();
    await Promise.all(outputs.map(drain));
  }

  async #askToEnd(ask: EndOptions['ask'], askMs: number): Promise<void> {
    const { family, stdin, exited } = this.#target;
    const deadline = (this.#deadline = new Deadline(askMs));
    family.remember();
    const asked = new AbortController();
    try {
      const answer = ask?.(asked.signal).catch(() => {}); // the rest of the ladder ends it
      await Promise.race([answer, exited, deadline.over]);
      stdin?.end();
      await this.#isGoneBefore(deadline);
    } catch {
      // What asks may also throw.
    } finally {
      deadline.clear();
      asked.abort();
    }
  }

  async #isGoneWithin(timeoutMs: number, onStillAlive?: () => void): Promise<boolean> {
    const deadline = new Deadline(timeoutMs);
    this.#deadline = onStillAlive ? undefined : deadline; // what is being killed cannot be hastened
    try {
      return await this.#isGoneBefore(deadline, onStillAlive);
    } finally {
      deadline.clear();
    }
  }

  async #isGoneBefore(deadline: Deadline, onStillAlive?: () => void): Promise<boolean> {
    const { family, exited } = this.#target;
    // What leaves the group meanwhile can be told only while its parent runs.
    const looking = setInterval(() => family.remember(), LOOK_MS);
    await Promise.race([exited, deadline.over]);
    clearInterval(looking);
    // The rest tells nobody when it ends, and a direct child that runs has not let this begin.
    for (let pollMs = FIRST_POLL_MS; family.isAlive(); pollMs = Math.min(2 * pollMs, LAST_POLL_MS)) {
      if (deadline.leftMs <= 0) return false;
      onStillAlive?.();
      await Promise.race([delay(Math.min(pollMs, deadline.leftMs)), deadline.over]);
    }
    return true;
  }
}

/** A moment that can be brought forward. */
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

  hasten(ms: number): void {
    if (ms >= this.leftMs) return;
    this.clear();
    this.#at = performance.now() + ms;
    this.#stop = startTimer(ms, this.#pass);
  }

  clear(): void {
    this.#stop();
  }
}

/** Lets a reader have what is in the pipe, then closes it. A stream that nobody reads is closed at once. */
async function drain(output: Readable): Promise<void> {
  const isRead = output.readableFlowing !== null || output.listenerCount('readable') > 0;
  if (isRead && !output.closed) {
    const deadline = new Deadline(DRAIN_MS);
    await Promise.race([new Promise((resolve) => output.once('close', resolve)), deadline.over]);
    deadline.clear();
  }
  output.destroy();
}
