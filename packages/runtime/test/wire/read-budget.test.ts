// The budget for incomplete frames: real sockets, whose other ends send more than they are allowed at once.

import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createTestProject } from '@toolwright/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ReadBudget } from '../../src/wire/read-budget.js';

const MEBIBYTE = 1024 * 1024;

interface Reader {
  /** Sends so many bytes and resolves once they were read, as far as the socket is not paused. */
  send(bytes: number): void;
  /** What was read of the frame. */
  held: () => number;
  readUpTo(bytes: number): Promise<void>;
  socket: Socket;
  /** The frame ends: nothing of it is held any more. */
  finish(): void;
}

async function connections(count: number, budget: ReadBudget): Promise<Reader[]> {
  const project = await createTestProject({});
  const server: Server = createServer().listen(join(project.projectDir, 's'));
  await once(server, 'listening');
  const sockets: Socket[] = [];
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await project[Symbol.asyncDispose]();
  });
  const readers: Reader[] = [];
  for (let n = 0; n < count; n++) {
    const sender = connect(join(project.projectDir, 's'));
    const [socket] = (await once(server, 'connection')) as [Socket];
    sockets.push(sender, socket);
    let held = 0;
    let onRead = (): void => undefined;
    socket.on('data', (chunk: Buffer) => {
      budget.update(socket, (held += chunk.length));
      onRead();
    });
    readers.push({
      send: (bytes) => void sender.write(Buffer.alloc(bytes)),
      held: () => held,
      socket,
      readUpTo: (bytes) =>
        new Promise((resolve) => {
          onRead = () => held >= bytes && resolve();
          onRead();
        }),
      finish: () => budget.update(socket, (held = 0)),
    });
  }
  return readers;
}

describe('ReadBudget', () => {
  it('pauses the smaller frame when both hold more than the budget, and resumes it when the larger one ends', async () => {
    const budget = new ReadBudget(MEBIBYTE);
    const [large, small] = (await connections(2, budget)) as [Reader, Reader];
    large.send(MEBIBYTE);
    await large.readUpTo(MEBIBYTE);
    small.send(2 * MEBIBYTE);
    await once(small.socket, 'pause');
    expect(small.held()).toBeLessThan(MEBIBYTE);
    expect(budget.heldBytes).toBe(large.held() + small.held());

    large.send(MEBIBYTE); // the largest one goes on over the budget: somebody has to
    await large.readUpTo(2 * MEBIBYTE);
    large.finish();
    await small.readUpTo(2 * MEBIBYTE);
  });

  it('never pauses a connection that holds little', async () => {
    const budget = new ReadBudget(MEBIBYTE);
    const [large, little] = (await connections(2, budget)) as [Reader, Reader];
    large.send(2 * MEBIBYTE);
    await large.readUpTo(2 * MEBIBYTE);
    little.send(200 * 1024);
    await little.readUpTo(200 * 1024);
    expect(little.socket.isPaused()).toBe(false);
  });

  it('continues a frame after a second when the larger one stalls', async () => {
    const budget = new ReadBudget(MEBIBYTE);
    const [stalled, waiting] = (await connections(2, budget)) as [Reader, Reader];
    stalled.send(MEBIBYTE);
    await stalled.readUpTo(MEBIBYTE);
    waiting.send(2 * MEBIBYTE);
    await once(waiting.socket, 'pause');
    await waiting.readUpTo(2 * MEBIBYTE); // the other one sends nothing more
    expect(stalled.held()).toBe(MEBIBYTE);
  });

  it('keeps the bytes of many large frames near the budget, and reads them all', async () => {
    const budget = new ReadBudget(2 * MEBIBYTE);
    const readers = await connections(8, budget);
    let most = 0;
    const frame = 2 * MEBIBYTE;
    await Promise.all(
      readers.map(async (reader) => {
        reader.socket.on('data', () => (most = Math.max(most, budget.heldBytes)));
        reader.send(frame);
        await reader.readUpTo(frame);
        reader.finish();
      }),
    );
    // The budget, one whole frame, and a chunk a connection; without the budget 16 MiB.
    expect(most).toBeLessThan(2 * MEBIBYTE + frame + readers.length * (256 * 1024 + 64 * 1024));
    expect(budget.heldBytes).toBe(0);
  });
});
