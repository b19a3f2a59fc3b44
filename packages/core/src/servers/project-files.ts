// Reading and changing the project's files, for every server alike: in scope, one change of a file at a time, atomic,
// never over a version that the session has not seen. What the change is belongs to the tools.

import { createHash } from 'node:crypto';
import { constants, type BigIntStats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { ToolError } from '../errors.js';
import { writeAtomically } from './atomic-write.js';
import { fileFailure } from './file-failure.js';
import { lockKeyOf, withFileLock } from './file-lock.js';
import { assertNoLink, commitTogether, type StagedChange } from './file-transaction.js';
import {
  lookUp,
  openDirectory,
  openRegularFile,
  openWriteTarget,
  reachOf,
  type OpenedFile,
  type WriteTarget,
} from './path-lookup.js';
import type { OpenedPath } from './opened-path.js';
import { ProjectScope, quote, type ProjectScopeOptions, type ScopePath } from './project-scope.js';
import { ReadTracker } from './read-tracker.js';
import { staleFile, type KnownVersion } from './stale-difference.js';

const {
  O_RDONLY,
  O_NOFOLLOW = 0,
  O_NONBLOCK = 0,
  O_NOCTTY = 0,
} = constants as Partial<typeof constants> & { O_RDONLY: number };

/**
 * Files up to this size are read whole: they are counted, hashed and edited. Larger ones are paged, and their etag
 * stands for size, time and inode instead of the content.
 */
export const MAX_WHOLE_FILE_BYTES = 64 * 1024 * 1024;

/** What {@link ProjectFiles} is made from. */
export interface ProjectFilesOptions extends ProjectScopeOptions {
  /** Wait for the disk after each write. Turn it off only where a crash may lose the last writes. Default: true. */
  fsync?: boolean | undefined;
}

/** Where a path leads. */
export interface ResolvedPath {
  /** As it was asked for, for results: relative to the project, or absolute in an extra root. */
  path: string;
  /** As {@link path}, with all links resolved. */
  realPath: string;
  /** The real path, absolute, for programs. */
  absolute: string;
  exists: boolean;
}

/** What a {@link ProjectFiles.onChanged} listener is told. */
export interface FileChange {
  /** The real file: relative to the project, or absolute in an extra root. */
  path: string;
  absolute: string;
  kind: 'created' | 'changed' | 'deleted' | 'moved';
  /** True for a directory: the change is one of everything below it. */
  directory?: true;
  /** Where it was before, when it was moved. */
  from?: { path: string; absolute: string };
}

/** A version of a file, whole. */
export interface FileContent {
  bytes: Buffer;
  /** Names this version: the first 16 hex digits of the content's SHA-256. */
  etag: string;
}

/** The file that a change finds. */
export interface CurrentFile {
  /** Undefined above {@link MAX_WHOLE_FILE_BYTES}. */
  bytes: Buffer | undefined;
  etag: string;
  size: number;
}

/** What a change must find, and who makes it. */
export interface ChangeOptions {
  /** Whose reads count, see {@link requireRead}. */
  sessionId?: string | undefined;
  /** Refuse to change a file that this session has not read, or that changed since. Default: false. */
  requireRead?: boolean | undefined;
  /** Refuse unless the file has this etag. It stands for having read the file. */
  ifMatch?: string | undefined;
  /** Refuse when the file exists. Default: false. */
  createOnly?: boolean | undefined;
  /** Refuse when it does not. Default: false. */
  mustExist?: boolean | undefined;
  /** Make missing directories above it. Default: false. */
  createDirs?: boolean | undefined;
  /** An abort before the new content is in place leaves the old. */
  signal?: AbortSignal | undefined;
}

/** What {@link ProjectFiles.change} did. */
export interface ChangeOutcome {
  etag: string;
  created: boolean;
  written: boolean;
}

/** One file while several are changed together. Set {@link after} and the rest is done when all are judged. */
export interface TogetherFile {
  /** As it was asked for. */
  readonly path: string;
  /** What is there; undefined when nothing is. */
  readonly current: CurrentFile | undefined;
  /** The new content, `'delete'`, or undefined to leave the file as it is. */
  after: Uint8Array | 'delete' | undefined;
  /** A new file gets the permissions of this one. */
  modeOf?: TogetherFile | undefined;
  /** @throws {ToolError} READ_REQUIRED or FILE_CHANGED, with `requireRead`; NOT_FOUND when nothing is there */
  assertSeen(): Promise<void>;
}

/** What a path is when the lock is taken may not be what it was when it was chosen; more often than this is a race. */
const MAX_LOCK_TRIES = 8;

/** The files of one project, shared by all servers that touch it. Nothing is opened before the first call. */
export class ProjectFiles {
  readonly scope: ProjectScope;
  /** What each session has seen. */
  readonly tracker = new ReadTracker();
  /** Whether each write waits for the disk. */
  readonly fsync: boolean;
  readonly #listeners = new Set<(change: FileChange) => void>();

  /** @throws {ToolError} INVALID_ARGUMENT for a directory that is relative, missing or too wide */
  constructor(options: ProjectFilesOptions) {
    this.scope = new ProjectScope(options);
    this.fsync = options.fsync ?? true;
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
   * Reads a whole file.
   *
   * @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, INVALID_ARGUMENT for what is no regular file, TOO_LARGE above 64 MiB
   */
  async read(path: string): Promise<FileContent> {
    const asked = this.scope.parse(path);
    const { handle, stats } = await openRegularFile(this.scope, asked);
    try {
      const bytes = await readWhole(handle, stats);
      if (!bytes) throw tooLarge(asked, stats);
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
      const outcome = await withFileLock(key, async () => {
        options.signal?.throwIfAborted();
        const target = await openWriteTarget(this.scope, asked, options.createDirs ?? false);
        try {
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
  async changeTogether(
    paths: readonly string[],
    options: Pick<ChangeOptions, 'sessionId' | 'requireRead' | 'signal'>,
    plan: (file: (path: string) => TogetherFile) => Promise<void>,
  ): Promise<void> {
    const all = [...new Set(paths)].map((path) => this.scope.parse(path));
    for (const asked of all) this.scope.assertWritable(asked);
    for (let tries = 0; tries < MAX_LOCK_TRIES; tries++) {
      const keys = await Promise.all(all.map((asked) => this.#lockKey(asked)));
      const places = new Map(all.map((asked, index) => [asked, keys[index] ?? '']));
      const run = [...new Set(keys)].sort().reduceRight<() => Promise<boolean>>(
        (inner, key) => () => withFileLock(key, inner),
        () => this.#changeLocked(places, options, plan),
      );
      if (await run()) return;
    }
    throw new ToolError(
      'LOCKED',
      'The files are being moved or relinked all the time; nothing was written. Try again.',
    );
  }

  async #changeLocked(
    places: ReadonlyMap<ScopePath, string>,
    options: Pick<ChangeOptions, 'sessionId' | 'requireRead' | 'signal'>,
    plan: (file: (path: string) => TogetherFile) => Promise<void>,
  ): Promise<boolean> {
    options.signal?.throwIfAborted();
    const files = new Map<string, { file: TogetherFile; asked: ScopePath; target: WriteTarget | undefined }>();
    const opened: WriteTarget[] = [];
    const byPath = new Map<string, TogetherFile>();
    try {
      for (const [asked, key] of places) {
        const known = files.get(key);
        const target = (await this.#hasDirectory(asked)) ? await openWriteTarget(this.scope, asked, false) : undefined;
        if (target) opened.push(target);
        if (known) {
          if (target && target.path.absolute !== known.target?.path.absolute)
            throw new ToolError(
              'INVALID_ARGUMENT',
              `${quote(known.asked.shown)} and ${quote(asked.shown)} are two names of one file. Change it by one of them.`,
            );
          byPath.set(asked.absolute, known.file);
          continue;
        }
        if (target && lockKeyOf(target.path.absolute, target.stats) !== key) return false;
        const current = target?.stats && (await readCurrent(target, target.stats));
        const file: TogetherFile = {
          path: asked.shown,
          current,
          after: undefined,
          assertSeen: async () => {
            const expected = { ...options, mustExist: true };
            if (!target || !current) await (await lookUp(this.scope, asked)).close(); // for the names that are near
            if (target) await this.#assertExpected(asked, target, current, expected);
          },
        };
        files.set(key, { file, asked, target });
        byPath.set(asked.absolute, file);
      }
      await plan((path) => {
        const file = byPath.get(this.scope.parse(path).absolute);
        if (!file) throw new ToolError('INTERNAL', `${quote(path)} is not among the files to change.`);
        return file;
      });
      await this.#commit([...files.values()], options);
      return true;
    } finally {
      for (const target of opened) await target.close();
    }
  }

  async #commit(
    files: readonly { file: TogetherFile; asked: ScopePath; target: WriteTarget | undefined }[],
    options: Pick<ChangeOptions, 'sessionId' | 'signal'>,
  ): Promise<void> {
    const statsOf = new Map(files.map(({ file, target }) => [file, target?.stats]));
    const changes: StagedChange[] = [];
    for (const { file, asked, target } of files) {
      const { after, current, modeOf } = file;
      if (after === undefined || (after === 'delete' && !current)) continue;
      if (after === 'delete') await assertNoLink(this.scope, asked);
      const mode = modeOf && statsOf.get(modeOf)?.mode;
      changes.push({ asked, target, before: current?.bytes, after: after === 'delete' ? undefined : after, mode });
    }
    const committed = await commitTogether(this.scope, changes, { fsync: this.fsync, signal: options.signal });
    for (const { change, target, stats } of committed) {
      const { path } = target;
      if (stats && change.after) {
        const { dev, ino } = stats;
        const etag = etagOfBytes(change.after);
        this.tracker.note(options.sessionId, { path: path.absolute, dev, ino }, etag, change.after);
      }
      const kind = !stats ? 'deleted' : change.before ? 'changed' : 'created';
      this.announce({ path: path.shown, absolute: path.absolute, kind });
    }
  }

  async #hasDirectory(asked: ScopePath): Promise<boolean> {
    const { opened, missing } = await reachOf(this.scope, asked);
    await opened.close();
    return missing.length < 2 && (missing.length === 0 || opened.stats.isDirectory());
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
        listener(change);
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
    await this.#assertExpected(asked, target, current, options);
    const bytes = await change(current);
    if (!bytes) return { etag: current?.etag ?? '', created: false, written: false };
    const stats = await writeAtomically(target, bytes, { fsync: this.fsync, signal: options.signal });
    const etag = bytes.length > MAX_WHOLE_FILE_BYTES ? etagOfStats(stats) : etagOfBytes(bytes);
    this.tracker.note(options.sessionId, { path: target.path.absolute, dev: stats.dev, ino: stats.ino }, etag, bytes);
    this.announce({ path: target.path.shown, absolute: target.path.absolute, kind: current ? 'changed' : 'created' });
    return { etag, created: !current, written: true };
  }

  async #assertExpected(
    asked: ScopePath,
    target: WriteTarget,
    current: CurrentFile | undefined,
    options: ChangeOptions,
  ): Promise<void> {
    const shown = quote(asked.shown);
    if (!current || !target.stats) {
      if (options.ifMatch !== undefined)
        throw new ToolError('FILE_CHANGED', `${shown} does not exist any more; leave out if_match to create it.`);
      if (options.mustExist) throw new ToolError('NOT_FOUND', `${shown} does not exist; create it with write_file.`);
      return;
    }
    if (options.createOnly)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `${shown} exists already, and create_only was asked for. Take another name, or read it and change it.`,
      );
    if (options.ifMatch !== undefined) {
      if (options.ifMatch === current.etag) return;
      const how = `has the etag ${current.etag}, not ${options.ifMatch}: it was changed since`;
      throw await staleFile(asked.shown, how, this.#version(options.ifMatch), current);
    }
    if (!options.requireRead) return;
    const seen = this.tracker.etagOf(options.sessionId, {
      path: target.path.absolute,
      dev: target.stats.dev,
      ino: target.stats.ino,
    });
    if (seen === undefined)
      throw new ToolError(
        'READ_REQUIRED',
        `${shown} exists and was not read yet. Read it with read_file before changing it.`,
      );
    if (seen !== current.etag)
      throw await staleFile(asked.shown, 'was changed since it was read', this.#version(seen), current);
  }

  #version(etag: string): KnownVersion {
    return { etag, bytes: this.tracker.contentOf(etag) };
  }
}

async function readCurrent(target: WriteTarget, stats: BigIntStats): Promise<CurrentFile> {
  await using handle = await open(target.directory.entry(target.name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  const opened = await handle.stat({ bigint: true });
  if (opened.dev !== stats.dev || opened.ino !== stats.ino) {
    throw new ToolError(
      'FILE_CHANGED',
      `${quote(target.path.shown)} was replaced while it was opened; nothing was written. Read it again.`,
    );
  }
  const bytes = await readWhole(handle, opened);
  return { bytes, etag: bytes ? etagOfBytes(bytes) : etagOfStats(opened), size: Number(opened.size) };
}

/** The whole content; undefined above {@link MAX_WHOLE_FILE_BYTES}, also when it grows while it is read. */
async function readWhole(handle: FileHandle, stats: BigIntStats): Promise<Buffer | undefined> {
  if (stats.size > MAX_WHOLE_FILE_BYTES) return undefined;
  // One byte more than it should have, to see the end of the file in one go.
  let buffer = Buffer.allocUnsafe(Number(stats.size) + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) return buffer.subarray(0, length);
    length += bytesRead;
    if (length > MAX_WHOLE_FILE_BYTES) return undefined;
    if (length === buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length + 4096);
  }
}

function tooLarge(asked: ScopePath, stats: BigIntStats): ToolError {
  const limit = MAX_WHOLE_FILE_BYTES / 1024 / 1024;
  return new ToolError(
    'TOO_LARGE',
    `${quote(asked.shown)} has ${stats.size} bytes; whole files are read up to ${limit} MiB. Read it in pages.`,
  );
}

/** The etag of a content: the first 16 hex digits of its SHA-256. */
export function etagOfBytes(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}

/** The etag of a file that is too large to be hashed. */
export function etagOfStats({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return etagOfBytes(Buffer.from(`${dev}:${ino}:${size}:${mtimeNs}`));
}
