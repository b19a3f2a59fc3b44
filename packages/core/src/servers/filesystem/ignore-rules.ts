// What the project's ignore files leave out: .gitignore, .ignore and .rgignore of every directory, and the repository's
// own exclude file. They count with or without a repository, and none above the project is read.

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { Ignore } from 'ignore';
import { openPath, type OpenedPath } from '../opened-path.js';
import type { ProjectScope, ScopePath } from '../project-scope.js';

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants as Partial<typeof constants> & { O_RDONLY: number };
/** Later ones win, as in ripgrep. */
const IGNORE_FILES = ['.gitignore', '.ignore', '.rgignore'];
const MAX_IGNORE_BYTES = 1024 * 1024;

/** The ignore files of one root, each read once, when a path below its directory is first asked about. */
export class IgnoreRules {
  readonly #scope: ProjectScope;
  readonly #directory: ScopePath;
  /** Rules of directories above this depth do not count. */
  #firstDepth = 0;
  /** By directory, relative to the root: its own rules. */
  readonly #layers = new Map<string, Promise<Ignore | undefined>>();
  /** By directory, relative to the root: whether it is ignored. */
  readonly #ignored = new Map<string, Promise<boolean>>();

  private constructor(scope: ProjectScope, directory: ScopePath) {
    this.#scope = scope;
    this.#directory = directory;
  }

  /**
   * The rules for what is in a directory. A directory that is ignored itself was asked for all the same: in it only its
   * own rules count.
   *
   * @param directory its real path
   */
  static async below(scope: ProjectScope, directory: ScopePath): Promise<IgnoreRules> {
    const rules = new IgnoreRules(scope, directory);
    const names = namesOf(relative(directory.root.path, directory.absolute));
    if (names.length > 0 && (await rules.#isIgnored(names, true))) {
      rules.#firstDepth = names.length;
      rules.#ignored.clear();
    }
    return rules;
  }

  /** True when an entry is left out, or a directory above it is. `path` is relative to the directory. */
  isIgnored(path: string, isDirectory: boolean): Promise<boolean> {
    return this.#isIgnored(
      namesOf(relative(this.#directory.root.path, join(this.#directory.absolute, path))),
      isDirectory,
    );
  }

  async #isIgnored(names: readonly string[], isDirectory: boolean): Promise<boolean> {
    if (names.length <= this.#firstDepth) return false;
    if (await this.#isDirectoryIgnored(names.slice(0, -1))) return true;
    const path = names.join('/') + (isDirectory ? '/' : '');
    // The innermost directory that says anything about it decides.
    for (let depth = names.length - 1; depth >= this.#firstDepth; depth--) {
      const above = names.slice(0, depth);
      const rules = await this.#layer(above);
      if (!rules) continue;
      const verdict = rules.test(depth === 0 ? path : path.slice(above.join('/').length + 1));
      if (verdict.ignored) return true;
      if (verdict.unignored) return false;
    }
    return false;
  }

  #isDirectoryIgnored(names: readonly string[]): Promise<boolean> {
    const key = names.join('/');
    let known = this.#ignored.get(key);
    if (!known) this.#ignored.set(key, (known = this.#isIgnored(names, true)));
    return known;
  }

  #layer(names: readonly string[]): Promise<Ignore | undefined> {
    const key = names.join('/');
    let layer = this.#layers.get(key);
    if (!layer) this.#layers.set(key, (layer = this.#readLayer(names)));
    return layer;
  }

  async #readLayer(names: readonly string[]): Promise<Ignore | undefined> {
    const texts: string[] = [];
    try {
      await using directory = await openPath(this.#scope, join(this.#directory.root.path, ...names), this.#directory, {
        directory: true,
      });
      if (names.length === 0) texts.push(await readShort(directory, join('.git', 'info', 'exclude')));
      for (const name of IGNORE_FILES) texts.push(await readShort(directory, name));
    } catch {
      return undefined; // a directory that cannot be opened has no rules that could be read
    }
    const text = texts.filter((each) => each !== '').join('\n');
    if (text === '') return undefined;
    const { default: ignore } = await import('ignore');
    return ignore({ ignorecase: false, allowRelativePaths: true }).add(text);
  }
}

/** The text of a small file; empty when there is none, or it is a link, as git has it. */
async function readShort(directory: OpenedPath, name: string): Promise<string> {
  try {
    await using handle = await open(directory.entry(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > MAX_IGNORE_BYTES) return '';
    return await handle.readFile('utf8');
  } catch {
    return ''; // most directories have no ignore file
  }
}

function namesOf(path: string): string[] {
  return path === '' ? [] : path.split(sep);
}
