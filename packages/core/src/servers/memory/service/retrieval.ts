// The way of a question: lists of candidates from every scope, fused into one order, cut, and then told with reasons.

import { stemmer } from 'stemmer';
import type { MemoryRecord, MemoryScope, WordHit } from '../memory-backend.js';
import { fuse } from '../embeddings/fusion.js';
import type { Meaning, RetrieveMode } from '../embeddings/store-embeddings.js';
import type { Watch } from '../transfer/legacy-import.js';
import type { ScopedStore } from './scoped-store.js';
import { queryWords, wordsOf } from './words.js';

/** What is asked for. */
export interface Question {
  query: string;
  category?: string | undefined;
  tags?: readonly string[] | undefined;
  limit: number;
  minScore?: number | undefined;
}

/** What the relevance of a memory is made of. */
export interface ScoreParts {
  /** What part of the best possible score by words it has, 0 to 1. */
  words: number;
  /** The cosine of query and memory, where both have a vector. */
  meaning?: number;
  /** What its importance and age multiply its place by. */
  importance: number;
  age: number;
}

/** One memory that was found. */
export interface Found {
  scope: MemoryScope;
  memory: MemoryRecord;
  similarity: number;
  parts: ScoreParts;
  /** Words of the query that it has. */
  matched: string[];
}

/** How the order is made: see the option `ranking`. */
export type Ranking = 'fused' | 'seed';

export interface Retrieved {
  found: Found[];
  mode: RetrieveMode;
  /** Why it is not `'hybrid'`. */
  reason?: string;
}

/** A candidate on its way: the list of the words, and later the one of the meanings, fill it. */
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

/** Of the list by words, and of that by meaning. A memory that is in neither is no candidate. */
const LIST_LENGTH = 100;
const NEAR_LENGTH = 50;
/** Distinct words of a query that are looked up; the search takes the rarest of them. */
const MAX_QUERY_WORDS = 400;
const DAY_MS = 86_400_000;
const HALF_LIFE_DAYS = 180;

