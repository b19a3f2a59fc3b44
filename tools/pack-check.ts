// npm run pack:check: checks the packages to publish with publint and are-the-types-wrong, and for install scripts and
// stray files.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { spawnChild } from '@toolwright/core/process';

const root = fileURLToPath(new URL('..', import.meta.url));
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'];
const ALLOWED_FILES =
  /^(dist\/|python\/toolwright_provider\/([a-z_]+\.py|py\.typed)$|contract\/contract[-_](provider|server)\.(ts|mjs|py)$|package\.json$|schema\.json$|README\.md$|LICENSE$)/;

async function run(args: string[], cwd: string): Promise<{ code: number | null; output: string }> {
  const child = spawnChild({ command: process.execPath, args, cwd, stdin: 'ignore' });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const { code } = await child.exited;
  return { code, output };
}

async function npm(args: string[], cwd: string): Promise<string> {
  const cli = process.env.npm_execpath;
  if (!cli) throw new Error('Run this through npm: npm run pack:check.');
  const { code, output } = await run([cli, ...args], cwd);
  if (code !== 0) throw new Error(output);
  return output;
}

const faults: string[] = [];
for (const name of ['core', 'runtime', 'gateway']) {
  const cwd = `${root}packages/${name}`;
  const manifest = JSON.parse(await readFile(`${cwd}/package.json`, 'utf8')) as { scripts?: Record<string, string> };
  for (const script of INSTALL_SCRIPTS)
    if (manifest.scripts?.[script]) faults.push(`${name}: has the install script "${script}"`);

  const packed = await npm(['pack', '--dry-run', '--json', '--ignore-scripts'], cwd);
  const [{ files }] = JSON.parse(packed.slice(packed.indexOf('['), packed.lastIndexOf(']') + 1)) as [
    { files: { path: string }[] },
  ];
  for (const { path } of files)
    if (!ALLOWED_FILES.test(path) || path.includes('metafile')) faults.push(`${name}: would publish ${path}`);

  const lint = await run([`${root}node_modules/publint/src/cli.js`, '--strict'], cwd);
  if (lint.code !== 0) faults.push(`${name}: publint\n${lint.output}`);
  const types = await run(
    [`${root}node_modules/@arethetypeswrong/cli/dist/index.js`, '--pack', '.', '--profile', 'esm-only'],
    cwd,
  );
  if (types.code !== 0) faults.push(`${name}: are the types wrong\n${types.output}`);
  console.log(`${name}: ${files.length} files`);
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
