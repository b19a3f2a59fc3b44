// The answer to one HTTP request of MCP 2026-07-28: plain JSON, or an event stream once something is sent before the result.

import type { ServerResponse } from 'node:http';
import type { JsonObject } from '@toolwright/core';
import type { AnswerStream } from '../engines/port.js';
import { sendable } from '../engines/v1.js';
import { errorOf } from '../engines/v2.js';
import type { Backlog, Outlet } from '../session/backlog.js';
import { setWriteTimeout } from './http-messages.js';

/** How often a comment is sent on a quiet stream, so that no proxy closes it. */
const KEEP_ALIVE_MS = 15_000;

/** Writes the answer to one request. */
export class ModernAnswer implements AnswerStream {
  readonly #response: ServerResponse;
  readonly #backlog: Backlog;
  readonly #acceptsStream: boolean;
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #leaveBacklog: (() => void) | undefined;
  #outlet: Outlet | undefined;

  /** @param acceptsStream false for a client that takes JSON only: it gets the result and nothing before it */
  constructor(response: ServerResponse, backlog: Backlog, acceptsStream: boolean) {
    this.#response = response;
    this.#backlog = backlog;
    this.#acceptsStream = acceptsStream;
    // A call that takes long becomes a stream too: clients give up on an answer whose headers do not arrive.
    this.#timer = setInterval(() => this.#write(': keep-alive\n\n'), KEEP_ALIVE_MS);
    this.#timer.unref();
    response.once('close', () => this.#closed());
    if (response.destroyed) this.#closed();
    setWriteTimeout(response);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Cancels the request for the client; its answer is still sent. */
  abort(): void {
    this.#abort.abort();
  }

  notify(method: string, params: JsonObject): void {
    this.#writeEvent({ jsonrpc: '2.0', method, params });
  }

  /** Sends the result and ends the answer. */
  complete(id: unknown, result: JsonObject): void {
    this.#end({ jsonrpc: '2.0', id, result }, 200);
  }

  /** Sends the error and ends the answer; returns the HTTP status. */
  fail(id: unknown, thrown: unknown): number {
    const { status = 200 } = (thrown ?? {}) as { status?: number };
    return this.#end({ jsonrpc: '2.0', id, error: errorOf(thrown) }, status);
  }

  #end(message: JsonObject, status: number): number {
    clearInterval(this.#timer);
    const response = this.#response;
    if (response.destroyed || response.writableEnded) return status;
    if (response.headersSent) {
      this.#writeEvent(message);
      response.end();
      return 200;
    }
    const text = JSON.stringify(sendable(message));
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'cache-control': 'no-store',
    });
    response.end(text);
    return status;
  }

  #writeEvent(message: JsonObject): void {
    this.#write(`event: message\ndata: ${JSON.stringify(sendable(message))}\n\n`);
  }

  #write(frame: string): void {
    const response = this.#response;
    if (!this.#acceptsStream || response.destroyed || response.writableEnded) return;
    if (!response.headersSent) {
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
      });
      this.#outlet = {
        get pendingBytes() {
          return response.writableLength;
        },
        drop: () => response.destroy(),
      };
      this.#leaveBacklog = this.#backlog.add(this.#outlet);
    }
    if (!response.write(frame) && this.#outlet) this.#backlog.check(this.#outlet);
  }

  #closed(): void {
    clearInterval(this.#timer);
    this.#leaveBacklog?.();
    if (!this.#response.writableFinished) this.#abort.abort();
  }
}
