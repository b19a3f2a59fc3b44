// MCP at a unix socket: a session for each connection, for this user alone.

import { chmodSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { ToolError } from '@toolwright/core';
import type { McpTransport } from '@toolwright/core/mcp';
import type { Backlog } from './backlog.js';
import { moveStaleSocket, removeMoved } from './stale-socket.js';
import { onceDrained, StreamTransport } from './stream-transport.js';

/** Where a gateway listens for MCP without HTTP. */
export interface ServeSocketOptions {
  /**
   * The path of the socket, in a directory that exists; on Windows the name of a pipe. A socket that a killed program left
   * there is replaced; where a program listens, the answer is `LOCKED`.
   */
  path: string;
}

/** The size of `sun_path`, less its end. */
const MAX_PATH_BYTES = process.platform === 'darwin' ? 103 : 107;

/** Listens, with each connection's transport given to `accept`. @throws {ToolError} */
export async function serveOverSocket(
  { path }: ServeSocketOptions,
  limits: { maxFrameBytes: number; maxSessions: number; backlog: Backlog },
  accept: (transport: McpTransport) => void,
): Promise<() => Promise<void>> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined); // its close is what counts
    const output = {
      write: (line: string) => socket.write(line),
      onDrain: (listener: () => void) => onceDrained(socket, listener),
      get pendingBytes() {
        return socket.writableLength;
      },
      drop: () => void socket.destroy(),
    };
    const transport = new StreamTransport(socket, output, limits.maxFrameBytes, limits.backlog);
    accept(transport);
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      socket.end();
      socket.destroySoon();
    };
    socket.once('close', () => {
      sockets.delete(socket);
      void transport.close();
    });
  });
  server.maxConnections = limits.maxSessions;
  await listenPrivately(server, path);
  return async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
}

/** Binds a socket that no other user can connect to, at no moment. @throws {ToolError} */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  if (typeof path !== 'string' || path === '' || Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `The path of a socket has 1 to ${MAX_PATH_BYTES} bytes; use a shorter one.`,
    );
  }
  let failure = await bind(server, path);
  if (failure?.code === 'EADDRINUSE') {
    const moved = await moveStaleSocket(path);
    if (moved !== undefined) {
      failure = await bind(server, path);
      removeMoved(moved);
    }
  }
  if (failure) {
    const inUse = failure.code === 'EADDRINUSE';
    const words = inUse
      ? `Another program listens at ${path}, or it is no socket of this user's. End that program, or use another path.`
      : `The gateway cannot listen at ${path}: ${ToolError.from(failure).message}`;
    throw new ToolError(inUse ? 'LOCKED' : 'UNAVAILABLE', words, { cause: failure });
  }
  if (process.platform !== 'win32') chmodSync(path, 0o600);
}

/** Undefined when it is bound and listens; else why not. */
async function bind(server: Server, path: string): Promise<NodeJS.ErrnoException | undefined> {
  const before = narrowUmask();
  const listening = new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const onListening = (): void => {
      server.off('error', onError);
      resolve(undefined);
    };
    const onError = (error: Error): void => {
      server.off('listening', onListening);
      resolve(error);
    };
    server.once('error', onError).once('listening', onListening);
    server.listen(path); // binds before it returns
  });
  if (before !== undefined) process.umask(before);
  return listening;
}

/** The umask of before; undefined where it cannot be set, in a worker. */
function narrowUmask(): number | undefined {
  try {
    return process.umask(0o177);
  } catch {
    return undefined; // the directory and the mode set afterwards are all that protects it
  }
}
