// MCP over a process's stdin and stdout: one client, and only the protocol on stdout.

import { deferred } from '@toolwright/core/internal';
import type { Readable, Writable } from 'node:stream';
import type { Backlog } from '../session/backlog.js';
import type { ClientSession } from '../session/session.js';
import { onceDrained, StreamTransport, type LineWriter } from './stream-transport.js';

/** The streams of one client. */
export interface ServeStdioOptions {
  /** The stream to read. Default: `process.stdin`. */
  stdin?: Readable;
  /** The stream to write. Default: `process.stdout`; while it is served, other writes to it go to stderr. */
  stdout?: Writable;
}

/** How long after the end of stdin requests in flight may still be answered. */
const DRAIN_MS = 250;

/** Serves the session until stdin ends, stdout fails, or it is closed. */
export async function serveOverStdio(
  session: ClientSession,
  options: ServeStdioOptions,
  maxFrameBytes: number,
  backlog: Backlog,
): Promise<{ closed: Promise<void>; close: () => Promise<void> }> {
  const { stdin = process.stdin, stdout = process.stdout } = options;
  const guard = stdout === process.stdout ? guardStdout() : undefined;
  const { promise: ended, resolve: end } = deferred();
  const write = guard?.write ?? ((line: string): boolean => stdout.write(line));
  const output: LineWriter = {
    write,
    onDrain: (listener) => onceDrained(stdout, listener),
    get pendingBytes() {
      return stdout.writableLength;
    },
    drop: () => end(),
  };
  let inputEnded = false;
  const drain = (): void => {
    if (inputEnded) return;
    inputEnded = true;
    const timer = setTimeout(end, DRAIN_MS);
    setImmediate(() => {
      // The last message has reached the session by now.
      void session.whenIdle().then(() => {
        clearTimeout(timer);
        end();
      });
    });
  };
  stdin.once('end', drain).once('close', drain).once('error', end);
  stdout.once('close', end).on('error', end);
  const closed = ended.then(async () => {
    stdin.off('end', drain).off('close', drain).off('error', end);
    stdout.off('close', end); // the error listener stays: a late EPIPE must not crash the host
    await session.close();
    stdin.pause();
    guard?.release();
  });
  const transport = new StreamTransport(stdin, output, maxFrameBytes, backlog);
  await session.connectStream(transport);
  return {
    closed,
    close: () => {
      end();
      return closed;
    },
  };
}

/** Redirects other writes to stdout, such as a tool's `console.log`, to stderr: they would break the protocol. */
function guardStdout(): { write: (line: string) => boolean; release: () => void } {
  const { stdout, stderr } = process;
  const descriptor = Object.getOwnPropertyDescriptor(stdout, 'write');
  const original: (line: string) => boolean = stdout.write.bind(stdout);
  stdout.write = (...args: unknown[]): boolean => stderr.write(...(args as [string]));
  return {
    write: original,
    release: () => {
      if (descriptor) Object.defineProperty(stdout, 'write', descriptor);
      else Reflect.deleteProperty(stdout, 'write'); // uncovers the method of its class
    },
  };
}
