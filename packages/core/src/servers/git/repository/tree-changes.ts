// Changes of the working tree by git: checked before (no protected path is written), reported afterwards.

import { NO_DIFF_HELPERS } from '../hardening/git-settings.js';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import type { FileChange } from '../../project/write/change-together.js';
import { quote } from '../../project/scope/project-scope.js';
import { nulFields } from './nul-records.js';
import { currentBranch, headOf } from './refs.js';
import type { GitPath } from '../git-paths.js';
import type { Repository } from './repository.js';

/** More changed files than this are reported as one change of the whole working tree. */
const MAX_ANNOUNCED = 10_000;
const MAX_NAMED = 5;

/** The outcome of a change of the working tree. */
export interface TreeOutcome<T> {
  result: T;
  /** HEAD before and after. */
  before: HeadState;
  after: HeadState;
  /** The changed files, relative to the project, sorted; the first 10,000. */
  changed: string[];
  /** The number of all changed files. */
  changedCount: number;
}

/** The state of HEAD. */
export interface HeadState {
  oid: string | undefined;
  branch: string | undefined;
}

/** The current HEAD and branch. */
export async function headState(repository: Repository): Promise<HeadState> {
  const [oid, branch] = [await headOf(repository), await currentBranch(repository)];
  return { oid, branch };
}

/**
 * Runs a change and reports all changed files to the project's listeners, even when it fails.
 *
 * @throws what `change` throws
 */
export async function changeTree<T>(repository: Repository, change: () => Promise<T>): Promise<TreeOutcome<T>> {
  const before = await headState(repository);
  const dirtyBefore = await dirtyFiles(repository);
  const finish = async (): Promise<Omit<TreeOutcome<T>, 'result'>> => {
    const after = await headState(repository);
    const changes = await changesBetween(repository, before.oid, after.oid);
    for (const [path, { fingerprint }] of await dirtyFiles(repository)) {
      if (dirtyBefore.get(path)?.fingerprint !== fingerprint && !changes.has(path))
        changes.set(path, kindOf(fingerprint));
    }
    for (const [path, { raw, fingerprint }] of dirtyBefore) {
      const now = await fingerprintOf(repository, raw);
      // A file that was committed unchanged is in the diff of the commits, but did not change.
      if (now === fingerprint) changes.delete(path);
      else changes.set(path, kindOf(now));
    }
    announce(repository, changes);
    const changed = [...changes.keys()].sort();
    return { before, after, changed: changed.slice(0, MAX_ANNOUNCED), changedCount: changed.length };
  };
  let result: T;
  try {
    result = await change();
  } catch (error) {
    // An aborted call runs no more git, so the changed files are unknown.
    if (repository.signal.aborted) announceAll(repository);
    else await finish().catch(() => announceAll(repository));
    throw error;
  }
  return { result, ...(await finish()) };
}

/**
 * Refuses a change of protected paths or in a read-only root. A trusted repository may change its protected files, as its hooks
 * run anyway.
 *
 * @param paths relative to the top level of the working tree
 * @throws {ToolError} PROTECTED_PATH, PERMISSION_DENIED
 */
export function assertTreeWritable(repository: Repository, paths: readonly Buffer[]): void {
  const { scope } = repository.context.files;
  const refused: string[] = [];
  for (const path of paths) {
    const place = scope.find(join(repository.top, path.toString('utf8')));
    if (!place) throw scope.outside(repository.shown(path));
    if (place.root.mode === 'ro') scope.assertWritable(place);
    if (!repository.trusted && scope.isProtected(place)) refused.push(place.shown);
  }
  if (refused.length === 0) return;
  const named = refused.slice(0, MAX_NAMED).map(quote).join(', ');
  const more = refused.length > MAX_NAMED ? ` and ${refused.length - MAX_NAMED} more` : '';
  throw new ToolError(
    'PROTECTED_PATH',
    `This would change ${named}${more}, whose content programs run or trust. Ask the operator to do it, to list them in allowProtected, or to trust the repository.`,
    { details: { protected: refused.slice(0, MAX_NAMED) } },
  );
}

/** The paths that differ between two trees, or a tree and the working tree. */
export async function differingPaths(
  repository: Repository,
  args: readonly string[],
  paths?: readonly GitPath[],
): Promise<Buffer[]> {
  const { stdout, cut } = await repository.read([...args, '--name-only', '-z', '--no-renames'], {
    ...(paths && { paths }),
  });
  if (cut) throw tooManyPaths();
  return nulFields(stdout);
}

/** All paths of a commit, for a working tree without one. @throws {ToolError} TOO_LARGE */
export async function allPaths(repository: Repository, oid: string): Promise<Buffer[]> {
  const { stdout, cut } = await repository.read(['ls-tree', '-r', '-z', '--name-only', '--full-tree', oid]);
  if (cut) throw tooManyPaths();
  return nulFields(stdout);
}

function tooManyPaths(): ToolError {
  return new ToolError(
    'TOO_LARGE',
    'Too many files differ to be checked (8 MiB of names). Restrict paths, or use smaller steps.',
  );
}

/** The arguments of a comparison that runs no helper of the repository. */
export function treeDiff(from: string, to: string): string[] {
  return ['diff-tree', '-r', ...NO_DIFF_HELPERS, from, to];
}

async function changesBetween(
  repository: Repository,
  from: string | undefined,
  to: string | undefined,
): Promise<Map<string, FileChange['kind']>> {
  const changes = new Map<string, FileChange['kind']>();
  if (from === undefined || to === undefined || from === to) return changes;
  const { stdout } = await repository.read([...treeDiff(from, to), '--name-status', '-z', '--no-renames']);
  const fields = nulFields(stdout);
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const status = fields[index]?.toString('latin1') ?? '';
    changes.set(
      repository.shown(fields[index + 1] ?? ''),
      status.startsWith('A') ? 'created' : status.startsWith('D') ? 'deleted' : 'changed',
    );
  }
  return changes;
}

interface DirtyFile {
  raw: Buffer;
  fingerprint: string | undefined;
}

/** Files that differ from HEAD, with a stamp of each version. */
async function dirtyFiles(repository: Repository): Promise<Map<string, DirtyFile>> {
  const args = ['status', '--porcelain=v1', '-z', '--no-renames', '--untracked-files=all', '--ignore-submodules=dirty'];
  const { stdout } = await repository.read(args);
  const files = new Map<string, DirtyFile>();
  for (const field of nulFields(stdout).slice(0, 2 * MAX_ANNOUNCED)) {
    const raw = Buffer.from(field.subarray(3));
    files.set(repository.shown(raw), { raw, fingerprint: await fingerprintOf(repository, raw) });
  }
  return files;
}

async function fingerprintOf(repository: Repository, path: Buffer): Promise<string | undefined> {
  const address = Buffer.concat([Buffer.from(`${repository.top}/`), path]);
  const stats = await lstat(address, { bigint: true }).catch(() => undefined); // deleted
  return stats && `${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
}

function kindOf(fingerprint: string | undefined): FileChange['kind'] {
  return fingerprint === undefined ? 'deleted' : 'changed';
}

function announce(repository: Repository, changes: ReadonlyMap<string, FileChange['kind']>): void {
  if (changes.size > MAX_ANNOUNCED) return announceAll(repository);
  const { files } = repository.context;
  for (const [path, kind] of changes) files.announce({ path, absolute: join(files.scope.projectDir, path), kind });
}

function announceAll(repository: Repository): void {
  const { files } = repository.context;
  const path = files.scope.find(repository.top)?.shown ?? '.';
  files.announce({ path, absolute: repository.top, kind: 'changed', directory: true });
}
