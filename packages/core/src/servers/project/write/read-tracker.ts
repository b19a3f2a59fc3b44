// Records the version of each file that every session has seen, so that no session changes a file that it has not read.

/** The identity of a file: its inode, and the path under which it was seen. */
export interface FileIdentity {
  /** Real and absolute. */
  path: string;
  dev: bigint;
  ino: bigint;
}

/** The limits of a {@link ReadTracker}. */
export interface ReadTrackerOptions {
  /** Maximum number of etags: two per file and session, and one per file. Default: 20,000. */
  maxEntries?: number | undefined;
  /** Maximum size of a cached content. Default: 1 MiB. */
  maxFileBytes?: number | undefined;
  /** Maximum total size of cached contents. Default: 32 MiB. */
  maxContentBytes?: number | undefined;
}

/** The default maximum size of a cached content. */
export const MAX_KEPT_FILE_BYTES = 1024 * 1024;

/**
 * Stores etags by session and file, and caches their contents. A file is identified by its path, which survives an editor
 * that replaces the file, and by its inode, which survives a rename. As inode numbers are reused, an inode counts only
 * while the content is the one that was seen. The least recently used entries are dropped first: the only effect is that
 * a session must read a file again.
 */
export class ReadTracker {
  readonly #maxEntries: number;
  readonly #maxFileBytes: number;
  readonly #maxContentBytes: number;
  readonly #etags = new Map<string, string>();
  /** By etag, so that sessions share contents. */
  readonly #contents = new Map<string, Buffer>();
  #contentBytes = 0;

  constructor(options: ReadTrackerOptions = {}) {
    this.#maxEntries = options.maxEntries ?? 20_000;
    this.#maxFileBytes = options.maxFileBytes ?? MAX_KEPT_FILE_BYTES;
    this.#maxContentBytes = options.maxContentBytes ?? 32 * 1024 * 1024;
  }

  /**
   * Records that a session has seen (read or written) this version. Without an id, calls share one session.
   *
   * @param bytes the complete content, if available; it is copied
   */
  note(sessionId: string | undefined, file: FileIdentity, etag: string, bytes?: Uint8Array): void {
    for (const key of keysOf(sessionId, file)) this.#set(key, etag);
    this.noteGiven(file.path, etag);
    if (bytes && bytes.length <= this.#maxFileBytes) this.#keep(etag, bytes);
  }

  /** Records that a file has a new path, and perhaps a new inode: sessions that have seen the old one have seen the new one. */
  moved(from: string, to: FileIdentity): void {
    const start = `${from}\0`;
    for (const [key, etag] of [...this.#etags]) {
      if (!key.startsWith(start)) continue;
      const session = key.slice(start.length);
      if (session === '-') this.note(undefined, to, etag);
      else if (session.startsWith('=')) this.note(session.slice(1), to, etag);
    }
  }

  /** Whether a session has seen this version of a file, under this path or another. */
  hasSeen(sessionId: string | undefined, file: FileIdentity, etag: string): boolean {
    return keysOf(sessionId, file).some((key) => this.#etags.get(key) === etag);
  }

  /** The last version that a session has seen under this path; undefined if none. */
  etagOf(sessionId: string | undefined, file: FileIdentity): string | undefined {
    return this.#etags.get(keysOf(sessionId, file)[1]);
  }

  /** Records that the content of this version was returned, without a session having read the current file. */
  noteGiven(path: string, etag: string): void {
    this.#set(`${path}\0`, etag);
  }

  /** Whether the content of this version was returned to any session. */
  wasGiven(path: string, etag: string): boolean {
    return this.#etags.get(`${path}\0`) === etag;
  }

  /** The content of an etag; undefined if it was too large or was dropped from the cache. */
  contentOf(etag: string): Buffer | undefined {
    const bytes = this.#contents.get(etag);
    if (bytes) {
      this.#contents.delete(etag); // re-inserted as the most recently used
      this.#contents.set(etag, bytes);
    }
    return bytes;
  }

  #set(key: string, etag: string): void {
    this.#etags.delete(key); // re-inserted as the most recently used
    this.#etags.set(key, etag);
    for (const oldest of this.#etags.keys()) {
      if (this.#etags.size <= this.#maxEntries) break;
      this.#etags.delete(oldest);
    }
  }

  #keep(etag: string, bytes: Uint8Array): void {
    if (this.contentOf(etag)) return;
    this.#contents.set(etag, Buffer.from(bytes));
    this.#contentBytes += bytes.length;
    for (const [oldest, { length }] of this.#contents) {
      if (this.#contentBytes <= this.#maxContentBytes) break;
      this.#contents.delete(oldest);
      this.#contentBytes -= length;
    }
  }
}

function keysOf(sessionId: string | undefined, { path, dev, ino }: FileIdentity): [byInode: string, byPath: string] {
  const session = sessionId === undefined ? '-' : `=${sessionId}`;
  return [`${dev}:${ino}${session}`, `${path}\0${session}`];
}
