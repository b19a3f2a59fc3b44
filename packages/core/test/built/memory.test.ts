// The memory thread finds its program in the built package, also from a chunk, and in the sources under tsx.

import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runNode } from './run-node.js';

describe('createMemoryServer()', () => {
  it.each(['@toolwright/core', '@toolwright/core/servers/memory'])(
    'runs its thread from the built package when loaded through %s',
    async (entry) => {
      const projectDir = await realpath(await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-built-`)));
      try {
        const { stdout, stderr } = await runNode(`
        import { InProcessToolProvider } from '@toolwright/core';
        import * as entry from ${JSON.stringify(entry)};
        const projectDir = ${JSON.stringify(projectDir)};
        const provider = entry.createMemoryServer
          ? new InProcessToolProvider({ servers: [entry.createMemoryServer({ projectDir })] })
          : InProcessToolProvider.forProject(projectDir);
        await provider.callTool('memory.store', { content: 'stored by the build', category: 'bug' });
        const { structuredContent } = await provider.callTool('memory.retrieve', { query: 'build' });
        console.log(JSON.stringify(structuredContent.results.map(({ memory }) => memory.content)));
        await provider.disconnect();`);
        expect(JSON.parse(stdout)).toEqual(['stored by the build']);
        expect(stderr).toBe('');
      } finally {
        await rm(projectDir, { recursive: true });
      }
    },
  );
});
