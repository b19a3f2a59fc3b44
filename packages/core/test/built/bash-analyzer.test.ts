// The built package analyzes commands in plain Node: it contains the grammar and its licence.

import { access, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runNode } from './run-node.js';

const DIST = new URL('../../dist/', import.meta.url);

it('prepareCall() of bash.execute loads the published grammar when run from the built package', async () => {
  await access(new URL('grammars/tree-sitter-bash.wasm', DIST));
  expect(await readFile(new URL('grammars/tree-sitter-bash.LICENSE', DIST), 'utf8')).toContain('MIT');
  const { stdout } = await runNode(`
    import { readFile } from 'node:fs/promises';
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const opened = [];
    const { readFile: real } = fs.promises;
    fs.promises.readFile = (path, ...rest) => { opened.push(String(path)); return real(path, ...rest); };
    syncBuiltinESMExports();
    const { InProcessToolProvider } = await import('@toolwright/core');
    const provider = await InProcessToolProvider.forProject(${JSON.stringify(fileURLToPath(new URL('.', import.meta.url)))});
    const { claims } = await provider.prepareCall('bash.execute', { command: 'ls; rm "$(id)"' });
    await provider.disconnect();
    console.log(JSON.stringify({ claims, wasm: opened.filter((path) => path.endsWith('bash.wasm')) }));
    `);
  const { claims, wasm } = JSON.parse(stdout) as { claims: { pattern: string; understood: boolean }[]; wasm: string[] };
  expect(claims.map(({ pattern }) => pattern)).toContain('id');
  expect(claims.every(({ understood }) => !understood)).toBe(true);
  expect(wasm).toEqual([fileURLToPath(new URL('grammars/tree-sitter-bash.wasm', DIST))]);
});
