// One budget for the incomplete frames of all connections of this process: each may hold a frame of the full size, but
// not all at the same time. Over the budget the largest frame continues and the sockets of the others are paused, so
// that memory does not grow with the number of connections.

/** The most bytes that all incomplete frames may hold before sockets are paused. */
const READ_BUDGET_BYTES = 4 * 1024 * 1024;
/** A smaller frame is not counted: small messages never wait for large ones. In bytes. */
const UNCOUNTED_BYTES = 256 * 1024;
/**
 * How long a socket is paused at most: a connection that stalls in the middle of its frame must not stop the others.
 */
const MAX_PAUSE_MS = 1_000;

/** What is paused and resumed: a socket. */
export interface PausableSocket {
  pause(): unknown;
  resume(): unknown;
}

interface Share {
  heldBytes: number;
  /** Set while the socket is paused. */
  timer?: NodeJS.Timeout;
  /** True once it was paused for the longest time: it is not paused again during this frame. */
  hasWaited: boolean;
}

/** Counts the bytes of incomplete frames per connection, and pauses and resumes their sockets. */
export class ReadBudget {
  readonly #shares = new Map<PausableSocket, Share>();
  readonly #maxBytes: number;
  #heldBytes = 0;

  constructor(maxBytes: number = READ_BUDGET_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** The bytes of all frames that count. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /**
   * Call this after every chunk that was read, with the size of the connection's incomplete frame; 0 when it closes.
   */
  update(socket: PausableSocket, heldBytes: number): void {
    const known = this.#shares.get(socket);
    if (heldBytes < UNCOUNTED_BYTES) {
      if (known) this.#release(socket, known);
      return;
    }
    const share = known ?? { heldBytes: 0, hasWaited: false };
    if (!known) this.#shares.set(socket, share);
    this.#heldBytes += heldBytes - share.heldBytes;
    share.heldBytes = heldBytes;
    if (this.#heldBytes > this.#maxBytes && !share.hasWaited && !this.#isLargest(share)) {
      this.#pause(socket, share);
    }
  }

  #pause(socket: PausableSocket, share: Share): void {
    socket.pause(); // again, if someone else has resumed it
    share.timer ??= setTimeout(() => {
      share.hasWaited = true;
      resume(socket, share);
    }, MAX_PAUSE_MS);
  }

  #release(socket: PausableSocket, share: Share): void {
    this.#shares.delete(socket);
    this.#heldBytes -= share.heldBytes;
    resume(socket, share);
    for (const [other, waiting] of this.#shares) {
      if (this.#heldBytes <= this.#maxBytes || this.#isLargest(waiting)) resume(other, waiting);
    }
  }

  #isLargest(share: Share): boolean {
    for (const other of this.#shares.values()) if (other.heldBytes > share.heldBytes) return false;
    return true;
  }
}

function resume(socket: PausableSocket, share: Share): void {
  if (!share.timer) return;
  clearTimeout(share.timer);
  delete share.timer;
  socket.resume();
}
