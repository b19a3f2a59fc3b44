// The meaning of the memories of one store, for one embedder: an index of their vectors that keeps up with what any
// process writes, and the queue that makes the vectors that are missing.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf } from '../../../contract/errors.js';
import type { MemoryBackend, MemoryFilter, MemoryRecord, MemoryVector } from '../memory-backend.js';
import { embedLongTexts, type Embedder } from './embedder.js';
import { quantize, VectorIndex, type VectorMatch } from './vector-index.js';

/** A memory that is near to a question. */
export interface NearMemory {
  id: string;
  /** The cosine, -1 to 1. */
  similarity: number;
}

/** A vector in the forms that a store keeps. */
export type KeptVector = Pick<MemoryVector, 'codes' | 'scale' | 'floats'>;

/** Read at once from the store. */
const READ_BATCH = 2_000;
/** Embedded and written at once: what another call may have to wait for. */
const EMBED_BATCH = 32;
/** After a write so long is waited for others, so that a row of stores is one write of vectors. */
const EMBED_AFTER_MS = 50;
/** With a category or a tag: so many of the best are looked at, until so many have it. */
const MOST_LOOKED_AT = 1_000;
const ENOUGH = 20;
/** Where too few of the best have it, the newest so many that have it are compared. */
const FEW = 10_000;
/** A failed embedder is tried again after this, by the next call that needs it. */
const RETRY_MS = 30_000;
/** Texts that fail alone, one after the other: then it is the embedder, not the text. */
const MAX_FAILED_ALONE = 3;

/** Unrounded vectors that are remembered: 6 MB of 384 numbers each. Beyond, those go that were read first. */
const MAX_FLOATS = 4_000;

export class StoreMeaning {
  readonly #backend: MemoryBackend;
  readonly #embedder: Embedder;
  readonly #mostFloats: number;
  readonly #index: VectorIndex;
  /** Unrounded vectors of those that were among the best. */
  readonly #floats = new Map<string, Float32Array>();
  /** How many vectors were set or dropped. */
  #changes = 0;
  /** Ids of memories without a vector. */
  readonly #pending = new Set<string>();
  /** Vectors that the store is to get, and of which revision they are. */
  readonly #taken = new Map<string, { rev: number; vector: KeptVector }>();
  /** Those whose text the embedder refuses; they are found by their words, until they change. */
  readonly #refused = new Set<string>();
  /** Whether there may be more without a vector than are in `#pending`. */
  #hasMorePending = false;
  #seq = -1;
  #refreshing: Promise<void> | undefined;
  #embedding: Promise<void> | undefined;
  #failure: { reason: string; atMs: number } | undefined;
  #soon: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param mostFloats for tests: how many unrounded vectors are remembered */
  constructor(backend: MemoryBackend, embedder: Embedder, mostFloats = MAX_FLOATS) {
    this.#backend = backend;
    this.#embedder = embedder;
    this.#mostFloats = mostFloats;
    this.#index = new VectorIndex(embedder.dim);
  }

  /** How many memories are known to have no vector yet, those of which the embedder refuses the text among them. */
  get pending(): number {
    return this.#pending.size;
  }

  /** What went wrong with the embedder; undefined while it works. */
  get failure(): string | undefined {
    return this.#failure?.reason;
  }

