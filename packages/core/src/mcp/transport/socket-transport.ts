// MCP over a unix socket or a named pipe, to a running server: one message a line, as over stdio.

import { connect, type Socket } from 'node:net';
import { ToolError } from '../../contract/errors.js';
import { FrameReader, frameOf } from './frames.js';
import { MAX_UNSENT_BYTES, MESSAGE_BYTES, type SessionTransport, type McpMessage } from './transport.js';

/** How long a server may take to close the connection before it is destroyed. */
const CLOSE_MS = 1_000;

export class SocketTransport implements SessionTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: SessionTransport['onmessage'];
  failure: ToolError | undefined;
  readonly #path: string;
  readonly #maxFrameBytes: number;
  #socket: Socket | undefined;
  #ended = false;
  /** The number of messages that wait to be written. */
  #unsent = 0;

  constructor(path: string, maxFrameBytes: number) {
    this.#path = path;
    this.#maxFrameBytes = maxFrameBytes;
  }

  async start(): Promise<void> {
    const socket = (this.#socket = connect(this.#path));
    const reader = new FrameReader(
      { onMessage: (message) => this.onmessage?.(message), onBatch: (messages) => this.onmessage?.(messages) },
      { maxFrameBytes: this.#maxFrameBytes },
    );
    socket.on('data', (chunk: Buffer) => {
      if (this.#ended || this.failure) return;
      try {
        reader.push(chunk);
      } catch (thrown) {
        this.failure = ToolError.from(thrown, 'INTERNAL');
        socket.destroy();
      }
    });
    socket.on('error', (error) => (this.failure ??= this.#ended ? undefined : closedBy(error, this.#path)));
    socket.on('close', () => {
      if (!this.#ended)
        this.failure ??= new ToolError('CONNECTION_CLOSED', `The server at ${this.#path} closed the connection.`);
      this.#ended = true;
      reader.stop();
      this.onclose?.();
    });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('close', () =>
        reject(this.failure ?? new ToolError('CONNECTION_CLOSED', 'The connection was closed.')),
      );
    });
  }

  send(message: McpMessage): Promise<void> {
    const socket = this.#socket;
    if (!socket || this.#ended || this.failure) {
      return Promise.reject(this.failure ?? new ToolError('CONNECTION_CLOSED', 'The connection has been closed.'));
    }
    if (socket.writableLength + this.#unsent * MESSAGE_BYTES > MAX_UNSENT_BYTES) {
      const text = `The server does not read its socket: ${socket.writableLength} bytes are waiting.`;
      return Promise.reject(new ToolError('BUSY', text));
    }
    this.#unsent++;
    socket.write(frameOf(message), () => this.#unsent--);
    return Promise.resolve();
  }

  async close(): Promise<void> {
    const socket = this.#socket;
    this.#ended = true;
    if (!socket || socket.closed) return;
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    const timer = setTimeout(() => socket.destroy(), CLOSE_MS);
    if (socket.connecting) socket.destroy();
    else socket.end();
    await closed;
    clearTimeout(timer);
  }
}

function closedBy(error: Error, path: string): ToolError {
  const { code } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
    case 'ECONNREFUSED':
      return new ToolError('UNAVAILABLE', `No server listens at ${path} (${code}); start it, or correct socketPath.`, {
        cause: error,
      });
    case 'EACCES':
    case 'EPERM':
      return new ToolError('PERMISSION_DENIED', `Permission to open the socket ${path} was denied (${code}).`, {
        cause: error,
      });
    case 'ENOTSOCK':
      return new ToolError('INVALID_ARGUMENT', `${path} is not a socket; correct socketPath.`, { cause: error });
    default:
      return new ToolError('CONNECTION_CLOSED', `The connection to ${path} broke: ${error.message}`, { cause: error });
  }
}
