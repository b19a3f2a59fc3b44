import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTools, type Tools } from '../memory-tools.js';

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

describe('store', () => {
  let empty: Tools;
  beforeAll(async () => {
    empty = await openTools();
  });
  afterAll(() => empty[Symbol.asyncDispose]());

  it('store reports what was stored in the format of earlier servers', async () => {
    await using tools = await openTools({ 'proj/package.json': '{"name":"@acme/shop"}' });
    const { text, data } = await tools.call('store', {
      content: '  Deploys need the VPN.  ',
      category: 'deployment',
      tags: ['vpn', ' deploy '],
      importance: 8,
    });
    expect(text).toMatch(
      new RegExp(
        `^✓ Memory stored successfully \\(project: @acme/shop\\)\nID: ${UUID}\nCategory: deployment\nImportance: 8\nTags: vpn, deploy$`,
      ),
    );
    expect(data).toMatchObject({ outcome: 'created', similar: [] });
    expect(data.memory).toMatchObject({
      id: data.id,
      content: 'Deploys need the VPN.',
      category: 'deployment',
      tags: ['vpn', 'deploy'],
      scope: 'project',
      importance: 8,
      rev: 1,
    });
    expect(Date.parse(data.memory.created)).toBeGreaterThan(Date.now() - 60_000);
    expect(JSON.stringify(data)).not.toContain('embedding');
  });

  it('store takes the name of the project from package.json, else from the git remote, else from the directory', async () => {
    const config =
      '[core]\n\tbare = false\n[remote "up"]\n\turl = x\n[remote "origin"]\n\turl = https://me:pw@host/acme/shop.git\n';
    for (const [files, name] of [
      [{ 'proj/package.json': '{"name":"pkg"}', 'proj/.git/config': config }, 'pkg'],
      [{ 'proj/package.json': 'no json', 'proj/.git/config': config }, 'shop'],
      [{}, 'proj'],
    ] as const) {
      await using tools = await openTools(files);
      expect((await tools.call('store', { content: 'x', category: 'bug' })).text).toContain(`(project: ${name})`);
    }
  });

  it('store reports global and nothing about the project when the scope is global', async () => {
    await using tools = await openTools();
    const { text, data } = await tools.call('store', { content: 'x', category: 'bug', scope: 'global' });
    expect(text.split('\n')[0]).toBe('✓ Memory stored successfully (global)');
    expect(data.memory.scope).toBe('global');
    expect(existsSync(tools.path('.mcp-memory'))).toBe(false);
  });

  it.each([
    ['', {}, 'Content is required and cannot be empty'],
    [' \n\t ', {}, 'Content is required and cannot be empty'],
    ['<private>all of it</private>', {}, 'Content is required and cannot be empty'],
    ['x'.repeat(32_001), {}, 'content'],
    ['x', { importance: 11 }, 'importance'],
    ['x', { importance: 0 }, 'importance'],
    ['x', { importance: 5.5 }, 'importance'],
    ['x', { category: 'poetry' }, 'category'],
    ['x', { scope: 'all' }, 'scope'],
    ['x', { tags: Array.from({ length: 21 }, String) }, 'tags'],
    ['x', { tags: ['t'.repeat(101)] }, 'tags'],
    ['x', { tags: 'one' }, 'tags'],
    ['x', { key: 'k'.repeat(201) }, 'key'],
    ['x', { documentation_path: 'nul \0' }, 'documentation_path'],
    ['x', { on_duplicate: 'skip' }, 'on_duplicate'],
  ])('store rejects %j with %j, naming %j, and creates nothing', async (content, more, named) => {
    const { code, text } = await empty.call('store', { content, category: 'bug', ...more });
    expect(code).toBe('INVALID_ARGUMENT');
    expect(text).toContain(named);
    expect(existsSync(empty.path('.mcp-memory'))).toBe(false);
  });

  it('store accepts a content of 32,000 characters', async () => {
    await using tools = await openTools();
    const id = await tools.store('word '.repeat(6_399) + 'ends.');
    expect((await tools.call('get', { ids: [id] })).data.memories[0].content).toHaveLength(32_000);
  });

  it('store merges the same content, replaces the same key, and stores duplicates when they are allowed', async () => {
    await using tools = await openTools();
    const id = await tools.store('Use pnpm here', { tags: ['a'] });
    const merged = await tools.call('store', {
      content: 'use PNPM  here',
      category: 'bug',
      tags: ['b'],
      importance: 9,
    });
    expect(merged.data).toMatchObject({ id, outcome: 'merged', memory: { tags: ['a', 'b'], importance: 9, rev: 2 } });
    expect(merged.text).toContain('Merged');
    const allowed = await tools.call('store', { content: 'Use pnpm here', category: 'bug', on_duplicate: 'allow' });
    expect(allowed.data).toMatchObject({ outcome: 'created', similar: [{ memory: { id }, similarity: 1 }] });
    const keyed = await tools.store('Port is 80', { key: 'port' });
    const updated = await tools.call('store', { content: 'Port is 81', category: 'bug', key: 'port' });
    expect(updated.data).toMatchObject({ id: keyed, outcome: 'updated', memory: { key: 'port', rev: 2 } });
  });
});

