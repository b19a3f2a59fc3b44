// Runs fixtures/file-writer.ts as a process of its own, and fixtures/failing-files.c in it.

import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { build } from 'tsup';
import { spawnChild, type Child } from '../../../src/process/index.js';

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

/** What a run of the writer said, and how it ended. */
export interface WriterRun {
  stdout: string;
  stderr: string;
  signal: NodeJS.Signals | null;
}

export interface FileWriter extends AsyncDisposable {
  /** Why file operations cannot be made to fail here; undefined when they can. */
  cannotFail: string | undefined;
  start(args: readonly string[], options?: { failing?: boolean }): Child;
  run(args: readonly string[], options?: { failing?: boolean }): Promise<WriterRun>;
}

/** Builds both, once for a file of tests. */
export async function buildFileWriter(): Promise<FileWriter> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'toolwright-writer-')));
  await build({
    entry: [fixture('file-writer.ts')],
    outDir: directory,
    format: 'esm',
    outExtension: () => ({ js: '.mjs' }),
    config: false,
    silent: true,
    dts: false,
    splitting: false,
    noExternal: [/.*/],
  });
  const library = join(directory, 'failing-files.so');
  const compile = async (): Promise<string | undefined> => {
    if (process.platform !== 'linux') return 'operations are made to fail on Linux only';
    try {
      const args = ['-shared', '-fPIC', '-o', library, fixture('failing-files.c'), '-ldl'];
      const { code } = await spawnChild({ command: 'cc', args, cwd: directory }).exited;
      return code === 0 ? undefined : 'the C compiler does not make the library';
    } catch {
      return 'there is no C compiler';
    }
  };
  const start = (args: readonly string[], { failing = false } = {}): Child =>
    spawnChild({
      command: process.execPath,
      args: [join(directory, 'file-writer.mjs'), ...args],
      cwd: directory,
      extraEnv: failing ? { LD_PRELOAD: library } : {},
    });
  return {
    cannotFail: await compile(),
    start,
    async run(args, options) {
      const child = start(args, options);
      const [stdout, stderr, { signal }] = await Promise.all([text(child.stdout), text(child.stderr), child.exited]);
      return { stdout, stderr, signal };
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}
