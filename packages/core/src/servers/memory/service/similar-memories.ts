// Memories that are nearly the same as one that was just stored, by words or by meaning: what is likely to be the same
// memory, told otherwise.

import type { MemoryRecord } from '../memory-backend.js';
import type { Watch } from '../transfer/legacy-import.js';
import type { Meaning } from '../embeddings/store-embeddings.js';
import type { KeptVector } from '../embeddings/embedding-index.js';
import type { ScopedMemory, ScopedStore } from './scoped-store.js';
import { queryWords } from './words.js';

/** One of them, and how alike it is, 0 to 1. */
export interface SimilarMemory {
  memory: ScopedMemory;
  similarity: number;
}

/** Two contents that share this much of their words are told of as similar. */
const BY_WORDS = 0.6;
/** The cosine from which two contents mean nearly the same. */
const BY_MEANING = 0.9;
/**
 * The cosine from which words are compared. With the built-in model 99.7 % of contents that share enough words are at least
 * as near, and few others are; those that share their longest words are 71 %.
 */
const LOOKED_AT_FROM = 0.6;
const MAX_SIMILAR = 5;
const LOOKED_AT = 20;
const MAX_WORDS = 1_000;

/**
 * The most alike first, at most five.
 *
 * @param embedding the vector of what was stored; undefined where there is no embedder
 */
export async function similarTo(
  store: ScopedStore,
  stored: MemoryRecord,
  meaning: Meaning,
  embedding: Promise<KeptVector> | undefined,
  watch: Watch,
): Promise<SimilarMemory[]> {
  const { backend } = store;
  const { near, isWhole } = await meaning.alike(backend, stored, embedding, LOOKED_AT_FROM, MAX_SIMILAR, watch);
  const cosines = new Map(near.map(({ id, similarity }) => [id, similarity]));
  const byWords = isWhole ? [] : await backend.alike(stored.content, LOOKED_AT);
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

/** Of two sets of words, what they share of what they have. */
function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of a) if (b.has(word)) shared++;
  return shared / (a.size + b.size - shared || 1);
}

function rounded(similarity: number): number {
  return Math.round(similarity * 100) / 100;
}
