// One end of a connection: JSON-RPC 2.0 in both directions over a socket. It matches responses to requests. A fault of
// the other end fails one message, or this connection.

import type { Socket } from 'node:net';
import { ToolError, type JsonObject, type LogEntry, type ToolErrorCode } from '@toolwright/core';
import { DEFAULT_MAX_FRAME_BYTES, FrameReader, isJsonObject, isThenable } from '@toolwright/core/internal';
import { HARD_LIMIT_FACTOR, headOf, MAX_DEPTH } from './framing.js';
import { RPC, type MessageId } from './protocol.js';
import { ReadBudget } from './read-budget.js';
import { errorObject, errorOf, RpcError } from './wire-error.js';
import { SendQueue } from './send-queue.js';

/** The number of unparsable lines that ends the connection. */
export const MAX_BAD_FRAMES = 10;

/** How long the other end may take to read the last messages before the socket is destroyed. */
const CLOSE_MS = 1_000;

/** The handlers of an end. They may be replaced while the connection is open. */
export interface PeerHandlers {
  /** Answers a request, synchronously or with a promise. What it throws becomes the error of the response. */
  onRequest(method: string, params: JsonObject, id: MessageId): unknown;
  onNotification(method: string, params: JsonObject): void;
  /** An error that responds to no request, such as BUSY. */
  onError?(error: ToolError): void;
  /**
   * Called once. Open requests stay open until {@link WirePeer.failAll}. `reason` is set when this end closed the
   * connection.
   */
  onClose(reason: ToolError | undefined): void;
}

/** Waits for a response. Exactly one of the two functions is called, unless the request is forgotten. */
export interface Settle {
  resolve(result: JsonObject): void;
  reject(error: ToolError): void;
  onProgress?(params: JsonObject): void;
  /** Receives the log entries of this call. */
  onLog?(entry: LogEntry): void;
  readonly callId?: string;
}

/** Limits of one connection. */
export interface PeerLimits {
  maxFrameBytes?: number;
  maxQueueBytes?: number;
}

/** Counts of messages that were dropped silently, for tests and diagnosis. */
export interface PeerCounts {
  /** Responses to unknown requests, repeated and late ones. */
  droppedAnswers: number;
  badFrames: number;
}

/** Shared by all connections of this process. */
const readBudget = new ReadBudget();

export class WirePeer {
  handlers: PeerHandlers;
  /** Resolves when the connection has closed. */
  readonly closed: Promise<void>;
  readonly counts: PeerCounts = { droppedAnswers: 0, badFrames: 0 };
  /** The largest frame that the other end accepts. */
  maxSendBytes = DEFAULT_MAX_FRAME_BYTES;
  readonly #socket: Socket;
  readonly #reader: FrameReader;
  readonly #queue: SendQueue;
  readonly #waiting = new Map<number, Settle>();
  #lastId = 0;
  #closing = false;
  #closed = false;
  #reason: ToolError | undefined;

