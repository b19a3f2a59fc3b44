import { describe, expect, it } from 'vitest';
import { openTools } from '../memory-tools.js';

describe('stats and bank_fetch', () => {
  it('stats reports counts, file and integrity of both stores', async () => {
    await using tools = await openTools();
    await tools.store('a', { category: 'bug' });
    await tools.store('b', { scope: 'global' });
    const { data, text } = await tools.call('stats', { check: true });
    expect(data.stores).toMatchObject([
      {
        scope: 'project',
        memories: 1,
        by_category: { bug: 1 },
        integrity: 'ok',
        file: '.mcp-memory/memory.db',
        quarantined: [],
      },
      { scope: 'global', memories: 1, integrity: 'ok' },
    ]);
    expect(text).toContain('Project: proj');
  });

  it('bank_fetch returns sections of MEMORY_BANK.md by heading and by query', async () => {
    const bank =
      '# Bank\nintro\n\n## Deploy steps\nUse make.\n```sh\n# no heading\n```\n## Style\nTabs, and make it short.\n';
    await using tools = await openTools({ 'proj/MEMORY_BANK.md': bank });
    const all = await tools.call('bank_fetch');
    expect(all.data.entries.map(({ heading, line }: { heading: string; line: number }) => [heading, line])).toEqual([
      ['Bank', 1],
      ['Deploy steps', 4],
      ['Style', 9],
    ]);
    expect(all.text).toContain('> # no heading');
    expect((await tools.call('bank_fetch', { section: 'DEPLOY' })).data.entries).toHaveLength(1);
    const found = await tools.call('bank_fetch', { query: 'how to make a deploy' });
    expect(found.data.entries[0].heading).toBe('Deploy steps');
    await using empty = await openTools();
    expect(await empty.call('bank_fetch')).toMatchObject({ code: 'NOT_FOUND' });
    await using linked = await openTools({ 'proj/MEMORY_BANK.md': { link: '../outside/kept.txt' } });
    expect(await linked.call('bank_fetch')).toMatchObject({ code: 'OUTSIDE_PROJECT' });
  });
});
