import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { openTools } from '../memory-tools.js';

describe('update, delete, restore, history', () => {
  it('update reports the updated fields, and stores the previous version', async () => {
    await using tools = await openTools();
    const id = await tools.store('old', { documentation_path: 'a.md' });
    const { text, data } = await tools.call('update', {
      memory_id: id,
      content: 'new',
      tags: ['t'],
      documentation_path: null,
    });
    expect(text).toBe(`✓ Memory updated successfully\nID: ${id}\nFields updated: content, tags, documentation_path`);
    expect(data.memory).toMatchObject({ id, content: 'new', tags: ['t'], rev: 2 });
    expect(data.memory.documentation_path).toBeUndefined();
    const history = await tools.call('history', { memory_id: id });
    expect(history.data.versions).toMatchObject([{ rev: 1, operation: 'update', memory: { content: 'old' } }]);
  });

  it('update rejects a call without fields, an empty content, a stale revision and an unknown ID', async () => {
    await using tools = await openTools();
    const id = await tools.store('old');
    expect(await tools.call('update', { memory_id: id })).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect((await tools.call('update', { memory_id: id, content: ' ' })).text).toContain(
      'Content is required and cannot be empty',
    );
    await tools.call('update', { memory_id: id, importance: 7, expected_rev: 1 });
    const stale = await tools.call('update', { memory_id: id, importance: 8, expected_rev: 1 });
    expect(stale.code).toBe('FILE_CHANGED');
    expect(stale.text).toContain('expected_rev 2');
    expect(await tools.call('update', { memory_id: 'X', importance: 1 })).toMatchObject({
      code: 'NOT_FOUND',
      text: expect.stringContaining('Memory with ID X not found') as string,
    });
  });

  it('history of a deleted memory has its scope', async () => {
    await using tools = await openTools();
    const id = await tools.store('for all projects', { scope: 'global' });
    await tools.call('delete', { memory_id: id });
    expect((await tools.call('history', { memory_id: id })).data.versions).toMatchObject([
      { memory: { scope: 'global' } },
    ]);
  });

  it('delete shows the first hundred characters, and restore restores the memory', async () => {
    await using tools = await openTools();
    const id = await tools.store('y'.repeat(150));
    const { text, data } = await tools.call('delete', { memory_id: id });
    expect(text).toBe(
      `✓ Memory deleted successfully (project)\nID: ${id}\nCategory: technical\nContent:\n> ${'y'.repeat(100)}...`,
    );
    expect(data).toMatchObject({ restorable: true, deleted: { id } });
    for (const tool of ['delete', 'get', 'update'] as const) {
      const args = tool === 'get' ? { ids: [id] } : { memory_id: id, ...(tool === 'update' && { importance: 1 }) };
      expect(await tools.call(tool, args)).toMatchObject({
        code: 'NOT_FOUND',
        text: expect.stringContaining(`Memory with ID ${id} not found`) as string,
      });
    }
    expect((await tools.call('history', { memory_id: id })).text).toContain('The memory is deleted');
    expect((await tools.call('restore', { memory_id: id })).text).toContain('✓ Memory restored successfully (project)');
    expect((await tools.call('get', { ids: [id, 'nowhere'] })).data).toMatchObject({
      memories: [{ id }],
      missing: ['nowhere'],
    });
  });

  it('delete leaves nothing of the content in the file when hard is set', async () => {
    await using tools = await openTools();
    const id = await tools.store('canary-7f3a is what nobody may read');
    await tools.store('something else');
    await tools.call('update', { memory_id: id, content: 'canary-7f3a changed' });
    await tools.call('delete', { memory_id: id, hard: true });
    expect(await tools.call('restore', { memory_id: id })).toMatchObject({ code: 'NOT_FOUND' });
    await tools.provider.disconnect();
    const bytes = await readFile(tools.path('.mcp-memory/memory.db'));
    expect(bytes.includes('canary-7f3a')).toBe(false);
  });
});
