// What the memory server knows of meaning: the embedder, opened by the first call that needs it, and for each store the
// vectors of its memories. Whatever fails here leaves the words, and a reason.

import { untilAborted, valueWithin } from '../../../call/waiting.js';
import { messageOf } from '../../../contract/errors.js';
import type { MemoryBackend, MemoryFilter, MemoryRecord } from '../memory-backend.js';
import { embedLongTexts, type Embedder } from './embedder.js';
import { openEmbedder, type EmbedderChoice, type EmbedderOptions } from './open-embedder.js';
import { keptVector, StoreMeaning, type KeptVector, type NearMemory } from './embedding-index.js';

/** How a question was answered. */
export type RetrieveMode = 'hybrid' | 'hybrid-partial' | 'lexical';

/** The signal of a call, and where its progress goes. */
interface Watch {
  signal: AbortSignal;
  progress: (done: number, message: string) => void;
}

/** A question in the form in which it can be compared with memories. */
export interface QuestionMeaning {
  /** Undefined: only words rank, for this reason. */
  vector?: Float32Array;
  fusionWeight: number;
  reason?: string;
}

/** What one store has for a question. */
export interface StoreAnswer {
  near: NearMemory[];
  /** Of memories that were found by words; without those that have no vector yet. */
  similarities: Map<string, number>;
  /** How many memories have no vector yet. */
  pending: number;
  reason?: string;
}

/** A call waits this long for a model that is being loaded, and for memories that were stored just before it. */
const LOADING_PATIENCE_MS = 3_000;
const PENDING_PATIENCE_MS = 100;
/** So many are waited for; a whole import is not. */
const FEW = 64;
/** And for the vector of a question: an embedder of the caller's may be a service that does not answer. */
const QUESTION_PATIENCE_MS = 10_000;

export class Meaning {
  readonly #options: EmbedderOptions;
  readonly #stores = new Map<MemoryBackend, StoreMeaning>();
  #opening: Promise<EmbedderChoice> | undefined;
  #opened: EmbedderChoice | undefined;
  #loading = { progress: 0, what: 'the model' };
  #isClosed = false;

  constructor(options: EmbedderOptions) {
    this.#options = options;
  }

  /** The embedder, once it is open. */
  get embedder(): Embedder | undefined {
    return this.#opened?.embedder;
  }

  /** Embeds a question. Never fails but by the signal. */
  async question(text: string, watch: Watch): Promise<QuestionMeaning> {
    const choice = await this.#choice(watch);
    if (!choice) return { fusionWeight: 0, reason: `${this.#loading.what} is still being loaded` };
    const { embedder, reason } = choice;
    if (!embedder) return { fusionWeight: 0, ...(reason !== undefined && { reason }) };
    const { fusionWeight } = embedder;
    try {
      const vectors = await untilAborted(
        valueWithin(embedLongTexts(embedder, [text], 'query'), QUESTION_PATIENCE_MS),
        watch.signal,
      );
      const [vector] = vectors ?? [];
      if (vector) return { vector, fusionWeight, ...(reason !== undefined && { reason }) };
      const why = vectors ? 'knows no word of this question' : `has not answered in ${QUESTION_PATIENCE_MS} ms`;
      return { fusionWeight: 0, reason: `the embedder "${embedder.id}" ${why}` };
    } catch (error) {
      watch.signal.throwIfAborted();
      return { fusionWeight: 0, reason: `the embedder "${embedder.id}" failed: ${messageOf(error)}` };
    }
  }

