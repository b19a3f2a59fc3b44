// hub.explain(): where a tool is routed, what it costs, and why it is not listed. The policy's part is in policy/.

import {
  defineServer,
  defineTool,
  estimateTokens,
  InProcessToolProvider,
  ToolHub,
  type HubOptions,
  type Pins,
  type ToolProvider,
} from '@toolwright/core';
import { afterEach, describe, expect, it } from 'vitest';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function files(): InProcessToolProvider {
  const read = defineTool({
    name: 'read',
    description: 'Read a file.',
    input: { type: 'object', properties: { path: { type: 'string', description: 'The file.' } } },
    execute: () => 'text',
  });
  const view = defineTool({
    name: 'view',
    description: 'For a view.',
    _meta: { ui: { visibility: ['app'] } },
    execute: () => 'x',
  });
  return new InProcessToolProvider({
    name: 'disk',
    servers: [defineServer({ name: 'files', version: '1.0.0', tools: [read, view] })],
  });
}

async function hubOf(providers: HubOptions['providers'], options: HubOptions = {}): Promise<ToolHub> {
  const hub = new ToolHub({ providers: providers ?? [], ...options });
  ends.push(() => hub.disconnect());
  await hub.connect();
  return hub;
}

/** Lists one tool of another process, with a description that can be changed. */
class Foreign implements ToolProvider {
  readonly name = 'foreign';
  readonly kind = 'other';
  readonly servers = ['notes'];
  description = 'Echo.';
  readonly #listeners = new Set<() => void>();
  isDown = false;
  connect = async () => {
    if (this.isDown) throw new Error('no route to host');
  };
  listTools = async () => [
    {
      name: 'notes.echo',
      description: this.description,
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
  ];
  callTool = async () => ({ content: [], isError: false, directives: [], durationMs: 0 });
  disconnect = async () => undefined;
  [Symbol.asyncDispose] = async () => undefined;
  onToolsChanged(listener: () => void) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  change(description: string) {
    this.description = description;
    for (const listener of this.#listeners) listener();
  }
}

describe('explain()', () => {
  it('reports the route through nested hubs, the alias, the state and the tokens', async () => {
    const inner = await hubOf([files()], { name: 'inner' });
    const outer = await hubOf([inner]);
    expect(await inner.explain('files.read')).toMatchObject({
      name: 'files.read',
      provider: 'disk',
      state: 'READY',
      alias: 'files__read',
      available: true,
      tokenEstimate: estimateTokens((await inner.listTools()).slice(0, 1)),
    });
    expect((await inner.explain('files.read')).route).toBeUndefined();
    expect(await outer.explain('files.read')).toMatchObject({ provider: 'inner', route: ['inner', 'disk'] });
    expect(await (await hubOf([outer])).explain('files.read')).toMatchObject({
      route: [outer.name, 'inner', 'disk'],
    });
  });

  it('says that a tool is for views only, and costs a model nothing', async () => {
    const hub = await hubOf([files()]);
    const explanation = await hub.explain('files.view');
    expect(explanation).toMatchObject({ viewsOnly: true, available: true });
    expect(explanation.tokenEstimate).toBeUndefined();
  });

  it('says whether a tool of a pinned provider is approved', async () => {
    let saved: Pins = {};
    const pins = { load: async () => saved, save: async (all: Pins) => void (saved = all) };
    const provider = new Foreign();
    const hub = await hubOf([{ provider, pinned: true }], { pins });
    expect(await hub.explain('notes.echo')).toMatchObject({ pin: 'approved', available: true });
    const changed = new Promise<void>((resolve) => void hub.onToolsChanged(resolve));
    provider.change('Echo\u200b.');
    await changed;
    expect(await hub.explain('notes.echo')).toMatchObject({
      pin: 'quarantined',
      hidden: true,
      available: false,
      error: { code: 'PERMISSION_DENIED' },
    });
    expect((await hub.explain('notes.echo')).tokenEstimate).toBeUndefined();
    const outer = await hubOf([hub]);
    const listed = new Promise<void>((resolve) => void outer.onToolsChanged(resolve));
    await hub.approvePins('foreign');
    await listed;
    expect(await outer.explain('notes.echo')).toMatchObject({ pin: 'approved' });
  });

  it('names the provider that is down, and what is known of the tool', async () => {
    const provider = new Foreign();
    provider.isDown = true;
    const hub = await hubOf([provider]);
    expect(await hub.explain('notes.echo')).toMatchObject({
      name: 'notes.echo',
      provider: 'foreign',
      state: 'DEAD',
      available: false,
      reason: expect.stringContaining('no route to host'),
    });
  });
});

describe('estimateTokens()', () => {
  it('counts names, descriptions and arguments, not outputs', () => {
    const tool = { name: 'a.b', description: 'Does it.', inputSchema: { type: 'object' } };
    const text = '{"name":"a__b","description":"Does it.","parameters":{"type":"object"}}';
    expect(estimateTokens([tool])).toBe(Math.ceil(text.length / 4.3));
    expect(estimateTokens([{ ...tool, outputSchema: { type: 'object' } } as typeof tool])).toBe(estimateTokens([tool]));
    expect(estimateTokens([])).toBe(0);
  });

  it('refuses what is not a list of tools', () => {
    for (const wrong of [{}, [{}], [null]])
      expect(() => estimateTokens(wrong as never)).toThrow('await hub.listTools()');
  });
});
