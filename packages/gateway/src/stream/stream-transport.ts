// MCP over a pair of byte streams, one message a line: what stdio and sockets have in common.

import { frameOf, FrameReader, isJsonObject } from '@toolwright/core/internal';
import type { Readable, Writable } from 'node:stream';
import { ToolError, type JsonObject } from '@toolwright/core';
import type { McpMessage, McpTransport } from '@toolwright/core/mcp';
import type { Backlog, Outlet } from '../session/backlog.js';
import { sendable, type ServerTransport } from '../mcp-server.js';
import { INVALID_REQUEST } from '../rpc-error.js';

/** Where lines are written; a stream, or what stands for one. */
export interface LineWriter {
  /** False when the reader is behind: `onDrain` is called when it has caught up. */
  write(line: string): boolean;
  onDrain(listener: () => void): void;
  /** What was written and not taken yet, in bytes. */
  readonly pendingBytes: number;
  /** Ends it now, whatever waits to be read. */
  drop(): void;
}

/** Calls once when a stream takes more, or has closed; no listener stays. */
export function onceDrained(stream: Writable, listener: () => void): void {
  const done = (): void => {
    stream.off('drain', done).off('close', done);
    listener();
  };
  stream.on('drain', done).on('close', done);
}

const PARSE_ERROR = -32_700;
const INVALID_PARAMS = -32_602;

/** What the SDK would drop without an answer, though its sender waits for one. */
function faultOf({ id, params }: JsonObject): { code: number; words: string } | undefined {
  if (typeof id !== 'string' && !Number.isSafeInteger(id))
    return { code: INVALID_REQUEST, words: 'The id of a request is a string or a whole number.' };
  if (params === undefined) return undefined;
  if (!isJsonObject(params)) return { code: INVALID_PARAMS, words: 'params must be an object.' };
  const { _meta: meta = {} } = params;
  if (!isJsonObject(meta)) return { code: INVALID_PARAMS, words: '_meta must be an object.' };
  const { progressToken = 0 } = meta;
  if (typeof progressToken !== 'string' && !Number.isSafeInteger(progressToken))
    return { code: INVALID_PARAMS, words: 'progressToken must be a string or a whole number.' };
  return undefined;
}

/** So many messages may wait for a client before what it sends is not read. */
const MAX_UNSENT = 1_024;

export class StreamTransport implements McpTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: McpTransport['onmessage'];
  takeId?: ServerTransport['takeId'];
  readonly #input: Readable;
  readonly #output: LineWriter;
  readonly #frames: FrameReader;
  readonly #backlog: Backlog;
  readonly #outlet: Outlet;
  readonly #leaveBacklog: () => void;
  /** While the reader is behind; one for all that wait. */
  #drained: Promise<void> | undefined;
  /** Messages that wait for the reader. */
  #unsent = 0;
  #closed = false;

  constructor(input: Readable, output: LineWriter, maxFrameBytes: number, backlog: Backlog) {
    this.#input = input;
    this.#output = output;
    this.#backlog = backlog;
    this.#outlet = {
      get pendingBytes() {
        return output.pendingBytes;
      },
      drop: () => {
        output.drop();
        void this.close();
      },
    };
    this.#leaveBacklog = backlog.add(this.#outlet);
    this.#frames = new FrameReader(
      {
        onMessage: (message) => this.#receive(message),
        onBatch: (messages) => this.#receive(messages),
        onUnparseable: () => this.#refuse(PARSE_ERROR, 'The line is not a JSON object.'),
      },
      { maxFrameBytes },
    );
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#read);
  }

  send(message: McpMessage): Promise<void> {
    return this.#send(message);
  }

  async #send(message: McpMessage): Promise<void> {
    if (this.#closed) throw new ToolError('CONNECTION_CLOSED', 'The client has gone.');
    let line: string;
    try {
      line = frameOf(message);
    } catch {
      line = frameOf(sendable(message));
    }
    if (this.#output.write(line)) return;
    this.#backlog.check(this.#outlet);
    // Who does not read that much need not be read either.
    if (++this.#unsent === MAX_UNSENT) this.#input.pause();
    await (this.#drained ??= new Promise<void>((resolve) => {
      this.#output.onDrain(() => {
        this.#drained = undefined;
        if (this.#unsent >= MAX_UNSENT && !this.#closed) this.#input.resume();
        this.#unsent = 0;
        resolve();
      });
    }));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#leaveBacklog();
    this.#input.off('data', this.#read);
    this.onclose?.();
  }

  readonly #read = (chunk: Buffer): void => {
    try {
      this.#frames.push(chunk);
    } catch (thrown) {
      const error = ToolError.from(thrown, 'FRAME_TOO_LARGE');
      this.#refuse(INVALID_REQUEST, error.message);
      this.onerror?.(error);
      void this.close();
    }
  };

  #receive(message: McpMessage): void {
    if (this.#closed) return;
    const { jsonrpc, method, id, result, error } = message as JsonObject;
    const isAnswer = id !== undefined && (result !== undefined || error !== undefined);
    if (!Array.isArray(message) && jsonrpc === '2.0' && (typeof method === 'string' || isAnswer)) {
      const fault = typeof method === 'string' && id !== undefined ? faultOf(message as JsonObject) : undefined;
      if (fault) return this.#refuse(fault.code, fault.words, id);
      const isRepeated = typeof method === 'string' && id !== undefined && this.takeId?.(id) === false;
      if (isRepeated) this.#refuse(INVALID_REQUEST, 'A request with this id is in flight already.', id);
      else this.onmessage?.(message);
    } else this.#refuse(INVALID_REQUEST, 'The line is no JSON-RPC 2.0 message.', id);
  }

  #refuse(code: number, message: string, id?: unknown): void {
    const known = typeof id === 'string' || typeof id === 'number' ? id : null;
    this.#send({ jsonrpc: '2.0', id: known, error: { code, message } }).catch(() => undefined); // the client has gone
  }
}
