// Runs npm's `.cmd` files on Windows without a shell: they only name a JavaScript file, which Node runs.

import { win32 } from 'node:path';
import { ToolError } from '../../contract/errors.js';

/** The lookups, which tests on other systems replace. */
export interface WindowsLookup {
  /** The child's PATH. */
  path: string;
  /** The child's PATHEXT. Default: `.COM;.EXE;.BAT;.CMD`. */
  pathExt?: string;
  /** Returns the text of a file; undefined if it does not exist. */
  readFile: (path: string) => string | undefined;
}

/** `"%dp0%\..\package\bin.js" %*`, as npm, pnpm and yarn write it. */
const SHIM_TARGET = /"%(?:~)?dp0%?\\?([^"]+\.[cm]?js)"\s+%\*/i;

/**
 * The program and arguments to start for a command on Windows. A `.cmd` or `.bat` file is never run, as a shell would interpret its
 * arguments; the JavaScript file that it names is run instead.
 *
 * @throws {ToolError} INVALID_ARGUMENT for any other batch file
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
      `"${found}" is a batch file, which only a shell can run; set command to the program that it starts.`,
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
