// The other end of a connection, which sends what it is told to and nothing else.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { JsonObject } from '@toolwright/core';

export class RawPeer implements Disposable {
  readonly socket: Socket;
  readonly received: JsonObject[] = [];
  #rest = '';
  #wake = (): void => undefined;
  isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (this.#rest + chunk).split('\n');
      this.#rest = lines.pop() ?? '';
      this.received.push(...lines.map((line) => JSON.parse(line) as JsonObject));
      this.#wake();
    });
    socket.on('close', () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  static async connect(path: string): Promise<RawPeer> {
    const socket = connect(path);
    await once(socket, 'connect');
    return new RawPeer(socket);
  }

  send(message: object | string | Buffer): void {
    this.socket.write(
      typeof message === 'string' || Buffer.isBuffer(message)
        ? message
        : `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`,
    );
  }

  /** The first message that fits, now or later; rejects when the connection closes before. */
  async next(fits: (message: JsonObject) => boolean = () => true): Promise<JsonObject> {
    for (;;) {
      const at = this.received.findIndex(fits);
      if (at >= 0) return this.received.splice(at, 1)[0]!;
      if (this.isClosed) throw new Error('The connection was closed.');
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async closed(): Promise<void> {
    while (!this.isClosed) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}
