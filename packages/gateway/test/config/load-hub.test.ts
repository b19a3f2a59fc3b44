// A hub from a configuration: real provider processes and servers, what a saved file changes, and what it does not.

import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { InProcessToolProvider, textOf, type ToolError } from '@toolwright/core';
import { deferred } from '@toolwright/core/internal';
import { createTestProject, expectNoLeaks } from '@toolwright/core/testing';
import { createGateway } from '@toolwright/gateway';
import { followConfig, loadHub, parseConfig, readConfig, type LoadedHub } from '@toolwright/gateway/config';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleFixtures, type BundledFixtures } from '../../../runtime/test/bundle.js';
import { READ_ONLY_BUILTINS } from '../../src/config/shipped-rules.js';

const PYTHON = fileURLToPath(new URL('../../../runtime/contract/contract_provider.py', import.meta.url));
const SERVER = `
import { createInterface } from 'node:readline';
const inputSchema = { type: 'object', properties: { text: { type: 'string' }, a: { type: 'number' }, b: { type: 'number' } } };
const tools = ['echo', 'add', 'wait'].map((name) => ({ name, inputSchema }));
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const started = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'more', version: '1' } };
  const result = method === 'initialize' ? started : method === 'tools/list' ? { tools } : { content: [{ type: 'text', text: 'done' }] };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
}
`;
let fixtures: BundledFixtures;
beforeAll(async () => {
  fixtures = await bundleFixtures();
}, 60_000);
afterAll(() => fixtures[Symbol.asyncDispose]());

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

const load = (config: object, projectDir: string, options: object = {}): LoadedHub =>
  loadHub(parseConfig(JSON.stringify(config), `${projectDir}/toolwright.json`, { env: {} }), {
    logger: SILENT,
    ...options,
  });
const names = async ({ hub }: LoadedHub): Promise<string[]> => {
  await hub.connect();
  return (await hub.listTools()).map(({ name }) => name);
};

/** A provider file, and an MCP server. */
const lab = () => ({
  builtins: { bash: false, git: false, memory: false, diagnostics: false },
  providers: { contract: { path: fixtures.file('contract-provider') } },
  mcpServers: {
    more: { command: process.execPath, args: ['--input-type=module', '-e', SERVER], allowedTools: ['echo', 'ad*'] },
  },
  policy: { rules: [{ tool: 'contract.echo', action: 'allow' }] },
});

