// What is kept where: scopes, private passages and secrets, damaged files, links, imports and exports.

import { existsSync } from 'node:fs';
import {
  chmod,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { driverName, openSqlite } from '../../../src/servers/memory/sqlite/driver.js';
import { tries } from '../../soak.js';
import { contentsOf, openTools, type Tools } from './memory-tools.js';

const all = async (tools: Tools): Promise<string[]> => contentsOf(await tools.call('list', { limit: 200 })).sort();

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

describe('SqliteBackend', () => {
  /** Closes the store, and damages its file. */
  async function damaged(tools: Tools, damage: (path: string) => Promise<void>): Promise<Tools> {
    for (let index = 0; index < 40; index++) await tools.store(`memory ${index} ${'about something '.repeat(20)}`);
    await tools.provider.disconnect();
    await damage(tools.path('.mcp-memory/memory.db'));
    return tools.another();
  }

  it.each<[string, (path: string) => Promise<void>, number]>([
    ['is not a database', (path) => writeFile(path, 'not a database, but some text\n'.repeat(300)), 0],
    ['is truncated', async (path) => truncate(path, Math.floor((await stat(path)).size * 0.93)), 1],
    ['has a page of random bytes', (path) => overwrite(path, 3 * 4096, 4096), 0],
    ['has a broken header', (path) => overwrite(path, 0, 100), 0],
    ['has only its first page left', (path) => truncate(path, 4096), 0],
  ])(
    'quarantines and replaces a file, and reports it in the next result and in stats, when it %s',
    async (_name, damage, recovered) => {
      await using tools = await openTools();
      await using later = await damaged(tools, damage);
      const { text, data, code } = await later.call('retrieve', { query: 'something' });
      expect(code, text).toBeUndefined();
      expect(data.notice).toContain('could not be read');
      expect(text).toContain('could not be read');
      const [aside] = (await readdir(tools.path('.mcp-memory'))).filter((name) => name.includes('damaged'));
      expect(data.notice).toContain(aside);
      const { data: stats } = await later.call('stats', { check: true });
      expect(stats.stores[0].quarantined).toMatchObject([{ file: aside }]);
      expect(stats.stores[0].quarantined[0].recovered).toBeGreaterThanOrEqual(recovered);
      expect(stats.stores[0]).toMatchObject({ integrity: 'ok', memories: stats.stores[0].quarantined[0].recovered });
      expect(stats.notice).toBeUndefined();
      await later.store('a new memory');
      expect(contentsOf(await later.call('retrieve', { query: 'new memory', limit: 1 }))).toEqual(['a new memory']);
      await using another = later.another();
      expect((await another.call('stats')).data.stores[0].quarantined).toMatchObject([{ file: aside }]);
      expect((await readdir(tools.path('.mcp-memory'))).filter((name) => /reading|repair/.test(name))).toEqual([]);
    },
  );

  it('recovers a file in time when it claims an impossible number of memories', async () => {
    await using tools = await openTools();
    await using later = await damaged(tools, async (path) => {
      const connection = await openSqlite(path, driverName());
      connection.exec("UPDATE sqlite_sequence SET seq = 9000000000000000 WHERE name = 'memory'");
      connection.close();
      await truncate(path, Math.floor((await stat(path)).size * 0.93));
    });
    const { data, code, text } = await later.call('retrieve', { query: 'something' });
    expect(code, text).toBeUndefined();
    expect(data.notice).toContain('could not be read');
    expect((await later.call('stats')).data.stores[0].memories).toBeGreaterThan(0);
  });

  it('does not crash when any column contains text that is not UTF-8', async () => {
    await using tools = await openTools();
    const id = await tools.store('a memory that has a history');
    const gone = await tools.store('a memory that goes');
    expect((await tools.call('update', { memory_id: id, content: 'changed since' })).code).toBeUndefined();
    expect((await tools.call('delete', { memory_id: gone, hard: true })).code).toBeUndefined();
    await tools.provider.disconnect();
    const path = tools.path('.mcp-memory/memory.db');
    for (const [change, table] of [
      ["UPDATE version SET before = CAST(x'7bff' AS TEXT)", 'version'],
      ["UPDATE version SET operation = CAST(x'ff' AS TEXT)", 'version'],
      ["UPDATE gone SET id = CAST(x'ff' AS TEXT)", 'gone'],
      ["UPDATE memory SET category = CAST(x'ff' AS TEXT)", 'memory'],
      ["UPDATE memory SET created_ms = CAST(x'ff' AS TEXT)", 'memory'],
      ["UPDATE vector SET scale = CAST(x'ff' AS TEXT)", 'vector'],
      ["UPDATE vector SET embedder = CAST(x'ff' AS TEXT)", 'vector'],
      ["INSERT OR REPLACE INTO note (name, value) VALUES ('set-aside', CAST(x'ff' AS TEXT))", 'note'],
      ["INSERT INTO word_count (term, doc) VALUES (CAST(x'ff' AS TEXT), 1)", 'word_count'],
    ] as const) {
      const connection = await openSqlite(path, driverName());
      try {
        connection.exec(change);
      } catch {
        continue; // the table is one that holds no such text
      } finally {
        connection.close();
      }
      await using later = tools.another();
      for (const [tool, args] of [
        ['history', { memory_id: id }],
        ['restore', { memory_id: id, rev: 1 }],
        ['stats', { check: true }],
        ['list', {}],
        ['retrieve', { query: 'changed history' }],
        ['export', {}],
      ] as const)
        expect((await later.call(tool, args)).code, `${tool}, ${table}`).not.toBe('UNAVAILABLE');
      expect(await later.store(`still working with ${table}`)).toBeTruthy();
    }
  });

  it('detects damage while the file is in use, by a write or a read', async () => {
    await using tools = await openTools();
    for (let index = 0; index < 30; index++) await tools.store(`memory ${index} ${'z'.repeat(2_000)}`);
    await using second = tools.another();
    await tools.provider.disconnect();
    expect((await second.call('list')).code).toBeUndefined();
    await overwrite(tools.path('.mcp-memory/memory.db'), 4096, 60 * 4096);
    await using third = tools.another();
    const { code } = await third.call('store', { content: 'after the damage', category: 'bug' });
    expect(code).toBeUndefined();
    expect(await all(third)).toContain('after the damage');
    // The one that had it open goes on in the new file.
    await second.store('by the second');
    expect(await all(third)).toContain('by the second');
  });

  it('keeps working and loses nothing silently when any one of a hundred bytes is damaged', async () => {
    await using tools = await openTools();
    await using template = await damaged(tools, async () => {});
    await template.provider.disconnect();
    const path = tools.path('.mcp-memory/memory.db');
    const whole = await readFile(path);
    for (let round = 0; round < tries(40); round++) {
      const bytes = Buffer.from(whole);
      const at = Math.floor((bytes.length * (round + 0.37)) / tries(40));
      bytes[at] = (bytes[at] ?? 0) ^ 0xff;
      for (const name of await readdir(tools.path('.mcp-memory')))
        if (name !== '.gitignore')
          await rename(tools.path(`.mcp-memory/${name}`), tools.path(`.mcp-memory-old-${round}-${name}`));
      await writeFile(path, bytes);
      await using later = tools.another();
      const stored = await later.call('store', { content: `after round ${round}`, category: 'bug' });
      expect(stored.code, `byte ${at}: ${stored.text}`).toBeUndefined();
      expect(contentsOf(await later.call('retrieve', { query: `after round ${round}`, limit: 1 }))).toEqual([
        `after round ${round}`,
      ]);
    }
  });

  it('quarantines a foreign database without running its triggers', async () => {
    await using tools = await openTools();
    await tools.store('one');
    await tools.provider.disconnect();
    const connection = await openSqlite(tools.path('.mcp-memory/memory.db'), driverName());
    connection.exec("CREATE TRIGGER evil AFTER INSERT ON memory BEGIN UPDATE memory SET content = 'evil'; END");
    connection.close();
    await using later = tools.another();
    const { data } = await later.call('store', { content: 'two', category: 'bug' });
    expect(data.notice).toContain('an unexpected object');
    expect(await all(later)).toEqual(['two']);
  });

  it('rejects a file of a newer release and does not change it', async () => {
    await using tools = await openTools();
    await tools.store('one');
    await tools.provider.disconnect();
    const connection = await openSqlite(tools.path('.mcp-memory/memory.db'), driverName());
    connection.exec('PRAGMA user_version = 99');
    connection.close();
    await using later = tools.another();
    const { code, text } = await later.call('store', { content: 'two', category: 'bug' });
    expect([code, text]).toEqual(['UNAVAILABLE', expect.stringContaining('newer release')]);
    expect((await readdir(tools.path('.mcp-memory'))).filter((name) => name.includes('damaged'))).toEqual([]);
  });
});

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

describe('import and export', () => {
  it('any first call imports the file of an earlier server once, without changing it', async () => {
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

  it('any first call writes invalid rows of that file to another file, with the reasons', async () => {
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
    ['[{"id":"a","content":"one","category":"bug"},{"id":"b","cont', 1],
    ['{"nothing": 1}', 0],
    ['no json at all', 0],
    ['', 0],
    ['[]', 0],
  ])('any first call imports the valid rows of the broken file %j', async (source, count) => {
    await using tools = await openTools({ 'proj/.mcp-memory/memories.json': source });
    const { data, code } = await tools.call('list');
    expect(code).toBeUndefined();
    expect(data.memories).toHaveLength(count);
    if (source !== '[]') expect(data.notice).toContain('were rejected');
  });

  it('any first call imports a global file without the memories of single projects', async () => {
    const rows = [ROW('g', { scope: 'global' }), ROW('p', { content: 'of one project' })];
    await using tools = await openTools({ 'home/.mcp-memory/global-memories.json': JSON.stringify(rows) });
    expect(contentsOf(await tools.call('list'))).toEqual(['memory g']);
    expect((await tools.call('list', { scope: 'global' })).data.memories).toMatchObject([{ id: 'g', scope: 'global' }]);
  });

  it('any first call drops secrets and private passages of imported rows', async () => {
    const rows = [ROW('a', { content: 'key AKIAIOSFODNN7EXAMPLE <private>hidden</private> end' })];
    await using tools = await openTools({ 'proj/.mcp-memory/memories.json': JSON.stringify(rows) });
    expect(await all(tools)).toEqual(['key [redacted: cloud key]  end']);
  });

  it.each(['jsonl', 'memories.json', 'markdown'] as const)(
    'export to %s and import restore the same memories',
    async (format) => {
      await using tools = await openTools({ 'other/.keep': '' });
      const contents = ['plain', 'with "quotes", \\ and\nlines', '# heading\n> quote', 'emoji 👩‍💻 漢字 שלום \u2028'];
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

/** Writes noise into a file, at a place. */
async function overwrite(path: string, at: number, length: number): Promise<void> {
  const noise = Buffer.from(Array.from({ length }, (_, index) => (index * 7919 + 13) & 0xff));
  await using handle = await open(path, 'r+');
  await handle.write(
    noise.subarray(0, Math.max(0, Math.min(length, (await handle.stat()).size - at))),
    0,
    undefined,
    at,
  );
}
