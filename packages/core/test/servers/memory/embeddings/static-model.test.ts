// A small check that the built-in model works: it ranks memories for questions without common words. eval/memory measures its
// quality, on questions that were not used to build it.

import { describe, expect, it, onTestFinished } from 'vitest';
import { copyFile, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { embedTexts, type Embedder } from '../../../../src/servers/memory/embeddings/embedder.js';
import { openStaticModel } from '../../../../src/servers/memory/embeddings/static-model.js';
import { wordPlaces } from '../../../../src/servers/memory/embeddings/static-words.js';
import { cosine } from '../../../../src/servers/memory/embeddings/vector-index.js';

const MODEL = new URL('../../../../models/static-en.bin', import.meta.url);
const MEMORIES = [
  'releases are deployed by tagging main',
  'the database uses snake case column names',
  'the payment webhook may arrive twice, handlers are idempotent',
  'unit tests must not touch the network',
  'rate limits are one hundred requests a minute for each token',
  'backups of the production database are restored into a test instance each month',
  'passwords are hashed with argon2id',
  'pull requests need two approvals and a green build',
  'the nightly job that deletes expired sessions runs at three',
  'CSS is written with tailwind utility classes, no custom stylesheets',
  'translations come from crowdin and are committed by a bot',
  'use pnpm, not npm, in the frontend folder',
];
const QUESTIONS: readonly [question: string, memory: number][] = [
  ['how do we ship to production', 0],
  ['naming convention for SQL tables', 1],
  ['duplicate notifications from stripe', 2],
  ['throttling of API consumers', 4],
  ['do we verify that snapshots can be recovered', 5],
  ['what is required before merging', 7],
  ['when does the cleanup of old logins happen', 8],
  ['how do we style components', 9],
  ['where do localized strings come from', 10],
  ['which package manager for the web client', 11],
];

/** Opens the model and closes it after the test. */
async function opened(): Promise<Embedder> {
  const model = await openStaticModel();
  onTestFinished(() => model.dispose?.());
  return model;
}

describe('openStaticModel()', () => {
  it('returns an embedder of 384 dimensions that gives equal texts equal vectors', async () => {
    const model = await opened();
    const [a, b, other] = await embedTexts(model, ['tag a release', 'tag a release', 'a green banana'], 'doc');
    expect(model).toMatchObject({ dim: 384, id: expect.stringMatching(/^static-en-[0-9a-f]{8}$/) as string });
    expect(a).toHaveLength(384);
    expect(a).toEqual(b);
    expect(cosine(a!, other!)).toBeLessThan(0.5);
  });

  it('returns an embedder that ranks memories for questions without common words', async () => {
    const model = await opened();
    const memories = await embedTexts(model, MEMORIES, 'doc');
    const questions = await embedTexts(
      model,
      QUESTIONS.map(([question]) => question),
      'query',
    );
    const places = QUESTIONS.map(([, wanted], i) => {
      const near = memories.map((memory) => cosine(questions[i]!, memory!));
      return near.filter((similarity) => similarity > near[wanted]!).length;
    });
    expect(places[0]).toBe(0); // the example of the README
    expect(places.filter((place) => place < 3).length).toBeGreaterThanOrEqual(8);
  });

  it('returns an embedder that returns no vector when a text has no known words', async () => {
    expect(await embedTexts(await opened(), ['', '12 34', '漢字', 'qzxv'], 'doc')).toEqual(Array(4).fill(undefined));
  });

  it('caches what was used, and reports why it fails when the file was truncated or closed', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'toolwright-model-'));
    try {
      const file = join(directory, 'model.bin');
      await copyFile(MODEL, file);
      const model = await openStaticModel(file);
      const before = await embedTexts(model, ['tag a release'], 'doc');
      await truncate(file, 1_000_000);
      expect(await embedTexts(model, ['tag a release'], 'doc')).toEqual(before);
      await expect(embedTexts(model, MEMORIES, 'doc')).rejects.toThrow('truncated');
      await model.dispose?.();
      await expect(embedTexts(model, MEMORIES, 'doc')).rejects.toThrow('closed');
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('rejects with what to do when the file is damaged', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'toolwright-model-'));
    try {
      const bytes = await readFile(MODEL);
      for (const [name, part] of [
        ['short', bytes.subarray(0, 5_000_000)],
        ['empty', Buffer.alloc(0)],
        ['head', bytes.subarray(0, 20)],
      ] as const) {
        await writeFile(join(directory, name), part);
        await expect(openStaticModel(join(directory, name))).rejects.toMatchObject({
          code: 'OUTPUT_INVALID',
          message: expect.stringContaining('Install the package again') as string,
        });
      }
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

describe('wordPlaces()', () => {
  const words = [
    'deploy',
    'config',
    'kube',
    'http',
    'response',
    'parse',
    'k8s',
    'stop',
    'use',
    'query',
    'naive',
    'oauth2',
  ];
  const places = new Map(words.map((word, place) => [word, place]));
  const found = (text: string): string[] => wordPlaces(text, places).map((place) => words[place]!);

  it.each([
    ['Deploy, then deploy!', ['deploy', 'deploy']],
    ['parseHTTPResponse2', ['parse', 'http', 'response']],
    ['http_response parse-config', ['http', 'response', 'parse', 'config']],
    ['deployed deploying deploys deployer', ['deploy', 'deploy', 'deploy', 'deploy']],
    ['stopped parsing queries', ['stop', 'parse', 'query']],
    ['kubeconfig KUBECONFIG', ['kube', 'config', 'kube', 'config']],
    ['k8s OAuth2', ['k8s', 'oauth2']],
    ['naïve', ['naive']],
    ['a1b2c3d4e5 12345 zzz', []],
  ])('finds in %j the words %j', (text, expected) => expect(found(text)).toEqual(expected));

  it('takes linear time', () => {
    expect(found(`${'kube'.repeat(100_000)} ${'a'.repeat(1_000_000)} deploy`)).toEqual(['deploy']);
  });
});
