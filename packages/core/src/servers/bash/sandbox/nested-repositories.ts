// Repositories that a sandboxed command makes inside the project and lists as submodules. git enters a submodule by
// itself, at a plain `git status`, and runs what its configuration names, so one that names anything is disabled: its
// `.git` is renamed. What counts as listed is what the index, the last commit and every commit that the command made list:
// the user may switch to any of them.

import { lstatSync, readdirSync, readFileSync, statSync, constants, type BigIntStats, type Stats } from 'node:fs';
import { open, readlink, rename } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { commonDirOf, gitDirOf } from '../../project/scope/configured-paths.js';
import { runGit } from '../../project/git/run-git.js';
import type { GitProgram } from '../../project/git/git-program.js';
import { isInside, quote, type ProjectScope } from '../../project/scope/project-scope.js';
import { gitTracesOf } from './git-traces.js';
import { harmfulLine } from './harmless-config.js';
import { isStandIn } from './placeholders.js';

/** New repositories that are judged; more are disabled unseen. */
const MAX_REPOSITORIES = 200;
const MAX_CONFIG_BYTES = 64 * 1024;
/** Of directories of references in each other. */
const MAX_DEPTH = 20;

/** Branches of which the last commit is listed by itself, as well as by the history of all. */
const MAX_TIPS = 200;
/** For one listing by git. What it does not list by then is not judged. */
const LIST_TIMEOUT_MS = 5_000;
const GITLINK = '160000 ';

/** What the references of each repository lead to, by its `.git`. */
export type Tips = ReadonlyMap<string, ReadonlySet<string>>;

/** What one look found. */
export interface NestedLook {
  /** What was disabled, a sentence each. */
  disabled: readonly string[];
  /** The repositories that git could not list to the end, with what it said: what they list is not judged. */
  unread: ReadonlyMap<string, string>;
}

/** Judges the repositories that one command made. */
export class NestedRepositories {
  readonly #scope: ProjectScope;
  readonly #git: GitProgram;
  readonly #before: HeldRepositories;
  readonly #tips: Tips;

  /** @param tips as they were when the command started */
  constructor(scope: ProjectScope, git: GitProgram, before: HeldRepositories, tips: Tips) {
    this.#scope = scope;
    this.#git = git;
    this.#before = before;
    this.#tips = tips;
  }

