// The interface of a store of memories, which SQLite implements here and another database can. `memoryBackendContract` of the
// testing kit checks its behaviour. A store holds the memories of one scope.

/** Whether a memory belongs to one project, or to all projects of a user. */
export type MemoryScope = 'project' | 'global';

/** A memory as a backend stores it. */
export interface MemoryRecord {
  /** A UUID; imported memories keep their IDs. Unique in its backend, among deleted memories too. */
  readonly id: string;
  /** The text. */
  readonly content: string;
  /** The category. */
  readonly category: string;
  /** In the order of the draft, without duplicates. */
  readonly tags: readonly string[];
  /** 1 to 10. */
  readonly importance: number;
  /** The path of a document about it. */
  readonly documentationPath: string | null;
  /** A name that the caller chose. Storing another memory with the same key replaces this one's content. */
  readonly key: string | null;
  /** The name of the project that it was stored from. */
  readonly project: string | null;
  /** Milliseconds since the Unix epoch. */
  readonly createdMs: number;
  /** When it was last changed, in milliseconds since the epoch. */
  readonly updatedMs: number;
  /** 1 for a new memory, incremented by each change. */
  readonly rev: number;
  /** When it was deleted; null if it is not deleted. */
  readonly deletedMs: number | null;
  /** The sequence number of its last change, in the order of all changes to this backend. */
  readonly seq: number;
}

/** A memory to store. */
export interface MemoryDraft {
  /** Default: a new UUID. */
  id?: string | undefined;
  /** The text to remember. */
  content: string;
  /** The category. */
  category: string;
  /** The tags. */
  tags: readonly string[];
  /** The importance. */
  importance: number;
  /** The path of a document about it. */
  documentationPath?: string | null | undefined;
  /** The key under which it is unique. */
  key?: string | null | undefined;
  /** The project that it belongs to. */
  project?: string | null | undefined;
  /** Default: now. */
  createdMs?: number | undefined;
}

/** The fields that an update changes; undefined fields stay as they are. */
export interface MemoryPatch {
  /** The new text. */
  content?: string | undefined;
  /** The new category. */
  category?: string | undefined;
  /** The new tags. */
  tags?: readonly string[] | undefined;
  /** The new importance. */
  importance?: number | undefined;
  /** The new path of a document about it. */
  documentationPath?: string | null | undefined;
}

/** The result of {@link MemoryBackend.put}. */
export interface PutOutcome {
  /** The stored memory. */
  memory: MemoryRecord;
  /**
   * `'merged'`: a memory with the same content existed; it received the tags and the higher importance. `'updated'`: a memory
   * with the same key existed.
   */
  outcome: 'created' | 'merged' | 'updated';
}

/** What happens to a draft whose content exists already, ignoring case and the amount of white space. */
export type DuplicateRule = 'merge' | 'allow';

/** Selects memories. Deleted ones are never selected. */
export interface MemoryFilter {
  /** Only memories of this category. */
  category?: string | undefined;
  /** At least one of these, ignoring case. */
  tags?: readonly string[] | undefined;
}

/** The sort orders of {@link MemoryBackend.list}, all descending. */
export type MemorySort = 'created' | 'updated' | 'importance';

/** The last memory of the previous page: its sort value and its ID. */
export interface ListPosition {
  /** The sort value of the last row of the page before. */
  value: number;
  /** The id of that row. */
  id: string;
}

/** A memory that contains words of the query. */
export interface WordHit {
  /** The id of the memory. */
  id: string;
  /** BM25, higher is better. Comparable within one search of one backend only. */
  score: number;
  /** The share of the best score possible for these words, 0 to 1. Comparable between backends. */
  share: number;
}

/** An earlier version of a memory. */
export interface MemoryVersion {
  /** The version that was replaced, with its revision. */
  before: MemoryRecord;
  /** The operation that replaced it. */
  operation: 'update' | 'merge' | 'delete' | 'restore';
  /** When this version was replaced, in milliseconds since the epoch. */
  atMs: number;
}

/** The result of {@link MemoryBackend.import}. */
export interface ImportOutcome {
  /** The number of memories imported. */
  imported: number;
  /** Drafts whose ID or content exists already, or whose ID was deleted permanently. */
  skipped: number;
}

/** A change, by any process. */
export interface MemoryChange {
  /** The number of the change. */
  seq: number;
  /** The id of the memory. */
  id: string;
  /** Null if the memory was deleted. */
  memory: MemoryRecord | null;
}

/** A memory's vector, computed by one embedder. */
export interface MemoryVector {
  /** The id of the memory. */
  id: string;
  /** The revision whose content was embedded. A vector of an older revision is not stored. */
  rev: number;
  /** The vector, each component divided by `scale` and rounded. */
  codes: Int8Array;
  /** The factor from codes to values. */
  scale: number;
  /** The vector in full precision. */
  floats: Float32Array;
}

