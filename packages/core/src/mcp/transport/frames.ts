// Messages on a stream of bytes, one a line: cut at line ends within a bound, and what is no message left out.

import { ToolError } from '../../contract/errors.js';
import type { McpMessage } from './transport.js';

/** The largest message by default, in bytes: above any result that a hub lets through. */
export const DEFAULT_MAX_FRAME_BYTES = 16 * 1024 * 1024;

const NEWLINE = 0x0a;
const FIRST_BYTES = 4_096;

/** Cuts a stream into messages. It holds at most one incomplete message of `maxFrameBytes`. */
export class FrameReader {
  readonly #maxFrameBytes: number;
  readonly #onMessage: (message: McpMessage) => void;
  readonly #onGarbage: (line: string) => void;
  /** The beginning of a message whose end has not come; grows by doubling, so that single bytes cost little. */
  #kept = Buffer.alloc(0);
  #length = 0;

  /** @param onGarbage told of each line that is no JSON object: many programs print to stdout what belongs to stderr */
  constructor(
    maxFrameBytes: number,
    onMessage: (message: McpMessage) => void,
    onGarbage: (line: string) => void = () => undefined,
  ) {
    this.#maxFrameBytes = maxFrameBytes;
    this.#onMessage = onMessage;
    this.#onGarbage = onGarbage;
  }

  /** @throws {ToolError} FRAME_TOO_LARGE; nothing more can be read from the stream then */
  push(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      this.#line(this.#complete(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  #complete(last: Buffer): Buffer {
    if (this.#length === 0) {
      if (last.length > this.#maxFrameBytes) throw this.#tooLarge();
      return last;
    }
    this.#keep(last);
    const whole = this.#kept.subarray(0, this.#length);
    this.#kept = Buffer.alloc(0);
    this.#length = 0;
    return whole;
  }

  #keep(part: Buffer): void {
    const length = this.#length + part.length;
    if (length > this.#maxFrameBytes) {
      this.#kept = Buffer.alloc(0);
      throw this.#tooLarge();
    }
    if (length > this.#kept.length) {
      const grown = Buffer.allocUnsafe(Math.min(Math.max(2 * length, FIRST_BYTES), this.#maxFrameBytes));
      this.#kept.copy(grown, 0, 0, this.#length);
      this.#kept = grown;
    }
    part.copy(this.#kept, this.#length);
    this.#length = length;
  }

  #line(bytes: Buffer): void {
    const text = bytes.toString('utf8').trim();
    if (text === '') return;
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      return this.#onGarbage(text.slice(0, 200)); // told, and the next line may be right
    }
    if (typeof parsed !== 'object' || parsed === null) return this.#onGarbage(text.slice(0, 200));
    this.#onMessage(parsed);
  }

  #tooLarge(): ToolError {
    return new ToolError(
      'FRAME_TOO_LARGE',
      `A message was larger than ${this.#maxFrameBytes} bytes; ask for less at once, or raise maxFrameBytes.`,
    );
  }
}

/** One message as a line. */
export function frameOf(message: McpMessage): string {
  return `${JSON.stringify(message)}\n`;
}
