// The cost of an import, and of connecting the built-in tools, in a whole process: minus that of an empty module, against
// `node -e 0`.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { spawnChild } from '@toolwright/core/process';
import { quartiles, type Row } from '../method.js';

const ROUNDS = 21;
const WARM_UP = 3;
const PACKAGES = fileURLToPath(new URL('../../packages/', import.meta.url));
const ENTRIES: [name: string, file: string, bound: number | undefined][] = [
  ['@toolwright/core', 'core/dist/index.js', 0.5],
  ['@toolwright/core/servers', 'core/dist/servers/index.js', 1],
  ['@toolwright/core/testing', 'core/dist/testing/index.js', undefined],
  ['@toolwright/core/mcp', 'core/dist/mcp/index.js', undefined],
  ['@toolwright/runtime', 'runtime/dist/index.js', undefined],
  ['@toolwright/runtime/provider', 'runtime/dist/provider/index.js', undefined],
];

export async function importRows(): Promise<Row[]> {
  const directory = await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-bench-`));
  try {
    const empty = await moduleOf(directory, 'empty.mjs', '');
    const rows: Row[] = [];
    for (const [name, file, bound] of ENTRIES) {
      const subject = await moduleOf(
        directory,
        `${file.replaceAll('/', '-')}.mjs`,
        `import ${JSON.stringify(pathToFileURL(join(PACKAGES, file)).href)};\n`,
      );
      rows.push(await measure(`import '${name}'`, subject, empty, bound));
    }
    const core = JSON.stringify(pathToFileURL(join(PACKAGES, 'core/dist/index.js')).href);
    const connect = `import { InProcessToolProvider } from ${core};\n
const provider = InProcessToolProvider.forProject(${JSON.stringify(directory)});
await provider.connect();
await provider.listTools();
process.exit();\n`;
    const connecting = await moduleOf(directory, 'connect.mjs', connect);
    rows.push(await measure('connecting and listing all built-in tools', connecting, empty, undefined));
    return rows;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function measure(what: string, subject: string, empty: string, bound: number | undefined): Promise<Row> {
  const ratios: number[] = [];
  const extras: number[] = [];
  const floors: number[] = [];
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const bare = await timeProcess(['-e', '0']);
    const nothing = await timeProcess([empty]);
    const imported = await timeProcess([subject]);
    if (round < 0) continue;
    ratios.push((imported - nothing) / bare);
    extras.push(imported - nothing);
    floors.push(bare);
  }
  const ratio = quartiles(ratios);
  return {
    what: 'a process, less one with an empty module',
    subject: what,
    against: 'node -e 0',
    subjectUs: quartiles(extras).median,
    againstUs: quartiles(floors).median,
    ratio,
    differenceUs: quartiles(extras),
    ...(bound !== undefined && { reach: { bound: `<= ${bound} x`, reached: ratio.median <= bound } }),
  };
}

async function moduleOf(directory: string, name: string, source: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, source);
  return path;
}

async function timeProcess(args: string[]): Promise<number> {
  const started = performance.now();
  const child = spawnChild({ command: process.execPath, args, cwd: tmpdir(), stdin: 'ignore' });
  child.stdout.resume();
  const { code } = await child.exited;
  const us = (performance.now() - started) * 1_000;
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}: ${child.stderrTail()}`);
  return us;
}
