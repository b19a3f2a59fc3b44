// One call of a tool in a provider process, and how long a large result keeps its host from all else. The call is against a bare exchange of JSON lines with a process at a unix socket, one at a
// time and 64 in flight, and against the SDK over stdio.

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { spawnChild } from '@toolwright/core/process';
import { ProcessToolProvider } from '@toolwright/runtime';
import { compare, quartiles, reach, type Row } from '../method.js';

const fileOf = (server: string): string => fileURLToPath(new URL(`../servers/${server}.mjs`, import.meta.url));
const args = { text: 'hello world' };
const IN_FLIGHT = 64;
const CALLS = 1_024;

/** A process that gives every line back, and the least that an exchange with it needs. */
async function startBareEcho(directory: string): Promise<{ exchange: () => Promise<unknown> } & AsyncDisposable> {
  const path = join(directory, 's');
  const server = createServer().listen(path);
  await once(server, 'listening');
  const child = spawnChild({ command: process.execPath, args: [fileOf('bare-echo'), path], cwd: directory });
  child.stdout.resume();
  const [socket] = (await once(server, 'connection')) as [Socket];
  const waiting = new Map<number, (result: unknown) => void>();
  let rest = '';
  let id = 0;
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const answer = JSON.parse(line) as { id: number; result: unknown };
      waiting.get(answer.id)?.(answer.result);
      waiting.delete(answer.id);
    }
  });
  return {
    exchange: () =>
      new Promise((resolve) => {
        waiting.set(++id, resolve);
        const message = { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: args } };
        socket.write(`${JSON.stringify(message)}\n`);
      }),
    async [Symbol.asyncDispose]() {
      socket.destroy();
      await child.end();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Keeps 64 on their way until all are done. */
const inFlight = (run: () => Promise<unknown>) => async (): Promise<void> => {
  let left = CALLS;
  const line = async (): Promise<void> => {
    while (left-- > 0) await run();
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, line));
};

const MEBIBYTE = 1024 * 1024;
const STALL_ROUNDS = 15;

/** The longest time, in milliseconds, that the event loop was kept from its next turn while something ran. */
async function longestStall(run: () => Promise<unknown>): Promise<number> {
  let isRunning = true;
  let longest = 0;
  let last = performance.now();
  const turn = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (isRunning) setImmediate(turn);
  };
  setImmediate(turn);
  await run();
  turn();
  isRunning = false;
  return longest;
}

/** A result of so many bytes, against as much time in which nothing happens: what a busy machine takes is in both. */
async function stallRow(provider: ProcessToolProvider, bytes: number, boundMs: number): Promise<Row> {
  const ours: number[] = [];
  const idle: number[] = [];
  for (let round = -2; round < STALL_ROUNDS; round++) {
    const startedAt = performance.now();
    const stalled = await longestStall(() => provider.callTool('bench.big', { bytes: bytes - 1_024 }));
    const tookMs = performance.now() - startedAt;
    const control = await longestStall(() => new Promise((resolve) => setTimeout(resolve, tookMs)));
    if (round < 0) continue; // warm-up
    ours.push(stalled);
    idle.push(control);
  }
  const inMicroseconds = (values: readonly number[]): number[] => values.map((ms) => ms * 1_000);
  const difference = quartiles(inMicroseconds(ours.map((ms, round) => ms - (idle[round] as number))));
  const row: Row = {
    what: `longest stall for a frame of ${bytes / MEBIBYTE} MiB`,
    subject: 'ProcessToolProvider.callTool',
    against: 'an idle event loop',
    subjectUs: quartiles(inMicroseconds(ours)).median,
    againstUs: quartiles(inMicroseconds(idle)).median,
    ratio: quartiles(ours.map((ms, round) => ms / (idle[round] as number))),
    differenceUs: difference,
  };
  return reach(row, difference.median / 1_000, '<=', boundMs, 'ms more');
}

export async function processRows(): Promise<Row[]> {
  const directory = await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-bench-`));
  try {
    await using bare = await startBareEcho(directory);
    await using provider = new ProcessToolProvider({ name: 'bench', path: fileOf('provider') });
    await provider.connect();
    const client = new Client({ name: 'bench', version: '1.0.0' });
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [fileOf('echo')] }));
    await client.listTools();

    const call = (): Promise<unknown> => provider.callTool('bench.echo', args);
    const ours = { name: 'ProcessToolProvider.callTool', run: call };
    const floor = { name: 'bare exchange of JSON lines', run: bare.exchange };
    const oneByOne = await compare('call of a process', ours, floor, { batch: 500, warmUp: 20 });
    const together = await compare(
      `${CALLS} calls, ${IN_FLIGHT} in flight`,
      { name: ours.name, run: inFlight(call) },
      { name: floor.name, run: inFlight(bare.exchange) },
      { batch: 1, warmUp: 20 },
    );
    const overStdio = await compare(
      'call of a process',
      ours,
      { name: 'SDK Client.callTool over stdio', run: () => client.callTool({ name: 'echo', arguments: args }) },
      { batch: 200, warmUp: 10 },
    );
    await client.close();
    const stalls = [await stallRow(provider, 4 * MEBIBYTE, 50), await stallRow(provider, 16 * MEBIBYTE, 250)];
    return [
      ...stalls,
      reach(oneByOne, oneByOne.ratio.median, '<=', 1.5, 'x'),
      // Throughput is the inverse of time: at least 0.6 of the floor's.
      reach(together, 1 / together.ratio.median, '>=', 0.6, 'x its throughput'),
      reach(overStdio, overStdio.ratio.median, '<=', 1, 'x'),
    ];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
