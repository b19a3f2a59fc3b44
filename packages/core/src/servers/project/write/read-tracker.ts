// Which version of each file every session has seen, so that nobody changes what they have not read.

/** What tells a file apart: its inode, and the path under which it was seen. */
export interface FileIdentity {
  /** Real and absolute. */
  path: string;
  dev: bigint;
  ino: bigint;
}

/** How much a {@link ReadTracker} remembers. */
export interface ReadTrackerOptions {
  /** Etags, two a file and session, and one a file. Default: 20,000. */
  maxEntries?: number | undefined;
  /** Content of a larger file is not kept. Default: 1 MiB. */
  maxFileBytes?: number | undefined;
  /** Content in all. Default: 32 MiB. */
  maxContentBytes?: number | undefined;
}

/** The most bytes of one file that are kept by default. */
export const MAX_KEPT_FILE_BYTES = 1024 * 1024;

/**
 * Remembers etags by session and file, and for a while the content that they stand for. A file is known by its path, so
 * that an editor that replaces files does not lose it, and by its inode, so that a rename does not either. An inode's
 * number is given to another file when the first is gone: it counts only while the content is the one that was seen.
 * What was used longest ago goes first: to be asked to read a file once more is harmless.
 */
export class ReadTracker {
  readonly #maxEntries: number;
  readonly #maxFileBytes: number;
  readonly #maxContentBytes: number;
  readonly #etags = new Map<string, string>();
  /** By etag, so that what several sessions have seen is kept once. */
  readonly #contents = new Map<string, Buffer>();
  #contentBytes = 0;

  constructor(options: ReadTrackerOptions = {}) {
    this.#maxEntries = options.maxEntries ?? 20_000;
    this.#maxFileBytes = options.maxFileBytes ?? MAX_KEPT_FILE_BYTES;
    this.#maxContentBytes = options.maxContentBytes ?? 32 * 1024 * 1024;
  }

  /**
   * Notes that a session has seen (read or written) this version. Without an id, calls share one session.
   *
   * @param bytes the whole content, where it is at hand; it is copied
   */
  note(sessionId: string | undefined, file: FileIdentity, etag: string, bytes?: Uint8Array): void {
    for (const key of keysOf(sessionId, file)) this.#set(key, etag);
    this.noteGiven(file.path, etag);
    if (bytes && bytes.length <= this.#maxFileBytes) this.#keep(etag, bytes);
  }

  /** Notes that a file has another path now, and perhaps another inode: whoever has seen the one has seen the other. */
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

  /** The version that a session has seen last under this path; undefined when it has seen none. */
  etagOf(sessionId: string | undefined, file: FileIdentity): string | undefined {
    return this.#etags.get(keysOf(sessionId, file)[1]);
  }

  /** Notes that the content of this version was given out, without a session having read the file as it is. */
  noteGiven(path: string, etag: string): void {
    this.#set(`${path}\0`, etag);
  }

  /** Whether anybody was given the content of this version: its etag may have been handed on with it. */
  wasGiven(path: string, etag: string): boolean {
    return this.#etags.get(`${path}\0`) === etag;
  }

  /** The content that an etag stands for; undefined when it was too large, or others were used since. */
  contentOf(etag: string): Buffer | undefined {
    const bytes = this.#contents.get(etag);
    if (bytes) {
      this.#contents.delete(etag); // so that it is the youngest
      this.#contents.set(etag, bytes);
    }
    return bytes;
  }

  #set(key: string, etag: string): void {
    this.#etags.delete(key); // so that it is the youngest
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
