// Which files a provider file consists of: the file and what it imports from its project, not from packages. For
// TypeScript and JavaScript esbuild reports them, and finds syntax errors; for Python the import statements are read.

import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ToolError } from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';
import { pythonImports } from './python-imports.js';

/** Why a file cannot be loaded. Lines are counted from 1. */
export interface SourceFault {
  file?: string;
  line?: number;
  message: string;
}

/** The files to watch, absolute, and the fault that was found in them. */
export interface ImportGraph {
  files: ReadonlySet<string>;
  fault?: SourceFault | undefined;
}

const MAX_UNKNOWN_LOADERS = 20;
/** The files that an import without, or with, an extension may mean. */
const EXTENSIONS = ['', '.ts', '.tsx', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs', '.json'];

/**
 * Reads the graph of a provider file.
 *
 * @throws {ToolError} UNAVAILABLE when esbuild cannot be run, CANCELLED with the signal
 */
export async function readImportGraph(entry: string, signal?: AbortSignal): Promise<ImportGraph> {
  if (extname(entry) === '.py') return { files: await pythonImports(entry) };
  const directory = await mkdtemp(join(tmpdir(), 'toolwright-graph-'));
  try {
    return await bundle(entry, directory, signal);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function bundle(entry: string, directory: string, signal: AbortSignal | undefined): Promise<ImportGraph> {
  const metafile = join(directory, 'meta.json');
  const cwd = dirname(entry);
  const loaders: string[] = [];
  for (;;) {
    const args = [
      entry,
      '--bundle',
      '--packages=external',
      '--platform=node',
      '--format=esm',
      `--outfile=${join(directory, 'out.mjs')}`,
      `--metafile=${metafile}`,
      '--log-level=error',
      '--log-limit=1',
      '--color=false',
      ...loaders,
    ];
    const { code, stderr } = await runEsbuild(args, cwd, signal);
    if (code === 0) {
      const { inputs } = JSON.parse(await readFile(metafile, 'utf8')) as { inputs: Record<string, unknown> };
      return { files: new Set([entry, ...Object.keys(inputs).map((path) => resolve(cwd, path))]) };
    }
    const unknown = /No loader is configured for "(\.[^"]+)" files/.exec(stderr)?.[1];
    if (unknown === undefined || loaders.length >= MAX_UNKNOWN_LOADERS) return faultyGraph(entry, cwd, stderr);
    loaders.push(`--loader:${unknown}=empty`); // a data file: watched, but not read
  }
}

/** The format of esbuild's errors: `✘ [ERROR] MESSAGE`, an empty line, and ` FILE:LINE:COLUMN:`. */
function faultyGraph(entry: string, cwd: string, stderr: string): ImportGraph {
  const [, message, path, line] = /\[ERROR\] ([^\n]*)(?:\n\n\s+(.+?):(\d+):\d+:)?/.exec(stderr) ?? [];
  if (message === undefined) throw new ToolError('UNAVAILABLE', `esbuild failed: ${stderr.slice(0, 500)}`);
  const file = path === undefined ? entry : resolve(cwd, path);
  const missing = /Could not resolve "(\.[^"]*)"/.exec(message)?.[1];
  return {
    files: new Set([entry, file, ...(missing === undefined ? [] : candidates(resolve(dirname(file), missing)))]),
    fault: { file, ...(line !== undefined && { line: Number(line) }), message },
  };
}

/** The paths at which a missing module may appear. */
function candidates(path: string): string[] {
  const stem = path.slice(0, path.length - extname(path).length);
  return EXTENSIONS.flatMap((extension) => [path + extension, stem + extension]);
}

async function runEsbuild(
  args: readonly string[],
  cwd: string,
  signal: AbortSignal | undefined,
): Promise<{ code: number | null; stderr: string }> {
  const { command, first } = locateEsbuild();
  await using child = spawnChild({ command, args: [...first, ...args], cwd, signal, stderrTailBytes: 64 * 1024 });
  child.stdout.resume();
  const closed = new Promise((done) => child.stderr.once('close', done));
  const { code } = await child.exited;
  await closed;
  if (signal?.aborted) throw ToolError.from(signal.reason, 'CANCELLED');
  return { code, stderr: child.stderrTail() };
}

/**
 * The program itself, not its JavaScript interface, which starts a service process that it never ends and shares with
 * all users of esbuild in this process.
 */
function locateEsbuild(): { command: string; first: string[] } {
  const packageDir = dirname(dirname(fileURLToPath(import.meta.resolve('esbuild'))));
  const native = join(dirname(packageDir), '@esbuild', `${process.platform}-${process.arch}`);
  for (const command of [join(native, 'bin', 'esbuild'), join(native, 'esbuild.exe')])
    if (existsSync(command)) return { command, first: [] };
  return { command: process.execPath, first: [join(packageDir, 'bin', 'esbuild')] };
}