  /**
   * Disables what is to be disabled. Never rejects.
   *
   * @param isOver the command has ended: repositories that it made are entered too, as their configuration stays as it is
   */
  async look(isOver: boolean): Promise<NestedLook> {
    const queue = [...this.#before.all].map((dotGit) => ({ dotGit, isNew: false }));
    const made = new Set<string>();
    const disabled: string[] = [];
    const unread = new Map<string, string>();
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { dotGit, isNew } = next;
      try {
        if (isOver) await readNewCommits(this.#git, dotGit, this.#tips.get(dotGit) ?? new Set());
      } catch (error) {
        unread.set(dotGit, ToolError.from(error).message);
      }
      const links = await gitlinksOf(this.#git, dotGit);
      if (links.unread !== undefined) unread.set(dotGit, links.unread);
      for (const directory of links.directories) {
        const found = await this.#disable(directory, isNew, made.size >= MAX_REPOSITORIES);
        if (found?.disabled !== undefined) disabled.push(found.disabled);
        if (found?.dotGit === undefined || made.has(found.dotGit)) continue;
        made.add(found.dotGit);
        if (isOver) queue.push({ dotGit: found.dotGit, isNew: true });
      }
    }
    return { disabled, unread };
  }

  /**
   * Disables the repository in a directory when it is newly listed and names programs; its `.git` when it does not.
   *
   * @param inNew what lists it is newly listed itself: then git did not enter it before, whoever listed it
   */
  async #disable(
    directory: Buffer,
    inNew: boolean,
    isUnseen: boolean,
  ): Promise<{ dotGit?: string; disabled?: string } | undefined> {
    try {
      // Held open: a link that is swapped in leads nowhere else.
      await using handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
      const address = `/proc/self/fd/${handle.fd}`;
      const real = await readlink(address, 'buffer');
      const path = real.toString('utf8');
      const isText = Buffer.from(path).equals(real);
      const found = this.#scope.find(path);
      if (found?.root.mode !== 'rw' || !lstatOf(join(address, '.git'))) return undefined;
      const dotGit = join(path, '.git');
      if (isText && ((!inNew && this.#before.listed.has(dotGit)) || !this.#isProtected(dotGit))) return undefined;
      const why = !isText
        ? 'its name is not UTF-8'
        : isUnseen
          ? `the command made more than ${MAX_REPOSITORIES}`
          : await this.#programsOf(dotGit, found.root.path);
      if (why === undefined) return { dotGit };
      const name = await freeName(address);
      await rename(join(address, '.git'), join(address, name));
      return {
        disabled:
          `the repository in ${quote(found.shown)} is listed as a submodule, and git would run programs in it at the next git status: ` +
          `${why}. Its .git was renamed to ${name}. Look at it, and rename it back if it is meant to be there`,
      };
    } catch {
      return undefined; // not there any more, or not ours to enter: then git does not enter it either
    }
  }

  /** A linked working tree of the project's own repository has the configuration of that one. */
  async #programsOf(dotGit: string, root: string): Promise<string | undefined> {
    const gitDir = lstatOf(dotGit)?.isFile() ? gitDirOf(dotGit) : undefined;
    const common = gitDir === undefined ? undefined : commonDirOf(gitDir);
    const isOwn = this.#scope.roots.some(({ path }) => gitDirOf(join(path, '.git')) === common);
    if (gitDir !== undefined && gitDir !== common && isOwn && !(await isThere(join(gitDir, 'config.worktree'))))
      return undefined;
    return programsOf(this.#scope, dotGit, root);
  }

  #isProtected(path: string): boolean {
    const found = this.#scope.find(path);
    return found !== undefined && this.#scope.isProtected(found);
  }
}

/** What a repository lists as submodules. */
interface Gitlinks {
  directories: readonly Buffer[];
  /** Why git could not list them to the end. */
  unread?: string;
}

/** The directories that the index, the last commit or a commit that a command made names as submodules. */
export async function gitlinksOf(git: GitProgram, dotGit: string): Promise<Gitlinks> {
  const gitDir = gitDirOf(dotGit);
  if (gitDir === undefined) return { directories: [] };
  const names = new Map<string, Buffer>();
  let unread: string | undefined;
  let version: string | undefined;
  try {
    version = versionOf(gitDir);
    const links = known.get(dotGit);
    if (links?.version === version) for (const [key, name] of links.names) names.set(key, name);
    else {
      known.delete(dotGit);
      await list(git, dirname(dotGit), ['ls-files', '--stage', '-z'], addGitlink(names));
      await list(git, dirname(dotGit), treeOf('HEAD'), addGitlink(names)).catch(async (error: unknown) => {
        if (!(await isUnborn(git, dirname(dotGit)))) throw error;
      });
      known.set(dotGit, { version, names: new Map(names) });
    }
  } catch (error) {
    const { code, message } = ToolError.from(error);
    if (code === 'NOT_A_REPOSITORY' && version !== undefined) known.set(dotGit, { version, names });
    else unread = message;
  }
  for (const [key, name] of committed.get(dotGit) ?? []) names.set(key, name);
  const directories = [...names.values()].map((name) => Buffer.concat([Buffer.from(`${dirname(dotGit)}/`), name]));
  return { directories, ...(unread !== undefined && { unread }) };
}

const known = new Map<string, { version: string; names: ReadonlyMap<string, Buffer> }>();
/** What commits that commands made name, wherever they are: a later command may come back to it. */
const committed = new Map<string, Map<string, Buffer>>();
const knownTips = new Map<string, { version: string; tips: ReadonlySet<string> }>();

/** Remembers the submodules of all commits that were not to be reached before. @throws {ToolError} when git cannot list them */
async function readNewCommits(git: GitProgram, dotGit: string, before: ReadonlySet<string>): Promise<void> {
  const top = dirname(dotGit);
  const made = [...(await tipsOf(git, dotGit))].filter((tip) => !before.has(tip));
  if (made.length === 0) return;
  const names = committed.get(dotGit) ?? new Map<string, Buffer>();
  committed.set(dotGit, names);
  // By themselves too: a commit whose parent is missing can be checked out, and has no history.
  const failures: unknown[] = [];
  for (const tip of made.slice(0, MAX_TIPS))
    await list(git, top, treeOf(tip), addGitlink(names)).catch((error: unknown) => failures.push(error));
  const history = ['log', '--stdin', '--format=', '--raw', '--no-abbrev', '--no-renames', '--root', '-z'];
  const range = [...made, ...[...before].map((tip) => `^${tip}`)].map((each) => `${each}\n`).join('');
  let isGitlink = false; // the name comes in the next record
  const add = (record: string): void => {
    if (isGitlink) names.set(record, Buffer.from(record, 'latin1'));
    isGitlink = !isGitlink && /^\n*:\d+ 160000 /.test(record);
  };
  await list(git, top, [...history, '--diff-merges=first-parent', '--ignore-missing'], add, range);
  if (failures.length > 0) throw failures[0];
}

/** What the references of a repository lead to. @throws {ToolError} when git cannot list them */
export async function tipsOf(git: GitProgram, dotGit: string): Promise<ReadonlySet<string>> {
  const gitDir = gitDirOf(dotGit);
  if (gitDir === undefined) return new Set();
  const common = commonDirOf(gitDir);
  const files = ['HEAD', 'packed-refs', 'reftable/tables.list'].map((file) => stateOf(join(common, file)));
  const version = [...files, isDirectory(join(common, 'objects')), ...referencesIn(join(common, 'refs'))].join('\0');
  const before = knownTips.get(common);
  if (before?.version === version) return before.tips;
  knownTips.delete(common);
  const tips = new Set<string>();
  try {
    await list(git, dirname(dotGit), ['for-each-ref', '--format=%(objectname)%00'], (tip) => tips.add(tip.trim()));
  } catch (error) {
    if (ToolError.from(error).code !== 'NOT_A_REPOSITORY') throw error;
  }
  knownTips.set(common, { version, tips });
  return tips;
}

/** What tells one state of the references that are files from another. Links are as good as what they lead to. */
function referencesIn(directory: string, depth = 0): string[] {
  return entriesOf(directory).flatMap((name) => {
    const path = join(directory, name);
    if (depth < MAX_DEPTH && isDirectory(path)) return referencesIn(path, depth + 1);
    return [path, stateOf(path)];
  });
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // not there
  }
}

function treeOf(tip: string): string[] {
  return ['ls-tree', '-r', '-z', '--full-tree', tip];
}

function addGitlink(names: Map<string, Buffer>): (record: string) => void {
  return (record) => {
    if (!record.startsWith(GITLINK)) return;
    const name = record.slice(record.indexOf('\t') + 1);
    names.set(name, Buffer.from(name, 'latin1'));
  };
}

/** True where there is no commit yet. */
async function isUnborn(git: GitProgram, top: string): Promise<boolean> {
  try {
    await list(git, top, ['rev-parse', '--quiet', '--verify', 'HEAD'], () => {});
    return false;
  } catch (error) {
    return ToolError.from(error).code !== 'TIMED_OUT';
  }
}

/** What tells one state of the index and of the last commit from another. */
function versionOf(gitDir: string): string {
  const common = commonDirOf(gitDir);
  const head = readSmall(join(gitDir, 'HEAD'));
  const [, branch] = /^ref: (refs\/[^\0\n]+)\n?$/.exec(head ?? '') ?? [];
  const files = [join(gitDir, 'index'), join(common, 'packed-refs'), join(common, 'reftable/tables.list')];
  if (branch !== undefined) files.push(join(common, branch));
  const directories = ['objects', 'refs'].map((name) => isDirectory(join(common, name)));
  return [head, ...files.map(stateOf), ...directories].join('\0');
}

function isDirectory(path: string): boolean {
  return statsIfThere(path)?.isDirectory() ?? false;
}

/**
 * What tells one state of a file that git reads from another, '' when it is not there.
 *
 * @throws {ToolError} for what is no file, at which git would wait
 */
function stateOf(file: string): string {
  const stats = statsIfThere(file);
  if (!stats) return '';
  if (!stats.isFile()) throw new ToolError('EXECUTION_FAILED', `${quote(file)} is no file.`);
  return [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
}

function statsIfThere(file: string): BigIntStats | undefined {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined; // a link in a circle, a file for a directory: not there to git either
  }
}

/**
 * Gives the records that git prints, each ended by NUL, as Latin-1.
 *
 * @throws {ToolError} when git does not list to the end
 */
async function list(
  { command, searchPath }: GitProgram,
  top: string,
  args: readonly string[],
  take: (record: string) => void,
  stdin?: string,
): Promise<void> {
  let rest = '';
  await runGit({
    command,
    args,
    cwd: top,
    // No listing looks at files; this keeps a repository made by the command from naming anything all the same.
    env: {
      PATH: searchPath,
      LC_ALL: 'C',
      GIT_CEILING_DIRECTORIES: dirname(top),
      GIT_OPTIONAL_LOCKS: '0',
      GIT_ALLOW_PROTOCOL: 'none',
      GIT_NO_LAZY_FETCH: '1',
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_COUNT: '3',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      GIT_CONFIG_KEY_1: 'core.fsmonitor',
      GIT_CONFIG_VALUE_1: 'false',
      GIT_CONFIG_KEY_2: 'core.hooksPath',
      GIT_CONFIG_VALUE_2: '/dev/null',
    },
    stdin,
    timeoutMs: LIST_TIMEOUT_MS,
    signal: new AbortController().signal,
    onOutput(chunk) {
      const records = (rest + chunk.toString('latin1')).split('\0');
      rest = records.pop() ?? '';
      for (const record of records) take(record);
      return true;
    },
  });
}

/** What git would run in a repository, or what keeps this from being told; undefined when it is as git itself makes it. */
async function programsOf(scope: ProjectScope, dotGit: string, root: string): Promise<string | undefined> {
  if (lstatOf(dotGit)?.isSymbolicLink()) return 'its .git is a link';
  const gitDir = gitDirOf(dotGit);
  if (gitDir === undefined || !lstatOf(gitDir)) return undefined; // leads nowhere
  if (!isInside(root, gitDir)) return 'its .git leads out of the project';
  for (const name of ['commondir', 'config.worktree']) if (await isThere(join(gitDir, name))) return `it has a ${name}`;
  const hook = hooksIn(join(gitDir, 'hooks'));
  if (hook !== undefined) return `it has the hook ${quote(hook)}`;
  const { traces, isComplete } = await gitTracesOf(scope, [dotGit]);
  const trace = traces.find(({ kind }) => kind === 'link' || kind === 'device');
  if (trace) return `its data has ${trace.kind === 'link' ? 'the link' : 'the FIFO or device'} ${quote(trace.name)}`;
  if (!isComplete) return 'its data has too many files to be looked at';
  const config = join(gitDir, 'config');
  if (!lstatOf(config)) return undefined;
  const text = readSmall(config);
  if (text === undefined) return 'its config is not a small file';
  const line = harmfulLine(text, (path) => resolve(gitDir, path) === dirname(dotGit));
  return line === undefined ? undefined : `its config says ${quote(line.trim().slice(0, 200))}`;
}

/** False for a placeholder of a command that runs, too. */
async function isThere(path: string): Promise<boolean> {
  return lstatOf(path) !== undefined && !(await isStandIn(path));
}

/** The first file among the hooks that git does not put there as an example. */
function hooksIn(directory: string): string | undefined {
  const stats = lstatOf(directory);
  if (!stats) return undefined;
  if (!stats.isDirectory()) return '';
  return readdirSync(directory).find((name) => !name.endsWith('.sample'));
}

async function freeName(address: string): Promise<string> {
  for (let number = 1; ; number++) {
    const name = number === 1 ? '.git.disabled' : `.git.disabled-${number}`;
    if (!lstatOf(join(address, name))) return name;
  }
}

function lstatOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined; // not there
  }
}

/** The text of a small regular file. A FIFO is not waited for. */
function readSmall(file: string): string | undefined {
  try {
    const stats = statSync(file);
    if (!stats.isFile() || stats.size > MAX_CONFIG_BYTES) return undefined;
    return readFileSync(file, { encoding: 'utf8', flag: (constants.O_RDONLY | constants.O_NONBLOCK) as never });
  } catch {
    return undefined; // not there
  }
}

/** The repositories that were there before a command. Each is the absolute path of its `.git`. */
export interface HeldRepositories {
  /** Held, so that the command cannot change what git runs in them. */
  all: ReadonlySet<string>;
  /** Those of them that are listed as submodules. Any other may be an earlier command's, and is judged once it is listed. */
  listed: ReadonlySet<string>;
}
