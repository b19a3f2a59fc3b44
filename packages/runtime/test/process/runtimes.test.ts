// Which program runs a provider file.

import { fileURLToPath } from 'node:url';
import { existsSync } from 'node:fs';
import { ProcessToolProvider } from '@toolwright/runtime';
import { contractProviderFile } from '@toolwright/runtime/testing';
import { describe, expect, it } from 'vitest';
import { resolveRuntime, type HostRuntime } from '../../src/process/runtimes.js';

const node = (version: string): HostRuntime => ({
  execPath: '/bin/node',
  platform: 'linux',
  versions: { node: version },
});
const bun: HostRuntime = { execPath: '/bin/bun', platform: 'linux', versions: { node: '24.0.0', bun: '1.3.0' } };
const line = (path: string, host: HostRuntime, runtime?: string): string => {
  const { command, args } = resolveRuntime(path, runtime, {}, host);
  return [command, ...args].join(' ').replace(/file:\S*tsx\S*/, 'TSX');
};

describe('resolveRuntime()', () => {
  it.each([
    ['/p.ts', node('20.19.0'), '/bin/node --import TSX /p.ts'],
    ['/p.mts', node('22.17.9'), '/bin/node --import TSX /p.mts'],
    ['/p.ts', node('22.18.0'), '/bin/node /p.ts'],
    ['/p.ts', node('23.5.0'), '/bin/node --import TSX /p.ts'],
    ['/p.ts', node('24.1.0'), '/bin/node /p.ts'],
    ['/p.tsx', node('24.1.0'), '/bin/node --import TSX /p.tsx'],
    ['/p.ts', bun, '/bin/bun --no-cache /p.ts'],
    ['/p.js', bun, 'node /p.js'],
    ['/p.mjs', node('20.19.0'), '/bin/node /p.mjs'],
    ['/p.cjs', node('20.19.0'), '/bin/node /p.cjs'],
    ['/p.PY', node('20.19.0'), 'python3 -u /p.PY'],
    ['/p', node('20.19.0'), '/bin/node /p'],
    ['/node_modules/a/p.ts', node('24.1.0'), '/bin/node --import TSX /node_modules/a/p.ts'],
  ])('runs %s with the right program', (path, host, expected) => {
    expect(line(path, host)).toBe(expected);
  });

  it.each([
    ['node', '/bin/node /p.ts'],
    ['tsx', '/bin/node --import TSX /p.ts'],
    ['bun', 'bun --no-cache /p.ts'],
    ['python3.12', 'python3.12 -u /p.ts'],
    ['/venv/bin/python', '/venv/bin/python -u /p.ts'],
    ['deno', 'deno /p.ts'],
  ])('obeys the runtime %s', (runtime, expected) => {
    expect(line('/p.ts', node('24.1.0'), runtime)).toBe(expected);
  });

  it('obeys a command line', () => {
    const { command, args } = resolveRuntime('/p.ts', { command: 'deno', args: ['run', '-A'] });
    expect([command, ...args]).toEqual(['deno', 'run', '-A', '/p.ts']);
  });

  it.each(['python3', '/usr/bin/python3', 'C:\\venv\\Scripts\\python.exe'])(
    'resolveRuntime() puts toolwright_provider on the module path when the interpreter is %s',
    (command) => {
      expect(resolveRuntime('/p.py', command).env.PYTHONPATH).toContain('python');
      expect(resolveRuntime('/p.py', { command }).env.PYTHONPATH).toContain('python');
    },
  );

  it('names a tsx that is there', () => {
    const { args } = resolveRuntime('/p.ts', 'tsx');
    expect(existsSync(fileURLToPath(args[1]!))).toBe(true);
  });
});

describe('ProcessToolProvider', () => {
  it('runs a TypeScript file as it is', async () => {
    const path = contractProviderFile('typescript');
    const cwd = fileURLToPath(new URL('../../../../', import.meta.url)); // its tsconfig leads to the sources
    await using provider = new ProcessToolProvider({ name: 'contract', path, cwd, runtime: 'tsx' });
    const { structuredContent, error } = await provider.callTool('contract.add', { a: '1', b: 2 });
    expect(error).toBeUndefined();
    expect(structuredContent).toEqual({ sum: 3 });
  });
});
