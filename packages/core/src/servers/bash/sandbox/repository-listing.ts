// What a repository that a command could write lists: its submodules, the commits that its references lead to, and paths
// in its index that git itself never adds. git reads them without the repository's configuration (isolated-git.ts).

import { readdirSync, statSync, type BigIntStats } from 'node:fs';
import { dirname, join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import type { GitProgram } from '../../project/git/git-program.js';
import { commonDirOf, gitDirOf } from '../../project/scope/configured-paths.js';
import { quote } from '../../project/scope/project-scope.js';
import { foldName } from '../../project/scope/protected-paths.js';
import { headOf, sharedIndexes, withIsolatedGit } from './isolated-git.js';

/** Of directories of references in each other. */
const MAX_DEPTH = 20;
/** Branches of which the last commit is listed by itself, as well as by the history of all. */
const MAX_TIPS = 200;
const GITLINK = '160000 ';
const OBJECT_ID = /^[0-9a-f]{40,64}$/;

/** What a repository lists as submodules. */
export interface Gitlinks {
  directories: readonly Buffer[];
  /** Why git could not list them to the end. */
  unread?: string;
}

interface Listing {
  version: string;
  /** The submodules, by their paths as Latin-1. */
  names: ReadonlyMap<string, Buffer>;
}

const known = new Map<string, Listing>();
/** What commits that commands made name, wherever they are: a later command may come back to it. */
const committed = new Map<string, Map<string, Buffer>>();
const knownTips = new Map<string, { version: string; tips: ReadonlySet<string> }>();
/** The refused paths of indexes, by the directory that the index is in. */
const knownRefused = new Map<string, { version: string; paths: readonly string[] }>();

/** The directories that the index, the last commit or a commit that a command made names as submodules. */
export async function gitlinksOf(git: GitProgram, dotGit: string): Promise<Gitlinks> {
  const gitDir = gitDirOf(dotGit);
  if (gitDir === undefined) return { directories: [] };
  const names = new Map<string, Buffer>();
  let unread: string | undefined;
  try {
    const version = versionOf(gitDir);
    let listing = known.get(dotGit);
    if (listing?.version !== version) {
      known.delete(dotGit);
      listing = { version, names: await listGitlinks(git, gitDir) };
      known.set(dotGit, listing);
    }
    for (const [key, name] of listing.names) names.set(key, name);
  } catch (error) {
    unread = ToolError.from(error).message;
  }
  for (const [key, name] of committed.get(dotGit) ?? []) names.set(key, name);
  const directories = [...names.values()].map((name) => Buffer.concat([Buffer.from(`${dirname(dotGit)}/`), name]));
  return { directories, ...(unread !== undefined && { unread }) };
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

/** Remembers the submodules of all commits that were not to be reached before. @throws {ToolError} when git cannot list them */
export async function readNewCommits(git: GitProgram, dotGit: string, before: ReadonlySet<string>): Promise<void> {
  const gitDir = gitDirOf(dotGit);
  const made = [...(await tipsOf(git, dotGit))].filter((tip) => !before.has(tip));
  if (gitDir === undefined || made.length === 0) return;
  const names = committed.get(dotGit) ?? new Map<string, Buffer>();
  committed.set(dotGit, names);
  await withIsolatedGit(git, gitDir, async ({ list }) => {
    // By themselves too: a commit whose parent is missing can be checked out, and has no history.
    const failures: unknown[] = [];
    for (const tip of made.slice(0, MAX_TIPS))
      await list(treeOf(tip), addGitlink(names)).catch((error: unknown) => failures.push(error));
    const history = ['log', '--stdin', '--format=', '--raw', '--no-abbrev', '--no-renames', '--root', '-z'];
    const range = [...made, ...[...before].map((tip) => `^${tip}`)].map((each) => `${each}\n`).join('');
    let isGitlink = false; // the name comes in the next record
    const add = (record: string): void => {
      if (isGitlink) names.set(record, Buffer.from(record, 'latin1'));
      isGitlink = !isGitlink && /^\n*:\d+ 160000 /.test(record);
    };
    await list([...history, '--diff-merges=first-parent', '--ignore-missing'], add, { stdin: Buffer.from(range) });
    if (failures.length > 0) throw failures[0];
  });
}

/** What the references and heads of a repository lead to. @throws {ToolError} when git cannot list them */
export async function tipsOf(git: GitProgram, dotGit: string): Promise<ReadonlySet<string>> {
  const gitDir = gitDirOf(dotGit);
  if (gitDir === undefined) return new Set();
  const common = commonDirOf(gitDir);
  const heads = gitDirsOf(common).map((each) => headOf(each)?.trim() ?? '');
  const files = ['packed-refs', 'reftable/tables.list'].map((file) => stateOf(join(common, file)));
  const objects = isDirectory(join(common, 'objects'));
  const version = [...heads, ...files, objects, ...referencesIn(join(common, 'refs'))].join('\0');
  const before = knownTips.get(common);
  if (before?.version === version) return before.tips;
  knownTips.delete(common);
  // No reference leads to the commit of a head that is on no branch.
  const tips = new Set(heads.filter((head) => OBJECT_ID.test(head)));
  try {
    await withIsolatedGit(git, common, ({ list }) =>
      list(['for-each-ref', '--format=%(objectname)%00'], (tip) => tips.add(tip.trim())),
    );
  } catch (error) {
    if (ToolError.from(error).code !== 'NOT_A_REPOSITORY') throw error;
  }
  knownTips.set(common, { version, tips });
  return tips;
}

/** The directories that hold an index: the repository's own data, and those of its linked working trees. */
export function gitDirsOf(common: string): string[] {
  return [common, ...entriesOf(join(common, 'worktrees')).map((name) => join(common, 'worktrees', name))];
}

/**
 * The paths of an index that git refuses to add and writes all the same when it checks them out: into `.git`, or outside
 * the working tree.
 *
 * @throws {ToolError} when git cannot list the index
 */
export async function refusedPathsOf(git: GitProgram, gitDir: string): Promise<readonly string[]> {
  const version = indexVersionOf(gitDir);
  const before = knownRefused.get(gitDir);
  if (before?.version === version) return before.paths;
  knownRefused.delete(gitDir);
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
  knownRefused.set(gitDir, { version, paths });
  return paths;
}

/** Writes the index of a repository anew, without refused paths, to a file; to none when nothing is left of it. */
export async function writeIndexWithout(git: GitProgram, gitDir: string, file: string): Promise<void> {
  await withIsolatedGit(git, gitDir, async ({ list }) => {
    const kept: string[] = [];
    await list(['ls-files', '--stage', '-z'], (record) => {
      if (!isRefused(record.slice(record.indexOf('\t') + 1))) kept.push(`${record}\0`);
    });
    const stdin = Buffer.from(kept.join(''), 'latin1');
    await list(['update-index', '-z', '--index-info'], () => {}, { stdin, env: { GIT_INDEX_FILE: file } });
  });
}

/** As git's `verify_path`, which it does not ask of entries that it reads. The path is Latin-1. */
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

/** True where there is no commit yet. */
async function isUnborn(list: (args: readonly string[], take: () => void) => Promise<void>): Promise<boolean> {
  try {
    await list(['rev-parse', '--quiet', '--verify', 'HEAD'], () => {});
    return false;
  } catch (error) {
    return ToolError.from(error).code !== 'TIMED_OUT';
  }
}

/** What tells one state of the index and of the last commit from another. */
function versionOf(gitDir: string): string {
  const common = commonDirOf(gitDir);
  const head = headOf(gitDir) ?? '';
  const [, branch] = /^ref:\s*(refs\/.+)\n$/.exec(head) ?? [];
  const files = [join(common, 'packed-refs'), join(common, 'reftable/tables.list')];
  if (branch !== undefined) files.push(join(common, branch));
  const directories = ['objects', 'refs'].map((name) => isDirectory(join(common, name)));
  return [head, indexVersionOf(gitDir), ...files.map(stateOf), ...directories].join('\0');
}

function indexVersionOf(gitDir: string): string {
  return ['index', ...sharedIndexes(gitDir)].flatMap((name) => [name, stateOf(join(gitDir, name))]).join('\0');
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
