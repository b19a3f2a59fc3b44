// Bytes to messages: one JSON object a line. Linear in the bytes whatever their chunks are, bounded in memory, and strict:
// invalid UTF-8, what is no object, and what is nested too deeply is told apart and never passed on.

import { isJsonObject } from '@toolwright/core/internal';
import { isUtf8 } from 'node:buffer';
import { ToolError, type JsonObject } from '@toolwright/core';

/** A frame over this is refused, and the stream goes on behind it. In bytes. */
export const DEFAULT_MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** A frame over this ends the connection: nobody sends so much by mistake. Four times the soft limit. */
const HARD_LIMIT_FACTOR = 4;
/** The most that the limit may be, whatever an option says: a string cannot hold much more than four times that. */
export const MAX_FRAME_BYTES_CEILING = (512 * 1024 * 1024) / HARD_LIMIT_FACTOR;
/** Nesting of one message, the message itself counted. */
export const MAX_DEPTH = 64;

/** Who is told of what was read. */
export interface FrameListener {
  onMessage(message: JsonObject): void;
  /** A whole object that is nested too deeply. Only its head may be looked at. */
  onTooDeep(message: JsonObject): void;
  /** A line that is no JSON object. */
  onUnparseable(reason: string): void;
  /** A frame has grown over the limit and is being skipped; `beginning` is its first bytes as text. */
  onTooLarge(beginning: string): void;
}

const NEWLINE = 0x0a;
const FIRST_BYTES = 4_096;
/** What is held of a frame grows by at most this at once. */
const BLOCK_BYTES = 256 * 1024;
const BRACE = 0x7b;

/**
 * Blocks of full size, used again by the frame that comes next on any connection: garbage of large frames would be
 * collected only after several of them. None is kept once no frame holds one.
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
    else this.spare.push(block);
  },
};

/** Cuts a stream into messages. It holds at most one incomplete frame of `maxFrameBytes`. */
export class FrameReader {
  readonly #listener: FrameListener;
  readonly #maxFrameBytes: number;
  readonly #hardFrameBytes: number;
  /**
   * The beginning of a frame whose end has not come, in blocks that are filled one after the other: single bytes cost
   * little, and nothing that was read is copied again before the frame is whole.
   */
  #blocks: Buffer[] = [];
  /** The bytes used of the last block. */
  #used = 0;
  #length = 0;
  /** The bytes so far of a frame that is too large; 0 while none is being skipped. */
  #skipped = 0;
  #stopped = false;

  constructor(listener: FrameListener, maxFrameBytes: number = DEFAULT_MAX_FRAME_BYTES) {
    this.#listener = listener;
    this.#maxFrameBytes = maxFrameBytes;
    this.#hardFrameBytes = HARD_LIMIT_FACTOR * maxFrameBytes;
  }

  /** What is held of a frame whose end has not come. In bytes. */
  get heldBytes(): number {
    return this.#length;
  }

  /** Nothing more is told, also of what was pushed already. */
  stop(): void {
    this.#stopped = true;
    this.#forget();
  }

  /** @throws {ToolError} FRAME_TOO_LARGE over the hard limit; nothing more can be read from the stream then */
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
    this.#listener.onTooLarge(beginning.toString('utf8'));
    if (length > this.#hardFrameBytes) throw this.#overHardLimit();
  }

  /** The end of a frame that came in several chunks. */
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
    if (isOne) this.#blocks.push(first); // it is small; the next frame has it, as this one is decoded first
    this.#bytes(bytes);
  }

  /** Whole lines. They are validated and decoded at once, which costs a fraction of doing it line by line. */
  #lines(bytes: Buffer): void {
    if (bytes.length > this.#maxFrameBytes || !isUtf8(bytes)) return this.#oneByOne(bytes);
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
      this.#keep(bytes.subarray(start, end));
      this.#finish();
      start = end + 1;
    }
  }

  #bytes(bytes: Buffer): void {
    if (this.#stopped) return;
    if (isUtf8(bytes)) this.#line(bytes.toString('utf8'));
    else this.#listener.onUnparseable('The line is not UTF-8.');
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
      return this.#listener.onUnparseable('The line is not JSON.');
    }
    if (!isJsonObject(parsed)) {
      return this.#listener.onUnparseable('The line is no JSON object; there are no batches.');
    }
    if (isDeeperThan(parsed, MAX_DEPTH)) this.#listener.onTooDeep(parsed);
    else this.#listener.onMessage(parsed);
  }

  #overHardLimit(): ToolError {
    return new ToolError(
      'FRAME_TOO_LARGE',
      `A message was larger than ${this.#hardFrameBytes} bytes, so the connection was closed. Send less at once.`,
    );
  }
}

/** True when a value is nested in more than `levels` levels. Looks no deeper than that. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (isDeeperThan(item, levels - 1)) return true;
    return false;
  }
  for (const key in value) if (isDeeperThan((value as JsonObject)[key], levels - 1)) return true;
  return false;
}

/** What can be said of a frame by its beginning: the id, and whether it is a request, where they stand there. */
export interface FrameHead {
  id: string | number | undefined;
  isRequest: boolean;
}

const STRING = /"(?:[^"\\]|\\.)*"/y;
const SCALAR = /[^\s,{}[\]":]+/y;

/** Reads the keys of the outermost object, as far as the text goes. Linear. */
export function headOf(beginning: string): FrameHead {
  const head: FrameHead = { id: undefined, isRequest: false };
  let depth = 0;
  let key: string | undefined;
  for (let at = 0; at < beginning.length;) {
    const char = beginning[at] as string;
    const token = char === '"' ? matchAt(STRING, beginning, at) : matchAt(SCALAR, beginning, at);
    if (token === undefined) {
      if (char === '"') return head; // it goes on behind what is known
      if (char === '{' || char === '[') depth++;
      else if (char === '}' || char === ']') depth--;
      if (char === ',') key = undefined;
      at++;
      continue;
    }
    at += token.length;
    if (depth !== 1 || at >= beginning.length) continue;
    const value = valueOf(token);
    if (key === undefined) {
      if (typeof value === 'string') key = value;
      if (key === 'method') head.isRequest = true;
    } else if (key === 'id' && (typeof value === 'string' || typeof value === 'number')) head.id = value;
  }
  return head;
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function valueOf(token: string): unknown {
  try {
    return JSON.parse(token);
  } catch {
    return undefined; // cut, or not JSON
  }
}
