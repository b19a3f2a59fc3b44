// Pins: a hub runs a tool of a pinned provider only as it was approved.

import { describe, expect, it } from 'vitest';
import { defineServer, defineTool, InProcessToolProvider, ToolHub } from '../../src/index.js';
import { MCPToolProvider } from '../../src/mcp/index.js';
import type { Pins, PinStore, ToolDefinition, ToolProvider } from '../../src/index.js';

/** A provider whose tools and source can be changed, as those of a foreign server. */
function foreign(): ToolProvider & {
  describe(name: string, text: string): void;
  drop(name: string): void;
  sourceHash: string;
} {
  const texts = new Map([
    ['read', 'Reads a file.'],
    ['write', 'Writes a file.'],
  ]);
  const listeners = new Set<() => void>();
  const changed = (): void => listeners.forEach((listener) => listener());
  return {
    name: 'files',
    kind: 'mcp',
    servers: ['files'],
    sourceHash: 'one',
    connect: () => Promise.resolve(),
    listTools: () =>
      Promise.resolve(
        [...texts].map(([name, description]): ToolDefinition => ({
          name: `files.${name}`,
          description,
          inputSchema: { type: 'object' },
          annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
        })),
      ),
    callTool: (name) =>
      Promise.resolve({
        content: [{ type: 'text', text: `ran ${name}` }],
        isError: false,
        directives: [],
        durationMs: 0,
      }),
    disconnect: () => Promise.resolve(),
    onToolsChanged: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
    describe(name, text) {
      texts.set(name, text);
      changed();
    },
    drop(name) {
      texts.delete(name);
      changed();
    },
  };
}

const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** A store in memory. */
function storeOf(firstUse?: PinStore['firstUse']): PinStore & { pins: Pins | undefined } {
  const store = {
    pins: undefined as Pins | undefined,
    load: () => store.pins,
    save: (pins: Pins) => void (store.pins = JSON.parse(JSON.stringify(pins)) as Pins),
    ...(firstUse && { firstUse }),
  };
  return store;
}

const changeOf = (hub: ToolHub): Promise<void> =>
  new Promise((resolve) => {
    const unsubscribe = hub.onToolsChanged(() => {
      unsubscribe();
      resolve();
    });
  });
const namesOf = async (hub: ToolHub): Promise<string[]> => (await hub.listTools()).map(({ name }) => name);

