// Changes several files together. Everything slow, or that may run out of space, is done in temporary files, which are then
// renamed one after the other. If a rename fails, the files before it get their old bytes back. Only a crash between the
// first rename and the last can leave a mixture.

import type { BigIntStats } from 'node:fs';
import { lstat, rename, unlink } from 'node:fs/promises';
import { ToolError } from '../../../contract/errors.js';
import { stageWrite, syncDirectory, writeAtomically, type StagedWrite } from './atomic-write.js';
import { openEntryPlace } from '../entries/entry-place.js';
import { fileFailure } from '../open/file-failure.js';
import { lstatIfThere, openWriteTarget, type WriteTarget } from '../open/path-lookup.js';
import { isInside, quote, type ProjectScope, type ScopePath } from '../scope/project-scope.js';
import { temporaryName } from './temporary-files.js';
import { assertUnchanged, writeInPlace } from './write-in-place.js';

/** The change of one file. */
export interface FileChangeRequest {
  requested: ScopePath;
  /** Undefined while a directory above it is missing. */
  target: WriteTarget | undefined;
  /** The existing file; undefined if there is none. A file without known bytes can be removed, not replaced. */
  before: Buffer | undefined;
  /** The new content; undefined to remove the file. */
  after: Uint8Array | undefined;
  /** The permissions of a new file that replaces another. */
  mode?: bigint | undefined;
}

/** A file after the change. */
export interface CommittedChange {
  change: FileChangeRequest;
  target: WriteTarget;
  /** Undefined for a file that was removed. */
  stats: BigIntStats | undefined;
}

/** A prepared change: only its last step is left. */
interface StagedChange {
  change: FileChangeRequest;
  target: WriteTarget;
  /** Undefined for a file that is removed. */
  write: StagedWrite | undefined;
}

interface DoneChange extends CommittedChange {
  undo(): Promise<void>;
  /** Removes the data for undoing it. */
  settle(): Promise<void>;
}

/** Options of {@link commitTogether}. */
export interface TransactionOptions {
  /** Wait for the disk: for the new content before the first rename, for the names at the end. */
  fsync: boolean;
  /** An abort before the first file is written changes none; a later one has no effect. */
  signal?: AbortSignal | undefined;
}

/**
 * Makes all changes, or none: first all new contents are written to temporary files, then all files are checked once
 * more, then they are renamed. Files that are written in place go first, as they are likeliest to fail; removals go last. When one
 * fails those before it are undone, in reverse order, and its error is thrown. The caller holds the locks, and closes
 * the targets it gave.
 *
 * @throws {ToolError} what the failed change says; details name the files that could not be put back, if any
 */
export async function commitTogether(
  scope: ProjectScope,
  changes: readonly FileChangeRequest[],
  options: TransactionOptions,
): Promise<CommittedChange[]> {
  assertNoneInAnother(changes);
  const opened: WriteTarget[] = [];
  const staged: StagedChange[] = [];
  const done: DoneChange[] = [];
  let at: FileChangeRequest | undefined;
  try {
    for (at of changes) staged.push(await stage(scope, at, opened, options));
    staged.sort((a, b) => rank(a) - rank(b));
    for (const { change, target } of staged) await assertReady(scope, (at = change), target);
    options.signal?.throwIfAborted();
    for (const each of staged) {
      at = each.change;
      done.push(await (each.write ? put(each, each.write, options) : remove(each)));
    }
  } catch (error) {
    const failure = fileFailure(error, at?.after ? 'write' : 'delete', at?.requested.shown ?? '.');
    // First, as it frees space that restoring may need.
    for (const { write } of staged) await write?.discard();
    const left = await undo(done);
    for (const target of opened.toReversed()) await target.undoDirectories();
    throw nothingChanged(failure, left);
  } finally {
    for (const target of opened) await target.close();
  }
  // A file under a temporary name is removed later in any case.
  for (const each of done) await each.settle().catch(() => {});
  if (options.fsync) {
    const directories = new Map(done.map(({ target }) => [target.directory.path.absolute, target.directory]));
    for (const directory of directories.values()) await syncDirectory(directory);
  }
  return done.map(({ change, target, stats }) => ({ change, target, stats }));
}

