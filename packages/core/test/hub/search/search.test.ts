// hub.search(): what is found, in which order, and what is not.

import { defineServer, defineTool, InProcessToolProvider, ToolHub, type HubOptions } from '@toolwright/core';
import { afterEach, describe, expect, it } from 'vitest';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Listed {
  name: string;
  /** Only views call it. */
  forViews?: boolean;
  title?: string;
  description?: string;
  args?: string[];
}

function hubWith(tools: Record<string, Listed[]>, options: HubOptions = {}) {
  const servers = Object.entries(tools).map(([name, own]) =>
    defineServer({ name, version: '1.0.0', tools: own.map(toolOf) }),
  );
  const hub = new ToolHub({ providers: [new InProcessToolProvider({ servers })], ...options });
  ends.push(() => hub.disconnect());
  return { hub, servers };
}

function toolOf({ name, title, description = 'Does it.', args = [], forViews }: Listed) {
  return defineTool({
    name,
    ...(title !== undefined && { title }),
    ...(forViews && { _meta: { ui: { visibility: ['app'] } } }),
    description,
    input: { type: 'object', properties: Object.fromEntries(args.map((arg) => [arg, {}])) },
    execute: () => 'done',
  });
}

const names = async (hub: ToolHub, query: string) => (await hub.search(query)).map(({ name }) => name);

describe('search()', () => {
  it('finds tools by words of the name, the title, the description and the arguments, however they are written', async () => {
    const { hub } = hubWith({
      a: [
        { name: 'createPullRequest' },
        { name: 'list-all_things' },
        { name: 'x', title: 'Rotate a picture' },
        { name: 'y', description: 'Sharpens pencils.' },
        { name: 'z', args: ['wavelengthNm'] },
      ],
    });
    expect((await names(hub, 'pull requests'))[0]).toBe('a.createPullRequest');
    expect((await names(hub, 'things'))[0]).toBe('a.list-all_things');
    expect((await names(hub, 'rotating images'))[0]).toBe('a.x');
    expect((await names(hub, 'pencil sharpening'))[0]).toBe('a.y');
    expect((await names(hub, 'wavelength'))[0]).toBe('a.z');
    expect(await names(hub, 'zebra')).toEqual([]);
  });

  it('returns the name, a score and the description, best first and at most limit', async () => {
    const { hub } = hubWith({
      a: [
        { name: 'other', description: 'May send an email, too.' },
        { name: 'send_email', description: 'Sends an email.' },
        { name: 'more', description: 'Email, in passing.' },
      ],
    });
    const found = await hub.search('send an email', { limit: 2 });
    expect(found).toEqual([
      { name: 'a.send_email', score: expect.any(Number), description: 'Sends an email.' },
      { name: 'a.other', score: expect.any(Number), description: 'May send an email, too.' },
    ]);
    expect(found[0]!.score).toBeGreaterThan(found[1]!.score);
  });

  it('finds words with a typo, the beginnings of words, and words in scripts without spaces', async () => {
    const { hub } = hubWith({
      a: [{ name: 'repository' }, { name: 'mongodb' }, { name: 'c', description: '查询天气预报' }],
    });
    expect(await names(hub, 'repositry')).toEqual(['a.repository']);
    expect(await names(hub, 'mongod')).toEqual(['a.mongodb']);
    expect(await names(hub, '天气')).toEqual(['a.c']);
  });

  it('selects by include and exclude', async () => {
    const { hub } = hubWith({ a: [{ name: 'send' }], b: [{ name: 'send' }] });
    expect(await hub.search('send', { include: ['b'] })).toMatchObject([{ name: 'b.send' }]);
    expect(await hub.search('send', { exclude: ['b.*'] })).toMatchObject([{ name: 'a.send' }]);
  });

  it('does not find what the policy hides, or what only views call', async () => {
    const { hub } = hubWith(
      { a: [{ name: 'send' }, { name: 'send_secretly' }, { name: 'send_view', forViews: true }] },
      { policy: { default: 'ask', rules: [{ tool: 'a.send_secretly', action: 'deny' }] } },
    );
    expect(await names(hub, 'send secretly')).toEqual(['a.send']);
  });

  it('finds a tool that was added, and no tool that was removed', async () => {
    const { hub, servers } = hubWith({ a: [{ name: 'send' }] });
    expect(await names(hub, 'translate')).toEqual([]);
    const changed = new Promise<void>((resolve) => void hub.onToolsChanged(resolve));
    servers[0]!.addTool(toolOf({ name: 'translate' }));
    servers[0]!.removeTool('send');
    await changed;
    expect(await names(hub, 'translate')).toEqual(['a.translate']);
    expect(await names(hub, 'send')).toEqual([]);
  });

  it('refuses unknown options, a wrong limit and an empty query', async () => {
    const { hub } = hubWith({ a: [{ name: 'send' }] });
    await expect(hub.search('send', { limits: 3 } as object)).rejects.toThrow('did you mean `limit`?');
    for (const limit of [0, 1.5, 101, NaN])
      await expect(hub.search('send', { limit })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(hub.search(' ')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(hub.search(undefined as unknown as string)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('rejects with CANCELLED when its signal is aborted', async () => {
    const { hub } = hubWith({ a: [{ name: 'send' }] });
    const abort = new AbortController();
    const search = hub.search('send', { signal: abort.signal });
    abort.abort();
    await expect(search).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await names(hub, 'send')).toEqual(['a.send']);
  });

  it('answers a long query and a text stuffed with words', async () => {
    const stuffed = 'send email message mail '.repeat(2_000);
    const { hub } = hubWith({
      a: [{ name: 'send_email', description: 'Sends an email.' }],
      b: [{ name: 'x', description: stuffed }],
    });
    expect((await names(hub, 'send an email'))[0]).toBe('a.send_email');
    expect((await names(hub, 'send an email '.repeat(10_000)))[0]).toBe('a.send_email');
  });
});
