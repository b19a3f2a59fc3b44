import { rmSync, watch } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, rmdir, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { driverName, openSqlite } from '../../../../src/servers/memory/sqlite/driver.js';
import { tries } from '../../../soak.js';
import { contentsOf, openTools, type Tools } from '../memory-tools.js';

const all = async (tools: Tools): Promise<string[]> => contentsOf(await tools.call('list', { limit: 200 })).sort();

/** Overwrites part of a file with random-looking bytes. */
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

/** Changes a database as a damaged disk, or another program, would. */
async function execute(path: string, sql: string): Promise<void> {
  const connection = await openSqlite(path, driverName(), { forRepair: true }); // may change FTS5's own tables
  connection.exec(sql);
  connection.close();
}

describe('SqliteBackend', () => {
  /** Stores memories, closes the store, and damages its file. */
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
    ['has an index of an unknown format', (path) => execute(path, 'UPDATE words_config SET v = 99'), 40],
    ['has no counter', (path) => execute(path, 'DELETE FROM counter'), 40],
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

  it('records in the new file what was quarantined, before anything else is written', async () => {
    await using tools = await openTools();
    await using later = await damaged(tools, (path) => writeFile(path, 'not a database'.repeat(300)));
    expect((await later.call('list')).data.notice).toContain('could not be read');
    await using another = later.another();
    expect((await another.call('stats')).data.stores[0].quarantined).toHaveLength(1);
  });

  /** The files as a process leaves them that is killed while it recovers memories. */
  const inRepair = async (path: string): Promise<void> => {
    await rename(path, `${path}.damaged-2026-01-02T03-04-05-678Z-0a1b2c`);
    await writeFile(path, '');
    await mkdir(`${path}.repair`);
  };

  it('finishes the repair of a killed process', async () => {
    await using tools = await openTools();
    await using later = await damaged(tools, async (path) => {
      await inRepair(path);
      await utimes(`${path}.repair`, 0, 0);
    });
    const { data, text } = await later.call('retrieve', { query: 'memory 7' });
    expect(text).toContain('its repair was interrupted');
    expect(data.results[0].memory.content).toContain('memory 7');
    const file = 'memory.db.damaged-2026-01-02T03-04-05-678Z-0a1b2c';
    expect((await later.call('stats')).data.stores[0]).toMatchObject({
      memories: 40,
      quarantined: [{ file, at: '2026-01-02T03:04:05.678Z', recovered: 40 }],
    });
    // Once only: the file stays, and what is deleted since stays deleted.
    await later.call('delete', { memory_id: data.results[0].memory.id, hard: true });
    await mkdir(tools.path('.mcp-memory/memory.db.repair'));
    await utimes(tools.path('.mcp-memory/memory.db.repair'), 0, 0);
    await using last = later.another();
    expect((await last.call('stats')).data.stores[0]).toMatchObject({ memories: 39, quarantined: [{ file }] });
  });

  it('replaces a file when another process takes over the lock meanwhile', async () => {
    await using tools = await openTools();
    await using later = await damaged(tools, (path) => execute(path, 'DELETE FROM counter'));
    const lock = tools.path('.mcp-memory/memory.db.repair');
    const watcher = watch(tools.path('.mcp-memory'), (_, name) => {
      if (name === 'memory.db.repair') rmSync(lock, { recursive: true, force: true });
    });
    const { text, code } = await later.call('retrieve', { query: 'memory 7' });
    watcher.close();
    expect(code, text).toBeUndefined();
    expect(text).toContain('its counter is missing');
  });

  it('waits while another process repairs, instead of finding nothing in the new file', async () => {
    await using tools = await openTools();
    await using later = await damaged(tools, inRepair);
    const found = later.call('retrieve', { query: 'memory 7' });
    await using idle = later.another({ projectDir: tools.world.resolve('outside') });
    await idle.call('list'); // takes longer than an answer without waiting
    const path = tools.path('.mcp-memory/memory.db');
    await rename(`${path}.damaged-2026-01-02T03-04-05-678Z-0a1b2c`, path);
    await rmdir(`${path}.repair`);
    const { data } = await found;
    expect(data.results[0]?.memory.content).toContain('memory 7');
    expect(data.notice ?? '').not.toContain('could not be read');
  });

  it('fails with LOCKED when what has the name of the lock is not a lock', async () => {
    await using tools = await openTools();
    await using later = await damaged(tools, async (path) => {
      await writeFile(path, 'not a database'.repeat(300));
      await writeFile(`${path}.repair`, '');
      await utimes(`${path}.repair`, 0, 0);
    });
    const { code, text } = await later.call('list');
    expect([code, text]).toEqual(['LOCKED', expect.stringContaining('remove .mcp-memory/memory.db.repair')]);
    await rm(tools.path('.mcp-memory/memory.db.repair'));
    expect((await later.call('list')).data.notice).toContain('could not be read');
  });

  it('names the directory when it is a file', async () => {
    await using tools = await openTools();
    await writeFile(tools.path('.mcp-memory'), '');
    for (const [tool, args] of [
      ['list', {}],
      ['store', { content: 'something', category: 'bug' }],
    ] as const) {
      const { code, text } = await tools.call(tool, args);
      expect([code, text]).toEqual(['INVALID_ARGUMENT', expect.stringContaining('.mcp-memory must be a directory')]);
    }
  });

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
        continue; // the table has no such text column
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

  it('leaves versions out that are damaged', async () => {
    await using tools = await openTools();
    const id = await tools.store('first');
    for (const content of ['second', 'third', 'fourth'])
      expect((await tools.call('update', { memory_id: id, content })).code).toBeUndefined();
    await tools.provider.disconnect();
    await execute(tools.path('.mcp-memory/memory.db'), "UPDATE version SET before = '{' WHERE rev = 1");
    await execute(tools.path('.mcp-memory/memory.db'), "UPDATE version SET before = '{}' WHERE rev = 2");
    await using later = tools.another();
    const { data, code } = await later.call('history', { memory_id: id });
    expect(code).toBeUndefined();
    expect(data.versions.map(({ rev }: { rev: number }) => rev)).toEqual([3]);
    expect(await later.call('restore', { memory_id: id, rev: 1 })).toMatchObject({ code: 'NOT_FOUND' });
    expect((await later.call('restore', { memory_id: id, rev: 3 })).data.memory.content).toBe('third');
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
    // The backend that had the file open continues in the new one.
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
