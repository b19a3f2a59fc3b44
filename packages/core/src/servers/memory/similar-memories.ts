// Memories that are nearly the same as one that was just stored, by words or by meaning: what is likely to be the same
// memory, told otherwise.

import type { MemoryRecord } from './backend.js';
import type { Watch } from './legacy-import.js';
import type { Meaning } from './meaning/meaning.js';
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
const MAX_SIMILAR = 5;
const LOOKED_AT = 20;
const MAX_WORDS = 1_000;

/** The most alike first, at most five. */
export async function similarTo(
  store: ScopedStore,
  stored: MemoryRecord,
  meaning: Meaning,
  watch: Watch,
): Promise<SimilarMemory[]> {
  const words = new Set(queryWords(stored.content, MAX_WORDS));
  const found = new Map<string, SimilarMemory>();
  for (const memory of await store.backend.alike(stored.content, LOOKED_AT)) {
    const similarity = overlap(words, new Set(queryWords(memory.content, MAX_WORDS)));
    if (memory.id !== stored.id && similarity >= BY_WORDS)
      found.set(memory.id, { memory: store.scoped(memory), similarity });
  }
  const near = await meaning.alike(store.backend, stored, BY_MEANING, MAX_SIMILAR, watch);
  const cosines = new Map(near.map(({ id, similarity }) => [id, similarity]));
  for (const memory of cosines.size > 0 ? await store.backend.get([...cosines.keys()]) : []) {
    const similarity = rounded(Math.min(1, cosines.get(memory.id) ?? 0));
    if (similarity > (found.get(memory.id)?.similarity ?? 0))
      found.set(memory.id, { memory: store.scoped(memory), similarity });
  }
  return [...found.values()].sort((a, b) => b.similarity - a.similarity).slice(0, MAX_SIMILAR);
}

/** Of two sets of words, what they share of what they have. */
function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of a) if (b.has(word)) shared++;
  return rounded(shared / (a.size + b.size - shared || 1));
}

function rounded(similarity: number): number {
  return Math.round(similarity * 100) / 100;
}
