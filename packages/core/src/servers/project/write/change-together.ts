// Plans a change of several files: locks them in one order, reads them and calls the plan. file-transaction.ts writes the
// result.

import { ToolError } from '../../../contract/errors.js';
import { assertExpected, type ExpectedVersion } from './expected-version.js';
import { etagOfBytes, readCurrent, type CurrentFile } from '../open/file-content.js';
import { lockKeyOf, withFileLocks } from './file-lock.js';
import { assertNoLink, commitTogether, type FileChangeRequest } from './file-transaction.js';
import { lookUp, openWriteTarget, reachOf, type WriteTarget } from '../open/path-lookup.js';
import { quote, type ProjectScope, type ScopePath } from '../scope/project-scope.js';
import type { ReadTracker } from './read-tracker.js';
import { removeAbandoned } from './temporary-files.js';

/** One file of a change of several. The plan sets {@link after}; the files are written when it returns. */
export interface TogetherFile {
  /** The requested path. */
  readonly path: string;
  /** The existing file; undefined if there is none. */
  readonly current: CurrentFile | undefined;
  /** The new content, `'delete'`, or undefined to leave the file as it is. */
  after: Uint8Array | 'delete' | undefined;
  /** A new file gets the permissions of this one. */
  modeOf?: TogetherFile | undefined;
  /** @throws {ToolError} NOT_FOUND, with similar names, when the file does not exist */
  assertExists(): Promise<void>;
  /** @throws {ToolError} READ_REQUIRED or FILE_CHANGED, with `requireRead`; NOT_FOUND when the file does not exist */
  assertSeen(): Promise<void>;
}

/** Options of a change of several files. */
export interface ChangeTogetherOptions extends Pick<ExpectedVersion, 'sessionId' | 'requireRead'> {
  /** An abort before the first file is written changes none. */
  signal?: AbortSignal | undefined;
}

/** Sets the new content of the files, which it gets by their listed paths, or throws. Two spellings of one file share one object. */
export type TogetherPlan = (file: (path: string) => TogetherFile) => Promise<void>;

/** The members of `ProjectFiles` that a change of several files uses. */
export interface ChangedFiles {
  readonly scope: ProjectScope;
  readonly tracker: ReadTracker;
  readonly fsync: boolean;
  announce(change: FileChange): void;
}

interface PlannedFile {
  file: TogetherFile;
  requested: ScopePath;
  target: WriteTarget | undefined;
}

/**
 * Runs a {@link TogetherPlan} under locks of the given keys; returns false, with nothing changed, if a file has another
 * key by now.
 *
 * @throws {ToolError} as `ProjectFiles.changeTogether`
 */
export async function changeTogether(
  files: ChangedFiles,
  keyOf: ReadonlyMap<ScopePath, string>,
  options: ChangeTogetherOptions,
  plan: TogetherPlan,
): Promise<boolean> {
  return await withFileLocks([...keyOf.values()], async () => {
    options.signal?.throwIfAborted();
    const opened: WriteTarget[] = [];
    try {
      const found = await findFiles(files, keyOf, options, opened);
      if (!found) return false;
      await plan((path) => {
        const planned = found.byPath.get(files.scope.parse(path).absolute);
        if (!planned) throw new ToolError('INTERNAL', `${quote(path)} is not among the files to change.`);
        return planned;
      });
      await commit(files, found.all, options);
      return true;
    } finally {
      for (const target of opened) await target.close();
    }
  });
}

/** @param opened collects the handles to close */
async function findFiles(
  files: ChangedFiles,
  keyOf: ReadonlyMap<ScopePath, string>,
  options: ChangeTogetherOptions,
  opened: WriteTarget[],
): Promise<{ all: PlannedFile[]; byPath: Map<string, TogetherFile> } | undefined> {
  const byKey = new Map<string, PlannedFile>();
  const byPath = new Map<string, TogetherFile>();
  for (const [requested, key] of keyOf) {
    const known = byKey.get(key);
    const target = (await hasDirectory(files.scope, requested))
      ? await openWriteTarget(files.scope, requested, false)
      : undefined;
    if (target) {
      opened.push(target);
      if ((await removeAbandoned(target.directory)) > 0) return undefined; // one of them may have been a link to this file
    }
    if (known) {
      if (target && target.path.absolute !== known.target?.path.absolute)
        throw new ToolError(
          'INVALID_ARGUMENT',
          `${quote(known.requested.shown)} and ${quote(requested.shown)} are two names of one file. Use only one of them.`,
        );
      byPath.set(requested.absolute, known.file);
      continue;
    }
    if (target && lockKeyOf(target.path.absolute, target.stats) !== key) return undefined;
    const current = target?.stats && (await readCurrent(target, target.stats));
    const assertExists = async (): Promise<void> => {
      if (!target || !current) await (await lookUp(files.scope, requested)).close(); // throws NOT_FOUND with similar names
    };
    const file: TogetherFile = {
      path: requested.shown,
      current,
      after: undefined,
      assertExists,
      async assertSeen() {
        await assertExists();
        const expected = { ...options, mustExist: true };
        if (target) await assertExpected(files.tracker, requested, target, current, expected, false);
      },
    };
    byKey.set(key, { file, requested, target });
    byPath.set(requested.absolute, file);
  }
  return { all: [...byKey.values()], byPath };
}

async function commit(
  files: ChangedFiles,
  planned: readonly PlannedFile[],
  { sessionId, signal }: ChangeTogetherOptions,
): Promise<void> {
  const statsOf = new Map(planned.map(({ file, target }) => [file, target?.stats]));
  const changes: FileChangeRequest[] = [];
  for (const { file, requested, target } of planned) {
    const { after, current, modeOf } = file;
    if (after === undefined || (after === 'delete' && !current)) continue;
    if (after === 'delete') await assertNoLink(files.scope, requested);
    const mode = modeOf && statsOf.get(modeOf)?.mode;
    changes.push({ requested, target, before: current?.bytes, after: after === 'delete' ? undefined : after, mode });
  }
  for (const { change, target, stats } of await commitTogether(files.scope, changes, { fsync: files.fsync, signal })) {
    const { path } = target;
    if (stats && change.after) {
      const seen = { path: path.absolute, dev: stats.dev, ino: stats.ino };
      files.tracker.note(sessionId, seen, etagOfBytes(change.after), change.after);
    }
    const kind = !stats ? 'deleted' : change.before ? 'changed' : 'created';
    files.announce({ path: path.shown, absolute: path.absolute, kind });
  }
}

async function hasDirectory(scope: ProjectScope, requested: ScopePath): Promise<boolean> {
  const { opened, missing } = await reachOf(scope, requested);
  await opened.close();
  return missing.length < 2 && (missing.length === 0 || opened.stats.isDirectory());
}

/** A change, as passed to a {@link ProjectFiles.onChanged} listener. */
export interface FileChange {
  /** The real file: relative to the project, or absolute in an extra root. */
  path: string;
  /** The absolute path of the file. */
  absolute: string;
  /** What happened to the file. */
  kind: 'created' | 'changed' | 'deleted' | 'moved';
  /** It is a directory, and everything below it changed. */
  directory?: true;
  /** The previous path, if it was moved. */
  from?: { path: string; absolute: string };
}
