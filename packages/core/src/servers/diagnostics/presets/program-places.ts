// Where language servers are searched: in the host application and on the PATH, and in the project only if it is
// trusted. Checking a project must not run programs that it contains.

import { constants } from 'node:fs';
import { access, readFile, realpath } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { allowedEnvironment } from '../../../process/index.js';
import { isInside, type ProjectScope } from '../../project/scope/project-scope.js';

/** An installed package. */
export interface FoundPackage {
  /** The absolute path with links resolved. */
  directory: string;
  name: string;
  version: string;
}

/** Whether the project is trusted. */
export type Trust = 'untrusted' | 'trusted';

const EXECUTABLE_SUFFIXES = process.platform === 'win32' ? ['.exe'] : [''];

/** Finds programs and packages. */
export class ProgramPlaces {
  readonly trust: Trust;
  readonly #scope: ProjectScope;
  #searchPath: Promise<readonly string[]> | undefined;

  constructor(scope: ProjectScope, trust: Trust) {
    this.#scope = scope;
    this.trust = trust;
  }

  /** The absolute path of a program on the PATH; undefined if there is none that may run. */
  async onPath(name: string): Promise<string | undefined> {
    for (const directory of await this.#directories()) {
      for (const suffix of EXECUTABLE_SUFFIXES) {
        const program = join(directory, name + suffix);
        if (await this.mayRun(program)) return program;
      }
    }
    return undefined;
  }

  /** Whether a program exists and is outside the project. */
  async mayRun(program: string): Promise<boolean> {
    try {
      await access(program, constants.X_OK);
      return this.#isAllowed(await realpath(program));
    } catch {
      return false; // missing, or not executable
    }
  }

  /** A package of the project, if it is trusted, else of the host application. */
  async findPackage(name: string): Promise<FoundPackage | undefined> {
    const own = this.trust === 'trusted' ? [this.#scope.projectDir] : [];
    const places = [...own, ...directoriesAbove(fileURLToPath(import.meta.url)), ...directoriesAbove(mainScript())];
    for (const place of new Set(places)) {
      const found = await readPackage(join(place, 'node_modules', name));
      if (found && this.#isAllowed(found.directory)) return found;
    }
    return undefined;
  }

  /** The environment of a language server: safe variables, and a PATH without the project. */
  async environment(): Promise<Record<string, string>> {
    return { ...allowedEnvironment(), PATH: (await this.#directories()).join(delimiter) };
  }

  #directories(): Promise<readonly string[]> {
    return (this.#searchPath ??= this.#trustedDirectories());
  }

  async #trustedDirectories(): Promise<readonly string[]> {
    const own = this.trust === 'trusted' ? [join(this.#scope.projectDir, 'node_modules', '.bin')] : [];
    const allowed: string[] = [];
    for (const directory of new Set([...own, ...(process.env.PATH ?? '').split(delimiter)])) {
      if (!isAbsolute(directory)) continue; // regardless of the working directory
      const real = await realpath(directory).catch(() => undefined);
      if (real !== undefined && this.#isAllowed(directory) && this.#isAllowed(real)) allowed.push(directory);
    }
    return allowed;
  }

  #isAllowed(path: string): boolean {
    return this.trust === 'trusted' || !this.#scope.roots.some((root) => isInside(root.path, path));
  }
}

/** The package in a directory; undefined if there is none. */
export async function readPackage(directory: string): Promise<FoundPackage | undefined> {
  try {
    const real = await realpath(directory);
    const { name, version } = Object(JSON.parse(await readFile(join(real, 'package.json'), 'utf8'))) as {
      name?: unknown;
      version?: unknown;
    };
    return typeof name === 'string' && typeof version === 'string' ? { directory: real, name, version } : undefined;
  } catch {
    return undefined; // missing or unreadable
  }
}

/** A directory and its parents, innermost first. */
export function directoriesAbove(file: string | undefined): string[] {
  if (file === undefined) return [];
  const directories: string[] = [];
  for (let directory = dirname(file); ; directory = dirname(directory)) {
    directories.push(directory);
    if (dirname(directory) === directory) return directories;
  }
}

function mainScript(): string | undefined {
  const [, script] = process.argv;
  return script !== undefined && isAbsolute(script) ? script : undefined;
}
