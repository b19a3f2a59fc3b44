// Answers a query: collects candidates by words and by meaning from every scope, fuses them into one order, and explains the
// best.

import { stemmer } from 'stemmer';
import type { MemoryRecord, MemoryScope, WordHit } from '../memory-backend.js';
import { fuse } from '../embeddings/fusion.js';
import type { StoreEmbeddings, RetrieveMode } from '../embeddings/store-embeddings.js';
import type { CallContext } from './call-context.js';
import type { ScopedStore } from './scoped-store.js';
import { queryWords, wordsOf } from './words.js';

/** A query and its filters. */
export interface Question {
  query: string;
  category?: string | undefined;
  tags?: readonly string[] | undefined;
  limit: number;
  minScore?: number | undefined;
}

/** The parts of a memory's relevance. */
export interface ScoreParts {
  /** Its share of the best possible score by words, 0 to 1. */
  words: number;
  /** The cosine of query and memory, if both have a vector. */
  meaning?: number;
  /** The factors of importance and age in the final order. */
  importance: number;
  age: number;
}

export interface FoundMemory {
  scope: MemoryScope;
  memory: MemoryRecord;
  similarity: number;
  parts: ScoreParts;
  /** The words of the query that the memory has. */
  matched: string[];
}

/** The ranking formula: see the option `ranking`. */
export type Ranking = 'fused' | 'seed';

export interface Retrieved {
  found: FoundMemory[];
  mode: RetrieveMode;
  /** Why the mode is not `'hybrid'`, or not of the wanted embedder. */
  reason?: string;
}

/** A memory that was found by words, by meaning, or by both. */
interface Candidate {
  store: ScopedStore;
  id: string;
  words: number;
  meaning?: number | undefined;
}

interface Scored {
  candidate: Candidate;
  similarity: number;
}

/** How many candidates are found by words, and how many by meaning. */
const MAX_BY_WORDS = 100;
const MAX_BY_MEANING = 50;
/** Distinct words of a query that are passed to the search, which uses the rarest of them. */
const MAX_QUERY_WORDS = 400;
const DAY_MS = 86_400_000;
const HALF_LIFE_DAYS = 180;

/** @param nowMs for the age of memories */
export async function retrieve(
  stores: readonly ScopedStore[],
  question: Question,
  ranking: Ranking,
  embeddings: StoreEmbeddings,
  call: CallContext,
  nowMs: number = Date.now(),
): Promise<Retrieved> {
  const words = queryWords(question.query, MAX_QUERY_WORDS);
  const embedded = await embeddings.question(question.query, call);
  const candidates = new Map<string, Candidate>();
  const reasons = embedded.reason === undefined ? [] : [embedded.reason];
  let pending = 0;
  for (const store of stores) {
    call.signal.throwIfAborted();
    const hits = await wordList(store, words, question);
    const { category, tags, limit } = question;
    const near =
      embedded.vector &&
      (await embeddings.near(
        store.backend,
        embedded.vector,
        hits.map(({ id }) => id),
        { category, tags },
        Math.max(MAX_BY_MEANING, limit),
        call,
      ));
    for (const { id, share } of hits) {
      candidates.set(keyOf(store, id), { store, id, words: share, meaning: near?.similarities.get(id) });
    }
    for (const { id, similarity } of near?.memories ?? []) {
      const found = candidates.get(keyOf(store, id));
      if (found) found.meaning = similarity;
      else if (similarity > 0) candidates.set(keyOf(store, id), { store, id, words: 0, meaning: similarity });
    }
    pending += near?.pending ?? 0;
    if (near?.reason !== undefined) reasons.push(near.reason);
  }
  const all = [...candidates.values()];
  const scored =
    ranking === 'seed' ? await bySeed(all, words) : byFusion(all, embedded.vector && embedded.fusionWeight);
  const best = bestOf(scored, question);
  const records = await recordsOf(best.map(({ candidate }) => candidate));
  const ranked = best
    .flatMap(({ candidate, similarity }) => {
      const memory = records.get(candidate);
      return memory ? [{ candidate, memory, similarity }] : []; // deleted meanwhile
    })
    .sort((a, b) => b.similarity - a.similarity || byImportance(a.memory, b.memory))
    .slice(0, question.limit);
  const found = ranked.map(({ candidate, memory, similarity }): FoundMemory => {
    const { store, words: share, meaning: cosine } = candidate;
    const { importance, age } = ranking === 'seed' ? { importance: 1, age: 1 } : multipliers(memory, nowMs);
    return {
      scope: store.scope,
      memory,
      similarity: round(similarity),
      parts: { words: round(share), ...(cosine !== undefined && { meaning: round(cosine) }), importance, age },
      matched: matchedWords(memory, words),
    };
  });
  return { found: found.sort((a, b) => relevance(b) - relevance(a)), ...modeOf(embedded.vector, pending, reasons) };
}

