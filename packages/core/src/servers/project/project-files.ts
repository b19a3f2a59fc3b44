// Reads and changes the project's files, for all servers: inside the scope, one change of a file at a time, atomically,
// never over a version that the session has not seen. The tools decide what the change is.

import { basename, dirname, join } from 'node:path';
import { ToolError } from '../../contract/errors.js';
import { assertOptions, shownValue, type OptionNames } from '../../contract/options.js';
import { writeAtomically } from './write/atomic-write.js';
import {
  changeTogether,
  type ChangeTogetherOptions,
  type FileChange,
  type TogetherPlan,
} from './write/change-together.js';
import { assertExpected, type ExpectedVersion } from './write/expected-version.js';
import {
  etagOfBytes,
  etagOfStats,
  MAX_WHOLE_FILE_BYTES,
  readCurrent,
  readWhole,
  type CurrentFile,
  type FileContent,
} from './open/file-content.js';
import { fileFailure } from './open/file-failure.js';
import { lockKeyOf, withFileLocks } from './write/file-lock.js';
import type { OpenedPath } from './open/opened-path.js';
import {
  lookUp,
  openDirectory,
  openRegularFile,
  openWriteTarget,
  reachOf,
  spellingIn,
  type OpenedFile,
  type WriteTarget,
} from './open/path-lookup.js';
import { ProjectScope, quote, SCOPE_OPTIONS, type ProjectScopeOptions, type ScopePath } from './scope/project-scope.js';
import { ReadTracker } from './write/read-tracker.js';
import { removeAbandoned } from './write/temporary-files.js';

export type { TogetherFile } from './write/change-together.js';
export {
  etagOfBytes,
  etagOfStats,
  MAX_WHOLE_FILE_BYTES,
  type CurrentFile,
  type FileContent,
} from './open/file-content.js';

/** Options of {@link ProjectFiles}. */
export interface ProjectFilesOptions extends ProjectScopeOptions {
  /** Wait for the disk after each write. If false, a crash may lose the last writes. Default: true. */
  fsync?: boolean | undefined;
}

/** The names of {@link ProjectFilesOptions}, which every server accepts. */
export const PROJECT_FILES_OPTIONS: OptionNames<ProjectFilesOptions> = { ...SCOPE_OPTIONS, fsync: 'boolean' };

/** The files of a server: the shared ones from its options, or new ones. @throws {ToolError} INVALID_ARGUMENT */
export function projectFilesOf(
  options: ProjectFilesOptions & { projectFiles?: ProjectFiles | undefined },
): ProjectFiles {
  const { projectDir, extraRoots, allowProtected, verification, fsync, projectFiles } = options;
  if (projectFiles !== undefined && typeof (projectFiles as Partial<ProjectFiles> | null)?.change !== 'function')
    throw new ToolError('INVALID_ARGUMENT', `projectFiles must be a ProjectFiles, not ${shownValue(projectFiles)}.`);
  return projectFiles ?? new ProjectFiles({ projectDir, extraRoots, allowProtected, verification, fsync });
}

/** A resolved path. */
export interface ResolvedPath {
  /** The requested path, for results: relative to the project, or absolute in an extra root. */
  path: string;
  /** As {@link path}, with all links resolved. */
  realPath: string;
  /** The real path, absolute, for programs. */
  absolute: string;
  /** Whether a file or directory exists there. */
  exists: boolean;
}

/** Options of {@link ProjectFiles.change}. */
export interface ChangeOptions extends ExpectedVersion {
  /** Create missing parent directories. Default: false. */
  createDirs?: boolean | undefined;
  /** An abort before the new content is in place leaves the old content. */
  signal?: AbortSignal | undefined;
}

/** The result of {@link ProjectFiles.change}. */
export interface ChangeOutcome {
  /** The etag of the new content. */
  etag: string;
  /** True when the file did not exist before. */
  created: boolean;
  /** False when the content was unchanged. */
  written: boolean;
}

/** Attempts to lock a file whose path resolves to another file once the lock is held. */
const MAX_LOCK_TRIES = 8;

/** The files of one project, shared by all servers that touch it. Nothing is opened before the first call. */
export class ProjectFiles {
  /** Decides which paths are inside the project. */
  readonly scope: ProjectScope;
  /** The versions that each session has seen. */
  readonly tracker = new ReadTracker();
  /** Whether each write waits for the disk. */
  readonly fsync: boolean;
  readonly #listeners = new Set<(change: FileChange) => void>();

