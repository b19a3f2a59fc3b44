// One call of a tool in a provider process, against a bare exchange of JSON lines over a unix socket, one at a time and 64
// in flight, and against the SDK over stdio, on one core and on two. Also how long a large result blocks its host, against
// an idle process.

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
import { inEachPlacement } from '../placement.js';

const fileOf = (server: string): string => fileURLToPath(new URL(`../servers/${server}.mjs`, import.meta.url));
const args = { text: 'hello world' };
const IN_FLIGHT = 64;
const CALLS = 1_024;
const STARTS = 5;

/** A process that echoes every line, and the simplest exchange with it. */
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

/** Keeps 64 calls in flight until all are done. */
const inFlight = (run: () => Promise<unknown>) => async (): Promise<void> => {
  let left = CALLS;
  const line = async (): Promise<void> => {
    while (left-- > 0) await run();
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, line));
};

/** Sends 64 calls together, and the next 64 when all of them are answered. */
const inBursts = (run: () => Promise<unknown>) => async (): Promise<void> => {
  for (let sent = 0; sent < CALLS; sent += IN_FLIGHT) await Promise.all(Array.from({ length: IN_FLIGHT }, run));
};

const MEBIBYTE = 1024 * 1024;
const STALL_ROUNDS = 15;

/** The longest delay of a one-millisecond timer during `run`, in milliseconds. */
async function longestStall(run: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  const tick = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(tick, 1);
  await run();
  clearInterval(timer);
  tick();
  return longest;
}

/** A process that does nothing, and reports the longest delay of its timer meanwhile. */
function startIdle(): { longestStall: (run: () => Promise<unknown>) => Promise<number> } & AsyncDisposable {
  const child = spawnChild({ command: process.execPath, args: [fileOf('idle')], cwd: process.cwd(), stdin: 'pipe' });
  const exchange = async (): Promise<number> => {
    child.stdin!.write('\n');
    const [answer] = (await once(child.stdout, 'data')) as [Buffer];
    return Number(answer.toString());
  };
  return {
    async longestStall(run) {
      await exchange();
      await run();
      return exchange();
    },
    [Symbol.asyncDispose]: async () => void (await child.end()),
  };
}

/** Returns a large result while an idle process measures as well, so that a busy machine affects both. */
async function stallRow(provider: ProcessToolProvider, bytes: number, boundMs: number): Promise<Row> {
  await using control = startIdle();
  const ours: number[] = [];
  const idle: number[] = [];
  for (let round = -2; round < STALL_ROUNDS; round++) {
    let stalled = 0;
    const waited = await control.longestStall(async () => {
      stalled = await longestStall(() => provider.callTool('bench.big', { bytes: bytes - 1_024 }));
    });
    if (round < 0) continue; // warm-up
    ours.push(stalled);
    idle.push(waited);
  }
  const inMicroseconds = (values: readonly number[]): number[] => values.map((ms) => ms * 1_000);
  const difference = quartiles(inMicroseconds(ours.map((ms, round) => ms - (idle[round] as number))));
  const row: Row = {
    what: `longest stall for a frame of ${bytes / MEBIBYTE} MiB`,
    subject: 'ProcessToolProvider.callTool',
    against: 'an idle process at the same time',
    subjectUs: quartiles(inMicroseconds(ours)).median,
    againstUs: quartiles(inMicroseconds(idle)).median,
    ratio: quartiles(ours.map((ms, round) => ms / (idle[round] as number))),
    differenceUs: difference,
  };
  return reach(row, difference.median / 1_000, '<=', boundMs, 'ms more');
}

/** One call against the floor, 64 in flight against it, and one call against the SDK. */
async function startAll(directory: string): ReturnType<Parameters<typeof inEachPlacement>[1]> {
  const bare = await startBareEcho(directory);
  const provider = new ProcessToolProvider({ name: 'bench', path: fileOf('provider') });
  await provider.connect();
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [fileOf('echo')] }));
  await client.listTools();
  const call = (): Promise<unknown> => provider.callTool('bench.echo', args);
  const ours = { name: 'ProcessToolProvider.callTool', run: call };
  const floor = { name: 'bare exchange of JSON lines', run: bare.exchange };
  const sdk = {
    name: 'SDK Client.callTool over stdio',
    run: () => client.callTool({ name: 'echo', arguments: args }),
  };
  return {
    measure: async (placement) => [
      await compare(`call of a process, ${placement}`, ours, floor, { batch: 500, rounds: 9, warmUp: 10 }),
      await compare(
        `${CALLS} calls, ${IN_FLIGHT} in flight, ${placement}`,
        { name: ours.name, run: inFlight(call) },
        { name: floor.name, run: inFlight(bare.exchange) },
        { batch: 1, rounds: 9, warmUp: 20 },
      ),
      await compare(`call of a process, ${placement}`, ours, sdk, { batch: 200, rounds: 9, warmUp: 5 }),
    ],
    async [Symbol.asyncDispose]() {
      await client.close();
      await provider.disconnect();
      await bare[Symbol.asyncDispose]();
    },
  };
}

/** Bursts against bare exchanges in the same bursts, to show what one write and one read per burst save. */
export async function burstRows(): Promise<Row[]> {
  const directory = await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-bench-`));
  try {
    const rows = await inEachPlacement(STARTS, async () => {
      const bare = await startBareEcho(directory);
      const provider = new ProcessToolProvider({ name: 'bench', path: fileOf('provider') });
      await provider.connect();
      const call = (): Promise<unknown> => provider.callTool('bench.echo', args);
      return {
        measure: async (placement) => [
          await compare(
            `${CALLS} calls in bursts of ${IN_FLIGHT}, ${placement}`,
            { name: 'ProcessToolProvider.callTool', run: inBursts(call) },
            { name: 'bare exchange of JSON lines', run: inBursts(bare.exchange) },
            { batch: 1, rounds: 15, warmUp: 40 },
          ),
        ],
        async [Symbol.asyncDispose]() {
          await provider.disconnect();
          await bare[Symbol.asyncDispose]();
        },
      };
    });
    const last = rows.pop() as Row; // on two cores, where there are two
    return [...rows, reach(last, 1 / last.ratio.median, '>=', 0.7, 'x its throughput')];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

export async function processRows(): Promise<Row[]> {
  const directory = await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-bench-`));
  try {
    const rows = (await inEachPlacement(STARTS, () => startAll(directory))).map((row, index) => {
      const { median } = row.ratio;
      if (index % 3 === 0) return reach(row, median, '<=', 1.5, 'x');
      // Throughput is the inverse of time: at least 0.6 of the floor's.
      return index % 3 === 1 ? reach(row, 1 / median, '>=', 0.6, 'x its throughput') : reach(row, median, '<=', 1, 'x');
    });
    await using provider = new ProcessToolProvider({ name: 'bench', path: fileOf('provider') });
    rows.push(await stallRow(provider, 4 * MEBIBYTE, 50), await stallRow(provider, 16 * MEBIBYTE, 250));
    return rows;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
