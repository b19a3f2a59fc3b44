// Several files changed together: all are locked, read and judged before the first is touched, and when one cannot be
// written those before it get their old bytes back. A crash in between is the one thing that can leave some of each.

import { randomBytes } from 'node:crypto';
import { constants, type BigIntStats } from 'node:fs';
import { lstat, open, rename, unlink } from 'node:fs/promises';
import { ToolError } from '../errors.js';
import { writeAtomically } from './atomic-write.js';
import { errnoOf, fileFailure } from './file-failure.js';
import { openPath } from './opened-path.js';
import { openWriteTarget, type WriteTarget } from './path-lookup.js';
import { quote, type ProjectScope, type ScopePath } from './project-scope.js';

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants as Partial<typeof constants> & { O_RDONLY: number };
const PERMISSIONS = 0o7777n;

/** What becomes of one file. */
export interface StagedChange {
  asked: ScopePath;
  /** Undefined while a directory above it is missing. */
  target: WriteTarget | undefined;
  /** What is there now. */
  before: Buffer | undefined;
  /** The new content; undefined to remove the file. */
  after: Uint8Array | undefined;
  /** The permissions of a new file, where it takes another's place. */
  mode?: bigint | undefined;
}

/** A file as it was left. */
export interface CommittedChange {
  change: StagedChange;
  target: WriteTarget;
  /** Undefined for a file that was removed. */
  stats: BigIntStats | undefined;
}

interface Undoable extends CommittedChange {
  undo(): Promise<void>;
  /** Ends what was kept to undo it. */
  settle(): Promise<void>;
}

/**
 * Makes the changes one after the other, removals last. When one fails, those before it are undone, in reverse order,
 * and its error is thrown. The caller holds the locks, and closes the targets it gave.
 *
 * @throws {ToolError} what the failed change says; details name the files that could not be put back, if any
 */
export async function commitTogether(
  scope: ProjectScope,
  changes: readonly StagedChange[],
  options: { fsync: boolean; signal?: AbortSignal | undefined },
): Promise<CommittedChange[]> {
  const done: Undoable[] = [];
  const opened: WriteTarget[] = [];
  try {
    for (const change of [...changes].sort((a, b) => Number(!a.after) - Number(!b.after))) {
      try {
        options.signal?.throwIfAborted();
        let { target } = change;
        if (!target) opened.push((target = await openWriteTarget(scope, change.asked, true)));
        done.push(
          await (change.after ? write(change, target, change.after, options.fsync) : remove(scope, change, target)),
        );
      } catch (error) {
        throw await undone(fileFailure(error, change.after ? 'write' : 'delete', change.asked.shown), done, opened);
      }
    }
    // What is kept under a temporary name is removed later in any case.
    for (const each of done) await each.settle().catch(() => {});
    return done.map(({ change, target, stats }) => ({ change, target, stats }));
  } finally {
    for (const target of opened) await target.close();
  }
}

async function undone(error: ToolError, done: Undoable[], opened: WriteTarget[]): Promise<ToolError> {
  const left: string[] = [];
  for (const each of done.toReversed()) await each.undo().catch(() => left.push(each.change.asked.shown));
  for (const target of opened.toReversed()) await target.undoDirectories();
  if (left.length === 0)
    return new ToolError(error.code, `${error.message} Nothing was changed.`, { ...error.toInfo(), cause: error });
  return new ToolError(
    error.code,
    `${error.message} ${left.map(quote).join(', ')} could not be put back and must be looked at.`,
    { details: { ...error.details, not_restored: left }, cause: error },
  );
}

async function write(change: StagedChange, target: WriteTarget, bytes: Uint8Array, fsync: boolean): Promise<Undoable> {
  const stats = await writeAtomically(target, bytes, { fsync });
  const written = { ...target, stats };
  const undo = async (): Promise<void> => {
    if (change.before) {
      await writeAtomically(written, change.before, { fsync });
      return;
    }
    await assertSame(written);
    await unlink(target.directory.entry(target.name));
  };
  if (change.mode === undefined || change.before) return { change, target, stats, undo, settle: async () => {} };
  try {
    await using handle = await open(target.directory.entry(target.name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    await handle.chmod(Number(change.mode & PERMISSIONS));
    return { change, target, stats: await handle.stat({ bigint: true }), undo, settle: async () => {} };
  } catch (error) {
    await undo();
    throw error;
  }
}

/** Renamed first, so that the very file can come back; unlinked when all else is done. */
async function remove(scope: ProjectScope, change: StagedChange, target: WriteTarget): Promise<Undoable> {
  await assertNoLink(scope, change.asked);
  await target.directory.assertStillInside();
  await assertSame(target);
  const place = target.directory.entry(target.name);
  const aside = target.directory.entry(`.toolwright-${randomBytes(8).toString('hex')}.tmp`);
  await rename(place, aside);
  return {
    change,
    target,
    stats: undefined,
    undo: async () => {
      if (await lstat(place).catch(() => undefined)) throw new ToolError('FILE_CHANGED', 'Something took its place.');
      await rename(aside, place);
    },
    settle: () => unlink(aside),
  };
}

async function assertSame({ directory, name, path, stats }: WriteTarget): Promise<void> {
  const now = await lstat(directory.entry(name), { bigint: true }).catch(() => undefined);
  if (now && stats && now.dev === stats.dev && now.ino === stats.ino && now.mtimeNs === stats.mtimeNs) return;
  throw new ToolError('FILE_CHANGED', `${quote(path.shown)} was changed by somebody else meanwhile. Read it again.`);
}

/** To remove a link's target would leave a link that leads nowhere. @throws {ToolError} INVALID_ARGUMENT */
export async function assertNoLink(scope: ProjectScope, asked: ScopePath): Promise<void> {
  try {
    await (await openPath(scope, asked.absolute, asked, { follow: false })).close();
  } catch (error) {
    if (errnoOf(error) !== 'ELOOP') throw error;
    throw new ToolError('INVALID_ARGUMENT', `${quote(asked.shown)} is a link. Name the file that it leads to.`);
  }
}
