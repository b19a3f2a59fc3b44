// Repositories that a sandboxed command makes inside the project and lists as submodules. git enters a submodule by
// itself, at a plain `git status`, and runs what its configuration names, so one that names anything is disabled: its
// `.git` is renamed. What counts as listed is what the index, the last commit and every commit that the command made list:
// the user may switch to any of them.

import { lstatSync, readdirSync, constants, type Stats } from 'node:fs';
import { mkdtemp, open, readFile, readlink, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { commonDirOf, gitDirOf } from '../../project/scope/configured-paths.js';
import type { GitProgram } from '../../project/git/git-program.js';
import { isInside, quote, type ProjectScope } from '../../project/scope/project-scope.js';
import { gitTracesOf, setAside } from './git-traces.js';
import { harmfulLine } from './harmless-config.js';
import { readSmall } from './isolated-git.js';
import { isOwnPlaceholder } from './placeholders.js';
import { gitDirsOf, gitlinksOf, readNewCommits, refusedPathsOf, writeIndexWithout } from './repository-listing.js';

/** New repositories that are judged; more are disabled unseen. */
const MAX_REPOSITORIES = 200;

/** The repositories that were there before a command. Each is the absolute path of its `.git`. */
export interface HeldRepositories {
  /** Held, so that the command cannot change what git runs in them. */
  all: ReadonlySet<string>;
  /** Those of them that are listed as submodules. Any other may be an earlier command's, and is judged once it is listed. */
  listed: ReadonlySet<string>;
}

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
      else for (const notice of await this.#cleanIndexes(dotGit)) disabled.push(notice);
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

  /** Takes paths out of the indexes of a repository that git would write into `.git` or outside. A clause for each index. */
  async #cleanIndexes(dotGit: string): Promise<string[]> {
    const gitDir = gitDirOf(dotGit);
    const notices: string[] = [];
    for (const directory of gitDir === undefined ? [] : new Set([gitDir, ...gitDirsOf(commonDirOf(gitDir))])) {
      const paths = await refusedPathsOf(this.#git, directory).catch(() => []); // gone meanwhile, or judged with the rest
      const [path] = paths;
      if (path === undefined) continue;
      const aside = await this.#replaceIndex(directory).catch(() => undefined);
      if (aside === undefined) continue;
      const shown = quote(this.#scope.find(directory)?.shown ?? directory);
      const named = quote(Buffer.from(path, 'latin1').toString('utf8'));
      notices.push(
        `the index in ${shown} named ${named}, which git writes at the next checkout of it although it never adds such a path: ` +
          `it was written anew without it, and the old one was renamed to ${quote(aside)}`,
      );
    }
    return notices;
  }

  /** The name that the old index has now. */
  async #replaceIndex(gitDir: string): Promise<string | undefined> {
    // Held open: a link that is swapped in leads nowhere else.
    await using handle = await open(gitDir, constants.O_RDONLY | constants.O_DIRECTORY);
    const address = `/proc/self/fd/${handle.fd}`;
    if (this.#scope.find(await readlink(address))?.root.mode !== 'rw') return undefined;
    const written = await mkdtemp(join(tmpdir(), 'toolwright-index-'));
    try {
      const file = join(written, 'index');
      await writeIndexWithout(this.#git, gitDir, file);
      const aside = await setAside(address, 'index');
      const content = await readFile(file).catch(() => undefined); // nothing is left of it
      if (content) await writeFile(join(address, 'index'), content, { flag: 'wx' });
      return aside;
    } finally {
      await rm(written, { recursive: true, force: true });
    }
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
  return lstatOf(path) !== undefined && !(await isOwnPlaceholder(path));
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
