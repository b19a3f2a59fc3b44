// Provider files of the fixtures and of the contract as plain JavaScript, built of the sources: a child starts in a fraction of the time.

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { fileURLToPath } from 'node:url';
import { contractProviderFile } from '@toolwright/runtime/testing';
import { build } from 'esbuild';

const RUNTIME = fileURLToPath(new URL('../', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Where the bundled fixtures are. Gone when it is disposed. */
export interface BundledFixtures extends AsyncDisposable {
  /** The absolute path of a bundled fixture. */
  file(name: string): string;
}

/** Bundles every `fixtures/*.ts`, and the contract's provider file. */
export async function bundleFixtures(): Promise<BundledFixtures> {
  const fixtures = join(RUNTIME, 'test/fixtures');
  const outdir = await mkdtemp(join(RUNTIME, 'node_modules-fixture-')); // below the package, so that imports resolve
  await build({
    entryPoints: [
      ...(await readdir(fixtures)).filter((name) => name.endsWith('.ts')).map((name) => join(fixtures, name)),
      contractProviderFile('javascript'),
    ].map((file) => ({ in: file, out: parse(file).name })),
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    tsconfig: join(ROOT, 'tsconfig.json'),
    external: [
      'ajv',
      'ajv-formats',
      'zod',
      'zod-to-json-schema',
      '@modelcontextprotocol/*',
      '@vscode/ripgrep',
      'web-tree-sitter',
    ],
    logLevel: 'error',
  });
  return {
    file: (name) => join(outdir, `${name}.mjs`),
    [Symbol.asyncDispose]: () => rm(outdir, { recursive: true, force: true }),
  };
}