function modeOf(
  vector: Float32Array | undefined,
  pending: number,
  reasons: readonly string[],
): { mode: RetrieveMode; reason?: string } {
  const because = reasons.map((reason) => reason.replace(/\.$/, '')).join('; ');
  if (!vector)
    return { mode: 'lexical', reason: `semantic search is off: ${because}. Memories are ranked by words only.` };
  if (pending === 0) return { mode: 'hybrid', ...(because !== '' && { reason: `${because}.` }) };
  const more = because === '' ? 'Their vectors are being computed in the background' : because;
  return {
    mode: 'hybrid-partial',
    reason: `${pending} memories have no vector yet and are searched by words only. ${more}.`,
  };
}

function keyOf({ scope }: ScopedStore, id: string): string {
  return `${scope} ${id}`;
}

async function wordList(store: ScopedStore, words: readonly string[], question: Question): Promise<WordHit[]> {
  if (words.length === 0) return [];
  const { category, tags, limit } = question;
  return store.backend.search(words, { category, tags }, Math.max(MAX_BY_WORDS, limit));
}

/** Selects the memories. Importance and age only order the selected ones, so they never displace a better match. */
function byFusion(candidates: readonly Candidate[], fusionWeight: number | undefined): Scored[] {
  const scores = fusionWeight === undefined ? candidates.map(({ words }) => words) : fuse(candidates, fusionWeight);
  return candidates.map((candidate, index) => ({ candidate, similarity: scores[index] ?? 0 }));
}

async function bySeed(candidates: readonly Candidate[], queryWords: readonly string[]): Promise<Scored[]> {
  const records = await recordsOf(candidates);
  return candidates.flatMap((candidate) => {
    const memory = records.get(candidate);
    if (!memory) return [];
    return [{ candidate, similarity: (candidate.meaning ?? 0) + 0.1 * seedMatches(memory, queryWords) }];
  });
}

/** The best `limit` candidates, and all that tie with the last of them: the memories' fields decide between those. */
function bestOf(scored: readonly Scored[], { limit, minScore = -Infinity }: Question): Scored[] {
  const order = scored.filter(({ similarity }) => similarity >= minScore).sort((a, b) => b.similarity - a.similarity);
  const last = order[Math.min(limit, order.length) - 1]?.similarity ?? 0;
  return order.filter(({ similarity }) => similarity >= last);
}

async function recordsOf(candidates: readonly Candidate[]): Promise<Map<Candidate, MemoryRecord>> {
  const records = new Map<Candidate, MemoryRecord>();
  for (const store of new Set(candidates.map((candidate) => candidate.store))) {
    const inStore = candidates.filter((candidate) => candidate.store === store);
    const byId = new Map(inStore.map((candidate) => [candidate.id, candidate]));
    for (const memory of await store.backend.get([...byId.keys()])) {
      const candidate = byId.get(memory.id);
      if (candidate) records.set(candidate, memory);
    }
  }
  return records;
}

/** How many terms of the query occur in the content or in a tag, also within a word, as earlier memory servers counted. */
function seedMatches({ content, tags }: MemoryRecord, words: readonly string[]): number {
  const text = content.toLowerCase();
  const names = tags.map((tag) => tag.toLowerCase());
  return words.filter((word) => text.includes(word) || names.some((name) => name.includes(word))).length;
}

/** Between equal matches, the more important memory comes first, then the newer one. */
function byImportance(a: MemoryRecord, b: MemoryRecord): number {
  return b.importance - a.importance || b.updatedMs - a.updatedMs || (a.id < b.id ? -1 : 1);
}

/** At most a tenth in total. The age's part halves every half year, and does not apply to important memories. */
function multipliers({ importance, updatedMs }: MemoryRecord, nowMs: number): { importance: number; age: number } {
  const days = Math.max(0, (nowMs - updatedMs) / DAY_MS);
  return {
    importance: round(1 + (0.05 * (importance - 5)) / 5),
    age: importance >= 8 ? 1 : round(0.95 + 0.05 * 2 ** (-days / HALF_LIFE_DAYS)),
  };
}

function relevance({ similarity, parts }: FoundMemory): number {
  return similarity * parts.importance * parts.age;
}

/** Compares stems, as the index does, but without folding diacritics: good enough for an explanation. */
function matchedWords(memory: MemoryRecord, words: readonly string[]): string[] {
  const stems = words.map((word) => stemmer(word));
  const queryStems = new Set(stems);
  const beginnings = new Set(words.map(beginning));
  const found = new Set<string>();
  for (const word of wordsIn(memory)) {
    if (!beginnings.has(beginning(word))) continue; // stemming most words would be wasted
    const stem = stemmer(word);
    if (queryStems.has(stem)) found.add(stem);
  }
  return words.filter((_, index) => found.has(stems[index]!)).slice(0, 20);
}

/** By record, as a backend returns the same record until it changes. */
const cachedWords = new WeakMap<MemoryRecord, readonly string[]>();

function wordsIn(memory: MemoryRecord): readonly string[] {
  let words = cachedWords.get(memory);
  if (!words) cachedWords.set(memory, (words = wordsOf(`${memory.tags.join(' ')} ${memory.content}`)));
  return words;
}

/** The letters that words with the same stem have in common. */
function beginning(word: string): string {
  return word.slice(0, 2);
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