describe('loadHub()', () => {
  it('runs built-in servers, provider files and MCP servers, and lists only what is allowed of them', async () => {
    await using project = await createTestProject({ 'a.txt': 'A\n' });
    await using _ = expectNoLeaks();
    await using loaded = load(lab(), project.projectDir);
    const listed = await names(loaded);
    expect(listed).toContain('filesystem.read_file');
    expect(listed).toContain('contract.echo');
    expect(listed.filter((name) => name.startsWith('more.')).toSorted()).toEqual(['more.add', 'more.echo']);
    const { hub } = loaded;
    expect(textOf(await hub.callTool('filesystem.read_file', { path: 'a.txt' }))).toContain('A');
    expect((await hub.callTool('contract.echo', { text: 'x' })).structuredContent).toEqual({ text: 'x' });
    const codes = await Promise.all(
      [
        hub.callTool('filesystem.write_file', { path: 'b.txt', content: '' }),
        hub.callTool('more.echo', { text: 'x' }),
        hub.callTool('more.wait', { ms: 1 }),
      ].map(async (call) => (await call).error?.code),
    );
    expect(codes).toEqual(['APPROVAL_REQUIRED', 'APPROVAL_REQUIRED', 'PERMISSION_DENIED']);
    expect(await hub.explain('more.wait')).toMatchObject({ hidden: true, available: false });
  });

  it('allows exactly the built-in tools that say that they only read', async () => {
    await using project = await createTestProject({});
    await using builtins = InProcessToolProvider.forProject(project.projectDir, { agent: {} });
    const reading = (await builtins.listTools()).filter(({ annotations }) => annotations.readOnlyHint);
    expect(READ_ONLY_BUILTINS.toSorted()).toEqual(reading.map(({ name }) => name).toSorted());
  });

  it('makes claims of templates, and asks where an argument is missing', async () => {
    await using project = await createTestProject({});
    const server = { ...lab().mcpServers.more, claims: { echo: 'say {text}', add: ['{a}', '{c}'] } };
    const rules = [{ tool: 'more.echo', pattern: 'say hello*', action: 'allow' }];
    await using loaded = load({ builtins: false, mcpServers: { more: server }, policy: { rules } }, project.projectDir);
    await names(loaded);
    const { hub } = loaded;
    expect((await hub.callTool('more.echo', { text: 'hello you' })).isError).toBe(false);
    expect((await hub.callTool('more.echo', { text: 'bye' })).error?.code).toBe('APPROVAL_REQUIRED');
    const { claims } = await hub.prepareCall('more.add', { a: 1, b: 2 });
    expect(claims).toMatchObject([
      { pattern: '1', understood: true },
      { pattern: '{c}', understood: false },
    ]);
  });

  it('uses a profile: fewer servers, denied tools, another policy', async () => {
    await using project = await createTestProject({});
    const profiles = {
      review: { servers: ['more'], exclude: ['filesystem.write_*'], policy: { default: 'allow' } },
    };
    await using loaded = load({ ...lab(), profiles }, project.projectDir, { profile: 'review' });
    const listed = await names(loaded);
    expect(listed).not.toContain('contract.echo');
    expect(listed).not.toContain('filesystem.write_file');
    expect((await loaded.hub.callTool('more.echo', { text: 'x' })).isError).toBe(false);
    expect(() => load(lab(), project.projectDir, { profile: 'none' })).toThrow('it has: none');
  });

  it.each<[object, string]>([
    [{ providers: { 'a b': { path: 'x' } } }, 'name'],
    [{ builtins: { bash: { sandbx: 'auto' } } }, 'sandbox'],
    [{ providers: { a: { path: 'x' } }, mcpServers: { a: { command: 'x' } } }, 'Two providers'],
    [{ mcpServers: { a: { url: 'ftp://x' } } }, 'url'],
  ])('refuses %j', async (config, message) => {
    await using project = await createTestProject({});
    const thrown = await (async () => {
      await using loaded = load(config, project.projectDir);
      await loaded.hub.connect();
      return loaded.hub.status().find(({ error }) => error)?.error;
    })().catch((error: unknown) => error as ToolError);
    expect(thrown?.message).toContain(message);
  });
});

describe('apply()', () => {
  it('changes nothing when a provider has the prefix of another', async () => {
    await using project = await createTestProject({});
    const builtins = { bash: false, memory: false, diagnostics: false };
    const more = lab().mcpServers;
    const policy = { rules: [{ tool: 'git', action: 'deny' }] };
    await using loaded = load({ builtins, mcpServers: more, policy }, project.projectDir);
    const next = { builtins, mcpServers: { git: more.more }, policy: { default: 'allow' } };
    const source = parseConfig(JSON.stringify(next), `${project.projectDir}/toolwright.json`, { env: {} });
    await expect(loaded.apply(source)).rejects.toMatchObject({ code: 'NAME_CONFLICT' });
    expect(loaded.hub.status().map(({ name }) => name)).toEqual(['builtins', 'more']);
    expect((await loaded.hub.callTool('git.status')).error?.code).toBe('PERMISSION_DENIED');
  });

  it('changes nothing for an option that a built-in server refuses', async () => {
    await using project = await createTestProject({ 'a.txt': 'A' });
    const builtins = { bash: false, git: false, memory: false, diagnostics: false };
    await using loaded = load({ builtins }, project.projectDir);
    const next = { builtins: { ...builtins, filesystem: { foo: 1 } }, policy: { default: 'allow' } };
    const source = parseConfig(JSON.stringify(next), `${project.projectDir}/toolwright.json`, { env: {} });
    await expect(loaded.apply(source)).rejects.toThrow(/unknown option `foo`/);
    expect((await loaded.hub.callTool('filesystem.read_file', { path: 'a.txt' })).isError).toBe(false);
    expect((await loaded.hub.explain('filesystem.write_file')).policy?.action).toBe('ask');
  });
});

