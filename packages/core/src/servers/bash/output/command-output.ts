// The output of one command: reads both pipes, counts the bytes, stores them in the timeline and collects the text of the
// answer.

import type { Readable } from 'node:stream';
import type { OutputLimits } from '../../project/output-budget.js';
import { HeadAndTail, type HeadAndTailParts } from './head-and-tail.js';
import { CollapsedLines, StreamText } from './terminal-text.js';
import type { Timeline } from './timeline.js';

/** How much of the beginning is searched for NUL bytes, which text does not contain. */
const SNIFFED_BYTES = 4 * 1024;

/** The text of the output so far. */
export interface OutputParts extends HeadAndTailParts {
  /** True for output that is not text; the parts are then empty. */
  isBinary: boolean;
}

/** Collects the output of a command in the order of its arrival. */
export class CommandOutput {
  readonly timeline: Timeline;
  stdoutBytes = 0;
  stderrBytes = 0;
  /** When the last byte arrived, on the monotonic clock. */
  lastOutputAt = 0;
  readonly #text: HeadAndTail;
  readonly #lines = new CollapsedLines();
  readonly #onOutput: (output: CommandOutput) => void;
  readonly #listeners = new Set<() => void>();
  #ends: (() => void)[] = [];
  #sniffed = 0;
  #isBinary = false;
  #paused: Promise<void> | undefined;

  /** @param onOutput called for each chunk */
  constructor(timeline: Timeline, limits: OutputLimits, onOutput: (output: CommandOutput) => void) {
    this.timeline = timeline;
    this.#text = new HeadAndTail(limits);
    this.#onOutput = onOutput;
  }

  /** Reads both pipes until both are closed, pausing while the disk is behind. */
  async read(stdout: Readable, stderr: Readable): Promise<void> {
    const pause = (): void => {
      this.#paused ??= this.timeline.drained().finally(() => {
        this.#paused = undefined;
        stdout.resume();
        stderr.resume();
      });
      stdout.pause();
      stderr.pause();
    };
    const follow = (stream: Readable, count: (bytes: number) => void): Promise<void> => {
      const text = new StreamText();
      this.#ends.push(() => this.#append(text.end()));
      stream.on('data', (chunk: Buffer) => {
        count(chunk.length);
        this.lastOutputAt = performance.now();
        this.timeline.push(chunk);
        this.#detectBinary(chunk);
        if (!this.#isBinary) this.#append(text.push(chunk));
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

  /** Resolves when the pipes are not paused. */
  async resumed(): Promise<void> {
    await this.#paused;
  }

  /** To be called after the last output: appends the text that was held back as unfinished. */
  finish(): void {
    for (const end of this.#ends.splice(0)) end();
    this.#text.push(this.#lines.end());
  }

  parts(): OutputParts {
    if (this.#isBinary) return { head: '', tail: '', omittedBytes: 0, isBinary: true };
    const { head, tail, omittedBytes } = this.#text.parts();
    const { open } = this.#lines; // such as a prompt
    return tail === ''
      ? { head: head + open, tail, omittedBytes, isBinary: false }
      : { head, tail: tail + open, omittedBytes, isBinary: false };
  }

  /** Resolves at the next output, or when the signal is aborted. */
  nextOutput(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        this.#listeners.delete(settle);
        resolve();
      };
      this.#listeners.add(settle);
      signal.addEventListener('abort', settle, { once: true });
    });
  }

  /** The end of the text, including an unfinished line. */
  lastText(maxChars: number): string {
    const { head, tail } = this.parts();
    return (tail === '' ? head : tail).slice(-maxChars);
  }

  #detectBinary(chunk: Buffer): void {
    if (this.#sniffed >= SNIFFED_BYTES) return;
    if (chunk.subarray(0, SNIFFED_BYTES - this.#sniffed).includes(0)) this.#isBinary = true;
    this.#sniffed += chunk.length;
  }

  #append(text: string): void {
    this.#text.push(this.#lines.push(text));
  }
}
