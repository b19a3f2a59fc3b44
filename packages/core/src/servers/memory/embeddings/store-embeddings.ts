// Search by meaning: the embedder, which the first call that needs it opens, and an index of vectors for each store. If
// anything fails here, memories are found by words, and the result says why.

import { untilAborted, valueWithin } from '../../../call/waiting.js';
import { messageOf } from '../../../contract/errors.js';
import type { MemoryBackend, MemoryFilter, MemoryRecord } from '../memory-backend.js';
import type { CallContext } from '../service/call-context.js';
import { embedLongTexts, type Embedder } from './embedder.js';
import { openEmbedder, type EmbedderChoice, type EmbedderOptions } from './open-embedder.js';
import { SerialEmbedder } from './serial-embedder.js';
import { storedVector, EmbeddingIndex, type StoredVector, type NearMemory } from './embedding-index.js';

/** How a query was answered: with the vectors of all memories, of some, or of none. */
export type RetrieveMode = 'hybrid' | 'hybrid-partial' | 'lexical';

/** The vector of a query, to compare with those of memories. */
export interface QuestionEmbedding {
  /** Undefined: memories are ranked by words only, for this reason. */
  vector?: Float32Array;
  fusionWeight: number;
  reason?: string;
}

/** The memories of one store that are near to a query. */
export interface NearMemories {
  memories: NearMemory[];
  /** The cosines of memories that were found by words, if they have a vector. */
  similarities: Map<string, number>;
  /** How many memories have no vector yet. */
  pending: number;
  reason?: string;
}

/** How long a call waits for a model to load, and for the vectors of memories that were stored just before it. */
const LOADING_TIMEOUT_MS = 3_000;
const PENDING_TIMEOUT_MS = 100;
/** A call does not wait for more missing vectors than this, as after an import. */
const MAX_AWAITED = 64;
/** How long a call waits for the query's vector: a custom embedder may be a service that does not respond. */
const QUESTION_TIMEOUT_MS = 10_000;

export class StoreEmbeddings {
  readonly #options: EmbedderOptions;
  readonly #stores = new Map<MemoryBackend, EmbeddingIndex>();
  #opening: Promise<EmbedderChoice> | undefined;
  #opened: EmbedderChoice | undefined;
  /** {@link embedder}, which is open. */
  #serial: SerialEmbedder | undefined;
  #loading = { progress: 0, what: 'the model' };
  #isClosed = false;

  constructor(options: EmbedderOptions) {
    this.#options = options;
  }

  /** The embedder; undefined until it is open. */
  get embedder(): Embedder | undefined {
    return this.#serial;
  }

  /** Embeds a query. Rejects only when the call is aborted. */
  async question(text: string, call: CallContext): Promise<QuestionEmbedding> {
    const choice = await this.#choice(call);
    if (!choice) return { fusionWeight: 0, reason: `${this.#loading.what} is still loading` };
    const { reason } = choice;
    const { embedder } = this;
    if (!embedder) return { fusionWeight: 0, ...(reason !== undefined && { reason }) };
    const { fusionWeight } = embedder;
    try {
      const vectors = await untilAborted(
        valueWithin(embedLongTexts(embedder, [text], 'query'), QUESTION_TIMEOUT_MS),
        call.signal,
      );
      const [vector] = vectors ?? [];
      if (vector) return { vector, fusionWeight, ...(reason !== undefined && { reason }) };
      const why = vectors ? 'knows no word of this query' : `did not respond within ${QUESTION_TIMEOUT_MS} ms`;
      return { fusionWeight: 0, reason: `the embedder "${embedder.id}" ${why}` };
    } catch (error) {
      call.signal.throwIfAborted();
      const message = messageOf(error);
      const isNamed = message.includes(`embedder "${embedder.id}"`);
      return { fusionWeight: 0, reason: isNamed ? message : `the embedder "${embedder.id}" failed: ${message}` };
    }
  }