/** A vector without its floats, as searches use it, with the sequence number of its last change. */
export interface VectorCodes {
  /** The id of the memory. */
  id: string;
  /** The vector as 8-bit codes. */
  codes: Int8Array;
  /** The factor from codes to values. */
  scale: number;
  /** The number of the change that wrote it. */
  seq: number;
}

/** The result of {@link MemoryBackend.stats}. */
export interface BackendStats {
  /** The database engine, such as `'sqlite (libsql)'`. */
  engine: string;
  /** The number of memories. */
  memories: number;
  /** The number of deleted memories that are still in the journal. */
  deleted: number;
  /** The number of memories in each category. */
  byCategory: Record<string, number>;
  /** The number of memories with a vector, by embedder. */
  vectors: Record<string, number>;
  /** The sequence number of the last change. */
  seq: number;
  /** The size of the storage, in bytes. */
  bytes: number;
  /** `'ok'`, or what is wrong; undefined without the option `check`. */
  integrity?: string | undefined;
  /** Files that could not be read and were renamed, oldest first. */
  quarantined: readonly QuarantinedFile[];
}

/** A damaged or foreign database file that was renamed instead of being used. */
export interface QuarantinedFile {
  /** Its current name, in the directory of the store. */
  file: string;
  /** Why it was set aside. */
  reason: string;
  /** When it was set aside. */
  at: string;
  /** How many memories were recovered from it. */
  recovered: number;
}

/**
 * A store of the memories of one scope. Every change is atomic, and durable when its promise fulfills. Several processes may
 * use one store. Methods reject with a `ToolError`: `LOCKED` when the store stays busy, `NO_SPACE`, `PERMISSION_DENIED`,
 * `FILE_CHANGED` when the revision is not the expected one, `NAME_CONFLICT` when another memory has the key.
 */
export interface MemoryBackend {
  /** Stores a memory. It replaces one with the same key, and is merged into one with the same content unless allowed. */
  put(draft: MemoryDraft, onDuplicate?: DuplicateRule): Promise<PutOutcome>;
  /** Stores many memories with their IDs and times, except those that exist or were deleted permanently. */
  import(drafts: readonly MemoryDraft[]): Promise<ImportOutcome>;
  /** The memories with these IDs, in the order of the IDs; unknown and deleted ones are left out. */
  get(ids: readonly string[]): Promise<MemoryRecord[]>;
  /** Changes a memory and returns it; undefined if the ID is unknown. */
  update(id: string, patch: MemoryPatch, expectedRev?: number): Promise<MemoryRecord | undefined>;
  /** Deletes a memory, with `hard` permanently, and returns what it was. Otherwise {@link restore} can restore it. */
  delete(id: string, hard?: boolean): Promise<MemoryRecord | undefined>;
  /** Restores a deleted memory, or with `rev` an earlier revision's content. Undefined if that does not exist. */
  restore(id: string, rev?: number): Promise<MemoryRecord | undefined>;
  /** Earlier versions, newest first; none after a permanent deletion. */
  history(id: string): Promise<MemoryVersion[]>;
  /** Lists memories, page by page. */
  list(filter: MemoryFilter, sort: MemorySort, limit: number, after?: ListPosition): Promise<MemoryRecord[]>;
  /** The IDs of the newest memories that pass a filter; with `among`, only of these. */
  idsOf(filter: MemoryFilter, limit: number, among?: readonly string[]): Promise<string[]>;
  /** The memories that match the words best, best first. The words are plain text, never query syntax. */
  search(words: readonly string[], filter: MemoryFilter, limit: number): Promise<WordHit[]>;
  /** Memories that share their longest words with this content: candidates for near duplicates. */
  alike(content: string, limit: number): Promise<MemoryRecord[]>;
  /** All memories, oldest first. */
  all(): AsyncIterable<MemoryRecord>;
  /** The changes after a sequence number, in order. To read on, pass the `seq` of the last one. */
  changesSince(seq: number, limit: number): Promise<MemoryChange[]>;
  /** Memories without a vector of this embedder, newest first. */
  pendingVectors(embedder: string, limit: number): Promise<MemoryRecord[]>;
  /** Stores vectors, except those of older revisions. Returns how many were stored. */
  setVectors(embedder: string, vectors: readonly MemoryVector[]): Promise<number>;
  /** Vectors of this embedder that were stored after a sequence number, in order. */
  vectorsSince(embedder: string, seq: number, limit: number): Promise<VectorCodes[]>;
  /** The exact vectors of these memories, to rank the best ones. */
  vectorFloats(embedder: string, ids: readonly string[]): Promise<Map<string, Float32Array>>;
  /** The sequence number of the last change by any process. Called before every search, so it must be cheap. */
  lastSeq(): Promise<number>;
  /** A small value stored with the memories, such as which file was imported. */
  note(name: string): Promise<string | undefined>;
  /** Sets a {@link note}. */
  setNote(name: string, value: string): Promise<void>;
  /** Counts what is stored. */
  stats(options?: { check?: boolean | undefined }): Promise<BackendStats>;
  /** Closes the storage. */
  close(): Promise<void>;
}
