// MCP on a unix socket that only this user can connect to. Each connection is a session.

import { chmodSync, lstatSync, statSync, type Stats } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { ToolError } from '@toolwright/core';
import { assertOptions, type OptionNames } from '@toolwright/core/internal';
import type { McpTransport } from '@toolwright/core/mcp';
import type { Backlog } from '../session/backlog.js';
import { moveStaleSocket, removeMoved } from './stale-socket.js';
import { onceDrained, StreamTransport } from './stream-transport.js';

/** Where a gateway listens on a unix socket. */
export interface ServeSocketOptions {
  /**
   * The path of the socket, in an existing directory; on Windows the name of a pipe. A stale socket there is replaced; a
   * socket that another program listens on makes `serveSocket()` reject with `LOCKED`.
   */
  path: string;
}

const OPTIONS: OptionNames<ServeSocketOptions> = { path: true };

/** A connection that sends nothing for this long is closed, so that it does not occupy a client's place. */
const FIRST_BYTE_TIMEOUT_MS = 30_000;
/** The size of `sun_path` without its terminating zero. */
const MAX_PATH_BYTES = process.platform === 'darwin' ? 103 : 107;

/**
 * Listens and passes each connection's transport to `accept`, which returns what ends the session. Returns a function that
 * closes the listener.
 *
 * @throws {ToolError} INVALID_ARGUMENT, LOCKED or UNAVAILABLE
 */
export async function serveOverSocket(
  options: ServeSocketOptions,
  limits: { maxFrameBytes: number; maxSessions: number; backlog: Backlog; warn: (message: string) => void },
  accept: (transport: McpTransport) => () => Promise<void>,
): Promise<() => Promise<void>> {
  assertOptions('serveSocket()', options, OPTIONS);
  /** The connections, with what ends each. */
  const sockets = new Map<Socket, () => Promise<void>>();
  const server = createServer((socket) => {
    socket.on('error', () => undefined); // 'close' follows and is handled
    const timer = setTimeout(() => socket.bytesRead === 0 && socket.destroy(), FIRST_BYTE_TIMEOUT_MS).unref();
    socket.once('close', () => clearTimeout(timer));
    const output = {
      write: (line: string) => socket.write(line),
      onDrain: (listener: () => void) => onceDrained(socket, listener),
      get pendingBytes() {
        return socket.writableLength;
      },
      drop: () => void socket.destroy(),
    };
    const transport = new StreamTransport(socket, output, limits.maxFrameBytes, limits.backlog);
    sockets.set(socket, accept(transport));
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
  let hasWarned = false;
  server.on('drop', () => {
    if (!hasWarned)
      limits.warn(
        `Rejected a connection to ${options.path}: ${limits.maxSessions} clients are connected (maxSessions).`,
      );
    hasWarned = true;
  });
  await listenPrivately(server, options.path);
  return async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    await Promise.all([...sockets.values()].map((end) => end()));
    for (const socket of sockets.keys()) socket.destroy();
    await closed;
  };
}

/** Listens on a unix socket that at no time any other user can connect to. @throws {ToolError} as `serveSocket()` does */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  if (typeof path !== 'string' || path === '' || Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `The path of a socket must be a string of 1 to ${MAX_PATH_BYTES} bytes. Use a shorter path.`,
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
    throw bindError(path, failure);
  }
  if (process.platform !== 'win32') chmodSync(path, 0o600);
}

/** Says why binding failed and what to do about it. */
function bindError(path: string, failure: NodeJS.ErrnoException): ToolError {
  const because = (code: 'LOCKED' | 'UNAVAILABLE', reason: string): ToolError =>
    new ToolError(code, `The gateway cannot listen on ${path}: ${reason}`, { cause: failure });
  const stats = tryStat(path, lstatSync);
  if (failure.code === 'EADDRINUSE') {
    if (!stats || stats.isSocket())
      return stats && stats.uid !== process.getuid?.()
        ? because('LOCKED', 'the socket there belongs to another user. Use another path.')
        : because('LOCKED', 'another program listens on it. Stop that program, or use another path.');
    const what = stats.isDirectory() ? 'a directory' : stats.isSymbolicLink() ? 'a symbolic link' : 'a file';
    return because('LOCKED', `the path is ${what}, not a socket. Remove it if it is not needed, or use another path.`);
  }
  const directory = dirname(path);
  const parent = tryStat(directory, statSync);
  // libuv reports ENOENT as EACCES here.
  if (!parent) return because('UNAVAILABLE', `${directory} does not exist. Create it with mode 0700.`);
  if (!parent.isDirectory()) return because('UNAVAILABLE', `${directory} is not a directory. Use another path.`);
  if (failure.code === 'EACCES' || failure.code === 'EPERM')
    return because(
      'UNAVAILABLE',
      `this user has no permission to create files in ${directory}. Use a path in a directory that this user owns.`,
    );
  return because('UNAVAILABLE', ToolError.from(failure).message);
}

function tryStat(path: string, stat: typeof statSync): Stats | undefined {
  try {
    return stat(path);
  } catch {
    return undefined; // missing, or in a directory without search permission
  }
}

/** Binds and listens; returns the error if that fails. */
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

/** Sets a umask of 0177 and returns the previous one; undefined in a worker, which cannot set it. */
function narrowUmask(): number | undefined {
  try {
    return process.umask(0o177);
  } catch {
    return undefined; // only the directory, and the mode set after binding, protect the socket
  }
}
