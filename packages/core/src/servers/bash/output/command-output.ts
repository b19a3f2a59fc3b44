// All that one command prints: counted, kept as bytes in the timeline, and read as text for the answer. It stands between
// the two pipes and everything that looks at output.

import type { Readable } from 'node:stream';
import type { OutputLimits } from '../../project/output-budget.js';
import { KeptText, type KeptParts } from './kept-text.js';
import { CollapsedLines, StreamText } from './terminal-text.js';
import type { Timeline } from './timeline.js';

/** What is no text is told by its beginning. */
const SNIFFED_BYTES = 4 * 1024;

/** What is known of the output so far. */
export interface OutputParts extends KeptParts {
  /** It is not text; the parts are empty. */
  isBinary: boolean;
}

/** Takes the output of a command in the order in which it comes. */
export class CommandOutput {
  readonly timeline: Timeline;
  stdoutBytes = 0;
  stderrBytes = 0;
  /** When the last byte came, on the monotonic clock. */
  lastAt = 0;
  readonly #kept: KeptText;
  readonly #lines = new CollapsedLines();
  readonly #onOutput: (output: CommandOutput) => void;
  readonly #listeners = new Set<() => void>();
  #ends: (() => void)[] = [];
  #sniffed = 0;
  #isBinary = false;
  #waiting: Promise<void> | undefined;

  /** @param onOutput told of each chunk that came */
  constructor(timeline: Timeline, limits: OutputLimits, onOutput: (output: CommandOutput) => void) {
    this.timeline = timeline;
    this.#kept = new KeptText(limits);
    this.#onOutput = onOutput;
  }

  /** Reads both pipes; resolves when both are closed. The slower of disk and command sets the pace. */
  async read(stdout: Readable, stderr: Readable): Promise<void> {
    const pause = (): void => {
      this.#waiting ??= this.timeline.drained().finally(() => {
        this.#waiting = undefined;
        stdout.resume();
        stderr.resume();
      });
      stdout.pause();
      stderr.pause();
    };
    const follow = (stream: Readable, count: (bytes: number) => void): Promise<void> => {
      const text = new StreamText();
      this.#ends.push(() => this.#keep(text.end()));
      stream.on('data', (chunk: Buffer) => {
        count(chunk.length);
        this.lastAt = performance.now();
        this.timeline.push(chunk);
        this.#look(chunk);
        if (!this.#isBinary) this.#keep(text.push(chunk));
        if (this.timeline.isBehind) pause();
        this.#onOutput(this);
        for (const listener of this.#listeners) listener();
      });
      return new Promise((resolve) => stream.once('close', resolve));
    };
    await Promise.all([
      follow(stdout, (bytes) => (this.stdoutBytes += bytes)),
      follow(stderr, (bytes) => (this.stderrBytes += bytes)),
    ]);
  }

  /** Resolves when output that is held back by the disk flows again; at once when none is. */
  async flowing(): Promise<void> {
    await this.#waiting;
  }

  /** To be called when no more output is taken: what was held back as perhaps unfinished is text after all. */
  finish(): void {
    for (const end of this.#ends.splice(0)) end();
    this.#kept.push(this.#lines.end());
  }

  parts(): OutputParts {
    if (this.#isBinary) return { head: '', tail: '', omittedBytes: 0, isBinary: true };
    const { head, tail, omittedBytes } = this.#kept.parts();
    const { open } = this.#lines; // a prompt, which no line end follows
    return tail === ''
      ? { head: head + open, tail, omittedBytes, isBinary: false }
      : { head, tail: tail + open, omittedBytes, isBinary: false };
  }

  /** Resolves when more is printed, or the signal is aborted. */
  more(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        this.#listeners.delete(settle);
        resolve();
      };
      this.#listeners.add(settle);
      signal.addEventListener('abort', settle, { once: true });
    });
  }

  /** The end of what was printed, also of a line that is not finished. */
  lastText(maxChars: number): string {
    const { head, tail } = this.parts();
    return (tail === '' ? head : tail).slice(-maxChars);
  }

  #look(chunk: Buffer): void {
    if (this.#sniffed >= SNIFFED_BYTES) return;
    if (chunk.subarray(0, SNIFFED_BYTES - this.#sniffed).includes(0)) this.#isBinary = true;
    this.#sniffed += chunk.length;
  }

  #keep(text: string): void {
    this.#kept.push(this.#lines.push(text));
  }
}
