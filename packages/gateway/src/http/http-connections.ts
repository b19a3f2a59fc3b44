// The connections of a listener: how many there may be, and which one makes room for another.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Nobody who means to say something waits for so long with it. */
const SILENT_MS = 1_000;
/** Connections over the limit that are let in to be told so. */
const MAX_EXCESS = 64;
/** When more than this part of all are open, an answer says that its connection ends with it. */
const KEPT_PART = 1 / 4;

/**
 * Holds a listener to a number of connections. When all are taken, one on which nothing is being answered makes room: the
 * oldest that has said nothing for a second, then the one that has been idle for longest, then the oldest silent one. So
 * a flood of connections keeps nobody out, and a client that makes a thousand at once has time to speak on each. Where all
 * are in use, a request on a new one {@link isExcess}.
 *
 * A client may be about to ask on the idle connection that is closed, and cannot know what became of its request. So only
 * a part is kept open between requests: the others end with an answer that says so, and room is hardly ever made otherwise.
 */
export class HttpConnections {
  readonly #max: number;
  /** Those within the limit. */
  readonly #taken = new Set<Socket>();
  /** Those over the limit, oldest first. They have places of their own, and get one of the others when one is free. */
  readonly #excess = new Set<Socket>();
  /** No request has come yet; since when, in milliseconds. */
  readonly #silent = new Map<Socket, number>();
  /** What is being answered, several where a client does not wait for one answer before it asks on. */
  readonly #busy = new Map<Socket, Set<ServerResponse>>();
  /** Every request has been answered, and the connection is kept. */
  readonly #idle = new Set<Socket>();
  /** The last answer has been sent, and has said so. */
  readonly #leaving = new Set<Socket>();

  constructor(server: Server, max: number) {
    this.#max = max;
    server.on('connection', (socket: Socket) => this.#open(socket));
    // Before the listener that answers, which asks about the connection.
    server.prependListener('request', (request, response) => this.#begin(request, response));
  }

  /** True where all connections were in use when a request came on another one. It is to be refused. */
  isExcess(socket: Socket): boolean {
    return this.#excess.has(socket);
  }

  destroy(): void {
    for (const socket of [...this.#taken, ...this.#excess]) socket.destroy();
  }

  #open(socket: Socket): void {
    this.#silent.set(socket, performance.now());
    socket.once('close', () => this.#closed(socket));
    this.#excess.add(socket);
    if (this.#takePlace(socket) || this.#excess.size <= MAX_EXCESS) return;
    for (const oldest of this.#excess) return this.#cut(oldest);
  }

  /** Gives a connection over the limit a place where there is one, or somebody can make room. */
  #takePlace(socket: Socket): boolean {
    if (this.#taken.size >= this.#max) {
      const leaving = this.#next();
      if (!leaving) return false;
      this.#cut(leaving);
    }
    this.#excess.delete(socket);
    this.#taken.add(socket);
    return true;
  }

  /** Who makes room. */
  #next(): Socket | undefined {
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
    const isLast = this.#taken.size > this.#max * KEPT_PART;
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

  #cut(socket: Socket): void {
    this.#forget(socket);
    socket.destroy();
  }

  #closed(socket: Socket): void {
    const answers = this.#busy.get(socket) ?? [];
    this.#forget(socket);
    // Node tells only the response that is being sent; those behind it would wait for ever.
    for (const response of answers) if (!response.closed) response.emit('close');
  }

  #forget(socket: Socket): void {
    for (const sockets of [this.#taken, this.#excess, this.#silent, this.#busy, this.#idle, this.#leaving])
      sockets.delete(socket);
  }
}
