// Which entries the project's ignore files exclude: .gitignore, .ignore and .rgignore of every directory, and a
// repository's exclude file. They apply with or without a repository, and none above the project is read.

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { openPath, type OpenedPath } from '../../project/open/opened-path.js';
import type { ProjectScope, ScopePath } from '../../project/scope/project-scope.js';
import { IgnoreFile } from './ignore-file.js';
import { orderKey } from './path-order.js';

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants as Partial<typeof constants> & { O_RDONLY: number };
/**
 * The kinds in order of precedence, whatever their directory, as in ripgrep; within one kind the innermost directory
 * wins.
 */
const IGNORE_FILES = ['.rgignore', '.ignore', '.gitignore', '.git/info/exclude'] as const;
const MAX_IGNORE_BYTES = 1024 * 1024;

/** One file's rules, and those of its kind in the directories above. */
interface Link {
  rules: IgnoreFile;
  /** The length of the directory's part of a path in the form of {@link orderKey}. */
  prefixLength: number;
  above: Link | undefined;
}

/** The rules that apply in one directory: its own and those above. */
export class IgnoreLevel {
  /** As {@link IGNORE_FILES}. */
  readonly #links: readonly (Link | undefined)[];

  private constructor(links: readonly (Link | undefined)[]) {
    this.#links = links;
  }

  /** No rules. */
  static readonly NONE = new IgnoreLevel([]);

  /**
   * The rules for the entries of a directory.
   *
   * @param path of the directory, relative to the root, as {@link orderKey} has it; empty for the root itself
   * @param has returns whether the directory has an entry of that name, so that only existing files are opened
   */
  async in(directory: OpenedPath, path: string, has: (name: string) => boolean = () => true): Promise<IgnoreLevel> {
    let own: (Link | undefined)[] | undefined;
    for (const [index, name] of IGNORE_FILES.entries()) {
      if (!has(name.split('/')[0] ?? name)) continue;
      const rules = IgnoreFile.parse(await readShort(directory, name));
      if (!rules) continue;
      own ??= [...this.#links];
      own[index] = { rules, prefixLength: path === '' ? 0 : path.length + 1, above: this.#links[index] };
    }
    return own ? new IgnoreLevel(own) : this;
  }

  /** True when an entry of the directory is ignored. `path` is relative to the root, as {@link orderKey} has it. */
  ignores(path: string, isDirectory: boolean): boolean {
    for (let kind = 0; kind < this.#links.length; kind++) {
      for (let link = this.#links[kind]; link; link = link.above) {
        const verdict = link.rules.test(path.slice(link.prefixLength), isDirectory);
        if (verdict !== undefined) return verdict;
      }
    }
    return false;
  }
}

/** The ignore files of one root, each read once, when a path below its directory is first checked. */
export class IgnoreRules {
  readonly #scope: ProjectScope;
  readonly #directory: ScopePath;
  /** Rules of directories above this depth do not apply. */
  #firstDepth = 0;
  /** By directory, relative to the root: the rules in it. */
  readonly #levels = new Map<string, Promise<IgnoreLevel>>();
  /** By directory, relative to the root: whether it is ignored. */
  readonly #ignored = new Map<string, Promise<boolean>>();

  private constructor(scope: ProjectScope, directory: ScopePath) {
    this.#scope = scope;
    this.#directory = directory;
  }

  /**
   * The rules for the entries of a directory. If the directory itself is ignored but was requested, only its own rules
   * apply.
   *
   * @param directory its real path
   */
  static async below(scope: ProjectScope, directory: ScopePath): Promise<IgnoreRules> {
    const rules = new IgnoreRules(scope, directory);
    const names = namesOf(relative(directory.root.path, directory.absolute));
    if (names.length > 0 && (await rules.#isIgnored(names, true))) {
      rules.#firstDepth = names.length;
      rules.#ignored.clear();
      rules.#levels.clear();
    }
    return rules;
  }

  /** True when an entry is ignored, or a directory above it is. `path` is relative to the directory. */
  isIgnored(path: string, isDirectory: boolean): Promise<boolean> {
    return this.#isIgnored(
      namesOf(relative(this.#directory.root.path, join(this.#directory.absolute, path))),
      isDirectory,
    );
  }

  /** The rules in the directory itself, for a walk that has entered no ignored directory. */
  start(): Promise<{ level: IgnoreLevel; path: string }> {
    const names = namesOf(relative(this.#directory.root.path, this.#directory.absolute));
    return this.#level(names).then((level) => ({ level, path: orderKey(names.join('/')) }));
  }

  async #isIgnored(names: readonly string[], isDirectory: boolean): Promise<boolean> {
    if (names.length <= this.#firstDepth) return false;
    if (await this.#isDirectoryIgnored(names.slice(0, -1))) return true;
    return (await this.#level(names.slice(0, -1))).ignores(orderKey(names.join('/')), isDirectory);
  }

  #isDirectoryIgnored(names: readonly string[]): Promise<boolean> {
    const key = names.join('/');
    let known = this.#ignored.get(key);
    if (!known) this.#ignored.set(key, (known = this.#isIgnored(names, true)));
    return known;
  }

  #level(names: readonly string[]): Promise<IgnoreLevel> {
    const key = names.join('/');
    let level = this.#levels.get(key);
    if (!level) this.#levels.set(key, (level = this.#readLevel(names)));
    return level;
  }

  async #readLevel(names: readonly string[]): Promise<IgnoreLevel> {
    const above = names.length > this.#firstDepth ? await this.#level(names.slice(0, -1)) : IgnoreLevel.NONE;
    try {
      await using directory = await openPath(this.#scope, join(this.#directory.root.path, ...names), this.#directory, {
        directory: true,
      });
      return await above.in(directory, orderKey(names.join('/')));
    } catch {
      return above; // a directory that cannot be opened has no rules that could be read
    }
  }
}

/** The text of a small file; empty when there is none, or it is a link, as git has it. */
async function readShort(directory: OpenedPath, name: string): Promise<string> {
  try {
    await using handle = await open(directory.entry(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > MAX_IGNORE_BYTES) return '';
    return await handle.readFile('latin1');
  } catch {
    return ''; // most directories have no ignore file
  }
}

function namesOf(path: string): string[] {
  return path === '' ? [] : path.split(sep);
}
