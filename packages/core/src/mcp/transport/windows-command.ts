// Commands on Windows that are scripts: npm's `.cmd` files only name a JavaScript file, which Node runs without a shell.

import { win32 } from 'node:path';
import { ToolError } from '../../contract/errors.js';

/** What is looked up, so that it can be tested on any system. */
export interface WindowsLookup {
  /** PATH and PATHEXT of the child. */
  path: string;
  pathExt?: string;
  /** The text of a file, or undefined where there is none. */
  readFile: (path: string) => string | undefined;
}

/** `"%dp0%\..\package\bin.js" %*`, as npm, pnpm and yarn write it. */
const SHIM_TARGET = /"%(?:~)?dp0%?\\?([^"]+\.[cm]?js)"\s+%\*/i;

/**
 * What to start for a command on Windows. A `.cmd` or `.bat` is never run, as its arguments would go through a shell that
 * reads them as code: the script that it names is.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a batch file that is no such shim
 */
export function windowsCommand(
  command: string,
  args: readonly string[],
  { path, pathExt = '.COM;.EXE;.BAT;.CMD', readFile }: WindowsLookup,
): { command: string; args: readonly string[] } {
  const found = candidates(command, path, pathExt).find((file) => readFile(file) !== undefined);
  if (found === undefined || !/\.(cmd|bat)$/i.test(found)) return { command: found ?? command, args };
  const target = SHIM_TARGET.exec(readFile(found) ?? '')?.[1];
  if (target === undefined) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `"${found}" is a batch file, which only a shell can run; name the program that it starts as command.`,
    );
  }
  return { command: process.execPath, args: [win32.join(win32.dirname(found), target), ...args] };
}

function candidates(command: string, path: string, pathExt: string): string[] {
  const directories = /[\\/]/.test(command) ? [''] : path.split(';').filter((directory) => directory !== '');
  const extensions = win32.extname(command) === '' ? pathExt.split(';') : [''];
  return directories.flatMap((directory) =>
    extensions.map((extension) => win32.join(directory, `${command}${extension.toLowerCase()}`)),
  );
}