  /** What is near to a question in one store, and how near those are that its words have found. */
  async near(
    backend: MemoryBackend,
    vector: Float32Array,
    found: readonly string[],
    filter: MemoryFilter,
    limit: number,
    watch: Watch,
  ): Promise<StoreAnswer> {
    const store = this.#storeOf(backend);
    if (!store) return { near: [], similarities: new Map(), pending: 0 };
    await store.refresh();
    if (store.pending > 0) {
      watch.progress(0, `Embedding ${store.pending} memories`);
      const embedding = store.embedPending();
      if (store.pending <= FEW) {
        await untilAborted(valueWithin(embedding, PENDING_PATIENCE_MS), watch.signal);
        await store.refresh();
      }
    }
    const near = await store.nearest(vector, filter, limit);
    const { pending, failure } = store;
    return {
      near,
      similarities: store.similarities(vector, found),
      pending,
      ...(failure !== undefined && { reason: failure }),
    };
  }

  /**
   * The vector of a content that is being stored; undefined as long as no embedder is open, as a call that stores does not
   * wait for a model. Rejects with what the embedder throws.
   */
  embedding(content: string): Promise<KeptVector> | undefined {
    const { embedder } = this;
    if (!embedder || this.#isClosed) return undefined;
    const embedding = embedLongTexts(embedder, [content], 'doc').then(([vector]) => keptVector(vector, embedder));
    embedding.catch(() => undefined); // nobody may wait for it
    return embedding;
  }

  /**
   * What is near to a memory that was just stored, itself left out. It is stored, whatever comes of this.
   *
   * @returns `isWhole: false` when that is not known of all memories: some have no vector yet, the embedder fails or takes
   * its time
   */
  async alike(
    backend: MemoryBackend,
    { id }: MemoryRecord,
    embedding: Promise<KeptVector> | undefined,
    least: number,
    limit: number,
    { signal }: Watch,
  ): Promise<{ near: NearMemory[]; isWhole: boolean }> {
    const store = embedding && this.#storeOf(backend);
    if (!store) return { near: [], isWhole: false };
    try {
      const vector = await untilAborted(valueWithin(embedding, PENDING_PATIENCE_MS), signal);
      if (!vector) return { near: [], isWhole: false };
      await store.refresh();
      if (store.pending > 0) store.embedSoon();
      return { near: store.alike(vector.floats, id, least, limit), isWhole: store.pending === 0 };
    } catch {
      return { near: [], isWhole: false }; // the queue meets the same failure, and tells it
    }
  }

  /** A memory was made. It is found by this vector from now on; without one it gets one after this call. */
  stored(backend: MemoryBackend, memory: MemoryRecord, vector: KeptVector | undefined): void {
    const store = vector && this.#storeOf(backend);
    if (store) store.take(memory, vector);
    else this.written(backend);
  }

  /** Something was written to a store: what has no vector yet gets one, after this call. */
  written(backend: MemoryBackend): void {
    if (this.#isClosed) return;
    void this.#open().then(() => this.#storeOf(backend)?.embedSoon());
  }

  /** Ends what is going on, and the embedder. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#stores.values()].map((store) => store.close()));
    await this.#opened?.embedder?.dispose?.();
  }

  #storeOf(backend: MemoryBackend): StoreMeaning | undefined {
    const { embedder } = this;
    if (!embedder || this.#isClosed) return undefined;
    let store = this.#stores.get(backend);
    if (!store) this.#stores.set(backend, (store = new StoreMeaning(backend, embedder)));
    return store;
  }

  /** The embedder; undefined when it takes too long to wait for it. */
  async #choice({ signal, progress }: Watch): Promise<EmbedderChoice | undefined> {
    const opening = this.#open();
    if (this.#opened) return this.#opened;
    const tick = setInterval(() => progress(this.#loading.progress, `Loading ${this.#loading.what}`), 250);
    try {
      return await untilAborted(valueWithin(opening, LOADING_PATIENCE_MS), signal);
    } finally {
      clearInterval(tick);
    }
  }

  #open(): Promise<EmbedderChoice> {
    return (this.#opening ??= openEmbedder(this.#options, (progress, what) => {
      this.#loading = { progress, what };
    }).then((choice) => (this.#opened = choice)));
  }
}
