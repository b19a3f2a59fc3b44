import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SpillDirectory } from '../../../../src/servers/bash/output/spill-directory.js';
import { Timeline } from '../../../../src/servers/bash/output/timeline.js';
import { expectNoLeaks } from '../../../../src/testing/leaks.js';

const pattern = (length: number): Buffer => {
  const bytes = Buffer.alloc(length);
  for (let i = 0; i + 4 <= length; i += 4) bytes.writeUInt32LE(i, i);
  return bytes;
};

async function fill(timeline: Timeline, bytes: Buffer, chunk: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += chunk) {
    timeline.push(bytes.subarray(at, at + chunk));
    if (timeline.isBehind) await timeline.drained();
  }
}

describe('Timeline', () => {
  it('Timeline makes no file when the output is small', async () => {
    await using _ = expectNoLeaks();
    const spill = new SpillDirectory();
    const timeline = new Timeline(spill, 'a.log', 1e6);
    await fill(timeline, pattern(60_000), 1_000);
    expect(timeline.path).toBeUndefined();
    expect((await timeline.read(4_000, 8)).bytes).toEqual(pattern(60_000).subarray(4_000, 4_008));
    await spill.remove();
  });

  it('Timeline keeps every byte in a file that no one else can read when the output is long', async () => {
    await using _ = expectNoLeaks();
    const spill = new SpillDirectory();
    const timeline = new Timeline(spill, 'a.log', 1e9);
    const bytes = pattern(5_000_000);
    await fill(timeline, bytes, 65_536);
    await timeline.drained();
    const { path } = timeline;
    expect((await readFile(path!)).equals(bytes)).toBe(true);
    expect(statSync(path!).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(path!)).mode & 0o777).toBe(0o700);
    expect(timeline.droppedBytes).toBe(0);
    expect(await timeline.read(4_999_996, 100)).toEqual({ bytes: bytes.subarray(4_999_996), start: 4_999_996 });
    await timeline.remove();
    await spill.remove();
    expect(existsSync(dirname(path!))).toBe(false);
  });

  it('Timeline keeps the end and counts what it drops when the output is over the limit of its file', async () => {
    await using _ = expectNoLeaks();
    const spill = new SpillDirectory();
    const timeline = new Timeline(spill, 'a.log', 1_000_000);
    const bytes = pattern(5_000_000);
    await fill(timeline, bytes, 10_000);
    await timeline.drained();
    expect((await readFile(timeline.path!)).equals(bytes.subarray(0, 1_000_000))).toBe(true);
    const { bytes: part, start } = await timeline.read(2_000_000, 1e7);
    expect(start).toBeGreaterThan(4_700_000);
    expect(part.equals(bytes.subarray(start))).toBe(true);
    expect(timeline.droppedBytes).toBe(start - 1_000_000);
    await timeline.remove();
    await spill.remove();
  });

  it('Timeline keeps the end and reports it when the disk fails', async () => {
    const failing = { create: () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })) };
    const timeline = new Timeline(failing as unknown as SpillDirectory, 'a.log', 1e9);
    const bytes = pattern(1_000_000);
    await fill(timeline, bytes, 10_000);
    await timeline.drained();
    const { bytes: part, start } = await timeline.read(0, 1e7);
    expect(part.equals(bytes.subarray(start))).toBe(true);
    expect(timeline.droppedBytes).toBe(start);
    await timeline.remove();
  });
});