  /** The memories of a store that are nearest to a query, and the cosines of those that its words found. */
  async near(
    backend: MemoryBackend,
    vector: Float32Array,
    found: readonly string[],
    filter: MemoryFilter,
    limit: number,
    call: CallContext,
  ): Promise<NearMemories> {
    const store = this.#storeOf(backend);
    if (!store) return { memories: [], similarities: new Map(), pending: 0 };
    await store.refresh();
    if (store.pending > 0) {
      call.progress(0, `Embedding ${store.pending} memories`);
      const embedding = store.embedPending();
      if (store.pending <= MAX_AWAITED) {
        await untilAborted(valueWithin(embedding, PENDING_TIMEOUT_MS), call.signal);
        await store.refresh();
      }
    }
    const memories = await store.nearest(vector, filter, limit);
    const { pending, failure } = store;
    return {
      memories,
      similarities: store.similarities(vector, found),
      pending,
      ...(failure !== undefined && { reason: failure }),
    };
  }

  /**
   * Embeds a content that is being stored. Undefined while no embedder is open, as storing does not wait for a model. Rejects
   * with what the embedder throws.
   */
  embedding(content: string): Promise<StoredVector> | undefined {
    const { embedder } = this;
    if (!embedder || this.#isClosed) return undefined;
    const embedding = embedLongTexts(embedder, [content], 'doc').then(([vector]) => storedVector(vector, embedder));
    embedding.catch(() => undefined); // it may never be awaited
    return embedding;
  }

  /**
   * The memories near to one that was just stored. Never rejects, as that one is stored already.
   *
   * @returns `isComplete: false` if not all memories were compared: some have no vector yet, or the embedder fails or is slow
   */
  async similarTo(
    backend: MemoryBackend,
    { id }: MemoryRecord,
    embedding: Promise<StoredVector> | undefined,
    least: number,
    limit: number,
    { signal }: CallContext,
  ): Promise<{ near: NearMemory[]; isComplete: boolean }> {
    const store = embedding && this.#storeOf(backend);
    if (!store) return { near: [], isComplete: false };
    try {
      const vector = await untilAborted(valueWithin(embedding, PENDING_TIMEOUT_MS), signal);
      if (!vector) return { near: [], isComplete: false };
      await store.refresh();
      if (store.pending > 0) store.embedSoon();
      return { near: store.similarTo(vector.floats, id, least, limit), isComplete: store.pending === 0 };
    } catch {
      return { near: [], isComplete: false }; // the queue meets the same failure and reports it
    }
  }

  /** Call this after a memory was created. Its vector is searched from now on; without one, it is computed after the call. */
  stored(backend: MemoryBackend, memory: MemoryRecord, vector: StoredVector | undefined): void {
    const store = vector && this.#storeOf(backend);
    if (store) store.addStored(memory, vector);
    else this.written(backend);
  }

  /** Call this after a store was changed. Missing vectors are computed after the call. */
  written(backend: MemoryBackend): void {
    if (this.#isClosed) return;
    void this.#open().then(() => this.#storeOf(backend)?.embedSoon());
  }

  /** Stops all work and disposes of the embedder. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#serial?.stop();
    await Promise.all([...this.#stores.values()].map((store) => store.close()));
    const { embedder } = this.#options;
    if (typeof embedder === 'object') await embedder.dispose?.();
    else if (this.#opened) await this.#opened.embedder?.dispose?.();
    else void this.#opening?.then((choice) => choice.embedder?.dispose?.()); // a model that is still loading
  }

  #storeOf(backend: MemoryBackend): EmbeddingIndex | undefined {
    const { embedder } = this;
    if (!embedder || this.#isClosed) return undefined;
    let store = this.#stores.get(backend);
    if (!store) this.#stores.set(backend, (store = new EmbeddingIndex(backend, embedder)));
    return store;
  }

  /** The embedder; undefined if loading it takes too long to wait. */
  async #choice({ signal, progress }: CallContext): Promise<EmbedderChoice | undefined> {
    const opening = this.#open();
    if (this.#opened) return this.#opened;
    const tick = setInterval(() => progress(this.#loading.progress, `Loading ${this.#loading.what}`), 250);
    try {
      return await untilAborted(valueWithin(opening, LOADING_TIMEOUT_MS), signal);
    } finally {
      clearInterval(tick);
    }
  }

  #open(): Promise<EmbedderChoice> {
    return (this.#opening ??= openEmbedder(this.#options, (progress, what) => {
      this.#loading = { progress, what };
    }).then((choice) => {
      if (choice.embedder) this.#serial = new SerialEmbedder(choice.embedder);
      if (this.#isClosed) this.#serial?.stop();
      return (this.#opened = choice);
    }));
  }
}
