// Finding bash: one of the system's, or one on the PATH that the project does not bring along.

import { constants } from 'node:fs';
import { access, realpath } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { ToolError } from '../../contract/errors.js';
import type { ProjectScope } from '../project/scope/project-scope.js';

const USUAL = ['/bin/bash', '/usr/bin/bash'];

/** A fresh shell that reads no start files. */
export const SHELL_ARGUMENTS = ['--noprofile', '--norc', '-c'];

/**
 * The path of the shell.
 *
 * @param given the operator's choice; undefined to look for one
 * @throws {ToolError} UNAVAILABLE when there is none
 */
export async function findShell(scope: ProjectScope, given: string | undefined): Promise<string> {
  if (given !== undefined) {
    if (isAbsolute(given) && (await canRun(given))) return given;
    throw new ToolError(
      'UNAVAILABLE',
      `The shell ${given} cannot be run. Give the absolute path of a bash in the option shell.`,
      {
        retryable: false,
      },
    );
  }
  if (process.platform !== 'win32') for (const path of USUAL) if (await canRun(path)) return path;
  const name = process.platform === 'win32' ? 'bash.exe' : 'bash';
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    // The bash.exe of Windows itself is the door to another system, which sees other paths.
    if (!isAbsolute(directory) || /[\\/]windows[\\/]system32/i.test(directory)) continue;
    const path = join(directory, name);
    const real = await realpath(path).catch(() => undefined); // not there
    if (real !== undefined && !scope.find(directory) && !scope.find(real) && (await canRun(path))) return path;
  }
  throw new ToolError(
    'UNAVAILABLE',
    'There is no bash on this machine. Install it (on Windows: Git for Windows), or give its absolute path in the option shell.',
    { retryable: false },
  );
}

async function canRun(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false; // not there, or not ours to run
  }
}
