// The paths inside a root that git's configuration refers to: directories of hooks and included configuration files. A
// write there could decide what the user's next git command runs. The files are parsed here, as git reads them, because
// every write needs the result and must not start a process.

import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  type Dirent,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

const MAX_CONFIG_BYTES = 4 * 1024 * 1024;
/** Maximum depth of includes, as in git. https://git-scm.com/docs/git-config#_includes */
const MAX_INCLUDES = 10;
/** Maximum number of configuration files and directories of one repository with its submodules. */
const MAX_FILES = 1_000;

/** https://git-scm.com/docs/githooks */
const HOOKS = [
  ...['applypatch-msg', 'pre-applypatch', 'post-applypatch', 'pre-commit', 'pre-merge-commit', 'prepare-commit-msg'],
  ...['commit-msg', 'post-commit', 'pre-rebase', 'post-checkout', 'post-merge', 'pre-push', 'pre-receive', 'update'],
  ...['proc-receive', 'post-receive', 'post-update', 'reference-transaction', 'push-to-checkout', 'pre-auto-gc'],
  ...['post-rewrite', 'sendemail-validate', 'fsmonitor-watchman', 'post-index-change'],
];

/** A repository whose configuration is read. */
export interface ConfiguredRepository {
  /** The base of relative hook paths. */
  workTree: string;
  gitDir: string;
}

interface Known {
  /** The files that were read or are missing, with the identity of their versions. */
  seen: ReadonlyMap<string, string>;
  paths: readonly string[];
}

const known = new Map<string, Known>();

/** The directories of a repository, from its `.git`; undefined if there is none. */
export function gitDirOf(dotGit: string): string | undefined {
  try {
    const stats = lstatSync(dotGit, { throwIfNoEntry: false });
    if (!stats) return undefined; // not a repository
    if (!stats.isFile()) return dotGit;
  } catch {
    return undefined; // below a file, or not accessible
  }
  const [, named] = /^gitdir: (.+?)[\r\n]*$/s.exec(readText(dotGit, dirname(dotGit))) ?? [];
  return named === undefined ? undefined : resolve(dirname(dotGit), named);
}

/** The directory with the configuration: for a linked working tree, the shared one. */
export function commonDirOf(gitDir: string): string {
  const named = readText(join(gitDir, 'commondir'), dirname(gitDir)).replace(/[\r\n]+$/, '');
  return named === '' ? gitDir : resolve(gitDir, named);
}

/**
 * Absolute paths inside `root`, below which git finds hooks or configuration: of one repository, or of the root's own and
 * its submodules. Files that have not changed are not read again.
 */
export function configuredPaths(root: string, repository?: ConfiguredRepository): readonly string[] {
  const gitDir = repository?.gitDir ?? gitDirOf(join(root, '.git'));
  if (gitDir === undefined) return [];
  const workTree = repository?.workTree ?? root;
  const key = [root, workTree, gitDir].join('\0');
  const before = known.get(key);
  if (before && [...before.seen].every(([file, version]) => versionOf(file) === version)) return before.paths;
  const reading = new Reading(root, workTree);
  const common = commonDirOf(gitDir);
  reading.see(join(gitDir, 'commondir'));
  const home = homedir();
  const users = [join(process.env.XDG_CONFIG_HOME ?? join(home, '.config'), 'git/config'), join(home, '.gitconfig')];
  for (const file of [...users, join(common, 'config'), join(gitDir, 'config.worktree')]) reading.read(file, 0);
  reading.addHooks(join(common, 'hooks'));
  if (!repository) reading.readModules(join(common, 'modules'));
  const paths = [...reading.paths];
  known.set(key, { seen: reading.seen, paths });
  return paths;
}

class Reading {
  readonly seen: Map<string, string>;
  readonly paths: Set<string>;
  readonly #root: string;
  readonly #workTree: string;

  /** @param whole the reading that includes this one */
  constructor(root: string, workTree: string, whole?: Reading) {
    this.seen = whole?.seen ?? new Map<string, string>();
    this.paths = whole?.paths ?? new Set<string>();
    this.#root = root;
    this.#workTree = workTree;
  }

  see(file: string): void {
    this.seen.set(file, versionOf(file));
  }

  read(file: string, depth: number): void {
    if (this.seen.has(file) || this.seen.size >= MAX_FILES || depth > MAX_INCLUDES) return;
    this.see(file);
    for (const { section, name, value } of parseGitConfig(readText(file))) {
      if (section === 'core' && name === 'hookspath') this.#addNamedHooks(resolve(this.#workTree, expandHome(value)));
      // A condition counts as met: it may be on another branch.
      if (!/^include(?:if)?$/.test(section) || name !== 'path') continue;
      const included = resolve(dirname(file), expandHome(value));
      this.#add(included);
      this.read(included, depth + 1);
    }
  }

