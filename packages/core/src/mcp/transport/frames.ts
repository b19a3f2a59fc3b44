// Newline-delimited JSON: splits a stream of bytes into messages, one a line. Takes time linear in the bytes however they are
// chunked, and bounded memory. Malformed, too deep and too large frames are reported, never passed on.

import { isUtf8 } from 'node:buffer';
import { ToolError } from '../../contract/errors.js';
import { isDeeperThan, isJsonObject, type JsonObject } from '../../contract/json.js';
import type { McpMessage } from './transport.js';

/** The default limit of a frame, in bytes: above any result that a hub passes on. */
export const DEFAULT_MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** Receives what a {@link FrameReader} reads. */
export interface FrameListener {
  /** Receives a message. */
  onMessage(message: JsonObject): void;
  /** Receives a JSON array. Default: an array is unparseable. */
  onBatch?(messages: unknown[]): void;
  /** Receives an object nested deeper than `maxDepth`; only its top level may be read. */
  onTooDeep?(message: JsonObject): void;
  /** Receives the reason and the first 200 characters of a line that is not a JSON object. */
  onUnparseable?(reason: string, line: string): void;
  /** Called when a frame exceeds `maxFrameBytes`, with its first bytes as text; the rest of it is skipped. */
  onTooLarge?(beginning: string): void;
}

/** Options of {@link FrameReader}. */
export interface FrameReaderOptions {
  /** The limit of a frame, in bytes. */
  maxFrameBytes: number;
  /** A frame larger than this ends the stream, in bytes. Default: `maxFrameBytes`. */
  hardFrameBytes?: number;
  /** The deepest nesting of a message, itself included. Default: no limit. */
  maxDepth?: number;
  /** Whether invalid UTF-8 is unparseable, rather than replaced by U+FFFD. Default: false. */
  strictUtf8?: boolean;
}

const NEWLINE = 0x0a;
const FIRST_BYTES = 4_096;
/** The size of full blocks, in which incomplete frames are buffered. */
const BLOCK_BYTES = 256 * 1024;
const BRACE = 0x7b;
const MAX_SHOWN = 200;

/** How many full blocks are retained at most: those of one frame of the default size. */
const MAX_SPARE_BLOCKS = 64;

/**
 * Full blocks, reused by the next frame on any connection: otherwise the garbage of several large frames would pile up before it
 * is collected. All are released once no frame uses one; an owner of a reader that closes its connection must `stop` it.
 */
const fullBlocks = {
  spare: [] as Buffer[],
  inUse: 0,
  take(): Buffer {
    this.inUse++;
    return this.spare.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  },
  give(block: Buffer): void {
    if (--this.inUse === 0) this.spare = [];
    else if (this.spare.length < MAX_SPARE_BLOCKS) this.spare.push(block);
  },
};

/** Splits a stream into messages. Buffers at most one incomplete frame of `maxFrameBytes`. */
export class FrameReader {
  readonly #listener: FrameListener;
  readonly #maxFrameBytes: number;
  readonly #hardFrameBytes: number;
  readonly #maxDepth: number;
  readonly #strictUtf8: boolean;
  /**
   * The beginning of an incomplete frame, in blocks that are filled one after the other: single bytes are cheap, and nothing is
   * copied again before the frame is complete.
   */
  #blocks: Buffer[] = [];
  /** The number of bytes used in the last block. */
  #used = 0;
  #length = 0;
  /** The bytes skipped so far of a frame that is too large; 0 if none is being skipped. */
  #skipped = 0;
  #stopped = false;

  constructor(listener: FrameListener, options: FrameReaderOptions) {
    const { maxFrameBytes, hardFrameBytes = maxFrameBytes, maxDepth = Infinity, strictUtf8 = false } = options;
    this.#listener = listener;
    this.#maxFrameBytes = maxFrameBytes;
    this.#hardFrameBytes = hardFrameBytes;
    this.#maxDepth = maxDepth;
    this.#strictUtf8 = strictUtf8;
  }

  /** The size of the buffered part of an incomplete frame, in bytes. */
  get heldBytes(): number {
    return this.#length;
  }

  /** Reports nothing more, not even what was already pushed. */
  stop(): void {
    this.#stopped = true;
    this.#forget();
  }

