// What docs/engines.md says about bundlers: an application bundled with esbuild, with the built package inside.

import { copyFile, cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnChild } from '@toolwright/core/process';
import { createTestProject } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const DIST = `${ROOT}packages/core/dist/`;

const APP = `
import { InProcessToolProvider, ToolHub, textOf } from ${JSON.stringify(`${DIST}index.js`)};
const hub = new ToolHub({
  providers: [InProcessToolProvider.forProject(process.argv[2])],
  policy: { default: 'allow', rules: [] },
});
const calls = {
  'filesystem.grep': { pattern: 'needle' },
  'memory.retrieve': { query: 'deploy' },
  'bash.execute': { command: 'echo hi | cat' },
};
const texts = {};
for (const [tool, args] of Object.entries(calls)) texts[tool] = textOf(await hub.callTool(tool, args));
await hub.disconnect();
console.log(JSON.stringify(texts));`;

async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const child = spawnChild({ command, args: [...args], cwd, stdin: 'ignore' });
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  const { code } = await child.exited;
  expect(code, child.stderrTail()).toBe(0);
  return stdout;
}

/** esbuild as a program: its JavaScript interface leaves a process behind. */
function bundle(cwd: string, args: readonly string[]): Promise<string> {
  const options = ['--bundle', '--format=esm', '--tsconfig-raw={}', '--log-level=error', ...args];
  return run(`${ROOT}node_modules/esbuild/bin/esbuild`, options, cwd);
}

/** The texts of an application's calls, bundled into a directory without node_modules. */
async function textsOf(
  entries: readonly string[],
  addFiles: (directory: string) => Promise<void>,
): Promise<Record<string, string>> {
  await using project = await createTestProject({ 'a.txt': 'one\nthe needle\n' });
  await using home = await createTestProject({ 'app.mjs': APP, 'out/package.json': '{"type":"module"}' });
  const out = join(home.projectDir, 'out');
  await bundle(home.projectDir, ['app=app.mjs', ...entries, '--platform=node', '--target=node20', `--outdir=${out}`]);
  await addFiles(out);
  return JSON.parse(await run(process.execPath, [join(out, 'app.js'), project.projectDir], out)) as Record<
    string,
    string
  >;
}

describe('a bundle of an application', () => {
  it('has files, and says what memory and bash need, when the package is inside', async () => {
    const texts = await textsOf([], () => Promise.resolve());
    expect(texts['filesystem.grep']).toContain('the needle');
    expect(texts['memory.retrieve']).toContain('Mark @toolwright/core as external in your bundler');
    expect(texts['bash.execute']).toContain('could not be analyzed');
    expect(texts['bash.execute']).toContain('web-tree-sitter.wasm');
  });

  it('has every tool when the files that these need are beside it', async () => {
    const texts = await textsOf([`worker=${DIST}servers/memory/worker.js`], async (out) => {
      for (const directory of ['grammars', 'models'])
        await cp(`${DIST}${directory}`, join(out, directory), { recursive: true });
      await copyFile(`${ROOT}node_modules/web-tree-sitter/web-tree-sitter.wasm`, join(out, 'web-tree-sitter.wasm'));
    });
    expect(texts['filesystem.grep']).toContain('the needle');
    expect(texts['memory.retrieve']).toContain('No memory matches');
    expect(texts['bash.execute']).toContain('hi');
    expect(texts['bash.execute']).not.toContain('analyzed');
  });
});

describe('a bundle for a browser', () => {
  it.each(['index', 'openai', 'anthropic', 'gemini', 'ai-sdk', 'langchain'])('has adapters/%s', async (name) => {
    await using home = await createTestProject({});
    await mkdir(join(home.projectDir, 'out'));
    await writeFile(join(home.projectDir, 'app.mjs'), `export * from ${JSON.stringify(`${DIST}adapters/${name}.js`)};`);
    // esbuild refuses a module of Node there.
    const frameworks = ['--external:ai', '--external:@langchain/core'];
    await bundle(home.projectDir, ['app.mjs', '--platform=browser', '--outfile=out/app.js', ...frameworks]);
  });
});
