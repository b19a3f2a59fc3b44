// The published declarations compile for a user, and refer to no type of the MCP SDK.

import { readdir, readFile, writeFile, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnChild } from '@toolwright/core/process';
import { expect, it } from 'vitest';

const PACKAGE_DIR = fileURLToPath(new URL('../../', import.meta.url));
const TSC = fileURLToPath(new URL('../../../../node_modules/typescript/bin/tsc', import.meta.url));

const USER = `
import { defineTool, ToolHub, type DirectiveParams, type ToolProvider } from '@toolwright/core';
import { createBuiltinServers } from '@toolwright/core/servers';
import { toolProviderContract } from '@toolwright/core/testing';
import { spawnChild } from '@toolwright/core/process';
import { MCPToolProvider } from '@toolwright/core/mcp';

export const mcp = new MCPToolProvider({ name: 'm', url: 'https://host/mcp' });

declare module '@toolwright/core' {
  interface DirectiveParams { play_sound: { file: string } }
}
export const params: DirectiveParams['play_sound'] = { file: 'x' };
export const provider: ToolProvider = new ToolHub({ providers: [] });
export const tool = defineTool({ name: 'a', description: 'A.', input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }, execute: ({ n }) => n.toFixed(2) });
export { createBuiltinServers, toolProviderContract, spawnChild };
`;

const USER_OF_SDK = `
import type { McpTransport } from '@toolwright/core/mcp';
import type { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

export const given = (one: InMemoryTransport, two: StdioClientTransport): McpTransport[] => [one, two];
`;

it.each([
  ['the declarations compile in strict mode, and DirectiveParams can be extended', USER, 'false'],
  ['the transports of the SDK are assignable to McpTransport', USER_OF_SDK, 'true'], // checking the SDK's declarations takes ten seconds
])(
  '%s',
  async (_title, user, skipLibCheck) => {
    const directory = await mkdtemp(join(PACKAGE_DIR, 'node_modules-types-'));
    try {
      await writeFile(join(directory, 'package.json'), '{ "type": "module" }');
      await writeFile(join(directory, 'user.ts'), user);
      const options = [
        '--strict',
        '--noEmit',
        '--module',
        'nodenext',
        '--target',
        'es2022',
        '--lib',
        'es2023,esnext.disposable',
        '--types',
        'node',
        '--skipLibCheck',
        skipLibCheck,
      ];
      const child = spawnChild({
        command: process.execPath,
        args: [TSC, ...options, 'user.ts'],
        cwd: directory,
        stdin: 'ignore',
      });
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      const { code } = await child.exited;
      const ours = output.split('\n').filter((line) => !line.includes('node_modules/'));
      expect(ours.filter((line) => line.trim() !== '')).toEqual([]);
      expect(output.includes('@toolwright') || code === 0 || ours.length > 0).toBe(true);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
  60_000,
);

it.each(['core', 'gateway'])('entry %s publishes no type of the SDK', async (name) => {
  const dist = join(PACKAGE_DIR, '..', name, 'dist');
  const files = (await readdir(dist, { recursive: true })).filter((file) => file.endsWith('.d.ts'));
  expect(files.length).toBeGreaterThan(name === 'core' ? 5 : 0);
  for (const file of files) {
    const code = (await readFile(join(dist, file), 'utf8')).replaceAll(/\/\*[\s\S]*?\*\//g, ''); // comments may mention it
    expect(code, file).not.toMatch(/modelcontextprotocol/);
  }
});
