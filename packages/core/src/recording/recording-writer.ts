// Writes the lines of a recording in order, to a file or to a function. A call never waits for it: what is not written yet is
// kept in memory up to a limit, beyond which the recording ends.

import { appendFile, writeFile } from 'node:fs/promises';
import { ToolError } from '../contract/errors.js';
import type { Logger } from '../contract/logger.js';
import type { HeaderLine, RecordingLine } from './recording-format.js';

/** Where a recording is written: a file, which is replaced, or a function that gets whole lines. */
export type RecordingTarget = string | ((lines: string) => unknown);

/** Options of {@link RecordingWriter}. */
export interface RecordingWriterOptions {
  readonly target: RecordingTarget;
  /** The first line, made when the first line after it is appended. */
  readonly header: () => HeaderLine;
  /** The most that waits to be written, in characters. */
  readonly maxPendingCharacters: number;
  /** Receives the reason why the recording is incomplete, once. */
  readonly logger: Pick<Logger, 'error'>;
}

/** The most that waits to be written unless an option says otherwise. */
export const MAX_PENDING_CHARACTERS = 64 * 1024 * 1024;
/** Only this user reads what tools returned. */
const FILE_MODE = 0o600;

export class RecordingWriter {
  readonly #options: RecordingWriterOptions;
  /** Lines that no write has taken yet. */
  #lines: string[] = [];
  /** The characters of all lines that are not written, also of those that a write has taken. */
  #pending = 0;
  #writing: Promise<void> | undefined;
  #hasBegun = false;
  #isFileCreated = false;
  #failure: ToolError | undefined;

  constructor(options: RecordingWriterOptions) {
    this.#options = options;
  }

  /** Appends a line. Never throws: {@link flush} reports what could not be written. */
  append(line: RecordingLine): void {
    if (this.#failure) return;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#push(this.#options.header());
    }
    this.#push(line);
  }

  /** Resolves when everything that was appended before is written. @throws {ToolError} why the recording is incomplete */
  async flush(): Promise<void> {
    await this.#writing;
    if (this.#failure) throw this.#failure;
  }

  #push(line: RecordingLine): void {
    if (this.#failure) return;
    let text: string;
    try {
      text = `${JSON.stringify(line)}\n`;
    } catch (thrown) {
      return this.#end(ToolError.from(thrown, 'INTERNAL').message);
    }
    const { maxPendingCharacters } = this.#options;
    if (this.#pending + text.length > maxPendingCharacters)
      return this.#end(`More than ${maxPendingCharacters} characters waited to be written; write to a faster disk.`);
    this.#enqueue(text);
  }

  #enqueue(text: string): void {
    this.#lines.push(text);
    this.#pending += text.length;
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
  }

  /** Ends the recording; its last line says why. */
  #end(reason: string): void {
    this.#enqueue(`${JSON.stringify({ type: 'incomplete', reason } satisfies RecordingLine)}\n`);
    this.#fail(new ToolError('INTERNAL', reason));
  }

  #fail(error: ToolError): void {
    if (this.#failure) return;
    const { target, logger } = this.#options;
    const what = typeof target === 'string' ? `The recording ${target}` : 'The recording';
    const { code, message, cause } = error;
    this.#failure = new ToolError(code, `${what} is incomplete: ${message}`, { cause });
    logger.error(this.#failure.message);
  }

  async #write(): Promise<void> {
    await Promise.resolve(); // so that the lines of this turn are written together
    try {
      while (this.#lines.length > 0) {
        const text = this.#lines.join('');
        this.#lines = [];
        await this.#send(text);
        this.#pending -= text.length;
      }
    } catch (thrown) {
      this.#lines = [];
      this.#fail(ToolError.from(thrown, 'INTERNAL'));
    }
  }

  async #send(text: string): Promise<void> {
    const { target } = this.#options;
    if (typeof target === 'function') return void (await target(text));
    // The file is opened for each write, so that there is nothing to close.
    if (this.#isFileCreated) return appendFile(target, text);
    this.#isFileCreated = true;
    await writeFile(target, text, { mode: FILE_MODE });
  }
}
