// One end of a connection, against another that sends whatever it likes.

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolError, type JsonObject } from '@toolwright/core';
import { expectNoLeaks } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';
import { WirePeer, type PeerHandlers, type PeerLimits } from '../../src/wire/peer.js';
import { RawPeer } from './raw-peer.js';

interface Pair extends AsyncDisposable {
  peer: WirePeer;
  raw: RawPeer;
  socket: Socket;
  closedWith: () => ToolError | undefined;
}

async function pair(handlers: Partial<PeerHandlers> = {}, limits?: PeerLimits): Promise<Pair> {
  const directory = await mkdtemp(join(tmpdir(), 'toolwright-peer-'));
  const server = createServer().listen(join(directory, 's'));
  await once(server, 'listening');
  const socket = connect(join(directory, 's'));
  const [other] = (await once(server, 'connection')) as [Socket];
  let reason: ToolError | undefined;
  const peer = new WirePeer(
    socket,
    {
      onRequest: (method) => ({ method }),
      onNotification: () => undefined,
      onClose: (why) => {
        reason = why;
        peer.failAll(() => why ?? new ToolError('CONNECTION_CLOSED', 'closed'));
      },
      ...handlers,
    },
    limits,
  );
  const raw = new RawPeer(other);
  return {
    peer,
    raw,
    socket,
    closedWith: () => reason,
    async [Symbol.asyncDispose]() {
      peer.destroy();
      raw.socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'resolved',
    (error: unknown) => (ToolError.isInstance(error) ? error.code : error),
  );

describe('WirePeer.request()', () => {
  it('matches each response to its request, in any order', async () => {
    await using _ = expectNoLeaks();
    await using ends = await pair();
    const answers = [1, 2, 3].map((n) => ends.peer.request('m', { n }));
    for (const n of [3, 1, 2]) {
      const { id } = await ends.raw.next(({ params }) => (params as JsonObject).n === n);
      ends.raw.send({ id, result: { n } });
    }
    expect(await Promise.all(answers)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  it('drops answers that are unknown, repeated or late, and counts them', async () => {
    await using ends = await pair();
    const answer = ends.peer.request('m');
    const { id } = await ends.raw.next();
    ends.raw.send({ id: 999, result: {} });
    ends.raw.send({ id: 'x', result: {} });
    ends.raw.send({ id, result: { first: true } });
    ends.raw.send({ id, result: { second: true } });
    expect(await answer).toEqual({ first: true });
    const late = ends.peer.send('m', {}, { resolve: () => expect.unreachable(), reject: () => expect.unreachable() });
    ends.peer.forget(late);
    await ends.raw.next();
    ends.raw.send({ id: late, result: {} });
    ends.raw.send({ id: 5, method: 'ping' });
    await ends.raw.next((message) => message.id === 5);
    expect(ends.peer.counts.droppedAnswers).toBe(4);
    expect(ends.peer.open).toBe(0);
  });

  it.each([
    [{ result: 7 }, 'PROTOCOL_VIOLATION'],
    [{ error: { code: -32_000, message: 'm', data: { code: 'BUSY', message: 'm', retryable: true } } }, 'BUSY'],
    [{ error: { code: -32_000, message: 'm', data: { code: 'NO_SUCH_CODE', message: 'm' } } }, 'EXECUTION_FAILED'],
    [{ error: { code: -32_602, message: 'm' } }, 'INVALID_ARGUMENT'],
    [{ error: 'nonsense' }, 'EXECUTION_FAILED'],
  ])('rejects for the answer %j', async (answer, code) => {
    await using ends = await pair();
    const request = ends.peer.request('m');
    const { id } = await ends.raw.next();
    ends.raw.send({ id, ...answer });
    expect(await codeOf(request)).toBe(code);
  });

  it('rejects with FRAME_TOO_LARGE for an answer over the limit, and for itself, and continues', async () => {
    await using ends = await pair({}, { maxFrameBytes: 65_536 });
    const request = ends.peer.request('m');
    const { id } = await ends.raw.next();
    ends.raw.send(`{"jsonrpc":"2.0","id":${String(id)},"result":{"text":"${'a'.repeat(100_000)}"}}\n`);
    expect(await codeOf(request)).toBe('FRAME_TOO_LARGE');
    ends.peer.maxSendBytes = 65_536;
    expect(await codeOf(ends.peer.request('m', { text: 'a'.repeat(100_000) }))).toBe('FRAME_TOO_LARGE');
    ends.raw.send({ id: 1, method: 'hello' });
    expect(await ends.raw.next()).toMatchObject({ id: 1, result: { method: 'hello' } });
  });

  it('rejects with OUTPUT_INVALID for an answer that is nested too deeply', async () => {
    await using ends = await pair();
    const request = ends.peer.request('m');
    const { id } = await ends.raw.next();
    ends.raw.send(`{"jsonrpc":"2.0","id":${String(id)},"result":{"a":${'['.repeat(500)}${']'.repeat(500)}}}\n`);
    expect(await codeOf(request)).toBe('OUTPUT_INVALID');
  });
});

describe('WirePeer', () => {
  it('echoes ids as they are, also 0 and texts, in answers and errors', async () => {
    await using ends = await pair({
      onRequest: (method) => {
        if (method === 'bad') throw new ToolError('NOT_FOUND', 'nothing there');
        return Promise.resolve({ ok: true });
      },
    });
    for (const id of [0, -1, 'a b', '']) {
      ends.raw.send({ id, method: 'good' });
      expect(await ends.raw.next()).toEqual({ jsonrpc: '2.0', id, result: { ok: true } });
      ends.raw.send({ id, method: 'bad' });
      expect(await ends.raw.next()).toMatchObject({ id, error: { code: -32_000, data: { code: 'NOT_FOUND' } } });
    }
  });

  it('answers a ping while a request runs', async () => {
    await using ends = await pair({ onRequest: () => new Promise(() => undefined) });
    ends.raw.send({ id: 1, method: 'never' });
    ends.raw.send({ id: 2, method: 'ping' });
    expect(await ends.raw.next()).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
  });

  it('answers nine lines that are no messages with an error, and closes at the tenth', async () => {
    await using ends = await pair();
    for (let line = 1; line <= 9; line++) {
      ends.raw.send('{nonsense\n');
      expect(await ends.raw.next()).toMatchObject({ id: null, error: { code: -32_700 } });
    }
    ends.raw.send({ id: 1, method: 'still here' });
    expect(await ends.raw.next()).toMatchObject({ id: 1 });
    ends.raw.send('[1,2]\n');
    await ends.peer.closed;
    expect(ends.closedWith()?.code).toBe('PROTOCOL_VIOLATION');
  });

  it('closes at the hard limit of a frame, with a typed error to both ends', async () => {
    await using ends = await pair({}, { maxFrameBytes: 65_536 });
    ends.raw.send(Buffer.alloc(4 * 65_536 + 1, 0x61));
    expect((await ends.raw.next((message) => message.id === null)).error).toMatchObject({
      data: { code: 'FRAME_TOO_LARGE' },
    });
    await ends.peer.closed;
    expect(ends.closedWith()?.code).toBe('FRAME_TOO_LARGE');
  });

  it('delays requests while its queue is full, and stops reading from a host that reads no responses', async () => {
    const limit = 1024 * 1024;
    let answered = 0;
    const text = 'a'.repeat(64 * 1024);
    await using ends = await pair({ onRequest: () => ({ text, n: ++answered }) }, { maxQueueBytes: limit });
    ends.raw.socket.pause();
    for (let id = 1; id <= 400; id++) ends.raw.send({ id, method: 'get', params: { text } });
    const before = await quiet(() => answered);
    expect(before).toBeLessThan(200); // 400 answers are 25 times the queue
    expect(ends.peer.congestion).toBeInstanceOf(Promise);
    expect(ends.socket.writableLength).toBeLessThan(2 * limit);
    ends.raw.socket.resume();
    await ends.raw.next(({ result }) => (result as JsonObject).n === 400);
    await ends.peer.congestion;
    expect(ends.peer.congestion).toBeUndefined();
  });
});

/** What it counts when it has stopped growing. */
async function quiet(count: () => number): Promise<number> {
  for (let last = -1; ;) {
    if (count() === last) return last;
    last = count();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
