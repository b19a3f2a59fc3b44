// Serializes changes of a file among the processes of this machine that use this library. A lock is a name that one process
// listens on: a socket in the abstract namespace of Linux, a named pipe on Windows. The system releases it when the process
// ends in any way, and nothing is left on disk. On other systems (macOS) processes do not wait for each other.

import { createHash } from 'node:crypto';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { ToolError } from '../../../contract/errors.js';
import { errnoOf } from '../open/file-failure.js';

/** Maximum number of sockets for a change of many files. Files that share a lock occasionally wait for each other. */
const LOCKS = 4_096;
/** No write takes this long: a process that holds a lock longer is stopped. */
const MAX_WAIT_MS = 30_000;
const RETRY_MS = 5;
/** `sun_path` of unix(7). Filled up, as Node before 22 pads a shorter name with NUL, which makes it another one. */
const ABSTRACT_NAME_BYTES = 108;

/**
 * Runs `run` while no other process runs under one of the keys. Take other locks first, and none inside.
 *
 * @throws {ToolError} LOCKED when another process holds one of them for 30 seconds
 */
export async function withProcessLocks<T>(keys: readonly string[], run: () => Promise<T>): Promise<T> {
  if (process.platform !== 'linux' && process.platform !== 'win32') return await run();
  // All processes take locks in one order, which prevents deadlocks.
  const numbers = [...new Set(keys.map(numberOf))].sort((a, b) => a - b);
  const held: Server[] = [];
  const open = new Set<Socket>();
  try {
    for (const number of numbers) {
      const lock = await acquire(nameOf(number), open);
      if (lock) held.push(lock);
    }
    return await run();
  } finally {
    for (const lock of held) lock.close();
    for (const socket of open) socket.destroy(); // wakes the waiting processes
  }
}

function numberOf(key: string): number {
  return createHash('sha256').update(key).digest().readUInt32BE() % LOCKS;
}

function nameOf(number: number): string {
  const name = `toolwright-file-lock-${number}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : `\0${name}`.padEnd(ABSTRACT_NAME_BYTES, '.');
}

/** Undefined if the system does not allow such a name: the lock within this process still applies. */
async function acquire(name: string, open: Set<Socket>): Promise<Server | undefined> {
  const endsAt = performance.now() + MAX_WAIT_MS;
  for (;;) {
    try {
      return await listen(name, open);
    } catch (error) {
      const errno = errnoOf(error) ?? '';
      if (['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS'].includes(errno)) throw error;
      if (errno !== 'EADDRINUSE') return undefined;
    }
    const left = endsAt - performance.now();
    if (left <= 0)
      throw new ToolError(
        'LOCKED',
        `Another process has held the lock for ${MAX_WAIT_MS / 1_000} seconds; nothing was changed. Try again.`,
      );
    await released(name, left);
  }
}

function listen(name: string, open: Set<Socket>): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      open.add(socket);
      socket.on('error', () => undefined).on('close', () => open.delete(socket));
      socket.resume().unref();
    });
    server.once('error', reject);
    // Exclusive, as the workers of a cluster would share it.
    server.listen({ path: name, exclusive: true }, () => resolve(server.unref()));
  });
}

/** Resolves when the holder of a name releases it or ends. */
function released(name: string, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(name);
    const timer = setTimeout(() => socket.destroy(), ms);
    let connected = false;
    socket.once('connect', () => (connected = true));
    socket.on('error', () => undefined).resume();
    socket.once('close', () => {
      clearTimeout(timer);
      // Not connected: released since, or too many processes are waiting.
      if (connected) resolve();
      else setTimeout(resolve, RETRY_MS);
    });
  });
}