/** Checks that no written file is a parent of another. @throws {ToolError} INVALID_ARGUMENT */
function assertNoneInAnother(changes: readonly FileChangeRequest[]): void {
  const written = changes.filter(({ after }) => after).map(({ requested }) => requested);
  // In this order the paths below a path directly follow it.
  const sorted = written.toSorted((a, b) => (`${a.absolute}/` < `${b.absolute}/` ? -1 : 1));
  for (const [index, below] of sorted.entries()) {
    const above = sorted[index - 1];
    if (!above || !isInside(above.absolute, below.absolute)) continue;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${quote(below.shown)} cannot be inside ${quote(above.shown)}, which is written as a file. Nothing was changed. Change one of the paths.`,
    );
  }
}

async function stage(
  scope: ProjectScope,
  change: FileChangeRequest,
  opened: WriteTarget[],
  { fsync, signal }: TransactionOptions,
): Promise<StagedChange> {
  signal?.throwIfAborted();
  let { target } = change;
  if (!target) opened.push((target = await openWriteTarget(scope, change.requested, true)));
  if (!change.after) return { change, target, write: undefined };
  if (target.stats && !change.before)
    throw new ToolError(
      'TOO_LARGE',
      `${quote(change.requested.shown)} is larger than 64 MiB: it can be deleted, not replaced. Delete it in a separate call.`,
    );
  const { mode } = change;
  return { change, target, write: await stageWrite(target, change.after, { fsync, signal, mode }) };
}

function rank({ write }: StagedChange): number {
  return !write ? 2 : write.inPlace ? 0 : 1;
}

/** Checks that all files are unchanged since the plan. */
async function assertReady(scope: ProjectScope, { requested, after }: FileChangeRequest, target: WriteTarget) {
  if (!after) await assertNoLink(scope, requested);
  await target.directory.assertStillInside();
  assertUnchanged(target, await lstatIfThere(target.directory.entry(target.name)));
}

async function put({ change, target }: StagedChange, write: StagedWrite, options: TransactionOptions) {
  const stats = await write.commit();
  const written = { ...target, stats };
  const place = target.directory.entry(target.name);
  const { before } = change;
  return {
    change,
    target,
    stats,
    settle: async () => {},
    async undo() {
      if (before) return putBack(written, before, options.fsync);
      assertUnchanged(written, await lstatIfThere(place));
      await unlink(place);
    },
  };
}

async function putBack(written: WriteTarget, before: Buffer, fsync: boolean): Promise<void> {
  try {
    await writeAtomically(written, before, { fsync });
  } catch (error) {
    // A disk without space for a second file may have space in the first.
    if (ToolError.isInstance(error)) throw error;
    await writeInPlace(written, before, fsync);
  }
}

/** Renames the file first, so that it can be restored; unlinks it after all other steps. */
async function remove({ change, target }: StagedChange): Promise<DoneChange> {
  const place = target.directory.entry(target.name);
  const aside = target.directory.entry(temporaryName());
  await target.directory.assertStillInside();
  assertUnchanged(target, await lstatIfThere(place));
  await rename(place, aside);
  return {
    change,
    target,
    stats: undefined,
    settle: () => unlink(aside),
    async undo() {
      if (await lstat(place).catch(() => undefined)) throw new ToolError('FILE_CHANGED', 'The path is in use again.');
      await rename(aside, place);
    },
  };
}

/** The names of the files that could not be put back. */
async function undo(done: readonly DoneChange[]): Promise<string[]> {
  const left: string[] = [];
  for (const each of done.toReversed()) await each.undo().catch(() => left.push(each.change.requested.shown));
  return left;
}

function nothingChanged(error: ToolError, left: readonly string[]): ToolError {
  const { code, message, details } = error;
  if (left.length === 0) {
    if (details?.['not_restored'] !== undefined || message.includes('Nothing was changed.')) return error;
    return new ToolError(code, `${message} Nothing was changed.`, { ...error.toInfo(), cause: error });
  }
  return new ToolError(code, `${message} ${left.map(quote).join(', ')} could not be restored and must be checked.`, {
    details: { ...details, not_restored: [...left] },
    cause: error,
  });
}

/** Removing the target of a link would leave a dangling link. @throws {ToolError} INVALID_ARGUMENT */
export async function assertNoLink(scope: ProjectScope, requested: ScopePath): Promise<void> {
  await using place = await openEntryPlace(scope, requested, { write: false, mustExist: true });
  if (place.stats?.isSymbolicLink())
    throw new ToolError('INVALID_ARGUMENT', `${quote(requested.shown)} is a link. Give the path of its target.`);
}
