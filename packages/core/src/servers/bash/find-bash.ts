// Finds bash: the system's, or one on the PATH outside the project.

import { constants } from 'node:fs';
import { access, realpath } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { ToolError } from '../../contract/errors.js';
import type { ProjectScope } from '../project/scope/project-scope.js';

const USUAL = ['/bin/bash', '/usr/bin/bash'];

/** Run one command without reading startup files. */
export const SHELL_ARGUMENTS = ['--noprofile', '--norc', '-c'];

/**
 * The absolute path of bash.
 *
 * @param given the operator's choice. Undefined: search for it
 * @throws {ToolError} UNAVAILABLE when it cannot be run, or none is found
 */
export async function findShell(scope: ProjectScope, given: string | undefined): Promise<string> {
  if (given !== undefined) {
    if (isAbsolute(given) && (await canRun(given))) return given;
    throw new ToolError(
      'UNAVAILABLE',
      `The shell ${given} cannot be run. Set the option shell to the absolute path of bash.`,
      {
        retryable: false,
      },
    );
  }
  if (process.platform !== 'win32') for (const path of USUAL) if (await canRun(path)) return path;
  const name = process.platform === 'win32' ? 'bash.exe' : 'bash';
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    // Windows' bash.exe starts WSL, where paths differ.
    if (!isAbsolute(directory) || /[\\/]windows[\\/]system32/i.test(directory)) continue;
    const path = join(directory, name);
    const real = await realpath(path).catch(() => undefined); // missing
    if (real !== undefined && !scope.find(directory) && !scope.find(real) && (await canRun(path))) return path;
  }
  throw new ToolError(
    'UNAVAILABLE',
    'bash was not found. Install it (on Windows: Git for Windows), or set the option shell to its absolute path.',
    { retryable: false },
  );
}

async function canRun(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false; // missing or not executable
  }
}
