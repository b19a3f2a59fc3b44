// Lists what a repository that a command could write contains: submodules, the commits that its references name, and index
// paths that git never adds. git runs without the repository's configuration (isolated-git.ts).

import { readdirSync, statSync, type BigIntStats } from 'node:fs';
import { dirname, join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import type { GitProgram } from '../../project/git/git-program.js';
import { commonDirOf, gitDirOf } from '../../project/scope/configured-paths.js';
import { quote } from '../../project/scope/project-scope.js';
import { foldName } from '../../project/scope/protected-paths.js';
import { headOf, sharedIndexes, withIsolatedGit } from './isolated-git.js';

/** Nested directories of references. */
const MAX_DEPTH = 20;
/** How many new tips are listed by themselves, besides the history of all. */
const MAX_TIPS = 200;
const GITLINK = '160000 ';
const OBJECT_ID = /^[0-9a-f]{40,64}$/;

/** The submodules of a repository. */
export interface Gitlinks {
  directories: readonly Buffer[];
  /** Why git could not list all of them. */
  failure?: string;
}

interface Listing {
  version: string;
  /** The submodules, by their paths as Latin-1. */
  names: ReadonlyMap<string, Buffer>;
}

const listings = new Map<string, Listing>();
/** Submodules in commits that commands made: a later command may check one of them out. */
const committedNames = new Map<string, Map<string, Buffer>>();
const cachedTips = new Map<string, { version: string; tips: ReadonlySet<string> }>();
const cachedRefusedPaths = new Map<string, { version: string; paths: readonly string[] }>();

/** The directories of all submodules in the index, in the last commit and in commits that a command made. */
export async function gitlinksOf(git: GitProgram, dotGit: string): Promise<Gitlinks> {
  const gitDir = gitDirOf(dotGit);
  if (gitDir === undefined) return { directories: [] };
  const names = new Map<string, Buffer>();
  let failure: string | undefined;
  try {
    const version = versionOf(gitDir);
    let listing = listings.get(dotGit);
    if (listing?.version !== version) {
      listings.delete(dotGit);
      listing = { version, names: await listGitlinks(git, gitDir) };
      listings.set(dotGit, listing);
    }
    for (const [key, name] of listing.names) names.set(key, name);
  } catch (error) {
    failure = ToolError.from(error).message;
  }
  for (const [key, name] of committedNames.get(dotGit) ?? []) names.set(key, name);
  const directories = [...names.values()].map((name) => Buffer.concat([Buffer.from(`${dirname(dotGit)}/`), name]));
  return { directories, ...(failure !== undefined && { failure }) };
}

async function listGitlinks(git: GitProgram, gitDir: string): Promise<Map<string, Buffer>> {
  const names = new Map<string, Buffer>();
  try {
    await withIsolatedGit(git, gitDir, async ({ list }) => {
      await list(['ls-files', '--stage', '-z'], addGitlink(names));
      await list(treeOf('HEAD'), addGitlink(names)).catch(async (error: unknown) => {
        if (!(await isUnborn(list))) throw error;
      });
    });
  } catch (error) {
    if (ToolError.from(error).code !== 'NOT_A_REPOSITORY') throw error;
  }
  return names;
}

/** Adds the submodules of all commits that were not reachable before. @throws {ToolError} when git cannot list them */
export async function listNewCommits(git: GitProgram, dotGit: string, before: ReadonlySet<string>): Promise<void> {
  const gitDir = gitDirOf(dotGit);
  const newTips = [...(await tipsOf(git, dotGit))].filter((tip) => !before.has(tip));
  if (gitDir === undefined || newTips.length === 0) return;
  const names = committedNames.get(dotGit) ?? new Map<string, Buffer>();
  committedNames.set(dotGit, names);
  await withIsolatedGit(git, gitDir, async ({ list }) => {
    // Each tip by itself: a commit whose parent is missing can be checked out, but its history cannot be listed.
    const failures: unknown[] = [];
    for (const tip of newTips.slice(0, MAX_TIPS))
      await list(treeOf(tip), addGitlink(names)).catch((error: unknown) => failures.push(error));
    const history = ['log', '--stdin', '--format=', '--raw', '--no-abbrev', '--no-renames', '--root', '-z'];
    const range = [...newTips, ...[...before].map((tip) => `^${tip}`)].map((each) => `${each}\n`).join('');
    let isGitlink = false; // the name is the next record
    const add = (record: string): void => {
      if (isGitlink) names.set(record, Buffer.from(record, 'latin1'));
      isGitlink = !isGitlink && /^\n*:\d+ 160000 /.test(record);
    };
    await list([...history, '--diff-merges=first-parent', '--ignore-missing'], add, { stdin: Buffer.from(range) });
    if (failures.length > 0) throw failures[0];
  });
}

/** The objects that the references and heads of a repository name. @throws {ToolError} when git cannot list them */
export async function tipsOf(git: GitProgram, dotGit: string): Promise<ReadonlySet<string>> {
  const gitDir = gitDirOf(dotGit);
  if (gitDir === undefined) return new Set();
  const common = commonDirOf(gitDir);
  const heads = gitDirsOf(common).map((each) => headOf(each)?.trim() ?? '');
  const files = ['packed-refs', 'reftable/tables.list'].map((file) => fileVersion(join(common, file)));
  const objects = isDirectory(join(common, 'objects'));
  const version = [...heads, ...files, objects, ...referencesIn(join(common, 'refs'))].join('\0');
  const before = cachedTips.get(common);
  if (before?.version === version) return before.tips;
  cachedTips.delete(common);
  // A detached head is not a reference.
  const tips = new Set(heads.filter((head) => OBJECT_ID.test(head)));
  try {
    await withIsolatedGit(git, common, ({ list }) =>
      list(['for-each-ref', '--format=%(objectname)%00'], (tip) => tips.add(tip.trim())),
    );
  } catch (error) {
    if (ToolError.from(error).code !== 'NOT_A_REPOSITORY') throw error;
  }
  cachedTips.set(common, { version, tips });
  return tips;
}

/** The directories with an index: the repository's data, and that of each linked working tree. */
export function gitDirsOf(common: string): string[] {
  return [common, ...entriesOf(join(common, 'worktrees')).map((name) => join(common, 'worktrees', name))];
}

/**
 * The paths in an index that git refuses to add but writes at a checkout: into `.git`, or outside the working tree.
 *
 * @throws {ToolError} when git cannot list the index
 */
export async function refusedPathsOf(git: GitProgram, gitDir: string): Promise<readonly string[]> {
  const version = indexVersionOf(gitDir);
  const before = cachedRefusedPaths.get(gitDir);
  if (before?.version === version) return before.paths;
  cachedRefusedPaths.delete(gitDir);
  const paths: string[] = [];
  try {
    await withIsolatedGit(git, gitDir, ({ list }) =>
      list(['ls-files', '-z'], (path) => {
        if (isRefused(path)) paths.push(path);
      }),
    );
  } catch (error) {
    if (ToolError.from(error).code !== 'NOT_A_REPOSITORY') throw error;
  }
  cachedRefusedPaths.set(gitDir, { version, paths });
  return paths;
}

/** Writes the index of a repository without refused paths to a file; to none when no path is left. */
export async function writeIndexWithout(git: GitProgram, gitDir: string, file: string): Promise<void> {
  await withIsolatedGit(git, gitDir, async ({ list }) => {
    const records: string[] = [];
    await list(['ls-files', '--stage', '-z'], (record) => {
      if (!isRefused(record.slice(record.indexOf('\t') + 1))) records.push(`${record}\0`);
    });
    const stdin = Buffer.from(records.join(''), 'latin1');
    await list(['update-index', '-z', '--index-info'], () => {}, { stdin, env: { GIT_INDEX_FILE: file } });
  });
}

/** Like git's `verify_path`, which git does not apply to entries that it reads. The path is Latin-1. */
function isRefused(path: string): boolean {
  return Buffer.from(path, 'latin1')
    .toString('utf8')
    .split('/')
    .some((name) => name === '' || name === '.' || name === '..' || /^(?:\.git|git~\d+)$/.test(foldName(name)));
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

/** True when there is no commit yet. */
async function isUnborn(list: (args: readonly string[], take: () => void) => Promise<void>): Promise<boolean> {
  try {
    await list(['rev-parse', '--quiet', '--verify', 'HEAD'], () => {});
    return false;
  } catch (error) {
    return ToolError.from(error).code !== 'TIMED_OUT';
  }
}

/** Identifies the state of the index and of the last commit. */
function versionOf(gitDir: string): string {
  const common = commonDirOf(gitDir);
  const head = headOf(gitDir) ?? '';
  const [, branch] = /^ref:\s*(refs\/.+)\n$/.exec(head) ?? [];
  const files = [join(common, 'packed-refs'), join(common, 'reftable/tables.list')];
  if (branch !== undefined) files.push(join(common, branch));
  const directories = ['objects', 'refs'].map((name) => isDirectory(join(common, name)));
  return [head, indexVersionOf(gitDir), ...files.map(fileVersion), ...directories].join('\0');
}

function indexVersionOf(gitDir: string): string {
  return ['index', ...sharedIndexes(gitDir)].flatMap((name) => [name, fileVersion(join(gitDir, name))]).join('\0');
}

/** Identifies the state of the references that are files. Links are followed. */
function referencesIn(directory: string, depth = 0): string[] {
  return entriesOf(directory).flatMap((name) => {
    const path = join(directory, name);
    if (depth < MAX_DEPTH && isDirectory(path)) return referencesIn(path, depth + 1);
    return [path, fileVersion(path)];
  });
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // missing
  }
}

function isDirectory(path: string): boolean {
  return statsIfExists(path)?.isDirectory() ?? false;
}

/**
 * Identifies the state of a file that git reads; '' when it is missing.
 *
 * @throws {ToolError} when it is not a regular file, on which git could hang
 */
function fileVersion(file: string): string {
  const stats = statsIfExists(file);
  if (!stats) return '';
  if (!stats.isFile()) throw new ToolError('EXECUTION_FAILED', `${quote(file)} is not a regular file.`);
  return [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
}

function statsIfExists(file: string): BigIntStats | undefined {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined; // a cycle of links, or a file in place of a directory: git does not find it either
  }
}
