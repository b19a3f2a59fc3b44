import { describe, expect, it } from 'vitest';
import { contentsOf, openTools } from '../memory-tools.js';

describe('list', () => {
  it('list pages through both scopes, newest first, and rejects the cursor of another query', async () => {
    await using tools = await openTools();
    for (let index = 0; index < 7; index++)
      await tools.store(`memory ${index}`, { scope: index % 2 ? 'global' : 'project', importance: 1 + index });
    const seen: string[] = [];
    const created: string[] = []; // several may have the same millisecond
    let cursor: string | undefined;
    let pages = 0;
    do {
      const answer = await tools.call('list', { limit: 3, ...(cursor && { cursor }) });
      seen.push(...contentsOf(answer));
      created.push(...answer.data.memories.map((memory: { created: string }) => memory.created));
      cursor = answer.data.cursor;
      pages++;
    } while (cursor !== undefined && pages < 9);
    expect(pages).toBe(3);
    expect(new Set(seen).size).toBe(7);
    expect(created).toEqual(created.toSorted().toReversed());
    const first = await tools.call('list', { limit: 3, sort: 'importance' });
    expect(contentsOf(first)).toEqual(['memory 6', 'memory 5', 'memory 4']);
    for (const wrong of [first.data.cursor, 'AAAA', 'x'.repeat(50)]) {
      const refused = await tools.call('list', { cursor: wrong });
      expect(refused.code).toBe('INVALID_ARGUMENT');
      expect(refused.text).toContain('cursor');
    }
    expect(contentsOf(await tools.call('list', { scope: 'global' }))).toHaveLength(3);
  });
});
