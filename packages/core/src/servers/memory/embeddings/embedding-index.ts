// The vectors of one store's memories for one embedder: an index that follows the changes of every process, and a queue that
// computes missing vectors.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf } from '../../../contract/errors.js';
import type { MemoryBackend, MemoryFilter, MemoryRecord, MemoryVector } from '../memory-backend.js';
import { embedLongTexts, type Embedder } from './embedder.js';
import { quantize, VectorIndex, type VectorMatch } from './vector-index.js';

/** A memory that is near to a query. */
export interface NearMemory {
  id: string;
  /** The cosine, -1 to 1. */
  similarity: number;
}

/** A vector in the forms in which it is stored. */
export type StoredVector = Pick<MemoryVector, 'codes' | 'scale' | 'floats'>;

/** Rows read from the store at a time. */
const READ_BATCH = 2_000;
/** Memories embedded and written at a time; another call may have to wait for one batch. */
const EMBED_BATCH = 32;
/** The delay after a write, so that the vectors of several writes are stored together. */
const EMBED_AFTER_MS = 50;
/** With a filter: at most this many of the nearest are tested, until this many pass. */
const MAX_FILTERED = 1_000;
const ENOUGH_PASSING = 20;
/** If too few of the nearest pass the filter, this many of the newest that pass are compared. */
const MAX_COMPARED = 10_000;
/** After this time, the next call that needs a failed embedder tries it again. */
const RETRY_MS = 30_000;
/** If this many texts fail individually in a row, the embedder is at fault, not the texts. */
const MAX_FAILED_ALONE = 3;

/** Exact vectors in the cache: 6 MB at 384 dimensions. The oldest are dropped first. */
const MAX_FLOATS = 4_000;

export class EmbeddingIndex {
  readonly #backend: MemoryBackend;
  readonly #embedder: Embedder;
  readonly #maxFloats: number;
  readonly #index: VectorIndex;
  /** Exact vectors of memories that were among the nearest. */
  readonly #floats = new Map<string, Float32Array>();
  /** Counts the vectors that were set or dropped. */
  #changes = 0;
  /** The IDs of memories without a vector. */
  readonly #pending = new Set<string>();
  /** Vectors that are not in the store yet, with their revision. */
  readonly #unstored = new Map<string, { rev: number; vector: StoredVector }>();
  /** Memories whose text the embedder rejects. They are found by words until they change. */
  readonly #rejected = new Set<string>();
  /** Whether more memories than those in `#pending` may lack a vector. */
  #hasMorePending = false;
  #seq = -1;
  #refreshing: Promise<void> | undefined;
  #embedding: Promise<void> | undefined;
  #failure: { reason: string; atMs: number } | undefined;
  #soon: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param maxFloats for tests: how many exact vectors are cached */
  constructor(backend: MemoryBackend, embedder: Embedder, maxFloats = MAX_FLOATS) {
    this.#backend = backend;
    this.#embedder = embedder;
    this.#maxFloats = maxFloats;
    this.#index = new VectorIndex(embedder.dim);
  }

  /** How many memories are known to have no vector, including those whose text the embedder rejects. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Why the embedder failed; undefined while it works. */
  get failure(): string | undefined {
    return this.#failure?.reason;
  }

