// The optional peer dependency. Tests that load a model need tools/peers installed, and are skipped otherwise.

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { embedTexts } from '../../../../src/servers/memory/embeddings/embedder.js';
import { openEmbedder } from '../../../../src/servers/memory/embeddings/open-embedder.js';
import { openTransformersEmbedder } from '../../../../src/servers/memory/embeddings/transformers-embedder.js';
import { cosine } from '../../../../src/servers/memory/embeddings/vector-index.js';
import { writeTinyBert } from './tiny-bert.js';

const peer = fileURLToPath(
  new URL(
    '../../../../../../tools/peers/node_modules/@huggingface/transformers/dist/transformers.node.mjs',
    import.meta.url,
  ),
);
const load = (): Promise<unknown> => import(pathToFileURL(peer).href);

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toolwright-minilm-'));
  await writeTinyBert(directory);
  await mkdir(join(directory, 'empty'));
});
afterAll(() => rm(directory, { recursive: true }));

describe.skipIf(!existsSync(peer))('openTransformersEmbedder() with the peer of tools/peers', () => {
  it('openTransformersEmbedder() loads a model from disk, which embeds texts as unit vectors', async () => {
    const embedder = await openTransformersEmbedder({ modelPath: directory, load });
    expect(embedder).toMatchObject({ dim: 64, fusionWeight: 0.5, maxTokens: 256 });
    const texts = ['deploy the release', 'deploy the release', 'banana', 'tag main', ''];
    const vectors = await embedTexts(embedder, texts, 'doc');
    expect(vectors[0]).toHaveLength(64);
    expect(cosine(vectors[0]!, vectors[0]!)).toBeCloseTo(1, 5);
    expect(cosine(vectors[0]!, vectors[1]!)).toBeCloseTo(1, 4);
    expect(cosine(vectors[0]!, vectors[2]!)).toBeLessThan(0.999);
    const [alone] = await embedTexts(embedder, ['banana'], 'query');
    expect(cosine(alone!, vectors[2]!)).toBeCloseTo(1, 3); // padding in a batch with longer texts changes nothing
    await embedder.dispose?.();
  });

  it('openTransformersEmbedder() reports why it fails when files are damaged, and "auto" uses the built-in model', async () => {
    const damaged = join(directory, 'damaged');
    await writeTinyBert(damaged);
    await writeFile(join(damaged, 'onnx/model.onnx'), 'no model');
    await expect(openTransformersEmbedder({ modelPath: damaged, load })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const { embedder, reason } = await openEmbedder({ modelPath: damaged, load });
    expect(embedder?.id).toMatch(/^static-en-/);
    expect(reason).toContain('could not be loaded');
  });

  it('openEmbedder() uses it for "auto" when the model is on disk', async () => {
    const { embedder, reason } = await openEmbedder({ modelPath: directory, load });
    expect(embedder?.id).toMatch(/^transformers:/);
    expect(reason).toBeUndefined();
    await embedder?.dispose?.();
  });
});

describe('openTransformersEmbedder()', () => {
  it('rejects without loading anything when the model is not on disk and downloads are not allowed', async () => {
    const loadFails = (): Promise<unknown> => Promise.reject(new Error('loaded'));
    for (const modelPath of [undefined, join(directory, 'empty')]) {
      await expect(openTransformersEmbedder({ modelPath, load: loadFails })).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringContaining('allowDownload is not set') as string,
      });
    }
  });

  it('explains what to install when the peer dependency is missing', async () => {
    const missing = (): Promise<unknown> => import(['a-package-that-is-not-there'].join());
    await expect(openTransformersEmbedder({ modelPath: directory, load: missing })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('npm install @huggingface/transformers') as string,
    });
  });

  it('rejects a relative modelPath', async () => {
    await expect(openTransformersEmbedder({ modelPath: 'models' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('openEmbedder()', () => {
  it('returns the built-in model and the reason when a better one cannot be opened', async () => {
    const { embedder, reason } = await openEmbedder({ modelPath: join(directory, 'empty') });
    expect(embedder?.id).toMatch(/^static-en-/);
    expect(reason).toContain('contains no config.json');
  });

  it('returns the built-in model without a reason by default', async () => {
    for (const options of [{}, { embedder: 'auto' }, { embedder: 'static' }] as const) {
      const { embedder, reason } = await openEmbedder(options);
      expect(embedder?.id).toMatch(/^static-en-/);
      expect(reason).toBeUndefined();
    }
  });

  it('returns none when it is off, and a custom embedder when one is passed', async () => {
    expect(await openEmbedder({ embedder: 'off' })).toEqual({ reason: 'the option embedder is "off"' });
    const custom = { id: 'custom', dim: 2, fusionWeight: 0.5, embed: () => Promise.resolve([]) };
    expect(await openEmbedder({ embedder: custom })).toEqual({ embedder: custom });
  });
});
