// Clients that do not read: the bytes buffered for them are bounded, they are disconnected, and others are served meanwhile.
// Clients with too many requests in flight get BUSY.

import { connect as connectSocket, type Socket } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { defineServer, defineTool, InProcessToolProvider, type ToolServer } from '@toolwright/core';
import { fromWireResult } from '@toolwright/core/mcp';
import { createGateway, type Gateway } from '@toolwright/gateway';
import { afterEach, expect, it } from 'vitest';

const MB = 1024 * 1024;
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Tools that return a megabyte, log without end, and wait to be released. */
function largeTools(release: Promise<void>): ToolServer {
  return defineServer({
    name: 'large',
    version: '1.0.0',
    tools: [
      defineTool({
        name: 'text',
        description: 'A megabyte.',
        input: { type: 'object' },
        execute: () => 'x'.repeat(MB),
      }),
      defineTool({
        name: 'chatter',
        description: 'Logs forever.',
        input: { type: 'object' },
        execute: async (_, { logger, signal }) => {
          while (!signal.aborted) {
            logger.info('x'.repeat(MB / 4));
            await new Promise((resolve) => setImmediate(resolve));
          }
          return 'ended';
        },
      }),
      defineTool({
        name: 'wait',
        description: 'Waits.',
        input: { type: 'object' },
        execute: () => release.then(() => 'done'),
      }),
    ],
  });
}

interface Served {
  gateway: Gateway;
  release: () => void;
  warnings: string[];
  /** A client that reads; in the same gateway. */
  other: Client;
}

async function serve(limits: object): Promise<Served> {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const provider = new InProcessToolProvider({ servers: [largeTools(released)] });
  const warnings: string[] = [];
  const logger = { debug() {}, info() {}, error() {}, warn: (message: string) => void warnings.push(message) };
  const gateway = createGateway(provider, { limits, logger });
  const other = new Client({ name: 'peer', version: '1' });
  ends.push(
    () => provider.disconnect(),
    () => gateway.close(),
    () => other.close(),
  );
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  await gateway.serveStdio({ stdin, stdout });
  await other.connect(new StdioServerTransport(stdout, stdin));
  return { gateway, release, warnings, other };
}

const frame = (id: number, method: string, params: object): string =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'slow', version: '1' },
};

/** The most memory that was in use while `run` ran, over what was before, in bytes. */
async function growth(run: () => Promise<unknown>): Promise<number> {
  const used = (): number => process.memoryUsage().rss;
  const before = used();
  let most = before;
  const watch = setInterval(() => (most = Math.max(most, used())), 5);
  try {
    await run();
  } finally {
    clearInterval(watch);
  }
  return Math.max(most, used()) - before;
}

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.on('error', () => undefined);
    socket.once('close', () => resolve());
  });

async function expectServed({ other }: Served): Promise<void> {
  expect((await other.callTool({ name: 'large__text' })).isError).toBe(false);
}

/** Serves others until the gateway reports that it disconnected a client. */
async function untilDisconnected(served: Served): Promise<void> {
  for (let call = 0; call < 5_000; call++) {
    if (served.warnings.some((line) => line.includes('Disconnected a client'))) return;
    await expectServed(served);
    await new Promise((resolve) => setImmediate(resolve)); // the streams of the other client need no turn of the loop
  }
  throw new Error('no client was disconnected');
}

it('serveSocket() stops reading from a client that does not read many small answers, and resumes when it does', async () => {
  const served = await serve({});
  const directory = await mkdtemp(join(tmpdir(), 'toolwright-slow-'));
  ends.push(() => rm(directory, { recursive: true }));
  const path = join(directory, 's');
  await served.gateway.serveSocket({ path });
  const socket = connectSocket(path).pause();
  ends.push(() => socket.destroy());
  socket.write(frame(0, 'initialize', INITIALIZE));
  const PINGS = 60_000;
  socket.write(Array.from({ length: PINGS }, (_, index) => frame(index + 1, 'ping', {})).join(''));
  for (let call = 0; call < 50; call++) await expectServed(served);
  expect(socket.writableLength).toBeGreaterThan(MB); // the gateway has not read it
  let lines = 0;
  await new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) lines++;
      if (lines === PINGS + 1) resolve();
    });
    socket.resume();
  });
});

it('serveSocket() disconnects a client that does not read large answers, and serves others', async () => {
  const served = await serve({ maxPendingBytes: 8 * MB });
  const directory = await mkdtemp(join(tmpdir(), 'toolwright-slow-'));
  const path = join(directory, 's');
  await served.gateway.serveSocket({ path });
  ends.push(() => rm(directory, { recursive: true }));
  const socket = connectSocket(path);
  const disconnected = closed(socket);
  ends.push(() => socket.destroy());
  socket.pause();
  const most = await growth(async () => {
    socket.write(frame(0, 'initialize', INITIALIZE));
    for (let id = 1; id <= 400; id++) socket.write(frame(id, 'tools/call', { name: 'large__text' }));
    await untilDisconnected(served);
  });
  expect(most).toBeLessThan(200 * MB); // 400 MB of answers were requested
  socket.resume();
  await disconnected;
});

