// The memory server as installed, offline: it finds memories by meaning, reports the mode, and follows the writes of other
// processes.

import { InProcessToolProvider } from '@toolwright/core';
import { createTestProject, type TestProject } from '@toolwright/core/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMemoryServer, type Embedder, type MemoryServerOptions } from '../../../../src/servers/memory/index.js';

interface Answer {
  mode: string;
  notice?: string;
  results: { memory: { content: string }; similarity: number; parts: Record<string, number>; why: string }[];
}

/** A tool's structured result, untyped as tests read single properties. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Structured = any;

let project: TestProject;
const providers: InProcessToolProvider[] = [];
beforeEach(async () => void (project = await createTestProject({})));
afterEach(async () => {
  for (const provider of providers.splice(0)) await provider.disconnect();
  await project[Symbol.asyncDispose]();
});

function server(options: Omit<MemoryServerOptions, 'projectDir'> = {}) {
  const provider = new InProcessToolProvider({
    servers: [createMemoryServer({ ...options, projectDir: project.projectDir })],
  });
  providers.push(provider);
  const call = async (tool: string, args: object): Promise<Structured> => {
    const { structuredContent, isError, content } = await provider.callTool(`memory.${tool}`, { ...args });
    if (isError) throw new Error(JSON.stringify(content));
    return structuredContent;
  };
  return {
    call,
    store: (content: string, more: object = {}) => call('store', { content, category: 'technical', ...more }),
    retrieve: (query: string, more: object = {}): Promise<Answer> => call('retrieve', { query, ...more }),
  };
}

const MEMORIES = [
  'the database uses snake case column names',
  'releases are deployed by tagging main',
  'passwords are hashed with argon2id',
  'CSS is written with tailwind utility classes',
  'rate limits are one hundred requests a minute for each token',
  'the nightly job that deletes expired sessions runs at three',
];
const contents = ({ results }: Answer): string[] => results.map(({ memory }) => memory.content);

/** Embeds texts by their first letter, so that a test determines which are near. */
function customEmbedder(more: Partial<Embedder> = {}): Embedder {
  const embed = (texts: readonly string[]) =>
    Promise.resolve(
      texts.map((text) => Float32Array.from({ length: 26 }, (_, i) => (text.charCodeAt(0) - 97 === i ? 1 : 0.01))),
    );
  return { id: 'letters', dim: 26, fusionWeight: 0.5, embed, ...more };
}

