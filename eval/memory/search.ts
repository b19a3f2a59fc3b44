// The compared searches. Each calls the tools of a memory server with a temporary project.

import { InProcessToolProvider } from '@toolwright/core';
import { createMemoryServer } from '@toolwright/core/servers/memory';
import { createTestProject, type TestProject } from '@toolwright/core/testing';
import type { Embedder } from '../../packages/core/src/servers/memory/embeddings/embedder.js';
import type { Collection } from './dataset.js';
import { withWeight } from './embedders.js';

/** A configuration of the memory server. */
export interface System {
  name: string;
  /** Undefined: search by words only. */
  embedder: Embedder | undefined;
  ranking: 'fused' | 'seed';
}

export const WORDS: System = { name: 'words', embedder: undefined, ranking: 'fused' };

/** The searches with one embedder, which are compared with the search by words. */
export function systemsOf(embedder: Embedder): System[] {
  return [
    { name: 'vectors', embedder: withWeight(embedder, 1), ranking: 'fused' },
    fusedBy(embedder, embedder.fusionWeight),
    { name: 'original formula', embedder, ranking: 'seed' },
  ];
}

export function fusedBy(embedder: Embedder, weight: number): System {
  return { name: `fused ${weight.toFixed(2)}`, embedder: withWeight(embedder, weight), ranking: 'fused' };
}

/** The results of a question: of a call with limit 5, as agents make it, and of one with limit 10. */
export interface Rankings {
  five: string[];
  ten: string[];
}

/** The largest limit of a call. */
const MAX_LIMIT = 50;
/** The time for computing all vectors, after which the model must have hung. */
const EMBEDDING_TIMEOUT_MS = 600_000;

/** A collection that is stored in a temporary project. Hold it with `await using`. */
export class StoredCollection implements AsyncDisposable {
  readonly #project: TestProject;
  readonly #collection: Collection;
  /** The collection's IDs by the server's. */
  readonly #ids = new Map<string, string>();

  private constructor(project: TestProject, collection: Collection) {
    this.#project = project;
    this.#collection = collection;
  }

  static async create(collection: Collection): Promise<StoredCollection> {
    const stored = new StoredCollection(await createTestProject(), collection);
    await using tools = stored.#open(WORDS);
    for (const { id, content, category = 'technical', importance = 5 } of collection.memories) {
      const data = await call(tools, 'store', { content, category, importance, on_duplicate: 'allow' });
      stored.#ids.set(String(data['id']), id);
    }
    return stored;
  }

  /** Answers every question of the collection, in order. */
  async answer(system: System): Promise<Rankings[]> {
    await using tools = this.#open(system);
    if (system.embedder) await this.#embedded(tools, system.embedder.id);
    const rankings: Rankings[] = [];
    for (const { question } of this.#collection.questions) {
      rankings.push({ five: await this.#ranking(tools, question, 5), ten: await this.#ranking(tools, question, 10) });
    }
    return rankings;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#project[Symbol.asyncDispose]();
  }

  #open({ embedder, ranking }: System): InProcessToolProvider {
    const { projectDir } = this.#project;
    const server = createMemoryServer({ projectDir, embedder: embedder ?? 'off', ranking });
    return new InProcessToolProvider({ servers: [server] });
  }

  /** The distinct IDs. If documents are split into parts, the limit is higher, so that enough are left. */
  async #ranking(tools: InProcessToolProvider, query: string, count: number): Promise<string[]> {
    const isInParts = this.#ids.size > new Set(this.#ids.values()).size;
    const limit = isInParts ? MAX_LIMIT : count;
    const { results } = (await call(tools, 'retrieve', { query, limit, detail: 'compact' })) as {
      results: { memory: { id: string } }[];
    };
    return [...new Set(results.map(({ memory }) => this.#ids.get(memory.id)!))].slice(0, count);
  }

  /** Waits until every memory has a vector. A query starts the embedder; `stats` shows when it is done. */
  async #embedded(tools: InProcessToolProvider, embedder: string): Promise<void> {
    const deadline = performance.now() + EMBEDDING_TIMEOUT_MS;
    for (;;) {
      const { notice } = await call(tools, 'retrieve', { query: 'anything', limit: 1 });
      const { stores } = (await call(tools, 'stats', {})) as { stores: { vectors: Record<string, number> }[] };
      if ((stores[0]?.vectors[embedder] ?? 0) >= this.#ids.size) return;
      if (performance.now() > deadline)
        throw new Error(`No vectors after ${EMBEDDING_TIMEOUT_MS} ms: ${String(notice)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

async function call(
  tools: InProcessToolProvider,
  tool: string,
  args: Record<string, string | number>,
): Promise<Record<string, unknown>> {
  const result = await tools.callTool(`memory.${tool}`, args);
  if (result.error) throw new Error(`${tool}: ${result.error.code}: ${result.error.message}`);
  return result.structuredContent ?? {};
}