  /** @throws {ToolError} INVALID_ARGUMENT for a directory that is relative, missing or too wide */
  constructor(options: ProjectFilesOptions) {
    assertOptions('new ProjectFiles()', options, PROJECT_FILES_OPTIONS);
    const { fsync = true, ...scope } = options;
    this.scope = new ProjectScope(scope);
    this.fsync = fsync;
  }

  /**
   * Resolves a path, following all links. With `'write'` it need not exist, but writing to it must be allowed.
   *
   * @throws {ToolError} OUTSIDE_PROJECT, INVALID_ARGUMENT, NOT_FOUND (reading), PROTECTED_PATH or PERMISSION_DENIED (writing)
   */
  async resolve(path: string, mode: 'read' | 'write'): Promise<ResolvedPath> {
    const requested = this.scope.parse(path);
    if (mode === 'write') this.scope.assertWritable(requested);
    const { opened, missing } =
      mode === 'read'
        ? { opened: await lookUp(this.scope, requested), missing: [] }
        : await reachOf(this.scope, requested);
    await opened.close();
    const real = this.scope.find(join(opened.path.absolute, ...missing));
    if (!real) throw this.scope.outside(requested.shown);
    if (mode === 'write') this.scope.assertWritable(real);
    return { path: requested.shown, realPath: real.shown, absolute: real.absolute, exists: missing.length === 0 };
  }

  /**
   * As {@link resolve}, for the entry itself: a link in the last place is not followed, and may resolve outside.
   *
   * @throws {ToolError} as {@link resolve}; NOT_FOUND when a directory above it is missing
   */
  async resolveEntry(path: string, mode: 'read' | 'write'): Promise<ScopePath> {
    const requested = this.scope.parse(path);
    if (mode === 'write') this.scope.assertWritable(requested);
    if (requested.absolute === requested.root.path) return requested;
    const name = basename(requested.absolute);
    const { absolute, exists } = await this.resolve(dirname(requested.absolute), mode);
    let spelled = name;
    if (exists) {
      await using directory = await lookUp(this.scope, this.scope.parse(absolute));
      if (directory.stats.isDirectory()) spelled = await spellingIn(directory, name);
    }
    const real = this.scope.find(join(absolute, spelled));
    if (!real) throw this.scope.outside(requested.shown);
    if (mode === 'write') this.scope.assertWritable(real);
    return real;
  }

  /**
   * Reads a whole file.
   *
   * @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, INVALID_ARGUMENT if it is not a regular file, TOO_LARGE above 64 MiB
   */
  async read(path: string): Promise<FileContent> {
    const requested = this.scope.parse(path);
    const { handle, stats } = await openRegularFile(this.scope, requested);
    try {
      const bytes = await readWhole(handle, stats);
      if (!bytes) throw tooLarge(requested, stats.size);
      return { bytes, etag: etagOfBytes(bytes) };
    } catch (error) {
      throw fileFailure(error, 'read', requested.shown);
    } finally {
      await handle.close();
    }
  }

  /**
   * Writes a whole file, atomically. An existing file keeps its owner and mode.
   *
   * @param options `ifMatch`: refuse unless the file has this etag; `createDirs` (default false): create missing directories
   * @throws {ToolError} FILE_CHANGED, OUTSIDE_PROJECT, PROTECTED_PATH, NOT_FOUND, NO_SPACE, or the code of another system error
   */
  async write(
    path: string,
    bytes: Uint8Array,
    options: { ifMatch?: string | undefined; createDirs?: boolean | undefined } = {},
  ): Promise<{ etag: string; created: boolean }> {
    const { etag, created } = await this.change(path, options, () => bytes);
    return { etag, created };
  }

  /**
   * Changes a file under its lock: reads it, calls `change` for the new content, and writes that. If `change` returns
   * undefined or throws, nothing is written.
   *
   * @throws {ToolError} as {@link ProjectFiles.write}; READ_REQUIRED or FILE_CHANGED with `requireRead`; and any error that `change` throws
   */
  async change(
    path: string,
    options: ChangeOptions,
    change: (current: CurrentFile | undefined) => Uint8Array | undefined | Promise<Uint8Array | undefined>,
  ): Promise<ChangeOutcome> {
    const requested = this.scope.parse(path);
    this.scope.assertWritable(requested);
    if (options.mustExist) await (await lookUp(this.scope, requested)).close(); // throws NOT_FOUND with similar names
    for (let tries = 0; tries < MAX_LOCK_TRIES; tries++) {
      const key = await this.#lockKey(requested);
      const outcome = await withFileLocks([key], async () => {
        options.signal?.throwIfAborted();
        const target = await openWriteTarget(this.scope, requested, options.createDirs ?? false);
        try {
          if ((await removeAbandoned(target.directory)) > 0) return undefined; // one of them may have been a link to this file
          return lockKeyOf(target.path.absolute, target.stats) === key
            ? await this.#changeTarget(requested, target, options, change)
            : undefined;
        } catch (error) {
          await target.undoDirectories();
          throw fileFailure(error, 'write', requested.shown);
        } finally {
          await target.close();
        }
      });
      if (outcome) return outcome;
    }
    throw new ToolError(
      'LOCKED',
      `${quote(requested.shown)} keeps being moved or relinked; nothing was written. Try again.`,
    );
  }

