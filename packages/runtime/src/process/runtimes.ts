// Which program runs a provider file: by its extension, unless the caller chooses. Nothing is downloaded, and no shell
// or package runner is involved.

import { existsSync } from 'node:fs';
import { delimiter, extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ToolError } from '@toolwright/core';

/** A program and the arguments before the file. */
export interface RuntimeCommand {
  /** The program. */
  command: string;
  /** The arguments before the program's file. */
  args?: readonly string[];
}

/**
 * What runs a provider file: `'node'` (this very one), `'tsx'` (node with tsx, which is installed with this package),
 * another program on the PATH such as `'bun'` or `'python3'`, or a custom command line.
 */
export type ProviderRuntime = string | RuntimeCommand;

/** A command line, without the provider's arguments. */
export interface ResolvedRuntime {
  command: string;
  args: string[];
  /** Added to the environment. */
  env: Record<string, string>;
}

/** The lookups that the choice depends on. */
export interface HostRuntime {
  execPath: string;
  platform: NodeJS.Platform;
  versions: { node: string; bun?: string | undefined };
}

const TYPESCRIPT: ReadonlySet<string> = new Set(['.ts', '.mts', '.cts', '.tsx']);

/** @throws {ToolError} SPAWN_FAILED if tsx is required but not installed */
export function resolveRuntime(
  path: string,
  given: ProviderRuntime | undefined,
  env: Readonly<Record<string, string>> = {},
  host: HostRuntime = process,
): ResolvedRuntime {
  if (typeof given === 'object') {
    const { command, args = [] } = given;
    return { command, args: [...args, path], env: isPython(command) ? pythonEnvironment(env) : {} };
  }
  const runtime = given ?? runtimeOf(path, host);
  switch (runtime) {
    case 'node':
      return { command: nodeOf(host), args: [path], env: {} };
    case 'tsx':
      return { command: nodeOf(host), args: ['--import', locateTsx(), path], env: {} };
    case 'bun':
      return { command: host.versions.bun ? host.execPath : 'bun', args: ['--no-cache', path], env: {} };
    default:
      if (!isPython(runtime)) return { command: runtime, args: [path], env: {} };
      return { command: runtime, args: ['-u', path], env: pythonEnvironment(env) };
  }
}

/** True for an interpreter by name or by path, as that of a virtual environment is given. */
function isPython(command: string): boolean {
  return /^(python(3(\.\d+)?)?|py)(\.exe)?$/i.test(command.replace(/^.*[\\/]/, ''));
}

function runtimeOf(path: string, host: HostRuntime): string {
  const extension = extname(path).toLowerCase();
  if (extension === '.py') return host.platform === 'win32' ? 'python' : 'python3';
  if (!TYPESCRIPT.has(extension)) return 'node';
  if (host.versions.bun !== undefined) return 'bun';
  // Node strips no types in packages: https://nodejs.org/api/typescript.html#type-stripping-in-dependencies
  const isInPackage = /[\\/]node_modules[\\/]/.test(path);
  return extension !== '.tsx' && !isInPackage && stripsTypes(host.versions.node) ? 'node' : 'tsx';
}

/** https://nodejs.org/api/typescript.html#type-stripping: on by default from 22.18 and 23.6 on. */
function stripsTypes(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 23 || (major === 23 && minor >= 6) || (major === 22 && minor >= 18);
}

/** Under Bun, the node on the PATH runs files for node. */
function nodeOf({ execPath, versions }: HostRuntime): string {
  return versions.bun === undefined ? execPath : 'node';
}

function locateTsx(): string {
  try {
    return import.meta.resolve('tsx');
  } catch (cause) {
    throw new ToolError(
      'SPAWN_FAILED',
      'TypeScript needs tsx on this release of Node: run "npm install tsx", or set runtime to the program that runs the file.',
      { cause, details: { permanent: true } },
    );
  }
}

/** Puts `toolwright_provider` on Python's module path, before the caller's own directories. */
function pythonEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  const paths = [pythonFolder(), env.PYTHONPATH].filter((path) => path !== undefined && path !== '');
  return {
    // Python considers a cached module current if its source has the same size and modification time in seconds.
    ...(env.PYTHONDONTWRITEBYTECODE === undefined && { PYTHONDONTWRITEBYTECODE: '1' }),
    ...(paths.length > 0 && { PYTHONPATH: paths.join(delimiter) }),
  };
}

/** The directory of the Python package, relative to the built modules or to the sources. */
function pythonFolder(): string | undefined {
  return [new URL('../python/', import.meta.url), new URL('../../python/', import.meta.url)]
    .map((url) => fileURLToPath(url))
    .find((folder) => existsSync(`${folder}toolwright_provider`));
}