  constructor(socket: Socket, handlers: PeerHandlers, limits: PeerLimits = {}) {
    const { maxFrameBytes = DEFAULT_MAX_FRAME_BYTES, maxQueueBytes } = limits;
    this.#socket = socket;
    this.handlers = handlers;
    this.#queue = new SendQueue(socket, () => this.#waiting.size > 0, maxQueueBytes);
    this.#reader = new FrameReader(
      {
        onMessage: (message) => this.#receive(message),
        // The arguments or the tool are at fault; the connection is intact.
        onTooDeep: (message) =>
          this.#refuseWhole(message, message.method === undefined ? 'OUTPUT_INVALID' : 'INVALID_ARGUMENT', TOO_DEEP),
        onUnparseable: (reason) => this.#countBad(reason),
        onTooLarge: (beginning) => this.#tooLarge(beginning, maxFrameBytes),
      },
      {
        maxFrameBytes,
        hardFrameBytes: HARD_LIMIT_FACTOR * maxFrameBytes,
        maxDepth: MAX_DEPTH,
        strictUtf8: true,
      },
    );
    socket.on('error', () => undefined); // 'close' follows and is handled
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.#onClose();
        resolve();
      });
    });
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Why this end closed the connection, if it did. */
  get reason(): ToolError | undefined {
    return this.#reason;
  }

  /** Requests that wait for their response. */
  get open(): number {
    return this.#waiting.size;
  }

  /** The id of the next request. */
  get nextId(): number {
    return this.#lastId + 1;
  }

  /** Defined while too much waits to be sent; resolves when the queue has emptied, or the connection has closed. */
  get congestion(): Promise<void> | undefined {
    return this.#queue.congestion;
  }

  /** True when optional messages, such as progress, should be dropped. */
  get isBehind(): boolean {
    return this.#queue.isFull;
  }

  /**
   * Sends a request whose response is passed to `settle`. Returns its id.
   *
   * @throws {ToolError} FRAME_TOO_LARGE, CONNECTION_CLOSED
   */
  send(method: string, params: object, settle: Settle): number {
    if (this.#closing || this.#closed)
      throw this.#reason ?? new ToolError('CONNECTION_CLOSED', 'The connection has been closed.');
    const id = this.#lastId + 1;
    const frame = this.#encode({ jsonrpc: '2.0', id, method, params });
    this.#lastId = id;
    this.#waiting.set(id, settle);
    this.#queue.push(frame);
    return id;
  }

  /** Sends a request. Rejects with {@link ToolError}. */
  request(method: string, params: object = {}): Promise<JsonObject> {
    return new Promise((resolve, reject) => this.send(method, params, { resolve, reject }));
  }

  /** Sends a notification. Does nothing when the connection has closed or the notification is too large. */
  notify(method: string, params: object): void {
    if (this.#closed) return;
    let frame: string;
    try {
      frame = this.#encode({ jsonrpc: '2.0', method, params });
    } catch {
      return; // no one waits for it
    }
    this.#queue.push(frame);
  }

  /** Its response is dropped as late. */
  forget(id: number): void {
    this.#waiting.delete(id);
  }

  /** The waiting call, by the id of its request or its own. */
  waiting(of: { id?: unknown; callId?: unknown }): Settle | undefined {
    if (typeof of.id === 'number') return this.#waiting.get(of.id);
    if (typeof of.callId !== 'string') return undefined;
    for (const settle of this.#waiting.values()) if (settle.callId === of.callId) return settle;
    return undefined;
  }

  /** Fails every open request. */
  failAll(errorOf: (settle: Settle) => ToolError): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const settle of waiting) settle.reject(errorOf(settle));
  }

  /** Sends an error that responds to no request, such as BUSY, and closes. */
  refuse(error: ToolError): void {
    this.#queue.push(this.#encode({ jsonrpc: '2.0', id: null, error: errorObject(error) }));
    this.close(error);
  }

  /** Sends what is queued and closes; data that is not read within a second is discarded. Idempotent. */
  close(reason?: ToolError): void {
    if (this.#closing || this.#closed) return;
    this.#reason ??= reason;
    this.#reader.stop();
    this.#queue.flush();
    this.#closing = true;
    const timer = setTimeout(() => this.#socket.destroy(), CLOSE_MS);
    timer.unref();
    this.#socket.once('close', () => clearTimeout(timer));
    this.#socket.resume(); // unread input would delay the 'end' event
    this.#socket.end();
  }

  /** Destroys the connection. */
  destroy(reason?: ToolError): void {
    this.#reason ??= reason;
    this.#closing = true;
    this.#reader.stop();
    this.#socket.destroy();
  }

  #onClose(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#reader.stop();
    readBudget.update(this.#socket, 0);
    this.#queue.close();
    this.handlers.onClose(this.#reason);
  }

  // Reading.

  #read(chunk: Buffer): void {
    try {
      this.#reader.push(chunk);
    } catch (thrown) {
      const error = ToolError.from(thrown, 'INTERNAL');
      this.#queue.push(this.#encode({ jsonrpc: '2.0', id: null, error: errorObject(error) }));
      this.close(error);
    }
    readBudget.update(this.#socket, this.#reader.heldBytes);
  }

  #receive(message: JsonObject): void {
    const { id, method, params, result, error } = message;
    if (typeof method === 'string') {
      const given = isJsonObject(params) ? params : {};
      if (id === undefined) this.#onNotification(method, given);
      else if (typeof id === 'string' || typeof id === 'number') this.#answer(id, method, given);
      else this.#sendError(null, RPC.invalidRequest, 'The id of a request is a text or a number.');
    } else if (result !== undefined || error !== undefined) this.#settle(id, result, error);
    else this.#countBad('The line is no message of JSON-RPC 2.0.', RPC.invalidRequest);
  }

  #settle(id: unknown, result: unknown, error: unknown): void {
    const settle = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    if (settle) {
      this.#waiting.delete(id as number);
      if (isJsonObject(result)) settle.resolve(result);
      else if (error !== undefined) settle.reject(errorOf(error));
      else settle.reject(new ToolError('PROTOCOL_VIOLATION', 'The answer has neither a result object nor an error.'));
    } else if (id === null && error !== undefined) this.handlers.onError?.(errorOf(error));
    else this.counts.droppedAnswers++;
  }

  #onNotification(method: string, params: JsonObject): void {
    if (method === 'notifications/progress') this.waiting({ id: params.progressToken })?.onProgress?.(params);
    else this.handlers.onNotification(method, params);
  }

  #answer(id: MessageId, method: string, params: JsonObject): void {
    if (method === 'ping') return this.#sendResult(id, {});
    let outcome: unknown;
    try {
      outcome = this.handlers.onRequest(method, params, id);
    } catch (thrown) {
      return this.#sendThrown(id, thrown);
    }
    if (!isThenable(outcome)) return this.#sendResult(id, outcome);
    outcome.then(
      (result) => this.#sendResult(id, result),
      (thrown: unknown) => this.#sendThrown(id, thrown),
    );
  }

  #countBad(reason: string, code: number = RPC.parseError): void {
    this.#sendError(null, code, reason);
    if (++this.counts.badFrames < MAX_BAD_FRAMES) return;
    this.close(
      new ToolError(
        'PROTOCOL_VIOLATION',
        `${MAX_BAD_FRAMES} lines were not JSON-RPC messages; the connection was closed.`,
      ),
    );
  }

  #tooLarge(beginning: string, maxFrameBytes: number): void {
    const { id, isRequest } = headOf(beginning);
    const words = `A message was larger than ${maxFrameBytes} bytes. Send a smaller message.`;
    this.#refuseWhole({ id, ...(isRequest && { method: '' }) }, 'FRAME_TOO_LARGE', words);
  }

  /** The failure of one message whose content is not read. */
  #refuseWhole({ id, method }: JsonObject, code: ToolErrorCode, words: string): void {
    const error = new ToolError(code, words);
    const known = typeof id === 'string' || typeof id === 'number' ? id : null;
    if (method !== undefined || known === null) return this.#sendThrown(known, error);
    const settle = typeof known === 'number' ? this.#waiting.get(known) : undefined;
    if (!settle) {
      this.counts.droppedAnswers++;
      return;
    }
    this.#waiting.delete(known as number);
    settle.reject(error);
  }

  // Sending.

  #sendResult(id: MessageId, result: unknown): void {
    if (this.#closed) return;
    let frame: string;
    try {
      frame = this.#encode({ jsonrpc: '2.0', id, result: isJsonObject(result) ? result : {} });
    } catch (thrown) {
      return this.#sendThrown(id, thrown);
    }
    this.#queue.push(frame);
  }

  #sendThrown(id: MessageId | null, thrown: unknown): void {
    if (this.#closed) return;
    const error = thrown instanceof RpcError ? thrown.toObject() : errorObject(ToolError.from(thrown, 'INTERNAL'));
    let frame: string;
    try {
      frame = this.#encode({ jsonrpc: '2.0', id, error });
    } catch {
      frame = this.#encode({ jsonrpc: '2.0', id, error: { code: error.code, message: error.message.slice(0, 1_000) } });
    }
    this.#queue.push(frame);
  }

  #sendError(id: MessageId | null, code: number, message: string): void {
    this.#sendThrown(id, new RpcError(code, message));
  }

  /** @throws {ToolError} FRAME_TOO_LARGE, or INVALID_ARGUMENT for a value that JSON cannot represent */
  #encode(message: object): string {
    let frame: string;
    try {
      frame = `${JSON.stringify(message)}\n`;
    } catch (cause) {
      const tooLong = cause instanceof RangeError && /string length/i.test(cause.message);
      if (tooLong) throw this.#tooLargeToSend('more than a string can hold');
      throw new ToolError('INVALID_ARGUMENT', `The message cannot be sent: ${ToolError.from(cause).message}`, {
        cause,
      });
    }
    // A character has at most three bytes: only texts that may be too long are measured.
    if (frame.length * 3 > this.maxSendBytes) {
      const bytes = Buffer.byteLength(frame);
      if (bytes > this.maxSendBytes) throw this.#tooLargeToSend(`${bytes}`);
    }
    return frame;
  }

  #tooLargeToSend(size: string): ToolError {
    return new ToolError(
      'FRAME_TOO_LARGE',
      `The message has ${size} bytes; the limit is ${this.maxSendBytes}. Request less, or pass a file path.`,
    );
  }
}

const TOO_DEEP = `The message is nested deeper than ${MAX_DEPTH} levels.`;
