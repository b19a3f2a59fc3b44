// Memories that are nearly the same as one that was just stored, by words or by meaning: probably the same fact in other
// words.

import type { MemoryRecord } from '../memory-backend.js';
import type { CallContext } from './call-context.js';
import type { StoreEmbeddings } from '../embeddings/store-embeddings.js';
import type { StoredVector } from '../embeddings/embedding-index.js';
import type { ScopedMemory, ScopedStore } from './scoped-store.js';
import { queryWords } from './words.js';

/** A memory and its similarity, 0 to 1. */
export interface SimilarMemory {
  memory: ScopedMemory;
  similarity: number;
}

/** Two contents are similar if they share this part of their words. */
const BY_WORDS = 0.6;
/** Two contents are similar if their vectors have at least this cosine. */
const BY_MEANING = 0.9;
/**
 * Words are compared from this cosine on. With the built-in model, 99.7 % of contents that share enough words reach it, and
 * few others do; only 71 % of them share their longest words.
 */
const COMPARED_FROM = 0.6;
const MAX_SIMILAR = 5;
const MAX_COMPARED = 20;
const MAX_WORDS = 1_000;

/**
 * At most five similar memories, the most similar first.
 *
 * @param embedding the vector of the stored content; undefined without an embedder
 */
export async function similarTo(
  store: ScopedStore,
  stored: MemoryRecord,
  embeddings: StoreEmbeddings,
  embedding: Promise<StoredVector> | undefined,
  call: CallContext,
): Promise<SimilarMemory[]> {
  const { backend } = store;
  const { near, isComplete } = await embeddings.similarTo(backend, stored, embedding, COMPARED_FROM, MAX_SIMILAR, call);
  const cosines = new Map(near.map(({ id, similarity }) => [id, similarity]));
  const byWords = isComplete ? [] : await backend.alike(stored.content, MAX_COMPARED);
  const found = new Set(byWords.map(({ id }) => id));
  const others = [...cosines.keys()].filter((id) => !found.has(id));
  const candidates = others.length > 0 ? [...byWords, ...(await backend.get(others))] : byWords;
  if (candidates.length === 0) return [];
  const words = new Set(queryWords(stored.content, MAX_WORDS));
  return candidates
    .filter(({ id }) => id !== stored.id)
    .map((memory) => {
      const shared = overlap(words, new Set(queryWords(memory.content, MAX_WORDS)));
      const cosine = Math.min(1, cosines.get(memory.id) ?? 0);
      const similarity = Math.max(shared >= BY_WORDS ? shared : 0, cosine >= BY_MEANING ? cosine : 0);
      return { memory: store.scoped(memory), similarity: rounded(similarity) };
    })
    .filter(({ similarity }) => similarity > 0)
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, MAX_SIMILAR);
}

/** The Jaccard index of two sets of words. */
function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of a) if (b.has(word)) shared++;
  return shared / (a.size + b.size - shared || 1);
}

function rounded(similarity: number): number {
  return Math.round(similarity * 100) / 100;
}