  /** The repositories of submodules, whose configuration contains their working trees. */
  readModules(directory: string): void {
    const queue = [directory];
    for (let next = queue.shift(); next !== undefined && this.seen.size < MAX_FILES; next = queue.shift()) {
      this.see(next);
      const entries = entriesOf(next);
      if (!entries.some(({ name }) => name === 'HEAD')) {
        for (const entry of entries) if (entry.isDirectory()) queue.push(join(next, entry.name));
        continue;
      }
      const config = join(next, 'config');
      const workTree = parseGitConfig(readText(config)).findLast(
        ({ section, name }) => section === 'core' && name === 'worktree',
      );
      const module = new Reading(this.#root, resolve(next, workTree?.value ?? '.'), this);
      module.read(config, 0);
      module.addHooks(join(next, 'hooks'));
      queue.push(join(next, 'modules'));
    }
  }

  /** A directory of hooks, and the targets of links in it. */
  addHooks(directory: string): void {
    this.#add(directory);
    this.see(directory);
    for (const entry of entriesOf(directory)) if (entry.isSymbolicLink()) this.#add(join(directory, entry.name));
  }

  #addNamedHooks(directory: string): void {
    // The whole root cannot be protected, but the hooks in it can.
    if (isBelow(realPlace(directory), this.#root)) for (const hook of HOOKS) this.#add(join(directory, hook));
    else this.addHooks(directory);
  }

  #add(path: string): void {
    // The configuration may refer to the project by another path, or through a link: the real path counts too.
    for (const place of new Set([path, realPlace(path)]))
      if (place !== this.#root && isBelow(this.#root, place)) this.paths.add(place);
  }
}

const HEADER = /^[\s\ufeff]*\[\s*([\w.-]+)\s*(?:"(?:[^"\\]|\\.)*"\s*)?\](.*)$/;

/** The entries of a configuration file. https://git-scm.com/docs/git-config#_syntax */
function parseGitConfig(text: string): { section: string; name: string; value: string }[] {
  const entries: { section: string; name: string; value: string }[] = [];
  let section = '';
  // A backslash continues a line, but not a comment.
  const lines = text.replace(/^[ \t]*[#;].*$/gm, '').replace(/\\\r?\n/g, '');
  for (const line of lines.split(/\r?\n/)) {
    let rest = line;
    for (let found = HEADER.exec(rest); found; found = HEADER.exec(rest)) {
      section = (found[1]?.split('.', 1)[0] ?? '').toLowerCase(); // one line may have several
      rest = found[2] ?? '';
    }
    const [, name, value] = /^\s*([a-z][\w-]*)\s*=\s*(.*)$/i.exec(rest) ?? [];
    if (name !== undefined) entries.push({ section, name: name.toLowerCase(), value: unquoted(value ?? '') });
  }
  return entries;
}

function unquoted(raw: string): string {
  let value = '';
  let kept = 0; // trailing space up to here is a part of the value
  let inQuotes = false;
  for (let index = 0; index < raw.length; index++) {
    const character = raw.charAt(index);
    if (character === '"') inQuotes = !inQuotes;
    else if (!inQuotes && (character === '#' || character === ';')) break;
    else if (character === '\\') value += { n: '\n', t: '\t', b: '\b' }[raw.charAt(++index)] ?? raw.charAt(index);
    else value += character;
    if (inQuotes || !/\s/.test(character)) kept = value.length;
  }
  return value.slice(0, kept);
}

/** The path with links resolved in its existing part. */
function realPlace(path: string): string {
  for (let above = path, rest = ''; ; rest = join(basename(above), rest), above = dirname(above)) {
    try {
      return join(realpathSync(above), rest);
    } catch {
      if (dirname(above) === above) return path;
    }
  }
}

function expandHome(path: string): string {
  const [, user, rest = ''] = /^~([^/]*)(?:\/(.*))?$/s.exec(path) ?? [];
  if (user === undefined) return path.replace(/^:\(optional\)/, '');
  return user === '' || user === basename(homedir()) ? join(homedir(), rest) : join(dirname(homedir()), user, rest);
}

function isBelow(directory: string, path: string): boolean {
  const way = relative(directory, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return []; // missing or not readable
  }
}

function versionOf(file: string): string {
  try {
    const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
    return stats ? [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ') : '';
  } catch {
    return ''; // below a file, or not accessible
  }
}

/**
 * The text of a regular file; empty for anything else, as a FIFO would block.
 *
 * @param within a link that leads out of this directory counts as missing: the text is a path, which messages show
 */
function readText(file: string, within?: string): string {
  let descriptor: number | undefined;
  try {
    const real = within === undefined ? file : realpathSync(file);
    if (within !== undefined && !isBelow(realpathSync(within), real)) return '';
    const follows = within === undefined ? 0 : (constants.O_NOFOLLOW ?? 0); // it may be replaced by a link meanwhile
    descriptor = openSync(real, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | follows);
    const stats = fstatSync(descriptor);
    return stats.isFile() && stats.size <= MAX_CONFIG_BYTES ? readFileSync(descriptor, 'utf8') : '';
  } catch {
    return ''; // missing or not readable
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
