// Selects the server for TypeScript: version 7 includes one, versions 5 and 6 need typescript-language-server.

import { access, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '../../../contract/json.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import type { MissingServer, ServerCommand } from '../lsp/launch.js';
import { directoriesAbove, readPackage, type FoundPackage, type ProgramPlaces } from './program-places.js';

const HOW_TO_GET =
  'Install "typescript" 7 beside the host application or on the PATH, or set the option typescript to a TypeScript package. ' +
  'TypeScript 5 and 6 need "typescript-language-server" beside it.';

/** Prevents downloads of type packages. */
const NO_DOWNLOADS: JsonObject = {
  disableAutomaticTypeAcquisition: true,
  tsserver: { automaticTypeAcquisition: { enabled: false } },
};

/**
 * The server for the first TypeScript that can be used.
 *
 * @param given a TypeScript package that the caller named: that one or none
 */
export async function locateTypeScript(
  places: ProgramPlaces,
  given: string | undefined,
): Promise<ServerCommand | MissingServer> {
  const reasons: string[] = [];
  for (const candidate of given === undefined ? await candidates(places) : [await readPackage(given)]) {
    if (!candidate) continue;
    const major = Number.parseInt(candidate.version, 10);
    const found = major >= 7 ? await native(candidate) : major >= 5 ? await bridged(places, candidate) : undefined;
    if (found && 'command' in found) return found;
    reasons.push(found?.hint ?? `TypeScript ${candidate.version} is too old: 5 or later is needed.`);
  }
  if (given !== undefined && reasons.length === 0)
    reasons.push(`The option typescript is not a TypeScript package: ${escapeControls(given)}.`);
  return { hint: [...new Set(reasons), HOW_TO_GET].join(' ') };
}

async function candidates(places: ProgramPlaces): Promise<(FoundPackage | undefined)[]> {
  const found = [await places.findPackage('typescript')];
  const program = await places.onPath('tsc');
  if (program !== undefined) {
    // A package manager's link to the package, whose version is known without running it.
    for (const directory of directoriesAbove(await realpath(program)).slice(0, 4)) {
      const owner = await readPackage(directory);
      if (owner?.name === 'typescript') found.push(owner);
      if (owner) break;
    }
  }
  return found;
}

/** TypeScript 7: its native program, without the wrapper script, which would be another process. */
async function native({ directory, version }: FoundPackage): Promise<ServerCommand | { hint: string }> {
  const name = process.platform === 'win32' ? 'tsc.exe' : 'tsc';
  const platform = `typescript-${process.platform}-${process.arch}`;
  for (const place of directoriesAbove(join(directory, 'package.json'))) {
    const command = join(place, 'node_modules', '@typescript', platform, 'lib', name);
    if (!(await isThere(command))) continue;
    return {
      command: await realpath(command),
      args: ['--lsp', '--stdio'],
      version,
      pullIsFinal: true,
      initializationOptions: { disableAutomaticTypingAcquisition: true },
      settings: { 'js/ts': NO_DOWNLOADS, typescript: NO_DOWNLOADS, javascript: NO_DOWNLOADS },
    };
  }
  return { hint: `TypeScript ${version} is installed without the package @typescript/${platform}.` };
}

/** TypeScript 5 and 6, through typescript-language-server with the path of tsserver. */
async function bridged(
  places: ProgramPlaces,
  { directory, version }: FoundPackage,
): Promise<ServerCommand | { hint: string }> {
  const tsserver = join(directory, 'lib', 'tsserver.js');
  if (!(await isThere(tsserver))) return { hint: `TypeScript ${version} is installed without lib/tsserver.js.` };
  const bridge = await locateBridge(places, directory);
  if (!bridge) return { hint: `TypeScript ${version} needs typescript-language-server.` };
  return {
    ...bridge,
    version,
    asksTsserver: true,
    initializationOptions: {
      disableAutomaticTypingAcquisition: true,
      plugins: [],
      tsserver: { path: tsserver, useSyntaxServer: 'never' },
    },
  };
}

async function locateBridge(places: ProgramPlaces, beside: string): Promise<ServerCommand | undefined> {
  const name = 'typescript-language-server';
  const [, above = beside] = directoriesAbove(join(beside, 'package.json'));
  const package_ = (await readPackage(join(above, name))) ?? (await places.findPackage(name));
  const script = package_ && join(package_.directory, 'lib', 'cli.mjs');
  if (script !== undefined && (await isThere(script))) return { command: process.execPath, args: [script, '--stdio'] };
  const program = await places.onPath(name);
  return program === undefined ? undefined : { command: program, args: ['--stdio'] };
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
