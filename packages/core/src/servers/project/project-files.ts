// Reading and changing the project's files, for every server alike: in scope, one change of a file at a time, atomic,
// never over a version that the session has not seen. What the change is belongs to the tools.

import { basename, dirname, join } from 'node:path';
import { ToolError } from '../../contract/errors.js';
import { assertOptions, type OptionNames } from '../../contract/options.js';
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

/** What {@link ProjectFiles} is made from. */
export interface ProjectFilesOptions extends ProjectScopeOptions {
  /** Wait for the disk after each write. Turn it off only where a crash may lose the last writes. Default: true. */
  fsync?: boolean | undefined;
}

/** The names of {@link ProjectFilesOptions}, which every server takes too. */
export const PROJECT_FILES_OPTIONS: OptionNames<ProjectFilesOptions> = { ...SCOPE_OPTIONS, fsync: true };

/** The files that a server works on: those it was given, or its own. @throws {ToolError} INVALID_ARGUMENT */
export function projectFilesOf(
  options: ProjectFilesOptions & { projectFiles?: ProjectFiles | undefined },
): ProjectFiles {
  const { projectDir, extraRoots, allowProtected, verification, fsync } = options;
  return options.projectFiles ?? new ProjectFiles({ projectDir, extraRoots, allowProtected, verification, fsync });
}

/** Where a path leads. */
export interface ResolvedPath {
  /** As it was asked for, for results: relative to the project, or absolute in an extra root. */
  path: string;
  /** As {@link path}, with all links resolved. */
  realPath: string;
  /** The real path, absolute, for programs. */
  absolute: string;
  /** Whether there is a file or directory. */
  exists: boolean;
}

/** What a change must find, and who makes it. */
export interface ChangeOptions extends ExpectedVersion {
  /** Make missing directories above it. Default: false. */
  createDirs?: boolean | undefined;
  /** An abort before the new content is in place leaves the old. */
  signal?: AbortSignal | undefined;
}

/** What {@link ProjectFiles.change} did. */
export interface ChangeOutcome {
  /** The etag of the new content. */
  etag: string;
  /** True when the file did not exist before. */
  created: boolean;
  /** False when the content was unchanged. */
  written: boolean;
}

/** What a path is when the lock is taken may not be what it was when it was chosen; more often than this is a race. */
const MAX_LOCK_TRIES = 8;

/** The files of one project, shared by all servers that touch it. Nothing is opened before the first call. */
export class ProjectFiles {
  /** Decides what is inside the project. */
  readonly scope: ProjectScope;
  /** What each session has seen. */
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
   * Where a path leads, all links followed. With `'write'` it need not exist, and must be allowed to be written.
   *
   * @throws {ToolError} OUTSIDE_PROJECT, INVALID_ARGUMENT, NOT_FOUND (reading), PROTECTED_PATH or PERMISSION_DENIED (writing)
   */
  async resolve(path: string, mode: 'read' | 'write'): Promise<ResolvedPath> {
    const asked = this.scope.parse(path);
    if (mode === 'write') this.scope.assertWritable(asked);
    const { opened, missing } =
      mode === 'read' ? { opened: await lookUp(this.scope, asked), missing: [] } : await reachOf(this.scope, asked);
    await opened.close();
    const real = this.scope.find(join(opened.path.absolute, ...missing));
    if (!real) throw this.scope.outside(asked.shown);
    if (mode === 'write') this.scope.assertWritable(real);
    return { path: asked.shown, realPath: real.shown, absolute: real.absolute, exists: missing.length === 0 };
  }

  /**
   * As {@link resolve}, of the entry itself: a link in the last place is not followed, and may lead outside.
   *
   * @throws {ToolError} as {@link resolve}; NOT_FOUND when a directory above it is missing
   */
  async resolveEntry(path: string, mode: 'read' | 'write'): Promise<ScopePath> {
    const asked = this.scope.parse(path);
    if (mode === 'write') this.scope.assertWritable(asked);
    if (asked.absolute === asked.root.path) return asked;
    const name = basename(asked.absolute);
    const { absolute, exists } = await this.resolve(dirname(asked.absolute), mode);
    let spelled = name;
    if (exists) {
      await using directory = await lookUp(this.scope, this.scope.parse(absolute));
      if (directory.stats.isDirectory()) spelled = await spellingIn(directory, name);
    }
    const real = this.scope.find(join(absolute, spelled));
    if (!real) throw this.scope.outside(asked.shown);
    if (mode === 'write') this.scope.assertWritable(real);
    return real;
  }

  /**
   * Reads a whole file.
   *
   * @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, INVALID_ARGUMENT for what is no regular file, TOO_LARGE above 64 MiB
   */
  async read(path: string): Promise<FileContent> {
    const asked = this.scope.parse(path);
    const { handle, stats } = await openRegularFile(this.scope, asked);
    try {
      const bytes = await readWhole(handle, stats);
      if (!bytes) throw tooLarge(asked, stats.size);
      return { bytes, etag: etagOfBytes(bytes) };
    } catch (error) {
      throw fileFailure(error, 'read', asked.shown);
    } finally {
      await handle.close();
    }
  }