  /**
   * Changes several files, all or none: locks them in one order, reads them and calls `plan`, which sets the new content
   * of each or throws. Then they are written; if one fails, the others get their old content back. Missing directories
   * are created.
   *
   * @param plan gets each file by its path as listed here; two spellings of one file share one object
   * @throws {ToolError} as {@link write}; INVALID_ARGUMENT for two names of one file, or a link that would be removed;
   *   and any error that `plan` throws
   */
  async changeTogether(paths: readonly string[], options: ChangeTogetherOptions, plan: TogetherPlan): Promise<void> {
    const all = [...new Set(paths)].map((path) => this.scope.parse(path));
    for (const requested of all) this.scope.assertWritable(requested);
    for (let tries = 0; tries < MAX_LOCK_TRIES; tries++) {
      const keys = await Promise.all(all.map((requested) => this.#lockKey(requested)));
      const keyOf = new Map(all.map((requested, index) => [requested, keys[index] ?? '']));
      if (await changeTogether(this, keyOf, options, plan)) return;
    }
    throw new ToolError('LOCKED', 'The files keep being moved or relinked; nothing was written. Try again.');
  }

  /** Opens a regular file for reading. Close its handle. @throws {ToolError} as {@link read} */
  openFile(requested: ScopePath): Promise<OpenedFile> {
    return openRegularFile(this.scope, requested);
  }

  /** Opens a directory, which stays reachable even if its path changes. Close it. @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, INVALID_ARGUMENT */
  openDirectory(requested: ScopePath): Promise<OpenedPath> {
    return openDirectory(this.scope, requested);
  }

  /** Calls the listener after every change made through this object. Errors of a listener are ignored. Returns a function that unsubscribes. */
  onChanged(listener: (change: FileChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notifies the listeners of {@link onChanged} of a change that was not made by {@link ProjectFiles.change}. */
  announce(change: FileChange): void {
    for (const listener of [...this.#listeners]) {
      try {
        // An asynchronous listener matches the type too; its rejection must be caught.
        const given: unknown = listener(change);
        if (given instanceof Promise) given.catch(() => undefined);
      } catch {
        // The file is changed; an error of a listener must not fail the change.
      }
    }
  }

  async #lockKey(requested: ScopePath): Promise<string> {
    const { opened, missing } = await reachOf(this.scope, requested);
    await opened.close();
    return missing.length > 0
      ? lockKeyOf(join(opened.path.absolute, ...missing), undefined)
      : lockKeyOf(opened.path.absolute, opened.stats);
  }

  async #changeTarget(
    requested: ScopePath,
    target: WriteTarget,
    options: ChangeOptions,
    change: (current: CurrentFile | undefined) => Uint8Array | undefined | Promise<Uint8Array | undefined>,
  ): Promise<ChangeOutcome> {
    const current = target.stats && (await readCurrent(target, target.stats));
    await assertExpected(this.tracker, requested, target, current, options, true);
    const bytes = await change(current);
    if (!bytes) return { etag: current?.etag ?? '', created: false, written: false };
    const stats = await writeAtomically(target, bytes, { fsync: this.fsync, signal: options.signal });
    const etag = bytes.length > MAX_WHOLE_FILE_BYTES ? etagOfStats(stats) : etagOfBytes(bytes);
    this.tracker.note(options.sessionId, { path: target.path.absolute, dev: stats.dev, ino: stats.ino }, etag, bytes);
    this.announce({ path: target.path.shown, absolute: target.path.absolute, kind: current ? 'changed' : 'created' });
    return { etag, created: !current, written: true };
  }
}

function tooLarge(requested: ScopePath, size: bigint): ToolError {
  const limit = MAX_WHOLE_FILE_BYTES / 1024 / 1024;
  return new ToolError(
    'TOO_LARGE',
    `${quote(requested.shown)} has ${size} bytes; the maximum for a whole file is ${limit} MiB. Read it in pages.`,
  );
}
