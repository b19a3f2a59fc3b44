import { readdir, readFile, stat } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createMemoryServer } from '../../../src/servers/memory/index.js';
import { contentsOf, openTools, type Tools } from './memory-tools.js';

const all = async (tools: Tools): Promise<string[]> => contentsOf(await tools.call('list', { limit: 200 })).sort();

describe('createMemoryServer()', () => {
  it('creates nothing by reading, and private files by writing', async () => {
    await using tools = await openTools();
    for (const tool of ['list', 'stats', 'export'] as const) expect((await tools.call(tool)).code).toBeUndefined();
    expect((await tools.call('retrieve', { query: 'x' })).data.results).toEqual([]);
    expect((await tools.call('delete', { memory_id: 'x' })).code).toBe('NOT_FOUND');
    expect(await readdir(tools.projectDir)).toEqual(['.keep']);
    expect(await readdir(tools.world.resolve('home'))).toEqual(['.keep']);
    await tools.store('x');
    await tools.store('x', { scope: 'global' });
    for (const directory of [tools.path('.mcp-memory'), tools.world.resolve('home/.mcp-memory')]) {
      expect((await stat(directory)).mode & 0o777).toBe(0o700);
      for (const name of await readdir(directory))
        expect((await stat(`${directory}/${name}`)).mode & 0o777, name).toBe(0o600);
      expect(await readFile(`${directory}/.gitignore`, 'utf8')).toBe('*\n');
    }
  });

  it("prefixes the five tools of earlier servers when names is 'memcp'", async () => {
    await using tools = await openTools({}, { names: 'memcp' });
    const names = (await tools.provider.listTools()).map(({ name }) => name.replace('memory.', ''));
    expect(names).toEqual(
      expect.arrayContaining([
        'memcp_store',
        'memcp_retrieve',
        'memcp_list',
        'memcp_update',
        'memcp_delete',
        'get',
        'stats',
      ]),
    );
    expect(names).toHaveLength(12);
    expect((await tools.call('memcp_store', { content: 'x', category: 'bug' })).text).toContain('✓ Memory stored');
  });

  it('sets all four annotations, readOnlyHint for the tools that only read', async () => {
    await using tools = await openTools();
    const definitions = await tools.provider.listTools();
    for (const { annotations } of definitions) expect(annotations.openWorldHint).toBe(false);
    expect(definitions.filter(({ annotations }) => annotations.readOnlyHint).map(({ name }) => name)).toEqual(
      ['retrieve', 'list', 'get', 'history', 'stats', 'bank_fetch'].map((name) => `memory.${name}`),
    );
  });

  it('accepts only the categories of the options', async () => {
    await using tools = await openTools({}, { categories: ['lore', 'law'] });
    expect((await tools.call('store', { content: 'x', category: 'lore' })).code).toBeUndefined();
    expect((await tools.call('store', { content: 'x', category: 'bug' })).text).toContain('category');
  });

  it.each([
    [{ globalDir: 'relative' }, 'globalDir'],
    [{ globalDir: '~/.mcp-memory' }, 'globalDir'],
    [{ categories: [] }, 'categories'],
    [{ categories: [''] }, 'categories'],
    [{ names: 'other' as 'memory' }, 'names'],
    [{ durability: 'none' as 'full' }, 'durability'],
    [{ secrets: 'keep' as 'redact' }, 'secrets'],
    [{ ranking: 'best' as 'seed' }, 'ranking'],
    [{ output: { maxLines: 0 } }, 'output'],
  ])('rejects the option %j, naming it', async (options, named) => {
    await using tools = await openTools();
    expect(() => createMemoryServer({ projectDir: tools.projectDir, ...options })).toThrow(named);
    const inProject = { globalDir: `${tools.projectDir}/.mcp-memory` };
    expect(() => createMemoryServer({ projectDir: tools.projectDir, ...inProject })).toThrow('globalDir');
  });

  it('claims action and scope, and the file that a call reads or writes', async () => {
    await using tools = await openTools();
    const id = await tools.store('x', { scope: 'global' });
    const claimsOf = async (tool: string, args: Record<string, unknown>): Promise<string[]> => {
      const prepared = await tools.provider.prepareCall(`memory.${tool}`, args);
      return prepared.claims.map(({ pattern, understood }) => (understood ? pattern : '?'));
    };
    expect(await claimsOf('store', { content: 'x', category: 'bug' })).toEqual(['store project']);
    expect(await claimsOf('retrieve', { query: 'x' })).toEqual(['retrieve project', 'retrieve global']);
    expect(await claimsOf('delete', { memory_id: id })).toEqual(['delete global']);
    expect(await claimsOf('delete', { memory_id: id, hard: true })).toEqual(['delete hard global']);
    expect(await claimsOf('update', { memory_id: 'nowhere', importance: 1 })).toEqual([
      'update project',
      'update global',
    ]);
    expect(await claimsOf('export', { path: 'out/m.jsonl', scope: 'project' })).toEqual([
      'export project',
      'write out/m.jsonl',
    ]);
    expect(await claimsOf('import', { path: 'm.jsonl' })).toEqual(['import project', 'read m.jsonl']);
    expect(await tools.call('export', { path: '../outside/m.jsonl' })).toMatchObject({ code: 'OUTSIDE_PROJECT' });
    expect(await tools.call('export', { path: '.git/hooks/pre-commit' })).toMatchObject({ code: 'PROTECTED_PATH' });
  });
});

describe('createMemoryServer()', () => {
  it('never shows a project the memories of another one, but shows global memories to both', async () => {
    await using tools = await openTools({ 'other/.keep': '' });
    await using other = tools.another({ projectDir: tools.world.resolve('other') });
    const secret = await tools.store('alpha belongs to the first project');
    await tools.store('alpha is global', { scope: 'global' });
    for (const scope of ['project', 'all', 'global']) {
      expect(contentsOf(await other.call('list', { scope })), scope).not.toContain(
        'alpha belongs to the first project',
      );
      expect(contentsOf(await other.call('retrieve', { query: 'alpha', scope })), scope).toEqual(
        scope === 'project' ? [] : ['alpha is global'],
      );
    }
    for (const [tool, args] of [
      ['get', { ids: [secret] }],
      ['update', { memory_id: secret, importance: 1 }],
      ['delete', { memory_id: secret, hard: true }],
      ['restore', { memory_id: secret }],
      ['history', { memory_id: secret }],
    ] as const)
      expect((await other.call(tool, args)).code, tool).toBe('NOT_FOUND');
    expect((await other.call('export')).text).not.toContain('belongs');
    expect((await other.call('stats')).data.stores[0].memories).toBe(0);
    expect(contentsOf(await tools.call('retrieve', { query: 'alpha' }))).toHaveLength(2);
  });

  it('rejects scope global, naming the option, and takes all for project when globalDir is not set', async () => {
    await using tools = await openTools({}, { globalDir: undefined });
    await tools.store('mine');
    for (const [tool, args] of [
      ['store', { content: 'x', category: 'bug', scope: 'global' }],
      ['retrieve', { query: 'x', scope: 'global' }],
      ['list', { scope: 'global' }],
    ] as const) {
      const { code, text } = await tools.call(tool, args);
      expect(code).toBe('INVALID_ARGUMENT');
      expect(text).toContain('globalDir');
    }
    expect(await all(tools)).toEqual(['mine']);
    expect(contentsOf(await tools.call('retrieve', { query: 'mine', scope: 'all' }))).toEqual(['mine']);
  });
});
