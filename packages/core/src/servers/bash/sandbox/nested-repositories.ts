// Repositories that a sandboxed command creates in the project and lists as submodules. git enters a submodule even at
// `git status`, and runs the programs in its configuration. So one with such a configuration is disabled: its `.git` is
// renamed. Submodules are those in the index, in the last commit and in every commit that the command made, as the user may
// switch to any of them.

import { lstatSync, readdirSync, constants, type Stats } from 'node:fs';
import { mkdtemp, open, readFile, readlink, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { commonDirOf, gitDirOf } from '../../project/scope/configured-paths.js';
import type { GitProgram } from '../../project/git/git-program.js';
import { isInside, quote, type ProjectScope } from '../../project/scope/project-scope.js';
import { gitTracesOf, disableEntry } from './git-traces.js';
import { harmfulLine } from './harmless-config.js';
import { readSmall } from './isolated-git.js';
import { isPlaceholder } from './placeholders.js';
import { gitDirsOf, gitlinksOf, listNewCommits, refusedPathsOf, writeIndexWithout } from './repository-listing.js';

/** New repositories beyond this number are disabled without a check. */
const MAX_REPOSITORIES = 200;

/** The repositories that existed before a command. Each is the absolute path of its `.git`. */
export interface MaskedRepositories {
  /** Masked, so that the command cannot change which programs git runs in them. */
  all: ReadonlySet<string>;
  /** Those that were listed as submodules. Another may be an earlier command's, and is checked when it is listed. */
  listed: ReadonlySet<string>;
}

/** The objects that the references of each repository name, by its `.git`. */
export type Tips = ReadonlyMap<string, ReadonlySet<string>>;

/** The result of one review. */
export interface NestedReview {
  /** Disabled repositories and indexes, a clause each. */
  disabled: readonly string[];
  /** Repositories that git could not list, with its message. Their submodules are not checked yet. */
  unlisted: ReadonlyMap<string, string>;
}

/** Reviews the repositories that one command created. */
export class NestedRepositories {
  readonly #scope: ProjectScope;
  readonly #git: GitProgram;
  readonly #before: MaskedRepositories;
  readonly #tips: Tips;

  /** @param tips as they were when the command started */
  constructor(scope: ProjectScope, git: GitProgram, before: MaskedRepositories, tips: Tips) {
    this.#scope = scope;
    this.#git = git;
    this.#before = before;
    this.#tips = tips;
  }

  /**
   * Disables new submodules that would run programs. Never rejects.
   *
   * @param isOver whether the command has ended. Then new repositories are entered too, as it can no longer change them
   */
  async review(isOver: boolean): Promise<NestedReview> {
    const queue = [...this.#before.all].map((dotGit) => ({ dotGit, isNew: false }));
    const created = new Set<string>();
    const disabled: string[] = [];
    const unlisted = new Map<string, string>();
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { dotGit, isNew } = next;
      try {
        if (isOver) await listNewCommits(this.#git, dotGit, this.#tips.get(dotGit) ?? new Set());
      } catch (error) {
        unlisted.set(dotGit, ToolError.from(error).message);
      }
      const links = await gitlinksOf(this.#git, dotGit);
      if (links.failure !== undefined) unlisted.set(dotGit, links.failure);
      else for (const notice of await this.#cleanIndexes(dotGit)) disabled.push(notice);
      for (const directory of links.directories) {
        const found = await this.#disable(directory, isNew, created.size >= MAX_REPOSITORIES);
        if (found?.disabled !== undefined) disabled.push(found.disabled);
        if (found?.dotGit === undefined || created.has(found.dotGit)) continue;
        created.add(found.dotGit);
        if (isOver) queue.push({ dotGit: found.dotGit, isNew: true });
      }
    }
    return { disabled, unlisted };
  }

  /** Removes paths from the indexes of a repository that git would write into `.git` or outside. Returns a clause for each index. */
  async #cleanIndexes(dotGit: string): Promise<string[]> {
    const gitDir = gitDirOf(dotGit);
    const notices: string[] = [];
    for (const directory of gitDir === undefined ? [] : new Set([gitDir, ...gitDirsOf(commonDirOf(gitDir))])) {
      const paths = await refusedPathsOf(this.#git, directory).catch(() => []); // deleted meanwhile, or reported by the listing
      const [path] = paths;
      if (path === undefined) continue;
      const disabled = await this.#replaceIndex(directory).catch(() => undefined);
      if (disabled === undefined) continue;
      const shown = quote(this.#scope.find(directory)?.shown ?? directory);
      const named = quote(Buffer.from(path, 'latin1').toString('utf8'));
      notices.push(
        `the index in ${shown} contained ${named}, which the next checkout would write although git never adds such a path: ` +
          `it was rewritten without it, and the old one was renamed to ${quote(disabled)}`,
      );
    }
    return notices;
  }

  /** Rewrites an index without refused paths, and returns the new name of the old one. */
  async #replaceIndex(gitDir: string): Promise<string | undefined> {
    // Held open, so that a link cannot be swapped in for it.
    await using handle = await open(gitDir, constants.O_RDONLY | constants.O_DIRECTORY);
    const address = `/proc/self/fd/${handle.fd}`;
    if (this.#scope.find(await readlink(address))?.root.mode !== 'rw') return undefined;
    const written = await mkdtemp(join(tmpdir(), 'toolwright-index-'));
    try {
      const file = join(written, 'index');
      await writeIndexWithout(this.#git, gitDir, file);
      const disabled = await disableEntry(address, 'index');
      const content = await readFile(file).catch(() => undefined); // no path was left
      if (content) await writeFile(join(address, 'index'), content, { flag: 'wx' });
      return disabled;
    } finally {
      await rm(written, { recursive: true, force: true });
    }
  }

  /**
   * Disables the repository in a directory when it is newly listed and would run programs; otherwise returns its `.git`.
   *
   * @param inNew whether the repository that lists it is new itself, so that git never entered this one before
   */
  async #disable(
    directory: Buffer,
    inNew: boolean,
    isOverLimit: boolean,
  ): Promise<{ dotGit?: string; disabled?: string } | undefined> {
    try {
      // Held open, so that a link cannot be swapped in for it.
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
        : isOverLimit
          ? `the command created more than ${MAX_REPOSITORIES}`
          : await this.#reasonToDisable(dotGit, found.root.path);
      if (why === undefined) return { dotGit };
      const name = await freeName(address);
      await rename(join(address, '.git'), join(address, name));
      return {
        disabled:
          `the repository in ${quote(found.shown)} is listed as a submodule, and git would run programs in it at the next git status: ` +
          `${why}. Its .git was renamed to ${name}. Check it, and rename it back if you want it`,
      };
    } catch {
      return undefined; // deleted meanwhile, or not accessible, so that git cannot enter it either
    }
  }

  /** A linked working tree of the project's repository shares its configuration, which is masked. */
  async #reasonToDisable(dotGit: string, root: string): Promise<string | undefined> {
    const gitDir = lstatOf(dotGit)?.isFile() ? gitDirOf(dotGit) : undefined;
    const common = gitDir === undefined ? undefined : commonDirOf(gitDir);
    const isProjects = this.#scope.roots.some(({ path }) => gitDirOf(join(path, '.git')) === common);
    if (gitDir !== undefined && gitDir !== common && isProjects && !(await exists(join(gitDir, 'config.worktree'))))
      return undefined;
    return reasonToDisable(this.#scope, dotGit, root);
  }

  #isProtected(path: string): boolean {
    const found = this.#scope.find(path);
    return found !== undefined && this.#scope.isProtected(found);
  }
}

/** Why git might run programs in a repository; undefined when it only has what git itself writes. */
async function reasonToDisable(scope: ProjectScope, dotGit: string, root: string): Promise<string | undefined> {
  if (lstatOf(dotGit)?.isSymbolicLink()) return 'its .git is a link';
  const gitDir = gitDirOf(dotGit);
  if (gitDir === undefined || !lstatOf(gitDir)) return undefined; // missing, so git does not enter it
  if (!isInside(root, gitDir)) return 'its .git refers to data outside the project';
  for (const name of ['commondir', 'config.worktree']) if (await exists(join(gitDir, name))) return `it has a ${name}`;
  const hook = hooksIn(join(gitDir, 'hooks'));
  if (hook !== undefined) return `it has the hook ${quote(hook)}`;
  const { traces, isComplete } = await gitTracesOf(scope, [dotGit]);
  const trace = traces.find(({ kind }) => kind === 'link' || kind === 'device');
  if (trace) return `its data has ${trace.kind === 'link' ? 'the link' : 'the FIFO or device'} ${quote(trace.name)}`;
  if (!isComplete) return 'its data has too many files to check';
  const config = join(gitDir, 'config');
  if (!lstatOf(config)) return undefined;
  const text = readSmall(config);
  if (text === undefined) return 'its config is not a small regular file';
  const line = harmfulLine(text, (path) => resolve(gitDir, path) === dirname(dotGit));
  return line === undefined ? undefined : `its config contains ${quote(line.trim().slice(0, 200))}`;
}

/** False for a placeholder. */
async function exists(path: string): Promise<boolean> {
  return lstatOf(path) !== undefined && !(await isPlaceholder(path));
}

/** The first hook that is not one of git's samples. */
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
    return undefined; // missing
  }
}