describe('retrieve by meaning', () => {
  it('retrieve finds a paraphrase without common words and without a download, in mode hybrid', async () => {
    const memory = server();
    for (const content of MEMORIES) await memory.store(content);
    const answer = await memory.retrieve('how do we ship to production', { limit: 1 });
    expect(contents(answer)).toEqual(['releases are deployed by tagging main']);
    expect(answer.mode).toBe('hybrid');
    expect(answer.notice).toBeUndefined();
    expect(answer.results[0]!.parts).toMatchObject({ words: 0, meaning: expect.any(Number) as number });
    expect(answer.results[0]!.why).toMatch(/^meaning 0\.\d+$/);
  });

  it('retrieve reports which words of the query a memory has, by their stems', async () => {
    const memory = server({ embedder: 'off' });
    await memory.store('releases are deployed by tagging main');
    const [found] = (await memory.retrieve('deploy a tagged release, nightly')).results;
    expect(found!.why).toBe('words deploy, tagged, release');
  });

  it('retrieve finds by words only when the embedder is off, and reports why', async () => {
    const memory = server({ embedder: 'off' });
    for (const content of MEMORIES) await memory.store(content);
    expect(await memory.retrieve('how do we ship goods')).toMatchObject({ mode: 'lexical', results: [] });
    const answer = await memory.retrieve('hashed passwords');
    expect(contents(answer)).toEqual([MEMORIES[2]]);
    expect(answer.mode).toBe('lexical');
    expect(answer.notice).toContain('the option embedder is "off"');
    expect(answer.results[0]!.parts).not.toHaveProperty('meaning');
  });

  it('retrieve reports why the built-in model is used when another one was configured', async () => {
    const memory = server({ modelPath: project.projectDir });
    await memory.store(MEMORIES[1]!);
    const { mode, notice } = await memory.retrieve('how do we ship');
    expect(mode).toBe('hybrid');
    expect(notice).toContain('contains no config.json');
  });

  it('retrieve searches by words when the model has no word of the query', async () => {
    const memory = server();
    await memory.store('the qzxv service listens on 4711');
    const answer = await memory.retrieve('4711');
    expect(contents(answer)).toHaveLength(1);
    expect(answer).toMatchObject({ mode: 'lexical', notice: expect.stringContaining('knows no word') as string });
  });

  it('retrieve returns only memories of the category and tags', async () => {
    const memory = server();
    await memory.store('releases are deployed by tagging main', { category: 'deployment', tags: ['CI'] });
    await memory.store('the shop is deployed by hand', { category: 'technical', tags: ['manual'] });
    const question = 'how do we ship to production';
    expect(contents(await memory.retrieve(question, { category: 'technical' }))).toEqual([
      'the shop is deployed by hand',
    ]);
    expect(contents(await memory.retrieve(question, { tags: ['ci'] }))).toEqual([
      'releases are deployed by tagging main',
    ]);
  });

  it('retrieve follows deletions and changes', async () => {
    const memory = server({ embedder: customEmbedder() });
    const { id } = await memory.store('apples');
    await memory.store('bananas');
    expect(contents(await memory.retrieve('a question', { limit: 1 }))).toEqual(['apples']);
    await memory.call('update', { memory_id: id, content: 'zebras' });
    expect(contents(await memory.retrieve('z question', { limit: 1 }))).toEqual(['zebras']);
    const near = await memory.retrieve('a question');
    expect(near.results.find((each) => each.memory.content === 'zebras')?.parts['meaning']).toBeLessThan(0.5);
    await memory.call('delete', { memory_id: id });
    expect(contents(await memory.retrieve('z question'))).toEqual(['bananas']);
    await memory.call('restore', { memory_id: id });
    expect(contents(await memory.retrieve('z question', { limit: 1 }))).toEqual(['zebras']);
  });

  it('retrieve sees what another process stored, changed and deleted', async () => {
    const [one, other] = [server(), server()];
    await one.store(MEMORIES[0]!);
    await one.retrieve('anything');
    const { id } = await other.store(MEMORIES[1]!);
    const question = 'how do we ship to production';
    expect(contents(await one.retrieve(question, { limit: 1 }))).toEqual([MEMORIES[1]]);
    await other.call('update', { memory_id: id, content: MEMORIES[2] });
    expect(contents(await one.retrieve('cryptography for credentials', { limit: 1 }))).toEqual([MEMORIES[2]]);
    await other.call('delete', { memory_id: id });
    expect(contents(await one.retrieve('columns of a table'))).toEqual([MEMORIES[0]]);
  });

  it('retrieve computes new vectors when the embedder changes', async () => {
    const before = server({ embedder: 'static' });
    for (const content of MEMORIES) await before.store(content);
    expect((await before.retrieve('how do we ship')).mode).toBe('hybrid');
    const after = server({ embedder: customEmbedder() });
    const answer = await after.retrieve('r', { limit: 2 });
    expect(answer.mode).toBe('hybrid');
    expect(contents(answer).sort()).toEqual([MEMORIES[4], MEMORIES[1]].sort());
    const { stores } = await after.call('stats', {});
    expect(stores[0].vectors).toMatchObject({ letters: MEMORIES.length });
  });

  it('store reports memories with nearly the same meaning', async () => {
    const memory = server({ embedder: customEmbedder() });
    await memory.store('apples');
    await memory.retrieve('a'); // opens the model
    const { similar } = await memory.store('avocado soup');
    expect(similar).toMatchObject([{ memory: { content: 'apples' }, similarity: 1 }]);
  });

  it('store reports memories with most of the same words when their longest words differ', async () => {
    const memory = server();
    const before = 'restart the payment workers after each release of the billing service';
    await memory.store(before);
    for (const content of MEMORIES) await memory.store(content);
    expect((await memory.retrieve('payments')).mode).toBe('hybrid');
    const { similar } = await memory.store(
      'restart the payment workers after each release of the reconciliation service',
    );
    expect(similar).toMatchObject([{ memory: { content: before } }]);
    expect(similar[0].similarity).toBeGreaterThanOrEqual(0.6);
    const again = await memory.store('restart the payment workers after each release of the subscriptions service');
    expect(again.similar).toHaveLength(2); // including the one just stored
    expect((await memory.retrieve('which workers do I restart', { limit: 3 })).mode).toBe('hybrid');
    expect((await memory.store('the canteen is closed on mondays')).similar).toEqual([]);
  });
});