/** @param nowMs for the age of memories */
export async function retrieve(
  stores: readonly ScopedStore[],
  question: Question,
  ranking: Ranking,
  meaning: Meaning,
  watch: Watch,
  nowMs: number = Date.now(),
): Promise<Retrieved> {
  const words = queryWords(question.query, MAX_QUERY_WORDS);
  const asked = await meaning.question(question.query, watch);
  const candidates = new Map<string, Candidate>();
  const reasons = asked.reason === undefined ? [] : [asked.reason];
  let pending = 0;
  for (const store of stores) {
    watch.signal.throwIfAborted();
    const hits = await wordList(store, words, question);
    const { category, tags, limit } = question;
    const answer =
      asked.vector &&
      (await meaning.near(
        store.backend,
        asked.vector,
        hits.map(({ id }) => id),
        { category, tags },
        Math.max(NEAR_LENGTH, limit),
        watch,
      ));
    for (const { id, share } of hits) {
      candidates.set(keyOf(store, id), { store, id, words: share, meaning: answer?.similarities.get(id) });
    }
    for (const { id, similarity } of answer?.near ?? []) {
      const found = candidates.get(keyOf(store, id));
      if (found) found.meaning = similarity;
      else if (similarity > 0) candidates.set(keyOf(store, id), { store, id, words: 0, meaning: similarity });
    }
    pending += answer?.pending ?? 0;
    if (answer?.reason !== undefined) reasons.push(answer.reason);
  }
  const all = [...candidates.values()];
  const scored = ranking === 'seed' ? await bySeed(all, words) : byFusion(all, asked.vector && asked.fusionWeight);
  const best = bestOf(scored, question);
  const records = await recordsOf(best.map(({ candidate }) => candidate));
  const ranked = best
    .flatMap(({ candidate, similarity }) => {
      const memory = records.get(candidate);
      return memory ? [{ candidate, memory, similarity }] : []; // it may have gone meanwhile
    })
    .sort((a, b) => b.similarity - a.similarity || tieOf(a.memory, b.memory))
    .slice(0, question.limit);
  const found = ranked.map(({ candidate, memory, similarity }): Found => {
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
  return { found: found.sort((a, b) => placeOf(b) - placeOf(a)), ...modeOf(asked.vector, pending, reasons) };
}

function modeOf(
  vector: Float32Array | undefined,
  pending: number,
  reasons: readonly string[],
): { mode: RetrieveMode; reason?: string } {
  const because = reasons.join('; ');
  if (!vector) return { mode: 'lexical', reason: `semantic search is off: ${because}. The order is by words.` };
  if (pending === 0) return { mode: 'hybrid', ...(because !== '' && { reason: `${because}.` }) };
  const more = because === '' ? 'They follow in the background' : because;
  return {
    mode: 'hybrid-partial',
    reason: `${pending} memories have no vector yet and were found by words only. ${more}.`,
  };
}

function keyOf({ scope }: ScopedStore, id: string): string {
  return `${scope} ${id}`;
}

async function wordList(store: ScopedStore, words: readonly string[], question: Question): Promise<WordHit[]> {
  if (words.length === 0) return [];
  const { category, tags, limit } = question;
  return store.backend.search(words, { category, tags }, Math.max(LIST_LENGTH, limit));
}

/** Decides who is answered. Importance and age do not: they must not push out what fits better. */
function byFusion(candidates: readonly Candidate[], fusionWeight: number | undefined): Scored[] {
  const scores = fusionWeight === undefined ? candidates.map(({ words }) => words) : fuse(candidates, fusionWeight);
  return candidates.map((candidate, index) => ({ candidate, similarity: scores[index] ?? 0 }));
}

async function bySeed(candidates: readonly Candidate[], queried: readonly string[]): Promise<Scored[]> {
  const records = await recordsOf(candidates);
  return candidates.flatMap((candidate) => {
    const memory = records.get(candidate);
    if (!memory) return [];
    return [{ candidate, similarity: (candidate.meaning ?? 0) + 0.1 * seedMatches(memory, queried) }];
  });
}

/** So many as are asked for, and those that are as good as the last of them: what is known of a memory parts them. */
function bestOf(scored: readonly Scored[], { limit, minScore = -Infinity }: Question): Scored[] {
  const order = scored.filter(({ similarity }) => similarity >= minScore).sort((a, b) => b.similarity - a.similarity);
  const last = order[Math.min(limit, order.length) - 1]?.similarity ?? 0;
  return order.filter(({ similarity }) => similarity >= last);
}

async function recordsOf(candidates: readonly Candidate[]): Promise<Map<Candidate, MemoryRecord>> {
  const records = new Map<Candidate, MemoryRecord>();
  for (const store of new Set(candidates.map((candidate) => candidate.store))) {
    const some = candidates.filter((candidate) => candidate.store === store);
    const byId = new Map(some.map((candidate) => [candidate.id, candidate]));
    for (const memory of await store.backend.get([...byId.keys()])) {
      const candidate = byId.get(memory.id);
      if (candidate) records.set(candidate, memory);
    }
  }
  return records;
}

/** Terms of the query that are in the content or in a tag, as a part of them: the original formula counts these. */
function seedMatches({ content, tags }: MemoryRecord, words: readonly string[]): number {
  const text = content.toLowerCase();
  const names = tags.map((tag) => tag.toLowerCase());
  return words.filter((word) => text.includes(word) || names.some((name) => name.includes(word))).length;
}

/** Of two that fit alike, the more important one, then the younger. */
function tieOf(a: MemoryRecord, b: MemoryRecord): number {
  return b.importance - a.importance || b.updatedMs - a.updatedMs || (a.id < b.id ? -1 : 1);
}

/**
 * What orders the answered ones among themselves: at most a tenth. Age halves its part every half year, and none of it
 * touches what is important.
 */
function multipliers({ importance, updatedMs }: MemoryRecord, nowMs: number): { importance: number; age: number } {
  const days = Math.max(0, (nowMs - updatedMs) / DAY_MS);
  return {
    importance: round(1 + (0.05 * (importance - 5)) / 5),
    age: importance >= 8 ? 1 : round(0.95 + 0.05 * 2 ** (-days / HALF_LIFE_DAYS)),
  };
}

function placeOf({ similarity, parts }: Found): number {
  return similarity * parts.importance * parts.age;
}

/** By their stems, as the index does but for letters that it folds: close enough for a reason. */
function matchedWords(memory: MemoryRecord, words: readonly string[]): string[] {
  const stems = words.map((word) => stemmer(word));
  const wanted = new Set(stems);
  const beginnings = new Set(words.map(beginning));
  const has = new Set<string>();
  for (const word of wordsIn(memory)) {
    if (!beginnings.has(beginning(word))) continue; // most are none of them
    const found = stemmer(word);
    if (wanted.has(found)) has.add(found);
  }
  return words.filter((_, index) => has.has(stems[index]!)).slice(0, 20);
}

/** Of memories that a backend gives again, as they were not changed. */
const knownWords = new WeakMap<MemoryRecord, readonly string[]>();

function wordsIn(memory: MemoryRecord): readonly string[] {
  let words = knownWords.get(memory);
  if (!words) knownWords.set(memory, (words = wordsOf(`${memory.tags.join(' ')} ${memory.content}`)));
  return words;
}

/** What two words with one stem share. */
function beginning(word: string): string {
  return word.slice(0, 2);
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