it('serveStdio() ends when the client does not read', async () => {
  const served = await serve({ maxPendingBytes: 4 * MB });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const { closed: ended } = await served.gateway.serveStdio({ stdin, stdout });
  stdin.write(frame(0, 'initialize', INITIALIZE));
  stdin.write(frame(1, 'tools/call', { name: 'large__chatter' }));
  const most = await growth(() => ended);
  expect(most).toBeLessThan(150 * MB);
  await expectServed(served);
});

it('serveStdio() leaks no listener when a client reads slowly', async () => {
  const served = await serve({});
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  await served.gateway.serveStdio({ stdin, stdout });
  const readLine = async (): Promise<void> => {
    for (let text = ''; !text.endsWith('\n'); text += String(stdout.read() ?? '')) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const counts: number[] = [];
  stdin.write(frame(0, 'initialize', INITIALIZE));
  await readLine();
  for (let id = 1; id <= 20; id++) {
    stdin.write(frame(id, 'tools/call', { name: 'large__text' })); // more than the stream takes at once
    await readLine();
    counts.push(stdout.listenerCount('drain') + stdout.listenerCount('close'));
  }
  expect(Math.max(...counts.slice(10))).toBe(Math.max(...counts.slice(0, 10)));
});

it('serveHttp() disconnects a client that does not read its stream, and ends its call with its session', async () => {
  const served = await serve({ maxPendingBytes: 8 * MB });
  const { port } = await served.gateway.serveHttp({ auth: 'none' });
  const base = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const url = `http://127.0.0.1:${port}/mcp`;
  const opened = await fetch(url, { method: 'POST', headers: base, body: frame(0, 'initialize', INITIALIZE) });
  await opened.text();
  const session = opened.headers.get('mcp-session-id')!;
  const socket = connectSocket(port!, '127.0.0.1');
  const disconnected = closed(socket);
  ends.push(() => socket.destroy());
  socket.pause();
  const body = frame(1, 'tools/call', { name: 'large__chatter' });
  const most = await growth(async () => {
    const head = { host: `127.0.0.1:${port}`, ...base, 'mcp-session-id': session, 'content-length': body.length };
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`);
    socket.write(`POST /mcp HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
    await untilDisconnected(served);
    // Reading what had been sent finds the end of the stream.
    socket.resume();
    await disconnected;
  });
  expect(most).toBeLessThan(200 * MB);
  await expectServed(served);
  await fetch(url, { method: 'DELETE', headers: { ...base, 'mcp-session-id': session } });
});

it('Backlog limits all clients together to four times as much, and disconnects the slowest first', async () => {
  const served = await serve({ maxPendingBytes: 4 * MB });
  const directory = await mkdtemp(join(tmpdir(), 'toolwright-slow-'));
  const path = join(directory, 's');
  await served.gateway.serveSocket({ path });
  ends.push(() => rm(directory, { recursive: true }));
  // Each of them is within its own bound, or little above that of its socket.
  for (let index = 0; index < 8; index++) {
    const socket = connectSocket(path);
    socket.on('error', () => undefined);
    ends.push(() => socket.destroy());
    socket.pause();
    socket.write(frame(0, 'initialize', INITIALIZE));
    for (let id = 1; id <= 4; id++) socket.write(frame(id, 'tools/call', { name: 'large__text' }));
  }
  await untilDisconnected(served);
  await expectServed(served);
});

it('serveStdio() fails requests beyond maxRequestsInFlight of one client with BUSY', async () => {
  const served = await serve({ maxRequestsInFlight: 4 });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  await served.gateway.serveStdio({ stdin, stdout });
  const client = new Client({ name: 'peer', version: '1' });
  ends.push(() => client.close());
  await client.connect(new StdioServerTransport(stdout, stdin));
  const waiting = Array.from({ length: 4 }, () => client.callTool({ name: 'large__wait' }));
  const refused = fromWireResult(await client.callTool({ name: 'large__wait' }));
  expect(refused.error).toMatchObject({ code: 'BUSY', retryable: true });
  await expect(client.listTools()).rejects.toMatchObject({ code: -32_050 });
  expect(await client.ping()).toEqual({});
  await expectServed(served);
  served.release();
  for (const each of await Promise.all(waiting)) expect(each.isError).toBe(false);
  expect((await client.callTool({ name: 'large__wait' })).isError).toBe(false);
});