describe('createMemoryServer() with a custom embedder', () => {
  it('calls it in the host thread, with documents and queries', async () => {
    const calls: string[] = [];
    const custom = customEmbedder();
    const embed: Embedder['embed'] = (texts, kind) => {
      calls.push(`${kind} ${texts.join(', ')}`);
      return custom.embed(texts, kind);
    };
    const memory = server({ embedder: { ...custom, embed } });
    await memory.store('apples');
    expect((await memory.retrieve('a question')).mode).toBe('hybrid');
    expect([...new Set(calls)].sort()).toEqual(['doc apples', 'query a question']);
  });

  it.each<[string, Partial<Embedder>, string]>([
    ['throws', { embed: () => Promise.reject(new Error('out of quota')) }, 'out of quota'],
    ['returns too few', { embed: () => Promise.resolve([]) }, 'returned 0 vectors for 1 texts'],
    [
      'returns another length',
      { embed: (texts) => Promise.resolve(texts.map(() => new Float32Array(3))) },
      '26 numbers, its dim',
    ],
    ['returns a value that is not a vector', { embed: () => Promise.resolve(['a' as never]) }, 'returned string'],
    ['returns a value that cannot be sent', { embed: () => Promise.resolve([(() => 1) as never]) }, 'cannot be sent'],
    [
      'returns NaN',
      { embed: (texts) => Promise.resolve(texts.map(() => new Float32Array(26).fill(NaN))) },
      'knows no word',
    ],
  ])('finds by words, with the reason, when it %s', async (_, more, reason) => {
    const memory = server({ embedder: customEmbedder(more) });
    await memory.store('apples are kept in the cellar');
    const answer = await memory.retrieve('where are apples kept');
    expect(contents(answer)).toEqual(['apples are kept in the cellar']);
    expect(answer.mode).toBe('lexical');
    expect(answer.notice).toContain(reason);
    expect(answer.notice).not.toMatch(/\.\.|embedder "letters".*embedder "letters"/);
  });

  it('calls it once at a time, and disposes of it at each disconnect', async () => {
    let [running, most, disposed] = [0, 0, 0];
    const custom = customEmbedder();
    const embed: Embedder['embed'] = async (texts, kind) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      return custom.embed(texts, kind);
    };
    const memory = server({ embedder: { ...custom, embed, dispose: () => void disposed++ } });
    await memory.store('apples');
    const calls = Array.from({ length: 10 }, (_, index) => [memory.store(`b ${index}`), memory.retrieve(`a ${index}`)]);
    await Promise.all(calls.flat());
    expect(most).toBe(1);
    await providers[0]?.disconnect();
    expect(disposed).toBe(1);
    await providers[0]?.connect();
    expect((await memory.retrieve('apples')).mode).toBe('hybrid');
    await Promise.all([providers[0]?.disconnect(), providers[0]?.disconnect()]);
    expect(disposed).toBe(2);
  });

  it('embeds the other texts when it rejects one, and reports that one is missing', async () => {
    const custom = customEmbedder();
    const embed: Embedder['embed'] = (texts, kind) =>
      texts.includes('poison') ? Promise.reject(new Error('refused')) : custom.embed(texts, kind);
    const words = server({ embedder: 'off' });
    for (const content of ['apples', 'poison', 'cherries', 'dates']) await words.store(content);
    const answer = await server({ embedder: { ...custom, embed } }).retrieve('c', { limit: 1 });
    expect(contents(answer)).toEqual(['cherries']);
    expect(answer).toMatchObject({
      mode: 'hybrid-partial',
      notice: expect.stringContaining('1 memories have no vector') as string,
    });
  });

  it.each([
    [{ id: '' }, 'embedder.id'],
    [{ dim: 0 }, 'embedder.dim'],
    [{ fusionWeight: 2 }, 'embedder.fusionWeight'],
    [{ maxTokens: 1 }, 'embedder.maxTokens'],
    [{ embed: 'x' as never }, 'embedder.embed'],
  ])('rejects an invalid embedder: %j', (more, named) => {
    expect(() => createMemoryServer({ projectDir: project.projectDir, embedder: customEmbedder(more) })).toThrow(named);
  });
});
