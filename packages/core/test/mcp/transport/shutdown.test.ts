// How a stdio server is ended: stdin first, as the specification's shutdown says, and signals for one that does not end.

import { fileURLToPath } from 'node:url';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { createTestProject, expectNoLeaks } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';

const SERVER = fileURLToPath(new URL('../fixtures/slow-exit.mjs', import.meta.url));

/** What the server noted while it was connected and disconnected. */
async function ending(mode: string, options: { shutdownTimeoutMs?: number } = {}): Promise<string> {
  await using project = await createTestProject({ notes: '' });
  await using _ = expectNoLeaks();
  const provider = new MCPToolProvider({
    name: 's',
    command: process.execPath,
    args: [SERVER, project.resolve('notes'), mode],
    ...options,
  });
  await provider.connect();
  await provider.disconnect();
  return await project.read('notes');
}

describe('MCPToolProvider.disconnect() of a stdio server', () => {
  it('closes stdin, and lets the server save its state', async () => {
    expect(await ending('tidy', { shutdownTimeoutMs: 20_000 })).toBe('stdin closed\nsaved\n');
  });

  it('sends SIGTERM after shutdownTimeoutMs', async () => {
    const startedAt = performance.now();
    expect(await ending('deaf')).toBe('stdin closed\nSIGTERM\n');
    expect(performance.now() - startedAt).toBeGreaterThan(1_900); // 2 s by default
    expect(await ending('tidy', { shutdownTimeoutMs: 1 })).not.toContain('saved');
  });

  it('rejects an invalid shutdownTimeoutMs', () => {
    for (const shutdownTimeoutMs of [0, -1, NaN, '2' as never])
      expect(() => new MCPToolProvider({ name: 's', command: 'x', shutdownTimeoutMs })).toThrow(/shutdownTimeoutMs/);
  });
});
