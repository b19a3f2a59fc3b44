// MCP over a pair of byte streams, one message a line. stdio and unix sockets share it.

import { frameOf, FrameReader } from '@toolwright/core/internal';
import type { Readable, Writable } from 'node:stream';
import { ToolError, type JsonObject } from '@toolwright/core';
import type { McpMessage, McpTransport } from '@toolwright/core/mcp';
import type { Backlog, Outlet } from '../session/backlog.js';
import type { ServerTransport } from '../engines/port.js';
import { sendable } from '../engines/v1.js';
import { INVALID_REQUEST, PARSE_ERROR, requestFaultOf } from '../rpc-error.js';

/** The stream that lines are written to. */
export interface LineWriter {
  /** Returns false when the reader is behind; wait for `onDrain` then. */
  write(line: string): boolean;
  /** Calls the listener once, when the reader has caught up or the stream has closed. */
  onDrain(listener: () => void): void;
  /** Bytes that were written and not read yet. */
  readonly pendingBytes: number;
  /** Closes it immediately, discarding unread bytes. */
  drop(): void;
}

/** Calls the listener once, when the stream drains or closes. */
export function onceDrained(stream: Writable, listener: () => void): void {
  const done = (): void => {
    stream.off('drain', done).off('close', done);
    listener();
  };
  stream.on('drain', done).on('close', done);
}

/** When this many messages wait for a client, its input is no longer read. */
const MAX_UNSENT = 1_024;

/** The transport of one client over byte streams. */
export class StreamTransport implements McpTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: McpTransport['onmessage'];
  reserveId?: ServerTransport['reserveId'];
  readonly #input: Readable;
  readonly #output: LineWriter;
  readonly #frames: FrameReader;
  readonly #backlog: Backlog;
  readonly #outlet: Outlet;
  readonly #leaveBacklog: () => void;
  /** Resolves when the reader has caught up; all waiting messages share it. */
  #drained: Promise<void> | undefined;
  /** Messages written since the reader fell behind. */
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
        onUnparseable: () => this.#reject(PARSE_ERROR, 'The line is not a JSON object.'),
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
    if (this.#closed) throw new ToolError('CONNECTION_CLOSED', 'The client has disconnected.');
    let line: string;
    try {
      line = frameOf(message);
    } catch {
      line = frameOf(sendable(message));
    }
    if (this.#output.write(line)) return;
    this.#backlog.check(this.#outlet);
    // A client that does not read answers is not read from either.
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
    this.#frames.stop();
    this.#leaveBacklog();
    this.#input.off('data', this.#read);
    this.onclose?.();
  }

  readonly #read = (chunk: Buffer): void => {
    try {
      this.#frames.push(chunk);
    } catch (thrown) {
      const error = ToolError.from(thrown, 'FRAME_TOO_LARGE');
      this.#reject(INVALID_REQUEST, error.message);
      this.onerror?.(error);
      void this.close();
    }
  };

  #receive(message: McpMessage): void {
    if (this.#closed) return;
    const { jsonrpc, method, id, result, error } = message as JsonObject;
    const isResponse = id !== undefined && (result !== undefined || error !== undefined);
    if (!Array.isArray(message) && jsonrpc === '2.0' && (typeof method === 'string' || isResponse)) {
      const fault = typeof method === 'string' && id !== undefined ? requestFaultOf(message as JsonObject) : undefined;
      if (fault) return this.#reject(fault.code, fault.message, id);
      const isRepeated = typeof method === 'string' && id !== undefined && this.reserveId?.(id) === false;
      if (isRepeated) this.#reject(INVALID_REQUEST, 'A request with this id is in flight already.', id);
      else this.onmessage?.(message);
    } else this.#reject(INVALID_REQUEST, 'The line is not a JSON-RPC 2.0 message.', id);
  }

  #reject(code: number, message: string, id?: unknown): void {
    const validId = typeof id === 'string' || typeof id === 'number' ? id : null;
    this.#send({ jsonrpc: '2.0', id: validId, error: { code, message } }).catch(() => undefined); // disconnected
  }
}