describe('followConfig()', () => {
  it('goes on when a callback throws, and refuses wrong options', async () => {
    await using project = await createTestProject({ 'toolwright.json': '{"builtins": false}' });
    const file = `${project.projectDir}/toolwright.json`;
    await using loaded = loadHub(await readConfig(file), { logger: SILENT });
    await expect(followConfig(loaded, file, { chekc: () => undefined } as object)).rejects.toThrow(/unknown option/);
    let outcome = deferred<string>();
    const warned = new Promise((resolve) => process.once('warning', resolve));
    await using _followed = await followConfig(loaded, file, {
      onApplied: () => {
        outcome.resolve('applied');
        throw new Error('of onApplied');
      },
      onRefused: () => {
        outcome.resolve('refused');
        throw new Error('of onRefused');
      },
    });
    for (const [text, expected] of [
      ['{', 'refused'],
      ['{"builtins": false, "trust": "trusted"}', 'applied'],
      ['{"builtins": false, "trust": "untrusted"}', 'applied'],
    ] as const) {
      outcome = deferred();
      await writeFile(file, text);
      expect(await outcome.promise).toBe(expected);
    }
    expect(String(await warned)).toContain('A callback of followConfig() threw: of onRefused');
  });

  it('adds, replaces and removes providers while a client of the gateway stays connected', async () => {
    await using project = await createTestProject({ 'toolwright.json': JSON.stringify(lab()) });
    const file = `${project.projectDir}/toolwright.json`;
    await using _ = expectNoLeaks();
    await using loaded = loadHub(await readConfig(file), { logger: SILENT });
    await using gateway = createGateway(loaded.hub);
    const { url, token } = await gateway.serveHttp();
    const client = new Client({ name: 'test', version: '1' });
    await using _client = { [Symbol.asyncDispose]: () => client.close() };
    let changed = deferred();
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed.resolve());
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    const listed = async (): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name);
    expect(await listed()).toContain('contract__echo');

    const outcomes: unknown[] = [];
    let outcome = deferred();
    await using _followed = await followConfig(loaded, file, {
      onApplied: (change) => (outcomes.push(change), outcome.resolve()),
      onRefused: ({ code, message }) => (outcomes.push([code, message]), outcome.resolve()),
    });
    const save = async (text: string): Promise<unknown> => {
      outcome = deferred();
      await writeFile(file, text);
      await outcome.promise;
      return outcomes.at(-1);
    };
    changed = deferred();
    const python = { path: PYTHON };
    const next = { ...lab(), providers: { contract: python }, mcpServers: {} };
    expect(await save(JSON.stringify(next))).toEqual({ added: [], removed: ['more'], replaced: ['contract'] });
    await changed.promise;
    expect((await listed()).some((name) => name.startsWith('more__'))).toBe(false);
    expect(await client.callTool({ name: 'contract__echo', arguments: { text: 'x' } })).toMatchObject({
      structuredContent: { text: 'x' },
    });

    expect(await save('{\n"providers": 5 }')).toEqual([
      'INVALID_ARGUMENT',
      `${file}:2: providers: expected an object, not 5.`,
    ]);
    expect(await listed()).toContain('contract__echo');

    const allowing = { ...next, policy: { default: 'allow' } };
    expect(await save(JSON.stringify(allowing))).toEqual({ added: [], removed: [], replaced: [] });
    expect((await client.callTool({ name: 'contract__add', arguments: { a: 1, b: 2 } })).isError).not.toBe(true);
  });

  it('changes nothing when a check refuses the file', async () => {
    await using project = await createTestProject({ 'toolwright.json': '{"builtins": false}' });
    const file = `${project.projectDir}/toolwright.json`;
    await using loaded = loadHub(await readConfig(file), { logger: SILENT });
    const refused = deferred<string>();
    await using _followed = await followConfig(loaded, file, {
      check: () => {
        throw new Error('not approved');
      },
      onRefused: ({ message }) => refused.resolve(message),
    });
    await writeFile(file, '{"builtins": {}}');
    expect(await refused.promise).toContain('not approved');
    expect(loaded.hub.status()).toEqual([]);
  });
});
