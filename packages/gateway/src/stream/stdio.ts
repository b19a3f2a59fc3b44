// The gateway as a program's stdin and stdout: one client, and nothing on stdout but the protocol.

import { deferred } from '@toolwright/core/internal';
import type { Readable, Writable } from 'node:stream';
import type { Backlog } from '../session/backlog.js';
import type { ClientSession } from '../session/session.js';
import { onceDrained, StreamTransport, type LineWriter } from './stream-transport.js';

/** Streams in place of this process's own. */
export interface ServeStdioOptions {
  /** Default: `process.stdin`. */
  stdin?: Readable;
  /** Default: `process.stdout`, which is then kept from everybody else: what they write goes to stderr. */
  stdout?: Writable;
}

/** What is on its way when stdin ends may still be answered for this long. */
const LAST_WORDS_MS = 250;

/** Serves the session until its stdin ends, its stdout breaks, or it is closed. */
export async function serveOverStdio(
  session: ClientSession,
  options: ServeStdioOptions,
  maxFrameBytes: number,
  backlog: Backlog,
): Promise<{ closed: Promise<void>; close: () => Promise<void> }> {
  const { stdin = process.stdin, stdout = process.stdout } = options;
  const guard = stdout === process.stdout ? guardStdout() : undefined;
  const { promise: end, resolve: gone } = deferred();
  const write = guard?.write ?? ((line: string): boolean => stdout.write(line));
  const output: LineWriter = {
    write,
    onDrain: (listener) => onceDrained(stdout, listener),
    get pendingBytes() {
      return stdout.writableLength;
    },
    drop: () => gone(),
  };
  let inputEnded = false;
  const lastWords = (): void => {
    if (inputEnded) return;
    inputEnded = true;
    const timer = setTimeout(gone, LAST_WORDS_MS);
    setImmediate(() => {
      // What was read last has reached the session by now.
      void session.whenIdle().then(() => {
        clearTimeout(timer);
        gone();
      });
    });
  };
  stdin.once('end', lastWords).once('close', lastWords).once('error', gone);
  stdout.once('close', gone).on('error', gone);
  const closed = end.then(async () => {
    stdin.off('end', lastWords).off('close', lastWords).off('error', gone);
    stdout.off('close', gone); // its error listener stays: a late EPIPE must not end the host
    await session.close();
    stdin.pause();
    guard?.release();
  });
  const transport = new StreamTransport(stdin, output, maxFrameBytes, backlog);
  await session.connect(transport);
  return {
    closed,
    close: () => {
      gone();
      return closed;
    },
  };
}

/** Keeps stdout for the protocol: a `console.log` of a tool would break it, and goes to stderr instead. */
function guardStdout(): { write: (line: string) => boolean; release: () => void } {
  const { stdout, stderr } = process;
  const own = Object.getOwnPropertyDescriptor(stdout, 'write');
  const original: (line: string) => boolean = stdout.write.bind(stdout);
  stdout.write = (...given: unknown[]): boolean => stderr.write(...(given as [string]));
  return {
    write: original,
    release: () => {
      if (own) Object.defineProperty(stdout, 'write', own);
      else Reflect.deleteProperty(stdout, 'write'); // its class has it
    },
  };
}
