// The own search walk runs its thread from the built package, and from TypeScript sources under tsx.

import { fileURLToPath } from 'node:url';
import { spawnChild } from '@toolwright/core/process';
import { describe, expect, it } from 'vitest';
import { runNode } from './run-node.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const SEARCH = (core: string, servers: string): string => `
  import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
  import { tmpdir } from 'node:os';
  import { join } from 'node:path';
  import { InProcessToolProvider } from ${JSON.stringify(core)};
  import { createFilesystemServer } from ${JSON.stringify(servers)};
  const projectDir = mkdtempSync(join(tmpdir(), 'toolwright-' + process.pid + '-built-'));
  try {
    writeFileSync(join(projectDir, 'a.txt'), 'one\\nthe needle\\n');
    const provider = new InProcessToolProvider({ servers: [createFilesystemServer({ projectDir, search: 'js' })] });
    const { structuredContent } = await provider.callTool('filesystem.grep', { pattern: 'n\\\\w+e', context: 1 });
    console.log(JSON.stringify(structuredContent));
    await provider.disconnect();
  } finally {
    rmSync(projectDir, { recursive: true });
  }`;
const FOUND = {
  engine: 'js',
  matches: [{ path: 'a.txt', line: 2, column: 5, text: 'the needle', context: [{ line: 1, text: 'one' }] }],
};

describe('search worker', () => {
  it('grep() by js finds rows when it runs from the built package', async () => {
    const { stdout } = await runNode(SEARCH('@toolwright/core', '@toolwright/core/servers'));
    expect(JSON.parse(stdout)).toMatchObject(FOUND);
  });

  it('grep() by js finds rows when it runs from the sources under tsx', async () => {
    const source = SEARCH(`${ROOT}packages/core/src/index.ts`, `${ROOT}packages/core/src/servers/index.ts`);
    const child = spawnChild({
      command: process.execPath,
      args: ['--no-warnings', '--import', 'tsx', '--input-type=module', '-e', source],
      cwd: ROOT,
      stdin: 'ignore',
    });
    let stdout = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    const { code } = await child.exited;
    expect(code, child.stderrTail()).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject(FOUND);
  });
});