  /** Reads a chunk. @throws {ToolError} FRAME_TOO_LARGE above the hard limit; the stream cannot be read any further */
  push(chunk: Buffer): void {
    let start = 0;
    if (this.#length > 0 || this.#skipped > 0) {
      const end = chunk.indexOf(NEWLINE);
      this.#keep(end < 0 ? chunk : chunk.subarray(0, end));
      if (end < 0) return;
      this.#finish();
      start = end + 1;
    }
    const last = chunk.lastIndexOf(NEWLINE);
    if (last >= start) {
      this.#lines(start === 0 && last === chunk.length - 1 ? chunk : chunk.subarray(start, last + 1));
      start = last + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  #keep(part: Buffer): void {
    if (this.#stopped) return;
    if (this.#skipped > 0) {
      this.#skipped += part.length;
      if (this.#skipped > this.#hardFrameBytes) throw this.#overHardLimit();
      return;
    }
    const length = this.#length + part.length;
    if (length > this.#maxFrameBytes) return this.#skip(part, length);
    for (let at = 0; at < part.length;) {
      let block = this.#blocks.at(-1);
      if (!block || this.#used === block.length) {
        const size = Math.min(Math.max(this.#length, FIRST_BYTES), BLOCK_BYTES);
        this.#blocks.push((block = size === BLOCK_BYTES ? fullBlocks.take() : Buffer.allocUnsafeSlow(size)));
        this.#used = 0;
      }
      const copied = part.copy(block, this.#used, at);
      at += copied;
      this.#used += copied;
      this.#length += copied;
    }
  }

  #forget(): void {
    for (const block of this.#blocks) if (block.length === BLOCK_BYTES) fullBlocks.give(block);
    this.#blocks = [];
    this.#used = 0;
    this.#length = 0;
  }

  #skip(part: Buffer, length: number): void {
    const [first = part] = this.#blocks;
    const known = [first.subarray(0, Math.min(this.#length, FIRST_BYTES)), part.subarray(0, FIRST_BYTES)];
    const beginning = Buffer.concat(known).subarray(0, FIRST_BYTES);
    this.#forget();
    this.#skipped = length;
    this.#listener.onTooLarge?.(beginning.toString('utf8'));
    if (length > this.#hardFrameBytes) throw this.#overHardLimit();
  }

  /** Completes a frame that arrived in several chunks. */
  #finish(): void {
    if (this.#skipped > 0) {
      this.#skipped = 0;
      return;
    }
    const [first, ...others] = this.#blocks;
    const isOne = first !== undefined && others.length === 0;
    const whole = isOne ? first : Buffer.concat(this.#blocks, this.#length);
    const bytes = whole.subarray(0, this.#length);
    this.#forget();
    if (isOne) this.#blocks.push(first); // small, and reused by the next frame: this one is decoded first
    this.#bytes(bytes);
  }

  /** Reads whole lines. Decoding them together costs a fraction of decoding each. */
  #lines(bytes: Buffer): void {
    if (bytes.length > this.#maxFrameBytes || !this.#isValid(bytes)) return this.#oneByOne(bytes);
    const text = bytes.toString('utf8');
    for (let start = 0; start < text.length && !this.#stopped;) {
      const end = text.indexOf('\n', start);
      this.#line(text.slice(start, end));
      start = end + 1;
    }
  }

  #oneByOne(bytes: Buffer): void {
    for (let start = 0; start < bytes.length && !this.#stopped;) {
      const end = bytes.indexOf(NEWLINE, start);
      if (end === start) {
        start++; // an empty line
        continue;
      }
      this.#keep(bytes.subarray(start, end));
      this.#finish();
      start = end + 1;
    }
  }

  #bytes(bytes: Buffer): void {
    if (this.#stopped) return;
    if (this.#isValid(bytes)) this.#line(bytes.toString('utf8'));
    else this.#reject('The line is not UTF-8.', bytes.toString('utf8', 0, MAX_SHOWN));
  }

  #isValid(bytes: Buffer): boolean {
    return !this.#strictUtf8 || isUtf8(bytes);
  }

  #reject(reason: string, line: string): void {
    this.#listener.onUnparseable?.(reason, line.slice(0, MAX_SHOWN));
  }

  #line(line: string): void {
    let text = line;
    if (text.charCodeAt(0) !== BRACE) {
      text = text.trim();
      if (text === '') return;
    }
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      if (text !== text.trim()) return this.#line(text.trim()); // blanks that JSON does not know
      return this.#reject('The line is not JSON.', text);
    }
    if (Array.isArray(parsed) && this.#listener.onBatch) this.#listener.onBatch(parsed);
    else if (!isJsonObject(parsed)) this.#reject('The line is not a JSON object.', text);
    else if (this.#maxDepth < Infinity && isDeeperThan(parsed, this.#maxDepth)) this.#listener.onTooDeep?.(parsed);
    else this.#listener.onMessage(parsed);
  }

  #overHardLimit(): ToolError {
    return new ToolError(
      'FRAME_TOO_LARGE',
      `A message was larger than ${this.#hardFrameBytes} bytes, so the connection was closed; send less at a time, or raise maxFrameBytes.`,
    );
  }
}

/** Serialises a message as a line. */
export function frameOf(message: McpMessage): string {
  return `${JSON.stringify(message)}\n`;
}
