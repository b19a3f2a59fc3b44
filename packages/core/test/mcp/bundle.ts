// The fixture programs that are written in TypeScript, as one plain file each: a child starts in a third of the time.

import { mkdtemp, rm } from 'node:fs/promises';
import { extname, join, parse } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'tsup';

const CORE = fileURLToPath(new URL('../../', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** Bundles `fixtures/NAME.ts`, or NAME with its extension, of these tests or of the directory. The file is gone when it is disposed. */
export async function bundleFixture(
  source: string,
  fixtures = join(CORE, 'test/mcp/fixtures'),
): Promise<{ file: string } & AsyncDisposable> {
  const { name } = parse(source);
  const directory = await mkdtemp(join(CORE, 'node_modules-fixture-')); // below the package, so that imports resolve
  await build({
    entry: { [name]: join(fixtures, extname(source) === '' ? `${source}.ts` : source) },
    outDir: directory,
    outExtension: () => ({ js: '.mjs' }),
    format: 'esm',
    target: 'node20',
    config: false,
    silent: true,
    splitting: false,
    tsconfig: join(ROOT, 'tsconfig.json'),
    noExternal: [/^@toolwright\//],
  });
  return {
    file: join(directory, `${name}.mjs`),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}
