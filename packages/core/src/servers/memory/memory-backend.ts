// What a store of memories must do, one scope each: the interface that SQLite implements here, and that another database
// can. Its behaviour is pinned by `memoryBackendContract` of the testing kit.

/** Where a memory belongs: to the one project, or to all projects of a user. */
export type MemoryScope = 'project' | 'global';

/** A memory as a backend keeps it. */
export interface MemoryRecord {
  /** A UUID for those made here; whatever it was for imported ones. Unique in its backend, deleted ones included. */
  readonly id: string;
  /** The text. */
  readonly content: string;
  /** The category. */
  readonly category: string;
  /** In the order they were given, without doubles. */
  readonly tags: readonly string[];
  /** 1 to 10. */
  readonly importance: number;
  /** The path of a document about it. */
  readonly documentationPath: string | null;
  /** The caller's own name for it: storing under a key that is there replaces what it names. */
  readonly key: string | null;
  /** The name of the project it was stored from. */
  readonly project: string | null;
  /** Milliseconds since 1970. */
  readonly createdMs: number;
  /** When it was last changed, in milliseconds since the epoch. */
  readonly updatedMs: number;
  /** 1 when it is made, one more with each change. */
  readonly rev: number;
  /** When it was deleted; null while it is there. */
  readonly deletedMs: number | null;
  /** The place of its last change in the order of all changes of this backend. */
  readonly seq: number;
}

