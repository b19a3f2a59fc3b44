// The contract's provider files and its MCP server run from node_modules, built and unmodified.

import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnChild } from '@toolwright/core/process';
import { expect, it } from 'vitest';

const PACKAGES = fileURLToPath(new URL('../../../', import.meta.url));

const USER = `
import { MCPToolProvider } from '@toolwright/core/mcp';
import { contractServerFile } from '@toolwright/gateway/testing';
import { ProcessToolProvider } from '@toolwright/runtime';
import { contractProviderFile } from '@toolwright/runtime/testing';

const files = ['typescript', 'javascript', 'python'].map((language) => contractProviderFile(language));
const providers = files.map((path) => new ProcessToolProvider({ name: 'contract', path }));
providers.push(new MCPToolProvider({ name: 'contract', command: process.execPath, args: [contractServerFile()] }));
const results = [];
for (const provider of providers) {
  const { structuredContent, error } = await provider.callTool('contract.add', { a: 1, b: 2 });
  results.push(error?.message ?? structuredContent);
  await provider.disconnect();
}
console.log(JSON.stringify({ files, results }));
`;

it('contractProviderFile() and contractServerFile() return files that run when the packages are installed', async () => {
  // Below the packages, so that what they depend on is found as npm would have put it.
  const directory = await mkdtemp(join(PACKAGES, 'core/node_modules-installed-'));
  try {
    const scope = join(directory, 'node_modules/@toolwright');
    await mkdir(scope, { recursive: true });
    for (const name of ['core', 'runtime', 'gateway']) {
      for (const part of ['package.json', 'dist', 'contract', 'python/toolwright_provider']) {
        const from = join(PACKAGES, name, part);
        if (existsSync(from)) await cp(from, join(scope, name, part), { recursive: true });
      }
    }
    await writeFile(join(directory, 'user.mjs'), USER);
    await using child = spawnChild({ command: process.execPath, args: ['user.mjs'], cwd: directory, stdin: 'ignore' });
    let stdout = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    expect((await child.exited).code, child.stderrTail()).toBe(0);
    const { files, results } = JSON.parse(stdout) as { files: string[]; results: unknown[] };
    for (const file of files) expect(file).toContain(join('node_modules', '@toolwright', 'runtime', 'contract'));
    expect(results).toEqual([{ sum: 3 }, { sum: 3 }, { sum: 3 }, { sum: 3 }]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}, 60_000);