  /** Makes the index what the store is now. Costs one small read when nobody has written. */
  async refresh(): Promise<void> {
    return (this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = undefined)));
  }

  /**
   * Takes up the vector of a memory that was just stored. It is found by it from now on; the store gets it in a moment, with
   * those of others, as a write of its own would take as long as that of the memory.
   */
  take({ id, rev, seq }: MemoryRecord, vector: KeptVector): void {
    this.#taken.set(id, { rev, vector });
    this.embedSoon();
    if (this.#refreshing || seq !== this.#seq + 1) return; // somebody else wrote too: the next look finds it missing
    this.#refused.delete(id);
    this.#set(id, vector);
    this.#seq = seq;
  }

  /** The memories that are nearest to a query's vector, best first, of those that pass the filter. */
  async nearest(query: Float32Array, filter: MemoryFilter, limit: number): Promise<NearMemory[]> {
    const { category, tags = [] } = filter;
    if (category === undefined && tags.length === 0) return nearOf(await this.#search(query, limit));
    // Of what many have, some of the best have it: more and more of the best are looked at.
    for (let looked = limit * 4; looked <= MOST_LOOKED_AT; looked *= 4) {
      const near = await this.#search(query, looked);
      const passing = new Set(
        await this.#backend.idsOf(
          filter,
          looked,
          near.map(({ key }) => key),
        ),
      );
      if (passing.size >= Math.min(limit, ENOUGH) || looked >= this.#index.size) {
        return nearOf(near.filter(({ key }) => passing.has(key)).slice(0, limit));
      }
    }
    // Few have it: then all that have it.
    const few = new Set(await this.#backend.idsOf(filter, FEW));
    return nearOf(await this.#search(query, limit, (id) => few.has(id)));
  }

  /** The nearest of at least this similarity, by int8, but for the one itself. */
  alike(vector: Float32Array, id: string, least: number, limit: number): NearMemory[] {
    const near = this.#index.search(vector, { limit, accept: (key) => key !== id });
    return nearOf(near.filter(({ similarity }) => similarity >= least));
  }

  /** How near memories are that were found in another way; those without a vector are left out. */
  similarities(query: Float32Array, ids: readonly string[]): Map<string, number> {
    return this.#index.similarities(
      query,
      ids.filter((id) => !this.#pending.has(id)),
    );
  }

  /** Begins to embed what is pending, unless that goes on already. Resolves when it is done or given up. */
  embedPending(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return (this.#embedding ??= this.#embedPending().finally(() => (this.#embedding = undefined)));
  }

  /** As {@link embedPending}, in a moment. What is not embedded when the process ends, is by the next one. */
  embedSoon(): void {
    if (this.#isClosed) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      void this.embedPending();
    }, EMBED_AFTER_MS).unref();
  }

  /** Ends the queue after the batch that it is at. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#soon);
    await this.#embedding?.catch(() => undefined);
    this.#taken.clear();
    this.#index.clear();
    this.#floats.clear();
  }

  async #refresh(): Promise<void> {
    const last = await this.#backend.lastSeq();
    if (last === this.#seq) return;
    if (last < this.#seq) this.#forget(); // the file was put aside, or another is in its place
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

  #set(id: string, { codes, scale }: Pick<KeptVector, 'codes' | 'scale'>): void {
    this.#pending.delete(id);
    // A text that means nothing to the model has a vector of zeros: it is done, and near to nothing.
    this.#drop(id);
    if (scale > 0 && scale < Infinity && codes.length === this.#embedder.dim)
      this.#index.set(id, { row: codes, scale });
  }

  #forget(): void {
    this.#changes++;
    this.#index.clear();
    this.#floats.clear();
    this.#pending.clear();
    this.#refused.clear();
    this.#taken.clear();
    this.#hasMorePending = false;
    this.#seq = -1;
  }

  /** Takes away what was deleted, and gives the ids of what was added or changed. */
  async #changedSince(from: number): Promise<Set<string>> {
    const changed = new Set<string>();
    for (let seq = from; ;) {
      const changes = await this.#backend.changesSince(seq, READ_BATCH);
      for (const { id, memory } of changes) {
        this.#refused.delete(id);
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

  /** By a look at all memories: at the beginning, and when those of the last look are done. */
  async #findPending(): Promise<void> {
    const memories = await this.#backend.pendingVectors(this.#embedder.id, READ_BATCH);
    for (const { id } of memories) this.#pending.add(id);
    this.#hasMorePending = memories.length === READ_BATCH;
  }

  /** Of what was changed by a tag alone the vector stays; of another content the store has dropped it. */
  async #checkVectors(ids: readonly string[]): Promise<void> {
    for (let start = 0; start < ids.length; start += READ_BATCH) {
      const some = ids.slice(start, start + READ_BATCH);
      const known = some.filter((id) => this.#index.has(id));
      const vectors = await this.#backend.vectorFloats(this.#embedder.id, known);
      for (const id of some) {
        if (vectors.has(id)) continue;
        this.#drop(id);
        this.#pending.add(id);
      }
    }
  }

  #search(query: Float32Array, limit: number, accept?: (id: string) => boolean): Promise<VectorMatch[]> {
    return this.#index.searchExactly(query, (ids) => this.#floatsOf(ids), { limit, accept });
  }

  /** A map of its own for each search: another one may clear what is remembered while this one waits. */
  async #floatsOf(ids: readonly string[]): Promise<ReadonlyMap<string, Float32Array>> {
    const found = new Map<string, Float32Array>();
    for (const id of ids) {
      const floats = this.#floats.get(id) ?? this.#taken.get(id)?.vector.floats;
      if (floats) found.set(id, floats);
    }
    const unknown = ids.filter((id) => !found.has(id));
    if (unknown.length === 0) return found;
    const changes = this.#changes;
    const read = await this.#backend.vectorFloats(this.#embedder.id, unknown);
    for (const [id, floats] of read) found.set(id, floats);
    if (changes !== this.#changes) return found; // they may be of before the change
    for (const [id, floats] of read) this.#floats.set(id, floats);
    for (const id of this.#floats.keys()) {
      if (this.#floats.size <= this.#mostFloats) break;
      this.#floats.delete(id);
    }
    return found;
  }

  async #embedPending(): Promise<void> {
    if (this.#failure && performance.now() - this.#failure.atMs < RETRY_MS) return;
    this.#failure = undefined;
    try {
      for (;;) {
        await nextTurn(); // calls that came meanwhile go first
        if (this.#isClosed) return;
        await this.refresh();
        if (this.#nextIds().length === 0 && this.#hasMorePending) await this.#findPending();
        const ids = this.#nextIds();
        if (ids.length === 0) return;
        const memories = await this.#backend.get(ids);
        const there = new Set(memories.map(({ id }) => id));
        for (const id of ids) if (!there.has(id)) this.#pending.delete(id);
        const taken = ids.map((id) => [id, this.#taken.get(id)] as const);
        const vectors = await this.#vectorsOf(memories);
        if (this.#isClosed) return;
        if (vectors.length > 0) await this.#backend.setVectors(this.#embedder.id, vectors);
        // Another one may have been taken for the same memory meanwhile.
        for (const [id, one] of taken) if (this.#taken.get(id) === one) this.#taken.delete(id);
        await this.refresh(); // at once: what is stored next is taken up only when nothing else is new
        if (this.#taken.size < EMBED_BATCH && !this.#hasMorePending && !this.#hasPending()) break;
      }
    } catch (error) {
      this.#failure = { reason: messageOf(error), atMs: performance.now() };
      return;
    }
    if (this.#taken.size > 0) this.embedSoon(); // a few that came meanwhile: together with others
  }

  #hasPending(): boolean {
    for (const id of this.#pending) if (!this.#refused.has(id)) return true;
    return false;
  }

  #nextIds(): string[] {
    const ids = new Set<string>();
    for (const some of [this.#taken.keys(), this.#pending]) {
      for (const id of some) {
        if (ids.size === EMBED_BATCH) return [...ids];
        if (!this.#refused.has(id)) ids.add(id);
      }
    }
    return [...ids];
  }

  /** What was taken up is not embedded again. */
  async #vectorsOf(memories: readonly MemoryRecord[]): Promise<MemoryVector[]> {
    const vectors: MemoryVector[] = [];
    const others: MemoryRecord[] = [];
    for (const memory of memories) {
      const taken = this.#taken.get(memory.id);
      if (taken?.rev === memory.rev) vectors.push({ id: memory.id, rev: memory.rev, ...taken.vector });
      else others.push(memory);
    }
    return others.length === 0 ? vectors : [...vectors, ...(await this.#embed(others))];
  }

  /** Of a batch that fails each text is tried alone, so that one cannot hold up the others. */
  async #embed(memories: readonly MemoryRecord[]): Promise<MemoryVector[]> {
    const embedded: { memory: MemoryRecord; vector: Float32Array | undefined }[] = [];
    const embed = async (some: readonly MemoryRecord[]): Promise<void> => {
      const vectors = await embedLongTexts(
        this.#embedder,
        some.map(({ content }) => content),
        'doc',
      );
      some.forEach((memory, i) => embedded.push({ memory, vector: vectors[i] }));
    };
    try {
      await embed(memories);
    } catch (whole) {
      let failed = 0;
      for (const memory of memories) {
        try {
          await embed([memory]);
          failed = 0;
        } catch (error) {
          if (++failed === MAX_FAILED_ALONE || memories.length === 1) throw error;
          this.#refused.add(memory.id);
        }
      }
      if (embedded.length === 0) throw whole;
    }
    return embedded.map(({ memory: { id, rev }, vector }) => ({ id, rev, ...keptVector(vector, this.#embedder) }));
  }
}

/** A vector in the forms that a store keeps. @param vector undefined for a text that means nothing to the model */
export function keptVector(vector: Float32Array | undefined, { dim }: Pick<Embedder, 'dim'>): KeptVector {
  const floats = vector ?? new Float32Array(dim);
  const { row, scale } = quantize(floats);
  return { codes: row, scale, floats };
}

function nearOf(matches: readonly VectorMatch[]): NearMemory[] {
  return matches.map(({ key, similarity }) => ({ id: key, similarity }));
}
