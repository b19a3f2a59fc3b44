// Messages to and from a language server: read from its stdout up to a size limit and no faster than they are processed,
// and written to its stdin as long as it reads.

import { isJsonObject } from '../../../contract/json.js';
import type { Readable, Writable } from 'node:stream';
import type { DataCallback, Disposable, Message, MessageReader, MessageWriter } from 'vscode-jsonrpc';
import { ToolError } from '../../../contract/errors.js';

/** The largest accepted message, in bytes. */
export const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
const MAX_HEADER_BYTES = 8 * 1024;
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;
/** The limit of queued messages; beyond it the server has to wait. */
const MAX_WAITING = 256;
const HEADER_END = Buffer.from('\r\n\r\n');

/**
 * Reads `Content-Length` frames. The reader of `vscode-jsonrpc` accepts messages of any size and queues without limit
 * what a server sends.
 */
export class BoundedMessageReader implements MessageReader {
  readonly #input: Readable;
  readonly #fail: (reason: ToolError) => void;
  /** The unread bytes; the buffer grows by doubling. */
  #kept = Buffer.alloc(0);
  #length = 0;
  /** The length of the current body; undefined within a header. */
  #body: number | undefined;
  #waiting = 0;
  #onData: ((chunk: Buffer) => void) | undefined;

  /** @param fail called once when the stream becomes unreadable */
  constructor(input: Readable, fail: (reason: ToolError) => void) {
    this.#input = input;
    this.#fail = fail;
  }

  // The exit of the process is more informative than the end of the stream.
  readonly onError = neverEmitted;
  readonly onClose = neverEmitted;
  readonly onPartialMessage = neverEmitted;

  listen(callback: DataCallback): Disposable {
    this.#onData = (chunk) => {
      try {
        this.#push(chunk, callback);
      } catch (error) {
        this.dispose();
        this.#fail(ToolError.from(error, 'PROTOCOL_VIOLATION'));
      }
    };
    this.#input.on('data', this.#onData);
    return { dispose: () => this.dispose() };
  }

  /** Called when a message was processed. */
  done(): void {
    this.#waiting--;
    if (this.#onData && this.#waiting < MAX_WAITING / 2 && this.#input.isPaused()) this.#input.resume();
  }

  dispose(): void {
    if (!this.#onData) return;
    this.#input.off('data', this.#onData);
    this.#onData = undefined;
    this.#kept = Buffer.alloc(0);
    this.#input.resume(); // so that the server can still write
  }

  #push(chunk: Buffer, callback: DataCallback): void {
    this.#keep(chunk);
    let start = 0;
    for (;;) {
      if (this.#body === undefined) {
        const end = this.#kept.subarray(0, this.#length).indexOf(HEADER_END, start);
        if (end < 0) {
          if (this.#length - start > MAX_HEADER_BYTES) throw notAMessage(this.#kept.subarray(start, start + 200));
          break;
        }
        this.#body = bodyLength(this.#kept.subarray(start, end));
        start = end + HEADER_END.length;
      }
      if (this.#length - start < this.#body) break;
      const message = parseMessage(this.#kept.subarray(start, start + this.#body));
      start += this.#body;
      this.#body = undefined;
      this.#waiting++;
      callback(message);
      if (!this.#onData) return; // disposed meanwhile
    }
    this.#kept.copyWithin(0, start, this.#length);
    this.#length -= start;
    if (this.#length === 0 && this.#kept.length > 1024 * 1024) this.#kept = Buffer.alloc(0);
    if (this.#waiting > MAX_WAITING) this.#input.pause();
  }

  #keep(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (length > this.#kept.length) {
      const grown = Buffer.allocUnsafe(Math.max(2 * length, 4_096));
      this.#kept.copy(grown, 0, 0, this.#length);
      this.#kept = grown;
    }
    chunk.copy(this.#kept, this.#length);
    this.#length = length;
  }
}

/** Writes frames, with a limit for a server that does not read. */
export class BoundedMessageWriter implements MessageWriter {
  readonly #output: Writable;
  readonly #fail: (reason: ToolError) => void;

  constructor(output: Writable, fail: (reason: ToolError) => void) {
    this.#output = output;
    this.#fail = fail;
  }

  readonly onError = neverEmitted;
  readonly onClose = neverEmitted;

  /** Does not wait: the exit reports a lost server. */
  write(message: Message): Promise<void> {
    const body = Buffer.from(JSON.stringify(message));
    this.#output.write(`Content-Length: ${body.length}\r\n\r\n`, ignoreWriteError);
    this.#output.write(body, ignoreWriteError);
    if (this.#output.writableLength > MAX_UNSENT_BYTES)
      this.#fail(
        new ToolError(
          'PROTOCOL_VIOLATION',
          `It does not read its stdin: ${this.#output.writableLength} bytes are waiting.`,
        ),
      );
    return Promise.resolve();
  }

  end(): void {
    this.#output.end();
  }

  dispose(): void {}
}

function ignoreWriteError(): void {}

function neverEmitted(): Disposable {
  return { dispose: () => undefined };
}

function bodyLength(header: Buffer): number {
  const [, digits] = /(?:^|\r\n)content-length: *(\d+) *(?:$|\r\n)/i.exec(header.toString('latin1')) ?? [];
  if (digits === undefined) throw notAMessage(header);
  const length = Number(digits);
  if (length > MAX_MESSAGE_BYTES)
    throw new ToolError('FRAME_TOO_LARGE', `It sent a message of ${digits} bytes; the limit is ${MAX_MESSAGE_BYTES}.`);
  return length;
}

function parseMessage(body: Buffer): Message {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch {
    throw notAMessage(body);
  }
  if (!isJsonObject(parsed)) throw notAMessage(body);
  return parsed as Message;
}

function notAMessage(bytes: Buffer): ToolError {
  const shown = JSON.stringify(bytes.subarray(0, 80).toString('latin1'));
  return new ToolError('PROTOCOL_VIOLATION', `It wrote a line to stdout that is not a message: ${shown}.`);
}