describe('ToolHub with a pinned provider', () => {
  it('has the tools that it lists first, by default', async () => {
    const pins = storeOf();
    await using hub = new ToolHub({ providers: [{ provider: foreign(), pinned: true }], pins });
    expect(await namesOf(hub)).toEqual(['files.read', 'files.write']);
    expect(Object.keys(pins.pins?.files?.tools ?? {})).toEqual(['files.read', 'files.write']);
    expect((await hub.callTool('files.read')).isError).toBe(false);
  });

  it('loses a tool whose description changes by one invisible character, with the difference; the others work', async () => {
    const provider = foreign();
    await using hub = new ToolHub({ providers: [{ provider, pinned: true }], pins: storeOf() });
    await hub.connect();
    const changed = changeOf(hub);
    provider.describe('read', 'Reads a file.\u200b');
    await changed;
    expect(await namesOf(hub)).toEqual(['files.write']);
    const result = await hub.callTool('files.read');
    expect(result.error?.code).toBe('PERMISSION_DENIED');
    expect(result.error?.message).toContain(String.raw`description: "Reads a file." → "Reads a file.\u{200b}"`);
    expect((await hub.callTool('files__read')).error?.code).toBe('PERMISSION_DENIED');
    expect((await hub.prepareCall('files.read', {})).refused?.error?.code).toBe('PERMISSION_DENIED');
    expect((await hub.explain('files.read')).reason).toContain('quarantined');
    expect((await hub.explain('files.read')).available).toBe(false);
    expect(hub.status()[0]?.quarantined).toMatchObject([{ name: 'files.read', reason: 'changed' }]);
    expect((await hub.callTool('files.write')).isError).toBe(false);
  });

  it('approves by a bare name the tool of that name, not one that ends with it', async () => {
    const provider = foreign();
    provider.drop('read');
    provider.describe('other.read', 'Reads something else.');
    provider.describe('read', 'Reads a file.');
    await using hub = new ToolHub({ providers: [{ provider, pinned: true }], pins: storeOf('quarantine') });
    await hub.connect();
    await hub.approvePins('files', ['read']);
    expect(await namesOf(hub)).toEqual(['files.read']);
    await hub.approvePins('files', ['other.read']);
    expect(await namesOf(hub)).toEqual(['files.other.read', 'files.read']);
  });

  it('refuses to approve a bare name that several of its servers have', async () => {
    const tool = (name: string): ToolDefinition =>
      ({ name, description: '', inputSchema: { type: 'object' } }) as never;
    const provider: ToolProvider = {
      ...foreign(),
      servers: ['files', 'mail'],
      listTools: () => Promise.resolve([tool('files.read'), tool('mail.read')]),
    };
    await using hub = new ToolHub({ providers: [{ provider, pinned: true }], pins: storeOf('quarantine') });
    await hub.connect();
    await expect(hub.approvePins('files', ['read'])).rejects.toThrow('approve files.read or mail.read');
    expect(await namesOf(hub)).toEqual([]);
  });

  it('runs the approved tool of a provider that prepares calls and leaves hints out', async () => {
    const tool = { name: 'files.read', description: 'Reads.', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }; // prettier-ignore
    const provider = foreign();
    provider.listTools = () => Promise.resolve([tool as unknown as ToolDefinition]);
    provider.prepareCall = (name, args) =>
      Promise.resolve({
        tool: { ...tool } as unknown as ToolDefinition,
        args,
        claims: [{ pattern: 'read', match: 'glob', understood: true }],
        execute: (options) => provider.callTool(name, args, options),
      });
    await using hub = new ToolHub({ providers: [{ provider, pinned: true }], pins: storeOf() });
    await hub.connect();
    expect((await hub.callTool('files.read')).error).toBeUndefined();
    tool.description = 'Reads all.';
    expect((await hub.callTool('files.read')).error?.message).toContain('"Reads." → "Reads all."');
  });

  it('has its tool again when the approved definition returns, or the new one is approved', async () => {
    const provider = foreign();
    const pins = storeOf();
    await using hub = new ToolHub({ providers: [{ provider, pinned: true }], pins });
    await hub.connect();
    for (const text of ['Reads two files.', 'Reads a file.']) {
      const changed = changeOf(hub);
      provider.describe('read', text);
      await changed;
    }
    expect(await namesOf(hub)).toHaveLength(2);
    const changed = changeOf(hub);
    provider.describe('read', 'Reads three files.');
    await changed;
    const approved = changeOf(hub);
    await hub.approvePins('files', hub.status()[0]?.quarantined);
    await approved;
    expect(await namesOf(hub)).toHaveLength(2);
    expect(hub.status()[0]?.quarantined).toBeUndefined();
    expect(pins.pins?.files?.tools['files.read']?.definition.description).toBe('Reads three files.');
  });

  it('approves no definition that came after the one that was shown', async () => {
    const provider = foreign();
    await using hub = new ToolHub({ providers: [{ provider, pinned: true }], pins: storeOf() });
    await hub.connect();
    const changed = changeOf(hub);
    provider.describe('read', 'Reads two files.');
    await changed;
    const shown = hub.status()[0]?.quarantined;
    provider.describe('read', 'Reads and sends files.');
    await hub.listTools();
    await expect.poll(() => hub.status()[0]?.quarantined?.[0]?.difference).toContain('sends');
    await expect(hub.approvePins('files', shown)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(await namesOf(hub)).toEqual(['files.write']);
  });

  it('quarantines a tool that appears later, and every tool when the first use is not trusted', async () => {
    const provider = foreign();
    await using hub = new ToolHub({ providers: [{ provider, pinned: true }], pins: storeOf('quarantine') });
    expect(await namesOf(hub)).toEqual([]);
    expect(hub.status()[0]?.quarantined?.map(({ reason }) => reason)).toEqual(['new', 'new']);
    await hub.approvePins('files', ['files.read']);
    expect(await namesOf(hub)).toEqual(['files.read']);
    await hub.approvePins('files');
    expect(await namesOf(hub)).toHaveLength(2);
    const changed = expect.poll(() => hub.status()[0]?.quarantined?.length).toBe(1);
    provider.describe('send', 'Sends a file.');
    await changed;
    expect(await namesOf(hub)).toHaveLength(2);
  });

  it('is not started when its command changed, until it is approved', async () => {
    const pins = storeOf();
    {
      await using hub = new ToolHub({ providers: [{ provider: foreign(), pinned: true }], pins });
      await hub.connect();
    }
    const provider = foreign();
    provider.sourceHash = 'two';
    let connects = 0;
    provider.connect = () => Promise.resolve(void connects++);
    await using hub = new ToolHub({ providers: [{ provider, pinned: true }], pins, logger: SILENT });
    await hub.connect();
    expect(connects).toBe(0);
    expect(hub.status()[0]).toMatchObject({ state: 'DEAD', error: { code: 'PERMISSION_DENIED' } });
    expect((await hub.callTool('files.read')).error?.code).toBe('PERMISSION_DENIED');
    await hub.approvePins('files', []);
    expect(connects).toBe(0);
    await hub.approvePins('files');
    expect(connects).toBe(1);
    expect(await namesOf(hub)).toHaveLength(2);
  });

  it('does not connect while the pins cannot be loaded', async () => {
    const pins: PinStore = { load: () => Promise.reject(new Error('disk')), save: () => undefined };

    await using hub = new ToolHub({ providers: [{ provider: foreign(), pinned: true }], pins, logger: SILENT });
    expect(await namesOf(hub)).toEqual([]);
    expect(hub.status()[0]?.error?.message).toContain('The pins could not be loaded: disk');
  });

  it('is refused by a hub without pins', () => {
    expect(() => new ToolHub({ providers: [{ provider: foreign(), pinned: true }] })).toThrow(
      /pinned requires the option pins/,
    );
  });

  it('has a source that depends on command and arguments, or URL, and not on credentials', () => {
    const of = (options: object): string | undefined =>
      new MCPToolProvider({ name: 'x', ...options } as ConstructorParameters<typeof MCPToolProvider>[0]).sourceHash;
    const base = of({ command: 'a', args: ['b'], env: { TOKEN: 'one' } });
    expect(of({ command: 'a', args: ['b'], env: { TOKEN: 'two' } })).toBe(base);
    expect(of({ command: 'a', args: ['b', 'c'] })).not.toBe(base);
    expect(of({ url: 'https://a.test/mcp', headers: { authorization: 'one' } })).toBe(
      of({ url: 'https://a.test/mcp' }),
    );
    expect(of({ url: 'https://a.test/mcp' })).not.toBe(of({ url: 'https://b.test/mcp' }));
  });
});

describe('ToolHub.listTools() descriptions of foreign tools', () => {
  it('removes invisible characters from the texts of unknown keywords too, and keeps names and values', async () => {
    const provider = foreign();
    const a = { 'x-note': 'a\u{e0041}', errorMessage: { type: 'b\u200b' }, enum: ['c\u200b'], pattern: 'd\u200b' };
    const inputSchema = { type: 'object', properties: { a, 'e\u200b': {} }, dependentRequired: { a: ['e\u200b'] } };
    provider.listTools = () =>
      Promise.resolve([{ name: 'files.read', description: '', inputSchema } as unknown as ToolDefinition]);
    await using hub = new ToolHub({ providers: [provider] });
    expect((await hub.listTools())[0]?.inputSchema).toEqual({
      ...inputSchema,
      properties: { a: { ...a, 'x-note': 'a', errorMessage: { type: 'b' } }, 'e\u200b': {} },
    });
  });

  it('removes invisible characters and cuts at 4,096 characters, and still calls the tools', async () => {
    const provider = foreign();
    provider.describe('read', `Reads\u202e a file.${'x'.repeat(10_000)}`);
    await using hub = new ToolHub({ providers: [provider] });
    const [read, write] = await hub.listTools();
    expect(read?.description).toHaveLength(4_096);
    expect(read?.description).toMatch(/^Reads a file\.x+ \[…\d+ more characters\]$/);
    expect(write?.description).toBe('Writes a file.');
    expect((await hub.callTool('files.read')).isError).toBe(false);
    expect((await hub.prepareCall('files.read', {})).tool.description).toBe(read?.description);
  });

  it('cleans descriptions in schemas too, but not names, defaults and values', async () => {
    const provider = foreign();
    const inputSchema = {
      type: 'object',
      properties: {
        'description\u200b': { description: 'a\u200bb', enum: ['x\u200b'], default: 'x\u200b' },
        description: { type: 'string', title: 'c\u200bd' },
      },
    };
    const listTools = provider.listTools.bind(provider);
    provider.listTools = async () => (await listTools()).map((tool) => ({ ...tool, inputSchema }));
    await using hub = new ToolHub({ providers: [provider] });
    expect((await hub.listTools())[0]?.inputSchema).toEqual({
      type: 'object',
      properties: {
        'description\u200b': { description: 'ab', enum: ['x\u200b'], default: 'x\u200b' },
        description: { type: 'string', title: 'cd' },
      },
    });
  });

  it('returns descriptions of tools in this process unchanged', async () => {
    const description = `a\u200b${'x'.repeat(5_000)}`;
    const server = defineServer({
      name: 'own',
      version: '1.0.0',
      tools: [defineTool({ name: 'one', description, execute: () => 'one' })],
    });
    await using hub = new ToolHub({ providers: [new InProcessToolProvider({ servers: [server] })] });
    expect((await hub.listTools())[0]?.description).toBe(description);
  });
});
