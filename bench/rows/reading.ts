// The first page of a 1 GB file, against opening the file and reading 64 KiB of it; and its memory, measured in a separate
// process.

import { mkdtemp, open, realpath, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { InProcessToolProvider } from '@toolwright/core';
import { createFilesystemServer } from '@toolwright/core/servers/filesystem';
import { spawnChild } from '@toolwright/core/process';
import { compare, type Row } from '../method.js';

const SIZE = 1024 ** 3;
const LINE = 'a line of text, as long as lines of programs are, or so\n';
const MAX_MS = 100;
const MAX_MEMORY_MB = 64;
const DIST = new URL('../../packages/core/dist/', import.meta.url);

export async function readingRows(): Promise<Row[]> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-bench-`)));
  try {
    const path = join(directory, 'big.txt');
    // Lines at the start, then a hole, because nothing after the page should be read.
    await writeFile(path, LINE.repeat(1_000_000));
    await truncate(path, SIZE);
    const provider = new InProcessToolProvider({ servers: [createFilesystemServer({ projectDir: directory })] });
    const readPage = async (): Promise<void> => {
      const { structuredContent } = await provider.callTool('filesystem.read_file', { path: 'big.txt' });
      if (structuredContent?.size !== SIZE || structuredContent.next_offset === undefined)
        throw new Error('The answer is no first page.');
    };
    const row = await compare(
      'first page of a 1 GB file',
      { name: 'read_file', run: readPage },
      { name: 'open, read 64 KiB', run: () => readBytes(path, 64 * 1024) },
      { batch: 20 },
    );
    await provider.disconnect();
    const memory = await memoryOfFirstPage(directory);
    const bound = `<= ${MAX_MS} ms, < ${MAX_MEMORY_MB} MB more memory (${memory.toFixed(1)} MB)`;
    return [{ ...row, reach: { bound, reached: row.subjectUs / 1_000 <= MAX_MS && memory < MAX_MEMORY_MB } }];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function readBytes(path: string, length: number): Promise<void> {
  await using handle = await open(path);
  await handle.read(Buffer.allocUnsafe(length), 0, length, 0);
}

/** The growth of a new process's memory by the first page of the file, in MB. */
async function memoryOfFirstPage(directory: string): Promise<number> {
  const module = (name: string): string => JSON.stringify(new URL(name, DIST).href);
  const program = join(directory, 'memory.mjs');
  await writeFile(join(directory, 'small.txt'), LINE);
  await writeFile(
    program,
    `import { InProcessToolProvider } from ${module('index.js')};
import { createFilesystemServer } from ${module('servers/filesystem/index.js')};
const provider = new InProcessToolProvider({ servers: [createFilesystemServer({ projectDir: ${JSON.stringify(directory)} })] });
await provider.callTool('filesystem.read_file', { path: 'small.txt' });
const before = process.memoryUsage().rss;
await provider.callTool('filesystem.read_file', { path: 'big.txt' });
console.log(process.memoryUsage().rss - before);
await provider.disconnect();
`,
  );
  const child = spawnChild({ command: process.execPath, args: [program], cwd: directory, stdin: 'ignore' });
  const [output, { code }] = await Promise.all([text(child.stdout), child.exited]);
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${child.stderrTail()}`);
  return Number(output) / 1e6;
}
