import { link, mkdir, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { contentsOf, openTools, type Tools } from '../memory-tools.js';

const all = async (tools: Tools): Promise<string[]> => contentsOf(await tools.call('list', { limit: 200 })).sort();

const ROW = (id: string, more: object = {}): object => ({
  id,
  content: `memory ${id}`,
  category: 'technical',
  tags: ['t'],
  scope: 'project',
  project_name: 'shop',
  project_path: '/somewhere',
  importance: 7,
  timestamp: '2025-03-04T05:06:07.000Z',
  documentation_path: null,
  embedding: [0.1, 0.2],
  ...more,
});

describe('importOnce()', () => {
  it('imports the file of an earlier server once, with the first call, without changing it', async () => {
    const source = JSON.stringify(
      [ROW('a'), ROW('b', { content: 'escaped "] , [{\\n' }), ROW('c', { tags: 'none', importance: '11' })],
      null,
      2,
    );
    await using tools = await openTools({ 'proj/.mcp-memory/memories.json': source });
    const first = await tools.call('list', { sort: 'importance' });
    expect(first.data.notice).toContain('3 memories were imported from .mcp-memory/memories.json');
    expect(first.data.memories[0]).toMatchObject({ id: 'c', importance: 10, tags: [] });
    expect(first.data.memories).toContainEqual(
      expect.objectContaining({ id: 'a', created: '2025-03-04T05:06:07.000Z', tags: ['t'], project: 'shop' }),
    );
    expect(JSON.stringify(first.data)).not.toContain('embedding');
    expect((await tools.call('list')).data.notice).toBeUndefined();
    expect(await tools.world.read('proj/.mcp-memory/memories.json')).toBe(source);
    await tools.call('delete', { memory_id: 'a' });
    await tools.call('delete', { memory_id: 'b', hard: true });
    await writeFile(tools.path('.mcp-memory/memories.json'), JSON.stringify([ROW('a'), ROW('b'), ROW('d')]));
    await using later = tools.another();
    expect((await later.call('list')).data.notice).toContain('1 memories were imported');
    expect(await all(later)).toEqual(['memory c', 'memory d']);
    await using last = tools.another();
    expect((await last.call('list')).data.notice).toBeUndefined();
  });

  it('writes invalid rows of that file to another file, with the reasons', async () => {
    const rows = [
      ROW('good'),
      { content: 'no category' },
      ROW('empty', { content: ' ' }),
      ROW('long', { content: 'x'.repeat(32_001) }),
      'a text',
      null,
      ROW('odd', { id: 5 }),
    ];
    await using tools = await openTools({
      'proj/.mcp-memory/memories.json': `{"version": [1], "memories": ${JSON.stringify(rows)}}`,
    });
    const { data } = await tools.call('list');
    expect(data.memories).toHaveLength(1);
    expect(data.notice).toContain('6 were rejected');
    const rejected = (await tools.world.read('proj/.mcp-memory/memories.rejected.jsonl')).trim().split('\n');
    expect(rejected.map((line) => (JSON.parse(line) as { reason: string }).reason)).toEqual([
      'category is missing or not a string of 1 to 100 characters',
      'content is empty',
      'content is over 32000 characters',
      'the row is not an object',
      'the row is not an object',
      'id is not a string of 1 to 200 characters',
    ]);
  });

  it.each([
    ['a link', (path: string) => symlink('../../outside/kept.txt', path), 'is a symbolic link'],
    ['a directory', (path: string) => mkdir(path), 'it is a directory'],
  ])('any first call imports the valid rows when %s has the name of the file of invalid rows', async (_, put, why) => {
    await using tools = await openTools({ 'proj/.mcp-memory/memories.json': JSON.stringify([ROW('good'), null]) });
    await put(tools.path('.mcp-memory/memories.rejected.jsonl'));
    const { data, code } = await tools.call('list');
    expect(code).toBeUndefined();
    expect(data.memories).toHaveLength(1);
    expect(data.notice).toContain(why);
    expect(await tools.world.read('outside/kept.txt')).toBe('kept');
  });

  it.each([
    ['[{"id":"a","content":"one","category":"bug"},{"id":"b","cont', 1],
    ['{"nothing": 1}', 0],
    ['no json at all', 0],
    ['', 0],
    ['[]', 0],
  ])('imports the valid rows of the broken file %j', async (source, count) => {
    await using tools = await openTools({ 'proj/.mcp-memory/memories.json': source });
    const { data, code } = await tools.call('list');
    expect(code).toBeUndefined();
    expect(data.memories).toHaveLength(count);
    if (source !== '[]') expect(data.notice).toContain('were rejected');
  });

  it('imports a global file without the memories of single projects', async () => {
    const rows = [ROW('g', { scope: 'global' }), ROW('p', { content: 'of one project' })];
    await using tools = await openTools({ 'home/.mcp-memory/global-memories.json': JSON.stringify(rows) });
    expect(contentsOf(await tools.call('list'))).toEqual(['memory g']);
    expect((await tools.call('list', { scope: 'global' })).data.memories).toMatchObject([{ id: 'g', scope: 'global' }]);
  });

  it('drops secrets and private passages of imported rows', async () => {
    const rows = [ROW('a', { content: 'key AKIAIOSFODNN7EXAMPLE <private>hidden</private> end' })];
    await using tools = await openTools({ 'proj/.mcp-memory/memories.json': JSON.stringify(rows) });
    expect(await all(tools)).toEqual(['key [redacted: cloud key]  end']);
  });

  it.each(['jsonl', 'memories.json', 'markdown'] as const)(
    'export to %s and import restore the same memories',
    async (format) => {
      await using tools = await openTools({ 'other/.keep': '' });
      const contents = [
        'plain',
        'with "quotes", \\ and\nlines',
        '# heading\n> quote',
        'emoji 👩‍💻 漢字 שלום \u2028 and \u2029 within',
      ];
      for (const content of contents)
        await tools.store(content, { tags: ['a,b', 'c'], importance: 3, documentation_path: 'd.md' });
      const path = `out/memories.${format === 'jsonl' ? 'jsonl' : 'json'}`;
      const exported = await tools.call('export', { format, path });
      expect(exported.data).toMatchObject({ count: 4, path });
      expect(await tools.call('export', { format, path })).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect((await tools.call('export', { format, path, overwrite: true })).data.count).toBe(4);
      const text = await tools.world.read(`proj/${path}`);
      expect(text).not.toContain('embedding');
      expect((await tools.call('export', { format })).text).toBe(text);
      if (format === 'markdown') return expect(text).toContain('> with "quotes"');
      await tools.world.write('other/m.jsonl', text);
      await tools.world.write('other/m.json', text);
      await using other = tools.another({ projectDir: tools.world.resolve('other'), globalDir: undefined });
      const imported = await other.call('import', { path: format === 'jsonl' ? 'm.jsonl' : 'm.json' });
      expect(imported.data).toMatchObject({ imported: 4, skipped: 0, rejected: 0 });
      expect((await other.call('import', { path: format === 'jsonl' ? 'm.jsonl' : 'm.json' })).data.skipped).toBe(4);
      expect(await all(other)).toEqual(contents.map((content) => content.trim()).sort());
      expect((await other.call('list')).data.memories[0]).toMatchObject({
        tags: ['a,b', 'c'],
        importance: 3,
        documentation_path: 'd.md',
      });
    },
  );

  it('import creates the store for a file with invalid rows and ignores a byte order mark', async () => {
    await using tools = await openTools({
      'proj/m.jsonl': `\ufeff${JSON.stringify(ROW('first'))}\nno row\n${JSON.stringify(ROW('last'))}\n`,
      'proj/none.md': '# no memories',
    });
    const { data } = await tools.call('import', { path: 'm.jsonl' });
    expect(data).toEqual({ imported: 2, skipped: 0, rejected: 1, rejected_file: 'memories.rejected.jsonl' });
    expect(await tools.world.read('proj/.mcp-memory/memories.rejected.jsonl')).toContain('"no row"');
    const nothing = await tools.call('import', { path: 'none.md', scope: 'global' });
    expect(nothing.data).toMatchObject({ imported: 0, rejected: 1 });
  });

  it('import rejects a file outside the project and a missing one', async () => {
    await using tools = await openTools({ 'proj/hard.json': '[]' });
    expect(await tools.call('import', { path: '../outside/kept.txt' })).toMatchObject({ code: 'OUTSIDE_PROJECT' });
    expect(await tools.call('import', { path: 'nowhere.json' })).toMatchObject({ code: 'NOT_FOUND' });
    await link(tools.path('hard.json'), tools.path('linked.json'));
    expect((await tools.call('import', { path: 'linked.json' })).data).toMatchObject({ imported: 0 });
  });

  it('export rejects a result that is too long, naming path', async () => {
    await using tools = await openTools();
    for (let index = 0; index < 3; index++) await tools.store(`${index} ${'x '.repeat(10_000)}`);
    expect(await tools.call('export')).toMatchObject({
      code: 'TOO_LARGE',
      text: expect.stringContaining('path') as string,
    });
  });
});
