// Finds the tools that fit a description of a task: BM25 over their names, titles, descriptions and arguments.

import type { default as MiniSearch, SearchOptions } from 'minisearch';
import type { ToolDefinition } from '../../contract/tool-definition.js';
import { serverOf } from '../../provider/tool-index.js';
import { queryWordsOf, wordsOf } from './search-words.js';
import { synonymsBy, type Synonyms } from './synonyms.js';

/** A tool that {@link ToolHub.search} found. */
export interface FoundTool {
  /** The qualified name. */
  name: string;
  /** How well it fits; comparable only within one answer. */
  score: number;
  /** The tool's description. */
  description: string;
}

// Weights, chosen with eval/search/data/tuning.jsonl.
/** What each field counts for. A word in a name says more than one in a description. */
const BOOST = { name: 1.5, server: 2, title: 1.5, description: 1, args: 0.3 };
/** BM25+ without its bonus for long texts: long descriptions are not better ones. */
const BM25 = { k: 1.2, b: 0.8, d: 0 };
/** What a near synonym counts for, against the query's own word. */
const NEAR = 0.5;
/** What words that begin with the query's word, or differ by a letter, count for. */
const INEXACT = { prefix: 0.6, fuzzy: 0.1 };
/** A tool that matches all words of a query is ranked this many times above one that matches a few well, and one more. */
const COVERAGE = 4;

/** Texts of a tool are read up to this length, so that neither a long nor a stuffed one costs much. */
const MAX_TEXT = 2_000;
const MAX_ARGUMENTS = 200;
const MAX_QUERY_CHARS = 1_000;
const MAX_QUERY_WORDS = 32;
/** A shorter word begins too many others. */
const MIN_PREFIX = 4;
const MIN_FUZZY = 6;
/** Tools that are indexed in one turn of the event loop: about 20 ms. */
const CHUNK = 100;

interface Row {
  id: number;
  name: string;
  server: string;
  title: string;
  description: string;
  args: string;
}

/** The index of one list of tools. */
export class ToolSearch {
  readonly #tools: readonly ToolDefinition[];
  readonly #index: MiniSearch<Row>;
  readonly #stemsOf: (word: string) => string | string[];
  readonly #near: Synonyms['near'];

  private constructor(
    tools: readonly ToolDefinition[],
    index: MiniSearch<Row>,
    stemsOf: (word: string) => string | string[],
    near: Synonyms['near'],
  ) {
    this.#tools = tools;
    this.#index = index;
    this.#stemsOf = stemsOf;
    this.#near = near;
  }

  /** Indexes the tools. Loads the search engine, which importing this module does not. */
  static async of(tools: readonly ToolDefinition[]): Promise<ToolSearch> {
    const [{ default: Engine }, { stemmer }] = await Promise.all([import('minisearch'), import('stemmer')]);
    const { same, near } = synonymsBy(stemmer);
    const stemsOf = (word: string): string | string[] => {
      const stem = stemmer(word);
      return same.get(stem) ?? stem;
    };
    const searchOptions: SearchOptions = {
      tokenize: (stem) => [stem],
      processTerm: (stem) => stem,
      boost: BOOST,
      bm25: BM25,
      weights: INEXACT,
    };
    const index = new Engine<Row>({
      fields: Object.keys(BOOST),
      tokenize: wordsOf,
      processTerm: stemsOf,
      searchOptions,
    });
    await index.addAllAsync(tools.map(rowOf), { chunkSize: CHUNK });
    return new ToolSearch(tools, index, stemsOf, near);
  }

  /**
   * The tools that fit, best first. Each word of the query counts by itself or by the best of its synonyms.
   *
   * @param isWanted leaves out tools
   */
  find(query: string, limit: number, isWanted: (tool: ToolDefinition) => boolean): FoundTool[] {
    const words = queryWordsOf(query.slice(0, MAX_QUERY_CHARS), MAX_QUERY_WORDS);
    const stems = new Set(words.flatMap((word) => this.#stemsOf(word)));
    const sums = new Map<number, { score: number; matched: number }>();
    for (const stem of stems) {
      for (const [id, score] of this.#scoresOf(stem)) {
        const sum = sums.get(id) ?? { score: 0, matched: 0 };
        sums.set(id, { score: sum.score + score, matched: sum.matched + 1 });
      }
    }
    const found = [...sums].map(([id, { score, matched }]) => ({
      id,
      tool: this.#tools[id] as ToolDefinition,
      score: score * (1 + (COVERAGE * matched) / stems.size),
    }));
    return found
      .filter(({ tool }) => isWanted(tool))
      .sort((a, b) => b.score - a.score || a.id - b.id)
      .slice(0, limit)
      .map(({ tool: { name, description }, score }) => ({ name, score: Math.round(score * 100) / 100, description }));
  }

  /** What each tool scores for a stem. */
  #scoresOf(stem: string): ReadonlyMap<number, number> {
    const scores = new Map<number, number>();
    const add = (text: string, weight: number, options: SearchOptions): void => {
      for (const { id, score } of this.#index.search(text, options))
        scores.set(id as number, Math.max(scores.get(id as number) ?? 0, score * weight));
    };
    add(stem, 1, { prefix: stem.length >= MIN_PREFIX, fuzzy: stem.length >= MIN_FUZZY && 1 });
    for (const synonym of this.#near.get(stem) ?? []) add(synonym, NEAR, {});
    return scores;
  }
}

function rowOf({ name, title = '', description, inputSchema }: ToolDefinition, id: number): Row {
  const server = serverOf(name) ?? '';
  const args = Object.keys(Object(inputSchema.properties) as object).slice(0, MAX_ARGUMENTS);
  return {
    id,
    name: name.slice(server.length),
    server,
    title: title.slice(0, MAX_TEXT),
    description: description.slice(0, MAX_TEXT),
    args: args.join(' ').slice(0, MAX_TEXT),
  };
}
