// The messages that an end of a connection has yet to send: gathered over one turn of the event loop, counted, and held
// back while the other end does not read.

import { deferred } from '@toolwright/core/internal';
import type { Socket } from 'node:net';

/** How many bytes may wait to be sent before new requests wait and the other end's messages are no longer read. */
export const DEFAULT_MAX_QUEUE_BYTES = 16 * 1024 * 1024;

const FLUSH_AT = 256 * 1024;
/**
 * The first write of a turn has this many frames, so that the other end can start; each further write has twice as
 * many.
 */
const FIRST_FLUSH_FRAMES = 4;
const FLOOD_FACTOR = 3;

export class SendQueue {
  readonly #socket: Socket;
  /** True when this end waits for responses of the other. */
  readonly #isWaiting: () => boolean;
  readonly #maxBytes: number;
  #batch = '';
  #frames = 0;
  /** How many frames of this turn are gathered before the next write. */
  #flushAt = FIRST_FLUSH_FRAMES;
  #flushing = false;
  /** Characters that the socket had not sent when `write` last returned false. */
  #unsent = 0;
  #drained: { promise: Promise<void>; resolve: () => void } | undefined;
  #closed = false;

  constructor(socket: Socket, isWaiting: () => boolean, maxBytes: number = DEFAULT_MAX_QUEUE_BYTES) {
    this.#socket = socket;
    this.#isWaiting = isWaiting;
    this.#maxBytes = maxBytes;
    socket.on('drain', () => this.#drain());
  }

  /** True when optional messages, such as progress, should be dropped. */
  get isFull(): boolean {
    return this.#unsent + this.#batch.length > this.#maxBytes;
  }

  /** Defined while the queue is full; resolves when it has emptied, or the connection has closed. */
  get congestion(): Promise<void> | undefined {
    if (!this.isFull || this.#closed) return undefined;
    return (this.#drained ??= deferred()).promise;
  }

  /** Frames of one turn of the event loop are written together when all of the turn's work is done. */
  push(frame: string): void {
    this.#batch += frame;
    if (!this.#flushing) {
      this.#flushing = true;
      process.nextTick(this.#flushLater);
    }
    if (++this.#frames < this.#flushAt && this.#batch.length <= FLUSH_AT) return;
    this.#flushAt *= 2;
    this.flush();
  }

  readonly #flushLater = (): void => {
    this.#flushing = false;
    this.flush();
    this.#flushAt = FIRST_FLUSH_FRAMES;
  };

  flush(): void {
    const batch = this.#batch;
    if (batch === '') return;
    this.#batch = '';
    this.#frames = 0;
    if (this.#closed || this.#socket.destroyed || this.#socket.writableEnded) return;
    if (this.#socket.write(batch)) return;
    this.#unsent += batch.length;
    // An end that sends requests and reads no responses is no longer read. An end that waits for responses itself must
    // keep reading, or both would wait forever; its own requests stop at one queue's worth and a frame, so three are a
    // flood.
    const factor = this.#isWaiting() ? FLOOD_FACTOR : 1;
    if (this.#unsent > factor * this.#maxBytes) this.#socket.pause();
  }

  /** The connection has closed: nothing more is sent, and callers that wait for space continue. */
  close(): void {
    this.#closed = true;
    this.#drain();
  }

  #drain(): void {
    this.#unsent = 0;
    if (!this.#closed) this.#socket.resume();
    this.#drained?.resolve();
    this.#drained = undefined;
  }
}
