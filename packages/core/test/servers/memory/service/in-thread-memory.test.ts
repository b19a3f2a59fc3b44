// A server with the host's own backend runs in the host's thread.

import { describe, expect, it } from 'vitest';
import type { MemoryBackend } from '../../../../src/servers/memory/memory-backend.js';
import { SqliteBackend } from '../../../../src/servers/memory/sqlite/sqlite-backend.js';
import { openTools } from '../memory-tools.js';

const sqliteAt = (directory: string): SqliteBackend => new SqliteBackend({ directory, shown: 'm' });

describe('createMemoryServer() with a backend', () => {
  it.each([
    [{}, 'scope "project" has no method put'],
    [5, 'scope "project" is 5'],
    [null, 'scope "project" is null'],
  ])('refuses %j as a backend, naming what is missing', async (returned, message) => {
    await using tools = await openTools({}, { backend: () => returned as unknown as MemoryBackend });
    const { code, text } = await tools.call('list');
    expect([code, text]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(message)]);
  });

  it('closes the backend of one scope when that of the other cannot be opened', async () => {
    const closed: string[] = [];
    let fails = true;
    await using tools = await openTools(
      {},
      {
        backend: (scope) => {
          if (scope === 'global' && fails) throw new Error('the database is down');
          const backend = sqliteAt(tools.world.resolve(scope));
          const close = backend.close.bind(backend);
          return Object.assign(backend, { close: () => (closed.push(scope), close()) });
        },
      },
    );
    expect((await tools.call('list')).text).toContain('the database is down');
    expect(closed).toEqual(['project']);
    fails = false;
    expect((await tools.call('list')).code).toBeUndefined();
    await tools.provider.disconnect();
    expect(closed.sort()).toEqual(['global', 'project', 'project']);
  });

  it('names the option and the other scope when a scope has no backend', async () => {
    await using tools = await openTools(
      {},
      { backend: (scope) => (scope === 'global' ? sqliteAt(tools.world.resolve('g')) : undefined) },
    );
    const { text } = await tools.call('store', { content: 'something', category: 'bug' });
    expect(text).toContain(
      'scope "project" is unavailable: the option backend returns no store for it. Use scope "global".',
    );
    await using none = await openTools({}, { backend: () => undefined });
    const { text: all } = await none.call('store', { content: 'something', category: 'bug', scope: 'global' });
    expect(all).toMatch(/scope "global" is unavailable: the option backend returns no store for it\.$/);
  });

  it('disconnects while its embedder does not respond, and disposes of one that was never called', async () => {
    let disposed = 0;
    const embedder = {
      id: 'silent',
      dim: 2,
      fusionWeight: 0.5,
      embed: () => new Promise<never>(() => undefined),
      dispose: () => void disposed++,
    };
    await using tools = await openTools({}, { embedder, backend: () => sqliteAt(tools.world.resolve('b')) });
    await tools.store('something');
    await tools.store('something else');
    await tools.provider.disconnect();
    expect(disposed).toBe(1);
    await using idle = tools.another();
    await idle.provider.connect();
    await idle.provider.disconnect();
    expect(disposed).toBe(2);
  });
});