/** A memory that is to be stored. */
export interface MemoryDraft {
  /** Default: a new one. */
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

/** What an update changes; what is undefined stays. */
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

/** What {@link MemoryBackend.put} did. */
export interface PutOutcome {
  /** The stored memory. */
  memory: MemoryRecord;
  /** `'merged'`: the same content was there, and got the tags and the higher importance. `'updated'`: its key was. */
  outcome: 'created' | 'merged' | 'updated';
}

/** How a text is the same as another: letters in one case, white space as one space. */
export type DuplicateRule = 'merge' | 'allow';

/** Which memories are meant. Deleted ones never are. */
export interface MemoryFilter {
  /** Only memories of this category. */
  category?: string | undefined;
  /** Any of these; case does not count. */
  tags?: readonly string[] | undefined;
}

/** The orders of {@link MemoryBackend.list}, each the largest first. */
export type MemorySort = 'created' | 'updated' | 'importance';

/** The last memory of the page before: its value in the order, and its id. */
export interface ListPosition {
  /** The sort value of the last row of the page before. */
  value: number;
  /** The id of that row. */
  id: string;
}

/** A memory that has words of the query. */
export interface WordHit {
  /** The id of the memory. */
  id: string;
  /** BM25, the higher the better; comparable within one answer of one backend only. */
  score: number;
  /** The part of the best score that these words could have, 0 to 1: comparable between backends. */
  share: number;
}

/** One earlier state of a memory. */
export interface MemoryVersion {
  /** The state that was replaced; it has the revision it had. */
  before: MemoryRecord;
  /** What replaced it. */
  operation: 'update' | 'merge' | 'delete' | 'restore';
  /** When this version was replaced, in milliseconds since the epoch. */
  atMs: number;
}

/** What an import did with its rows. */
export interface ImportOutcome {
  /** The number of memories imported. */
  imported: number;
  /** Were there already: by id, or by content. */
  skipped: number;
}

/** One change that somebody made since a place in the order of changes. */
export interface MemoryChange {
  /** The number of the change. */
  seq: number;
  /** The id of the memory. */
  id: string;
  /** Null when the memory is gone for good, or deleted. */
  memory: MemoryRecord | null;
}

/** A vector of one memory, by one embedder. */
export interface MemoryVector {
  /** The id of the memory. */
  id: string;
  /** Of the content that was embedded: a vector of an older content is not taken. */
  rev: number;
  /** The vector, each component divided by `scale` and rounded. */
  codes: Int8Array;
  /** The factor from codes to values. */
  scale: number;
  /** The vector in full precision. */
  floats: Float32Array;
}

/** A vector as it is searched: without its floats, at its place in the order of changes. */
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

/** What {@link MemoryBackend.stats} tells. */
export interface BackendStats {
  /** What keeps it, such as `'sqlite (libsql)'`. */
  engine: string;
  /** The number of memories. */
  memories: number;
  /** The number of deleted memories that are still in the journal. */
  deleted: number;
  /** The number of memories in each category. */
  byCategory: Record<string, number>;
  /** How many have a vector, by embedder. */
  vectors: Record<string, number>;
  /** The place of the last change. */
  seq: number;
  /** The size of the storage, in bytes. */
  bytes: number;
  /** `'ok'`, or what is wrong; undefined unless it was asked for. */
  integrity?: string | undefined;
  /** Files that could not be read and were put aside, oldest first. */
  setAside: readonly SetAsideRecord[];
}

/** A file that was put aside. */
export interface SetAsideRecord {
  /** The name it has now, beside the store's. */
  file: string;
  /** Why it was set aside. */
  reason: string;
  /** When it was set aside. */
  at: string;
  /** How many memories could be read out of it, and are in the store again. */
  recovered: number;
}

/**
 * A store of memories of one scope. Every change is durable when its promise is fulfilled, and all or nothing; two
 * processes may use one store. A method rejects with a `ToolError`: `LOCKED` when the store stays busy, `NO_SPACE`,
 * `PERMISSION_DENIED`, `FILE_CHANGED` for a revision that is not the expected one, `NAME_CONFLICT` for a key of another.
 */
export interface MemoryBackend {
  /** Stores one. With the key of one that is there it replaces that; with the same content it merges, unless allowed. */
  put(draft: MemoryDraft, onDuplicate?: DuplicateRule): Promise<PutOutcome>;
  /** Stores many at once, with their ids and times; leaves out those that are there, or were there once. */
  import(drafts: readonly MemoryDraft[]): Promise<ImportOutcome>;
  /** Those that are there, in the order of the ids. */
  get(ids: readonly string[]): Promise<MemoryRecord[]>;
  /** Undefined when there is none of that id. */
  update(id: string, patch: MemoryPatch, expectedRev?: number): Promise<MemoryRecord | undefined>;
  /** Deletes one: so that {@link restore} can bring it back, or with `hard` so that nothing can. Gives what it was. */
  delete(id: string, hard?: boolean): Promise<MemoryRecord | undefined>;
  /** Brings back a deleted one, or with `rev` the content of an earlier revision. Undefined when there is no such thing. */
  restore(id: string, rev?: number): Promise<MemoryRecord | undefined>;
  /** Earlier states, newest first; none of one that is gone for good. */
  history(id: string): Promise<MemoryVersion[]>;
  /** Lists memories, page by page. */
  list(filter: MemoryFilter, sort: MemorySort, limit: number, after?: ListPosition): Promise<MemoryRecord[]>;
  /** The newest that pass a filter, by their ids; with `among`, only of these. A search asks for many, and needs few. */
  idsOf(filter: MemoryFilter, limit: number, among?: readonly string[]): Promise<string[]>;
  /** The best by words, best first. The words are plain text, whatever they hold. */
  search(words: readonly string[], filter: MemoryFilter, limit: number): Promise<WordHit[]>;
  /** Some that share their longest words with this content: candidates for "nearly the same". */
  alike(content: string, limit: number): Promise<MemoryRecord[]>;
  /** All that are there, oldest first. */
  all(): AsyncIterable<MemoryRecord>;
  /** What was changed after a place in the order of changes, in that order; `seq` of the last one reads on. */
  changesSince(seq: number, limit: number): Promise<MemoryChange[]>;
  /** Memories that have no vector by this embedder yet, newest first. */
  pendingVectors(embedder: string, limit: number): Promise<MemoryRecord[]>;
  /** Keeps vectors; leaves out those of contents that have changed since. Gives how many it kept. */
  setVectors(embedder: string, vectors: readonly MemoryVector[]): Promise<number>;
  /** Vectors by this embedder that were set after a place in the order of changes, in that order. */
  vectorsSince(embedder: string, seq: number, limit: number): Promise<VectorCodes[]>;
  /** The unrounded vectors of these, for a last and exact ranking. */
  vectorFloats(embedder: string, ids: readonly string[]): Promise<Map<string, Float32Array>>;
  /** The place of the last change by anybody: cheap enough to ask before every search. */
  lastSeq(): Promise<number>;
  /** A small value that belongs to the store, such as what was imported into it. */
  note(name: string): Promise<string | undefined>;
  /** Sets a {@link note}. */
  setNote(name: string, value: string): Promise<void>;
  /** Counts what is stored. */
  stats(options?: { check?: boolean | undefined }): Promise<BackendStats>;
  /** Closes the storage. */
  close(): Promise<void>;
}