  /** Brings the index up to date. One small read if nothing changed. */
  async refresh(): Promise<void> {
    return (this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = undefined)));
  }

  /**
   * Adds the vector of a memory that was just stored, so that searches use it immediately. It is written to the store later,
   * together with others, as a separate write would take as long as the memory's.
   */
  addStored({ id, rev, seq }: MemoryRecord, vector: StoredVector): void {
    this.#unstored.set(id, { rev, vector });
    this.embedSoon();
    if (this.#refreshing || seq !== this.#seq + 1) return; // another process wrote too: the next refresh finds it missing
    this.#rejected.delete(id);
    this.#set(id, vector);
    this.#seq = seq;
  }

  /** The memories that are nearest to a query's vector, best first, of those that pass the filter. */
  async nearest(query: Float32Array, filter: MemoryFilter, limit: number): Promise<NearMemory[]> {
    const { category, tags = [] } = filter;
    if (category === undefined && tags.length === 0) return nearOf(await this.#search(query, limit));
    // If many memories pass the filter, some of the nearest do.
    for (let tested = limit * 4; tested <= MAX_FILTERED; tested *= 4) {
      const near = await this.#search(query, tested);
      const passing = new Set(
        await this.#backend.idsOf(
          filter,
          tested,
          near.map(({ key }) => key),
        ),
      );
      if (passing.size >= Math.min(limit, ENOUGH_PASSING) || tested >= this.#index.size) {
        return nearOf(near.filter(({ key }) => passing.has(key)).slice(0, limit));
      }
    }
    // If few pass, all of them are compared.
    const passing = new Set(await this.#backend.idsOf(filter, MAX_COMPARED));
    return nearOf(await this.#search(query, limit, (id) => passing.has(id)));
  }

  /** The memories with at least this similarity by int8, except the memory itself. */
  similarTo(vector: Float32Array, id: string, least: number, limit: number): NearMemory[] {
    const near = this.#index.search(vector, { limit, accept: (key) => key !== id });
    return nearOf(near.filter(({ similarity }) => similarity >= least));
  }

  /** The cosines of memories that were found by words; those without a vector are left out. */
  similarities(query: Float32Array, ids: readonly string[]): Map<string, number> {
    return this.#index.similarities(
      query,
      ids.filter((id) => !this.#pending.has(id)),
    );
  }

  /** Embeds pending memories, unless that is in progress already. Resolves when it is done or has failed. */
  embedPending(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return (this.#embedding ??= this.#embedPending().finally(() => (this.#embedding = undefined)));
  }

  /** As {@link embedPending}, after a short delay. What a process leaves undone, the next one does. */
  embedSoon(): void {
    if (this.#isClosed) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      void this.embedPending();
    }, EMBED_AFTER_MS).unref();
  }

  /** Stops the queue after the current batch. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#soon);
    await this.#embedding?.catch(() => undefined);
    this.#unstored.clear();
    this.#index.clear();
    this.#floats.clear();
  }

  async #refresh(): Promise<void> {
    const last = await this.#backend.lastSeq();
    if (last === this.#seq) return;
    if (last < this.#seq) this.#forget(); // the file was replaced
    const isFirst = this.#seq < 0;
    const from = Math.max(this.#seq, 0);
    const stale = isFirst ? new Set<string>() : await this.#changedSince(from);
    for (let seq = from; ;) {
      const vectors = await this.#backend.vectorsSince(this.#embedder.id, seq, READ_BATCH);
      for (const vector of vectors) {
        stale.delete(vector.id);
        this.#set(vector.id, vector);
      }
      if (vectors.length < READ_BATCH) break;
      seq = vectors.at(-1)!.seq;
      await nextTurn();
    }
    if (isFirst) await this.#findPending();
    else await this.#checkVectors([...stale]);
    this.#seq = last;
  }

  #set(id: string, { codes, scale }: Pick<StoredVector, 'codes' | 'scale'>): void {
    this.#pending.delete(id);
    this.#drop(id);
    // A text without meaning to the model has a vector of zeros, which is near to nothing.
    if (scale > 0 && scale < Infinity && codes.length === this.#embedder.dim)
      this.#index.set(id, { row: codes, scale });
  }

  #forget(): void {
    this.#changes++;
    this.#index.clear();
    this.#floats.clear();
    this.#pending.clear();
    this.#rejected.clear();
    this.#unstored.clear();
    this.#hasMorePending = false;
    this.#seq = -1;
  }

  /** Drops deleted memories, and returns the IDs of those that were added or changed. */
  async #changedSince(from: number): Promise<Set<string>> {
    const changed = new Set<string>();
    for (let seq = from; ;) {
      const changes = await this.#backend.changesSince(seq, READ_BATCH);
      for (const { id, memory } of changes) {
        this.#rejected.delete(id);
        if (memory) changed.add(id);
        else {
          changed.delete(id);
          this.#drop(id);
          this.#pending.delete(id);
        }
      }
      if (changes.length < READ_BATCH) return changed;
      seq = changes.at(-1)!.seq;
      await nextTurn();
    }
  }

  #drop(id: string): void {
    this.#changes++;
    this.#index.delete(id);
    this.#floats.delete(id);
  }

  /** Searches all memories for missing vectors: at the start, and when those found before are done. */
  async #findPending(): Promise<void> {
    const memories = await this.#backend.pendingVectors(this.#embedder.id, READ_BATCH);
    for (const { id } of memories) this.#pending.add(id);
    this.#hasMorePending = memories.length === READ_BATCH;
  }

  /** A changed memory has a new content if the store dropped its vector; other changes keep it. */
  async #checkVectors(ids: readonly string[]): Promise<void> {
    for (let start = 0; start < ids.length; start += READ_BATCH) {
      const batch = ids.slice(start, start + READ_BATCH);
      const indexed = batch.filter((id) => this.#index.has(id));
      const vectors = await this.#backend.vectorFloats(this.#embedder.id, indexed);
      for (const id of batch) {
        if (vectors.has(id)) continue;
        this.#drop(id);
        this.#pending.add(id);
      }
    }
  }

  #search(query: Float32Array, limit: number, accept?: (id: string) => boolean): Promise<VectorMatch[]> {
    return this.#index.searchExactly(query, (ids) => this.#floatsOf(ids), { limit, accept });
  }

  /** Returns a new map for each search, as a concurrent one may clear the cache. */
  async #floatsOf(ids: readonly string[]): Promise<ReadonlyMap<string, Float32Array>> {
    const found = new Map<string, Float32Array>();
    for (const id of ids) {
      const floats = this.#floats.get(id) ?? this.#unstored.get(id)?.vector.floats;
      if (floats) found.set(id, floats);
    }
    const unknown = ids.filter((id) => !found.has(id));
    if (unknown.length === 0) return found;
    const changes = this.#changes;
    const read = await this.#backend.vectorFloats(this.#embedder.id, unknown);
    for (const [id, floats] of read) found.set(id, floats);
    if (changes !== this.#changes) return found; // they may be out of date: not cached
    for (const [id, floats] of read) this.#floats.set(id, floats);
    for (const id of this.#floats.keys()) {
      if (this.#floats.size <= this.#maxFloats) break;
      this.#floats.delete(id);
    }
    return found;
  }

  async #embedPending(): Promise<void> {
    if (this.#failure && performance.now() - this.#failure.atMs < RETRY_MS) return;
    this.#failure = undefined;
    try {
      for (;;) {
        await nextTurn(); // waiting calls run first
        if (this.#isClosed) return;
        await this.refresh();
        if (this.#nextIds().length === 0 && this.#hasMorePending) await this.#findPending();
        const ids = this.#nextIds();
        if (ids.length === 0) return;
        const memories = await this.#backend.get(ids);
        const existing = new Set(memories.map(({ id }) => id));
        for (const id of ids) if (!existing.has(id)) this.#pending.delete(id);
        const unstored = ids.map((id) => [id, this.#unstored.get(id)] as const);
        const vectors = await this.#vectorsOf(memories);
        if (this.#isClosed) return;
        if (vectors.length > 0) await this.#backend.setVectors(this.#embedder.id, vectors);
        // A newer vector of the same memory may have been added meanwhile.
        for (const [id, entry] of unstored) if (this.#unstored.get(id) === entry) this.#unstored.delete(id);
        await this.refresh(); // now, as addStored() needs an index that is up to date
        if (this.#unstored.size < EMBED_BATCH && !this.#hasMorePending && !this.#hasPending()) break;
      }
    } catch (error) {
      this.#failure = { reason: messageOf(error), atMs: performance.now() };
      return;
    }
    if (this.#unstored.size > 0) this.embedSoon(); // a few that were added meanwhile
  }

  #hasPending(): boolean {
    for (const id of this.#pending) if (!this.#rejected.has(id)) return true;
    return false;
  }

  #nextIds(): string[] {
    const ids = new Set<string>();
    for (const source of [this.#unstored.keys(), this.#pending]) {
      for (const id of source) {
        if (ids.size === EMBED_BATCH) return [...ids];
        if (!this.#rejected.has(id)) ids.add(id);
      }
    }
    return [...ids];
  }

  /** The vectors of memories: those that were added with the memory, and new ones for the others. */
  async #vectorsOf(memories: readonly MemoryRecord[]): Promise<MemoryVector[]> {
    const vectors: MemoryVector[] = [];
    const others: MemoryRecord[] = [];
    for (const memory of memories) {
      const unstored = this.#unstored.get(memory.id);
      if (unstored?.rev === memory.rev) vectors.push({ id: memory.id, rev: memory.rev, ...unstored.vector });
      else others.push(memory);
    }
    return others.length === 0 ? vectors : [...vectors, ...(await this.#embed(others))];
  }

  /** If a batch fails, embeds each text individually, so that one cannot block the others. */
  async #embed(memories: readonly MemoryRecord[]): Promise<MemoryVector[]> {
    const embedded: { memory: MemoryRecord; vector: Float32Array | undefined }[] = [];
    const embed = async (batch: readonly MemoryRecord[]): Promise<void> => {
      const vectors = await embedLongTexts(
        this.#embedder,
        batch.map(({ content }) => content),
        'doc',
      );
      batch.forEach((memory, i) => embedded.push({ memory, vector: vectors[i] }));
    };
    try {
      await embed(memories);
    } catch (batchError) {
      let failed = 0;
      for (const memory of memories) {
        try {
          await embed([memory]);
          failed = 0;
        } catch (error) {
          if (++failed === MAX_FAILED_ALONE || memories.length === 1) throw error;
          this.#rejected.add(memory.id);
        }
      }
      if (embedded.length === 0) throw batchError;
    }
    return embedded.map(({ memory: { id, rev }, vector }) => ({ id, rev, ...storedVector(vector, this.#embedder) }));
  }
}

/** Prepares a vector for the store. @param vector undefined for a text in which the model finds no meaning */
export function storedVector(vector: Float32Array | undefined, { dim }: Pick<Embedder, 'dim'>): StoredVector {
  const floats = vector ?? new Float32Array(dim);
  const { row, scale } = quantize(floats);
  return { codes: row, scale, floats };
}

function nearOf(matches: readonly VectorMatch[]): NearMemory[] {
  return matches.map(({ key, similarity }) => ({ id: key, similarity }));
}