  /**
   * Writes a whole file, atomically; what was there keeps its owner and mode.
   *
   * @param options `ifMatch`: refuse unless the file has this etag; `createDirs` (default false): make missing directories
   * @throws {ToolError} FILE_CHANGED, OUTSIDE_PROJECT, PROTECTED_PATH, NOT_FOUND, NO_SPACE and what else the system says
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
   * Changes a file under its lock: reads what is there, asks `change` for the new content, writes it. `change` may give
   * undefined to leave everything as it is, or throw.
   *
   * @throws {ToolError} as {@link ProjectFiles.write}; READ_REQUIRED or FILE_CHANGED with `requireRead`; whatever `change` throws
   */
  async change(
    path: string,
    options: ChangeOptions,
    change: (current: CurrentFile | undefined) => Uint8Array | undefined | Promise<Uint8Array | undefined>,
  ): Promise<ChangeOutcome> {
    const asked = this.scope.parse(path);
    this.scope.assertWritable(asked);
    if (options.mustExist) await (await lookUp(this.scope, asked)).close(); // for an error that names what is near
    for (let tries = 0; tries < MAX_LOCK_TRIES; tries++) {
      const key = await this.#lockKey(asked);
      const outcome = await withFileLocks([key], async () => {
        options.signal?.throwIfAborted();
        const target = await openWriteTarget(this.scope, asked, options.createDirs ?? false);
        try {
          if ((await removeAbandoned(target.directory)) > 0) return undefined; // one may have been a name of this file
          return lockKeyOf(target.path.absolute, target.stats) === key
            ? await this.#changeTarget(asked, target, options, change)
            : undefined;
        } catch (error) {
          await target.undoDirectories();
          throw fileFailure(error, 'write', asked.shown);
        } finally {
          await target.close();
        }
      });
      if (outcome) return outcome;
    }
    throw new ToolError(
      'LOCKED',
      `${quote(asked.shown)} is being moved or relinked all the time; nothing was written. Try again.`,
    );
  }

  /**
   * Changes several files, all or none: they are locked in one order, read, and given to `plan`, which says what becomes
   * of each or throws. Only then are they written; when one cannot be, the others get their old content back. Missing
   * directories are made.
   *
   * @param plan is given each file by its path as listed here; two spellings of one file are one
   * @throws {ToolError} as {@link write}; INVALID_ARGUMENT for two names of one file, or a link that would be removed;
   *   whatever `plan` throws
   */
  async changeTogether(paths: readonly string[], options: ChangeTogetherOptions, plan: TogetherPlan): Promise<void> {
    const all = [...new Set(paths)].map((path) => this.scope.parse(path));
    for (const asked of all) this.scope.assertWritable(asked);
    for (let tries = 0; tries < MAX_LOCK_TRIES; tries++) {
      const keys = await Promise.all(all.map((asked) => this.#lockKey(asked)));
      const keyOf = new Map(all.map((asked, index) => [asked, keys[index] ?? '']));
      if (await changeTogether(this, keyOf, options, plan)) return;
    }
    throw new ToolError(
      'LOCKED',
      'The files are being moved or relinked all the time; nothing was written. Try again.',
    );
  }

  /** Opens a regular file for reading. Close its handle. @throws {ToolError} as {@link read} */
  openFile(asked: ScopePath): Promise<OpenedFile> {
    return openRegularFile(this.scope, asked);
  }

  /** Opens a directory, held whatever happens to its path. Close it. @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, INVALID_ARGUMENT */
  openDirectory(asked: ScopePath): Promise<OpenedPath> {
    return openDirectory(this.scope, asked);
  }

  /** Tells of every file that was changed through this object. A listener that throws is ignored. Returns the unsubscribe. */
  onChanged(listener: (change: FileChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells the listeners of {@link onChanged} of a change that was made otherwise than by {@link ProjectFiles.change}. */
  announce(change: FileChange): void {
    for (const listener of [...this.#listeners]) {
      try {
        // An asynchronous listener fits the type too, and nobody else would catch its rejection.
        const given: unknown = listener(change);
        if (given instanceof Promise) given.catch(() => undefined);
      } catch {
        // The file is changed; a listener's fault must not make that a failure.
      }
    }
  }

  async #lockKey(asked: ScopePath): Promise<string> {
    const { opened, missing } = await reachOf(this.scope, asked);
    await opened.close();
    return missing.length > 0
      ? lockKeyOf(join(opened.path.absolute, ...missing), undefined)
      : lockKeyOf(opened.path.absolute, opened.stats);
  }

  async #changeTarget(
    asked: ScopePath,
    target: WriteTarget,
    options: ChangeOptions,
    change: (current: CurrentFile | undefined) => Uint8Array | undefined | Promise<Uint8Array | undefined>,
  ): Promise<ChangeOutcome> {
    const current = target.stats && (await readCurrent(target, target.stats));
    await assertExpected(this.tracker, asked, target, current, options, true);
    const bytes = await change(current);
    if (!bytes) return { etag: current?.etag ?? '', created: false, written: false };
    const stats = await writeAtomically(target, bytes, { fsync: this.fsync, signal: options.signal });
    const etag = bytes.length > MAX_WHOLE_FILE_BYTES ? etagOfStats(stats) : etagOfBytes(bytes);
    this.tracker.note(options.sessionId, { path: target.path.absolute, dev: stats.dev, ino: stats.ino }, etag, bytes);
    this.announce({ path: target.path.shown, absolute: target.path.absolute, kind: current ? 'changed' : 'created' });
    return { etag, created: !current, written: true };
  }
}

function tooLarge(asked: ScopePath, size: bigint): ToolError {
  const limit = MAX_WHOLE_FILE_BYTES / 1024 / 1024;
  return new ToolError(
    'TOO_LARGE',
    `${quote(asked.shown)} has ${size} bytes; whole files are read up to ${limit} MiB. Read it in pages.`,
  );
}
