// Finds ripgrep, and runs it in an open directory, which it reaches even if the path changes.

import { constants } from 'node:fs';
import { access, realpath } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { finished } from 'node:stream/promises';
import { ToolError } from '../../../contract/errors.js';
import { spawnChild } from '../../../process/index.js';
import { TEMPORARY_GLOB } from '../../project/write/atomic-write.js';
import type { ProjectScope } from '../../project/scope/project-scope.js';

const GRACE_MS = 500;
const PROBE_TIMEOUT_MS = 10_000;

/**
 * The arguments of every run: no configuration file, whose `--pre` runs programs; hidden files, but never those of a
 * repository; ignore files with or without a repository, and none above the directory.
 */
const COMMON_ARGUMENTS = [
  ...[
    '--no-config',
    '--no-messages',
    '--color=never',
    '--hidden',
    '--no-require-git',
    '--no-ignore-parent',
    '--no-ignore-global',
  ],
  // These follow every --glob, so that no pattern can include what they exclude.
  ...[`--iglob=!${TEMPORARY_GLOB}`, '--iglob=!.git'],
];

/** One run of ripgrep. */
export interface RipgrepRun {
  /** The program, from {@link findRipgrep}. */
  command: string;
  /** The arguments before the paths. */
  args: readonly string[];
  /** What is searched. Default: the directory itself. */
  paths?: readonly string[];
  /** An address that reaches the directory. */
  cwd: string;
  timeoutMs: number;
  signal: AbortSignal;
  /** Receives output in chunks; returns false to stop. */
  onOutput: (chunk: Buffer) => boolean | Promise<boolean>;
}

/** The result of a run. */
export interface RipgrepOutcome {
  timedOut: boolean;
}

/**
 * Runs ripgrep, and stops it when the receiver returns false, at the timeout or on abort.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a pattern, glob or type that it does not take; CANCELLED
 */
export async function runRipgrep({
  command,
  args,
  paths = ['.'],
  cwd,
  timeoutMs,
  signal,
  onOutput,
}: RipgrepRun): Promise<RipgrepOutcome> {
  await using child = spawnChild({
    command,
    args: [...COMMON_ARGUMENTS, ...args, '--', ...paths],
    cwd,
    env: {},
    signal,
  });
  let stopped = false;
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    void child.end({ graceMs: GRACE_MS });
  }, timeoutMs);
  try {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      if (await onOutput(chunk)) continue;
      stopped = true;
      break;
    }
  } catch (error) {
    // Closed by the timeout or the abort, which are reported below.
    if (ToolError.isInstance(error) || !(timedOut || signal.aborted)) throw error;
  } finally {
    clearTimeout(timer);
    if (stopped) await child.end({ graceMs: GRACE_MS });
  }
  const { code } = await child.exited;
  signal.throwIfAborted();
  if (!stopped && !timedOut && code !== 0 && code !== 1) {
    await finished(child.stderr).catch(() => {}); // closed already: its tail is all there is
    const said = child.stderrTail().trim();
    // 2 also means files that could not be read, which --no-messages does not report.
    if (said !== '' || code !== 2) throw refused(said);
  }
  return { timedOut };
}

function refused(said: string): ToolError {
  if (said === '') return new ToolError('EXECUTION_FAILED', 'ripgrep was ended before it finished. Try again.');
  return new ToolError('INVALID_ARGUMENT', `ripgrep rejected the search: ${said.replace(/^rg: /, '')}`);
}

const byScope = new WeakMap<ProjectScope, Promise<string>>();

/** The program to run, searched for once per project. @throws {ToolError} UNAVAILABLE when there is none that can be trusted */
export function findRipgrep(scope: ProjectScope): Promise<string> {
  let found = byScope.get(scope);
  if (!found) {
    found = locateRipgrep(scope, { bundled: bundledRipgrep, searchPath: process.env.PATH ?? '' });
    byScope.set(scope, found);
    found.catch(() => byScope.delete(scope)); // it may be installed meanwhile
  }
  return found;
}

/** Where ripgrep is searched. */
export interface RipgrepSources {
  /** The path of the one from the package; rejects where its platform's package is not installed. */
  bundled: () => Promise<string>;
  /** Directories, as in PATH. */
  searchPath: string;
}

/** The first that runs: the package's own, then one on the search path that is not inside the project. */
export async function locateRipgrep(scope: ProjectScope, { bundled, searchPath }: RipgrepSources): Promise<string> {
  const own = await bundled().catch(() => undefined);
  if (own !== undefined && (await runs(own))) return own;
  const name = process.platform === 'win32' ? 'rg.exe' : 'rg';
  for (const directory of searchPath.split(delimiter)) {
    if (!isAbsolute(directory)) continue; // the current directory may be the project
    const program = await realpath(join(directory, name)).catch(() => undefined);
    // Searching a project must not run a program from it.
    if (program !== undefined && !scope.find(program) && !scope.find(directory) && (await runs(program)))
      return program;
  }
  throw new ToolError(
    'UNAVAILABLE',
    `ripgrep was not found: the package @vscode/ripgrep-${process.platform}-${process.arch} is not installed, and rg is not on the PATH ` +
      'outside the project. Install one of them.',
  );
}

async function bundledRipgrep(): Promise<string> {
  const { rgPath } = await import('@vscode/ripgrep'); // throws while loading where the platform's package is missing
  return rgPath;
}

async function runs(program: string): Promise<boolean> {
  // Not AbortSignal.timeout(), whose timer would outlive the program.
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), PROBE_TIMEOUT_MS);
  try {
    await access(program, constants.X_OK);
    await using child = spawnChild({
      command: program,
      args: ['--version'],
      cwd: '/',
      env: {},
      signal: abort.signal,
    });
    child.stdout.resume();
    return (await child.exited).code === 0;
  } catch {
    return false; // not there, not ours to run, or for another system
  } finally {
    clearTimeout(timer);
  }
}
