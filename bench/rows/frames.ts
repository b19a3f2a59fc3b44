// The memory of incomplete frames: a host that reads large results of many providers at the same time, against a process
// that drops the same bytes.

import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { spawnChild } from '@toolwright/core/process';
import { quartiles, reach, type Row } from '../method.js';

const HOST = fileURLToPath(new URL('../servers/frames-host.mjs', import.meta.url));
const ROUNDS = 5;
/** The largest complete frame, 16 MiB, and as much for all others together. */
const MAX_MORE_MB = 33.6;

export async function frameRows(): Promise<Row[]> {
  return [await measure(1), await measure(12)];
}

async function measure(providers: number): Promise<Row> {
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    bare.push(await megabytesOf('bare', providers));
    ours.push(await megabytesOf('host', providers));
  }
  const difference = quartiles(ours.map((mb, round) => mb - (bare[round] as number)));
  const row: Row = {
    what: `memory for a refused frame of 60 MB from ${providers === 1 ? 'a provider' : `each of ${providers} providers`}`,
    subject: 'ProcessToolProvider.callTool',
    against: 'sockets whose data is dropped',
    unit: 'MB',
    subjectUs: quartiles(ours).median,
    againstUs: quartiles(bare).median,
    ratio: quartiles(ours.map((mb, round) => mb / (bare[round] as number))),
    differenceUs: difference,
  };
  return reach(row, difference.median, '<=', MAX_MORE_MB, 'MB more');
}

async function megabytesOf(mode: 'bare' | 'host', providers: number): Promise<number> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-bench-`)));
  try {
    const args = [HOST, mode, String(providers), directory];
    const child = spawnChild({ command: process.execPath, args, cwd: directory, stdin: 'ignore' });
    const [output, { code }] = await Promise.all([text(child.stdout), child.exited]);
    if (code !== 0) throw new Error(`${HOST} ended with ${code}: ${child.stderrTail()}`);
    return Number(output) / 1e6;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
