// The connections of an HTTP listener: how many may be open, and which one is closed for a new one.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A real client sends its first request sooner than this. */
const SILENT_MS = 1_000;
/** Connections over the limit that are accepted only to be answered with 503. */
const MAX_EXCESS = 64;
/** When more than this share of all connections is open, answers close theirs. */
const KEEP_ALIVE_SHARE = 1 / 4;

/**
 * Limits the number of a listener's connections. When all are taken, one without a request in flight is closed for a new
 * one: the oldest that has sent nothing for a second, else the one idle the longest, else the oldest that has sent nothing.
 * So a flood of connections shuts no client out, and a client that opens a thousand together has time to use each. When all
 * are in use, a request on a new connection {@link isExcess}.
 *
 * A client may be sending a request on the idle connection that is closed, and cannot know whether it ran. So only a share
 * of the connections stays open between requests; the others end with an answer that has `connection: close`.
 */
export class HttpConnections {
  readonly #max: number;
  /** Connections within the limit. */
  readonly #taken = new Set<Socket>();
  /** Connections over the limit, oldest first. Each moves to `#taken` when a place there becomes free. */
  readonly #excess = new Set<Socket>();
  /** Connections without a request yet, with the time at which they were opened, in milliseconds. */
  readonly #silent = new Map<Socket, number>();
  /** Connections with requests in flight; more than one where the client pipelines. */
  readonly #busy = new Map<Socket, Set<ServerResponse>>();
  /** Connections that stay open between requests. */
  readonly #idle = new Set<Socket>();
  /** Connections whose last answer was sent with `connection: close`. */
  readonly #leaving = new Set<Socket>();

  constructor(server: Server, max: number) {
    this.#max = max;
    server.on('connection', (socket: Socket) => this.#open(socket));
    // Before the listener that answers, which calls isExcess().
    server.prependListener('request', (request, response) => this.#begin(request, response));
  }

  /** True when all connections are in use and this one is over the limit. Its request must be rejected. */
  isExcess(socket: Socket): boolean {
    return this.#excess.has(socket);
  }

  /** Closes all connections. */
  destroy(): void {
    for (const socket of [...this.#taken, ...this.#excess]) socket.destroy();
  }

  #open(socket: Socket): void {
    this.#silent.set(socket, performance.now());
    socket.once('close', () => this.#closed(socket));
    this.#excess.add(socket);
    if (this.#takePlace(socket) || this.#excess.size <= MAX_EXCESS) return;
    for (const oldest of this.#excess) return this.#destroySocket(oldest);
  }

  /** Moves a connection over the limit within it, if a place is free or another connection can be closed. */
  #takePlace(socket: Socket): boolean {
    if (this.#taken.size >= this.#max) {
      const evicted = this.#nextEvicted();
      if (!evicted) return false;
      this.#destroySocket(evicted);
    }
    this.#excess.delete(socket);
    this.#taken.add(socket);
    return true;
  }

  /** The connection to close for a new one; undefined when all are in use. */
  #nextEvicted(): Socket | undefined {
    const firstTaken = (sockets: Iterable<Socket>): Socket | undefined => {
      for (const socket of sockets) if (this.#taken.has(socket)) return socket;
      return undefined;
    };
    const oldest = firstTaken(this.#silent.keys());
    const isTooSilent = oldest && performance.now() - (this.#silent.get(oldest) ?? 0) > SILENT_MS;
    return firstTaken(this.#leaving) ?? (isTooSilent ? oldest : (firstTaken(this.#idle) ?? oldest));
  }

  #begin({ socket }: IncomingMessage, response: ServerResponse): void {
    this.#silent.delete(socket);
    this.#idle.delete(socket);
    const answers = this.#busy.get(socket) ?? new Set();
    this.#busy.set(socket, answers.add(response));
    if (this.#excess.has(socket)) this.#takePlace(socket);
    const isLast = this.#taken.size > this.#max * KEEP_ALIVE_SHARE;
    if (isLast) response.setHeader('connection', 'close');
    response.once('close', () => this.#answered(socket, response, isLast));
  }

  #answered(socket: Socket, response: ServerResponse, isLast: boolean): void {
    const answers = this.#busy.get(socket);
    answers?.delete(response);
    if (!answers || answers.size > 0) return;
    this.#busy.delete(socket);
    (isLast ? this.#leaving : this.#idle).add(socket);
  }

  #destroySocket(socket: Socket): void {
    this.#forget(socket);
    socket.destroy();
  }

  #closed(socket: Socket): void {
    const answers = this.#busy.get(socket) ?? [];
    this.#forget(socket);
    // Node emits 'close' only on the response being sent; pipelined ones would wait forever.
    for (const response of answers) if (!response.closed) response.emit('close');
  }

  #forget(socket: Socket): void {
    for (const sockets of [this.#taken, this.#excess, this.#silent, this.#busy, this.#idle, this.#leaving])
      sockets.delete(socket);
  }
}
