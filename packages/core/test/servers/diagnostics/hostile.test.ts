// A project that is not trusted runs nothing by being checked: no TypeScript, plugin or program of its own.

import { access } from 'node:fs/promises';
import { delimiter } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTestProject } from '../../../src/testing/project.js';
import { openTools, peer, TYPESCRIPT_5 } from './diagnostics-tools.js';

const typescript = await peer('typescript7');
const bridge = await peer('typescript-language-server');
const pyright = await peer('pyright');

/** A module that leaves a mark when it is loaded. */
const trap = (mark: string): string =>
  `require('node:fs').writeFileSync(${JSON.stringify(mark)}, 'ran');\nmodule.exports = () => ({ create: (info) => info.languageService });\n`;
const script = (mark: string): { content: string; mode: number } => ({
  content: `#!/bin/sh\necho ran > '${mark}'\n`,
  mode: 0o755,
});

/** A project in which everything that a checker might run leaves a mark. */
async function hostileProject(): Promise<{
  world: Awaited<ReturnType<typeof createTestProject>>;
  projectDir: string;
  mark: string;
}> {
  const world = await createTestProject({ 'host/.keep': '' });
  const mark = world.resolve('mark');
  const own = (name: string, version: string): Record<string, string> => ({
    [`proj/node_modules/${name}/package.json`]: JSON.stringify({
      name,
      version,
      main: 'index.js',
      bin: { [name]: 'index.js' },
    }),
    [`proj/node_modules/${name}/index.js`]: trap(mark),
  });
  const files: Record<string, string | { content: string; mode: number }> = {
    ...own('typescript', '5.9.3'),
    ...own('typescript-language-server', '5.0.0'),
    ...own('pyright', '1.1.0'),
    ...own('evil-plugin', '1.0.0'),
    'proj/node_modules/typescript/lib/tsserver.js': trap(mark),
    'proj/node_modules/typescript-language-server/lib/cli.mjs': trap(mark),
    'proj/node_modules/pyright/langserver.index.js': trap(mark),
    'proj/evil.js': trap(mark),
    'proj/tsconfig.json': JSON.stringify({
      compilerOptions: {
        types: [],
        plugins: [{ name: 'evil-plugin' }, { name: './evil.js' }, { name: '../proj/evil.js', transform: './evil.js' }],
      },
    }),
    'proj/package.json': JSON.stringify({ dependencies: { lodash: '*' } }),
    'proj/a.ts': 'export const a: string = 1;\n',
    'proj/b.js': "require('lodash');\n",
    'proj/c.py': 'x: str = 1\n',
    'proj/json.py': `open(${JSON.stringify(mark)}, 'w').write('ran')\n`,
    'proj/sitecustomize.py': `open(${JSON.stringify(mark)}, 'w').write('ran')\n`,
    'proj/pyrightconfig.json': JSON.stringify({ venvPath: '.', venv: 'venv' }),
    'proj/venv/bin/python': script(mark),
  };
  for (const name of ['tsc', 'npm', 'python', 'python3', 'pyright-langserver', 'typescript-language-server', 'node']) {
    files[`proj/bin/${name}`] = script(mark);
    files[`proj/node_modules/.bin/${name}`] = script(mark);
  }
  for (const [name, file] of Object.entries(files)) await world.write(name, file);
  return { world, projectDir: world.resolve('proj'), mark };
}

const wasLeft = (mark: string): Promise<boolean> =>
  access(mark).then(
    () => true,
    () => false,
  );

describe('createDiagnosticsServer() in an untrusted project', () => {
  it.each([
    ['TypeScript 7', typescript, 'a.ts', { typescript: typescript ?? '/' }],
    ['TypeScript 5', bridge, 'a.ts', { typescript: TYPESCRIPT_5 }],
    ['pyright', pyright, 'c.py', {}],
    ['the servers that are found', '/', 'a.ts', {}],
  ])('runs nothing of its own when it is checked with %s', async (_, needed, path, options) => {
    if (needed === undefined) return;
    const { world, projectDir, mark } = await hostileProject();
    await using _world = world;
    const old = process.env.PATH;
    // The project's own programs first, as a shell profile may have it; the host's own last.
    process.env.PATH = [
      `${projectDir}/bin`,
      './bin',
      `${projectDir}/node_modules/.bin`,
      old,
      needed && `${needed}/../.bin`,
    ].join(delimiter);
    try {
      await using checked = await openTools({}, { projectDir, ...options });
      const { data } = await checked.call('diagnostics', { path, wait_ms: 30_000 });
      if (path === 'c.py' || 'typescript' in options)
        expect(data).toMatchObject({ complete: true, counts: { error: 1 } });
      if (path !== 'c.py') await checked.call('diagnostics', { path: 'b.js', wait_ms: 30_000 });
      await checked.call('servers');
      expect(await wasLeft(mark)).toBe(false);
    } finally {
      process.env.PATH = old;
    }
  });

  it('runs something when it is trusted', async () => {
    const { world, projectDir, mark } = await hostileProject();
    await using _world = world;
    await using checked = await openTools({}, { projectDir, trust: 'trusted' });
    await checked.call('diagnostics', { path: 'c.py', wait_ms: 10_000 });
    expect(await wasLeft(mark)).toBe(true);
  });
});