describe('store', () => {
  it('store drops text inside <private>', async () => {
    await using tools = await openTools();
    for (const [given, kept] of [
      ['a <private>b</private> c', 'a  c'],
      ['a <PRIVATE reason="x">b\n</Private > c', 'a  c'],
      ['a <private>b <private>c</private> d</private> e', 'a  e'],
      ['z <private>b c d', 'z'],
      ['a </private> b', 'a  b'],
      ['a <privateer> b', 'a <privateer> b'],
    ] as const) {
      const id = await tools.store(given, { on_duplicate: 'allow' });
      expect((await tools.call('get', { ids: [id] })).data.memories[0].content).toBe(kept);
    }
  });

  const SECRETS = [
    'ghp_0123456789abcdefABCDEF0123456789abcd',
    'AKIAIOSFODNN7EXAMPLE',
    'postgres://app:s3cretpass@db/x',
    'API_KEY=Zx9fK2mQ8rT5wV1y',
    'password: "hunter22canary"',
    '-----BEGIN RSA PRIVATE KEY-----\nMIIEcanary\n-----END RSA PRIVATE KEY-----',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.canarysig',
    'sk-proj-abcdefghijklmnopqrstuvwxyz012345',
  ];

  it('store redacts a likely secret, reports it, and writes no byte of it to the disk', async () => {
    await using tools = await openTools();
    for (const secret of SECRETS) {
      const { text, data } = await tools.call('store', { content: `Use ${secret} for it`, category: 'deployment' });
      expect(data.memory.content).toMatch(/\[redacted: /);
      expect(text).toContain('redacted');
    }
    await tools.provider.disconnect();
    const bytes = await readFile(tools.path('.mcp-memory/memory.db'), 'latin1');
    for (const secret of [
      'ghp_0123',
      'AKIAIOSF',
      's3cretpass',
      'Zx9fK2mQ',
      'hunter22canary',
      'MIIEcanary',
      'canarysig',
      'sk-proj-abc',
    ])
      expect(bytes).not.toContain(secret);
  });

  it("store rejects a likely secret when secrets is 'refuse', and in every field but content", async () => {
    await using tools = await openTools({}, { secrets: 'refuse' });
    for (const secret of SECRETS) {
      const { code, text } = await tools.call('store', { content: `Use ${secret}`, category: 'bug' });
      expect([code, text.includes('secret')], secret).toEqual(['INVALID_ARGUMENT', true]);
      expect(text).not.toContain(secret);
    }
    const [token] = SECRETS;
    for (const field of [{ tags: [token] }, { key: token }, { documentation_path: token }] as object[])
      expect((await tools.call('store', { content: 'x', category: 'bug', ...field })).text).toContain(
        Object.keys(field)[0],
      );
    expect(existsSync(tools.path('.mcp-memory'))).toBe(false);
  });

  it('store keeps text that only mentions secrets', async () => {
    await using tools = await openTools();
    for (const harmless of [
      'The password is in the vault under shop/db.',
      'token = process.env.API_TOKEN1 is read at start',
      'password: required, at least 12 characters',
      'secret: ${SECRET_1} comes from CI',
      'See https://example.com/a:b for the API key rotation',
      'commit 3f2a9b8c1d4e5f60718293a4b5c6d7e8f9012345 broke it',
    ]) {
      const { data } = await tools.call('store', { content: harmless, category: 'bug' });
      expect(data.memory.content).toBe(harmless);
    }
  });

  it('store answers quickly when a content is made to be slow to scan', async () => {
    await using tools = await openTools();
    const started = performance.now();
    for (const unit of ['a.', '<private', 'eyJ-', '-----BEGIN ', 'password: "', 'x://a:', '🙂', 'Ab', '漢'])
      await tools.store(unit.repeat(Math.floor(31_000 / unit.length)));
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});
