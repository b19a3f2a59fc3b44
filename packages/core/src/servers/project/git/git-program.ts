// Finds a git that is outside the project and new enough for the settings that make an untrusted repository safe.

import { constants } from 'node:fs';
import { access, realpath } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { spawnChild } from '../../../process/index.js';
import { isInside, type ProjectScope } from '../scope/project-scope.js';

const PROBE_TIMEOUT_MS = 10_000;
/** The first version with settings in the environment, where driver names cannot be misparsed. */
const OLDEST = [2, 31] as const;

/** A git that may be run, and the search path for its helpers. */
export interface GitProgram {
  /** Absolute. */
  command: string;
  /** The host's PATH without relative directories and directories inside the project. */
  searchPath: string;
}

const found = new WeakMap<ProjectScope, Promise<GitProgram>>();

/** The git to run, searched for once per project. @throws {ToolError} UNAVAILABLE when none is found, or only one that is too old */
export function findGit(scope: ProjectScope): Promise<GitProgram> {
  let program = found.get(scope);
  if (!program) {
    program = locateGit(scope, process.env.PATH ?? '');
    found.set(scope, program);
    program.catch(() => found.delete(scope)); // it may be installed later
  }
  return program;
}

/** The first git on a search path that is not inside the project. @throws {ToolError} UNAVAILABLE */
export async function locateGit(scope: ProjectScope, hostPath: string): Promise<GitProgram> {
  const directories = await trustedDirectories(scope, hostPath);
  const searchPath = directories.join(delimiter);
  const name = process.platform === 'win32' ? 'git.exe' : 'git';
  for (const directory of directories) {
    const command = join(directory, name);
    if (!(await isProgramOutside(scope, command))) continue;
    const version = await versionOf(command, searchPath);
    if (version === undefined) continue;
    const [major, minor] = version;
    if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
      throw new ToolError(
        'UNAVAILABLE',
        `${command} is git ${major}.${minor}; at least ${OLDEST.join('.')} is required. Install a newer version.`,
      );
    return { command, searchPath };
  }
  throw new ToolError('UNAVAILABLE', 'git was not found on the PATH outside the project. Install git.');
}

/** Whether a program is inside the project: reading the history must never run it. */
async function trustedDirectories(scope: ProjectScope, hostPath: string): Promise<string[]> {
  const trusted: string[] = [];
  for (const directory of new Set(hostPath.split(delimiter))) {
    if (!isAbsolute(directory) || isOurs(scope, directory)) continue;
    const real = await realpath(directory).catch(() => undefined);
    if (real !== undefined && !isOurs(scope, real)) trusted.push(directory);
  }
  return trusted;
}

function isOurs(scope: ProjectScope, path: string): boolean {
  return scope.roots.some((root) => isInside(root.path, path));
}

async function isProgramOutside(scope: ProjectScope, command: string): Promise<boolean> {
  try {
    await access(command, constants.X_OK);
    return !isOurs(scope, await realpath(command));
  } catch {
    return false; // missing or not executable
  }
}

async function versionOf(command: string, searchPath: string): Promise<readonly [number, number] | undefined> {
  await using child = spawnChild({
    command,
    args: ['--version'],
    cwd: '/',
    env: { PATH: searchPath, LC_ALL: 'C' },
  });
  const timer = setTimeout(() => void child.end(), PROBE_TIMEOUT_MS);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(0, 1_000)));
  const closed = new Promise((resolve) => child.stdout.once('close', resolve));
  try {
    if ((await child.exited).code !== 0) return undefined;
  } catch {
    return undefined; // for another system
  } finally {
    clearTimeout(timer);
  }
  await closed;
  const [, major, minor] = /^git version (\d+)\.(\d+)/.exec(output) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
}
