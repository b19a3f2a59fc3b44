import { chmod, mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { contentsOf, openTools, type Tools } from '../memory-tools.js';

const all = async (tools: Tools): Promise<string[]> => contentsOf(await tools.call('list', { limit: 200 })).sort();

describe('StorePlace', () => {
  it.each(['.mcp-memory', '.mcp-memory/memory.db', '.mcp-memory/memory.db-wal', '.mcp-memory/memory.db-journal'])(
    'rejects calls and writes nothing when %s is a symbolic link',
    async (name) => {
      await using tools = await openTools({ 'outside/dir/.keep': '', 'outside/file': '' });
      if (name !== '.mcp-memory') await mkdir(tools.path('.mcp-memory'));
      const target = name === '.mcp-memory' ? tools.world.resolve('outside/dir') : tools.world.resolve('outside/file');
      if (/-(wal|journal)$/.test(name)) {
        await tools.store('one');
        await tools.provider.disconnect();
      }
      await symlink(target, tools.path(name));
      await using later = tools.another();
      for (const [tool, args] of [
        ['store', { content: 'x', category: 'bug' }],
        ['list', {}],
      ] as const) {
        const { code, text } = await later.call(tool, args);
        expect([code, text]).toEqual(['OUTSIDE_PROJECT', expect.stringContaining('is a symbolic link')]);
      }
      expect(await readdir(tools.world.resolve('outside/dir'))).toEqual(['.keep']);
      expect(await readFile(tools.world.resolve('outside/file'), 'utf8')).toBe('');
    },
  );

  it('does not write through symbolic links with other names', async () => {
    await using tools = await openTools({
      'outside/ignore': 'kept',
      'outside/rejected': 'kept',
      'proj/.mcp-memory/memories.json': '[{"content":1}]',
      'proj/.mcp-memory/.gitignore': { link: '../../outside/ignore' },
      'proj/.mcp-memory/memories.rejected.jsonl': { link: '../../outside/rejected' },
    });
    await tools.call('store', { content: 'x', category: 'bug' });
    expect(await tools.world.read('outside/ignore')).toBe('kept');
    expect(await tools.world.read('outside/rejected')).toBe('kept');
  });

  it('does not import a memories.json that is a symbolic link', async () => {
    await using tools = await openTools({
      'outside/memories.json': '[{"id":"a","content":"stolen","category":"bug"}]',
      'proj/.mcp-memory/memories.json': { link: '../../outside/memories.json' },
    });
    expect(await all(tools)).toEqual([]);
    expect(await tools.call('import', { path: '.mcp-memory/memories.json' })).toMatchObject({
      code: 'OUTSIDE_PROJECT',
    });
  });

  it('reports a directory that is not writable', async () => {
    await using tools = await openTools();
    if (process.getuid?.() === 0) return; // root may write everywhere
    await chmod(tools.projectDir, 0o500);
    const { code, text } = await tools.call('store', { content: 'x', category: 'bug' });
    await chmod(tools.projectDir, 0o700);
    expect([code, text]).toEqual(['PERMISSION_DENIED', expect.stringContaining('.mcp-memory')]);
  });
});
