// Which SDK a provider uses. Also run without SDK v2, by the project engine-v1.

import { describe, expect, it } from 'vitest';
import { loadEngine } from '../../../src/mcp/engines/load-engine.js';

const hasV2 = await import('@modelcontextprotocol/client').then(
  () => true,
  () => false,
);

describe('loadEngine()', () => {
  it('loads v2 where it is installed, else v1', async () => {
    expect((await loadEngine(undefined)).name).toBe(hasV2 ? 'v2' : 'v1');
    expect((await loadEngine('v1')).name).toBe('v1');
  });

  it.skipIf(hasV2)('explains what to install when the engine that is required is missing', async () => {
    await expect(loadEngine('v2')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('npm install @modelcontextprotocol/client'),
    });
  });
});
