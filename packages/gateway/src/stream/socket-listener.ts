// MCP at a unix socket: a session for each connection, for this user alone.

import { chmodSync, lstatSync, statSync, type Stats } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { ToolError } from '@toolwright/core';
import { assertOptions, type OptionNames } from '@toolwright/core/internal';
import type { McpTransport } from '@toolwright/core/mcp';
import type { Backlog } from '../session/backlog.js';
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

const OPTIONS: OptionNames<ServeSocketOptions> = { path: true };

/** For the first word of a client. */
const FIRST_WORD_MS = 30_000;
/** The size of `sun_path`, less its end. */
const MAX_PATH_BYTES = process.platform === 'darwin' ? 103 : 107;

/** Listens, with each connection's transport given to `accept`. @throws {ToolError} */
export async function serveOverSocket(
  options: ServeSocketOptions,
  limits: { maxFrameBytes: number; maxSessions: number; backlog: Backlog; warn: (message: string) => void },
  accept: (transport: McpTransport) => void,
): Promise<() => Promise<void>> {
  assertOptions('serveSocket()', options, OPTIONS);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined); // its close is what counts
    // Who says nothing does not keep the place of another.
    const timer = setTimeout(() => socket.bytesRead === 0 && socket.destroy(), FIRST_WORD_MS).unref();
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
  let isTold = false;
  server.on('drop', () => {
    if (!isTold) limits.warn(`${limits.maxSessions} clients are connected to ${options.path}; more are refused.`);
    isTold = true;
  });
  await listenPrivately(server, options.path);
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
    throw bindError(path, failure);
  }
  if (process.platform !== 'win32') chmodSync(path, 0o600);
}

/** What is in the way, and what to do about it. */
function bindError(path: string, failure: NodeJS.ErrnoException): ToolError {
  const because = (code: 'LOCKED' | 'UNAVAILABLE', words: string): ToolError =>
    new ToolError(code, `The gateway cannot listen at ${path}: ${words}`, { cause: failure });
  const stats = lookAt(path, lstatSync);
  if (failure.code === 'EADDRINUSE') {
    if (!stats || stats.isSocket())
      return stats && stats.uid !== process.getuid?.()
        ? because('LOCKED', 'the socket there belongs to another user. Use another path.')
        : because('LOCKED', 'another program listens there. End it, or use another path.');
    const what = stats.isDirectory() ? 'a directory' : stats.isSymbolicLink() ? 'a link' : 'a file';
    return because('LOCKED', `${what} is there, not a socket. Remove it if it is not needed, or use another path.`);
  }
  const directory = dirname(path);
  const above = lookAt(directory, statSync);
  // libuv reports ENOENT as EACCES here.
  if (!above)
    return because('UNAVAILABLE', `${directory} does not exist. Create it first, for this user alone (mode 0700).`);
  if (!above.isDirectory()) return because('UNAVAILABLE', `${directory} is not a directory. Use another path.`);
  if (failure.code === 'EACCES' || failure.code === 'EPERM')
    return because(
      'UNAVAILABLE',
      `this user may not create files in ${directory}. Use a path in a directory of this user's.`,
    );
  return because('UNAVAILABLE', ToolError.from(failure).message);
}

function lookAt(path: string, stat: typeof statSync): Stats | undefined {
  try {
    return stat(path);
  } catch {
    return undefined; // not there, or below a directory that may not be entered
  }
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
