// Custom language servers of the operator.

import { isAbsolute } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { assertOptions, type OptionNames } from '../../../contract/options.js';
import type { LanguagePreset } from './presets.js';

/** A custom language server. */
export interface LanguageServerOptions {
  /** Its name in results; a known name replaces the known server. */
  name: string;
  /** An absolute path, or a name on the PATH outside the project. Never passed to a shell. */
  command: string;
  /** Default: none. */
  args?: readonly string[] | undefined;
  /** Its files, by extension: `['.lua']`, or `{ '.h': 'objective-c' }` with the protocol's name of the language. */
  extensions: readonly string[] | Readonly<Record<string, string>>;
  /** File names; the nearest parent directory with one of them is the server's root. Default: none, and the project is the root. */
  rootMarkers?: readonly string[] | undefined;
  /**
   * True for a server that pushes the diagnostics of a version once: a list without errors is then complete after 1
   * second of silence, otherwise after 4 seconds, because errors may follow. Irrelevant for servers with pull
   * diagnostics. Default: false.
   */
  pushesOnce?: boolean | undefined;
}

const OPTIONS: OptionNames<LanguageServerOptions> = {
  name: true,
  command: true,
  args: true,
  extensions: true,
  rootMarkers: true,
  pushesOnce: true,
};

/** @throws {ToolError} INVALID_ARGUMENT */
export function customPreset(options: LanguageServerOptions, index: number): LanguagePreset {
  const at = `servers[${index}]`;
  assertOptions('createDiagnosticsServer()', options, OPTIONS, `${at}.`);
  const { name, command, args = [], extensions, rootMarkers = [], pushesOnce = false } = options;
  if (typeof name !== 'string' || !/^[A-Za-z0-9_.+-]{1,64}$/.test(name))
    throw wrong(`${at}.name must be 1 to 64 of A-Z a-z 0-9 _ . + -, not ${JSON.stringify(name)}.`);
  if (typeof command !== 'string' || command === '' || (!isAbsolute(command) && /[/\\]/.test(command)))
    throw wrong(`${at}.command must be an absolute path or a plain name, not ${JSON.stringify(command)}.`);
  if (!Array.isArray(args) || !args.every((each) => typeof each === 'string'))
    throw wrong(`${at}.args must be an array of strings.`);
  const languages = languagesOf(extensions);
  const wrongOnes = Object.keys(languages).filter((each) => !/^\.[^./\\]+$/.test(each));
  if (Object.keys(languages).length === 0 || wrongOnes.length > 0)
    throw wrong(`${at}.extensions must be extensions such as ".lua", not ${JSON.stringify(extensions)}.`);
  if (!Array.isArray(rootMarkers) || !rootMarkers.every((each) => typeof each === 'string' && !/[/\\]/.test(each)))
    throw wrong(`${at}.rootMarkers must be names of files.`);
  if (typeof pushesOnce !== 'boolean')
    throw wrong(`${at}.pushesOnce must be true or false, not ${JSON.stringify(pushesOnce)}.`);
  return {
    name,
    languages,
    rootMarkers: rootMarkers as readonly string[],
    async locate(places) {
      // An absolute path is the operator's choice and may be anywhere.
      const found = isAbsolute(command) ? command : await places.onPath(command);
      return found === undefined
        ? {
            hint: `${name} is not on the PATH outside the project; install it, or set command to its absolute path.`,
          }
        : { command: found, args, pushesOnce };
    },
  };
}

function languagesOf(extensions: LanguageServerOptions['extensions']): Record<string, string> {
  if (Array.isArray(extensions))
    return Object.fromEntries(
      (extensions as readonly unknown[]).map((each) => [String(each).toLowerCase(), String(each).slice(1)]),
    );
  return Object.fromEntries(
    Object.entries(Object(extensions) as Record<string, unknown>).map(([key, id]) => [key.toLowerCase(), String(id)]),
  );
}

function wrong(message: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', message);
}
