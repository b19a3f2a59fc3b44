// One build recipe for every package: `tsup --config ../../tsup.config.ts`, run in the package's folder.
import { readFileSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Options } from 'tsup';

const { toolwright, optionalDependencies = {} } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  toolwright: { entries: Record<string, string>; copies?: Record<string, string> };
  optionalDependencies?: Record<string, string>;
};

/** Files that are published unchanged, from development dependencies or (with `./`) from the package. */
async function copyFiles(): Promise<void> {
  for (const [name, from] of Object.entries(toolwright.copies ?? {})) {
    await mkdir(dirname(`dist/${name}`), { recursive: true });
    const dependency = fileURLToPath(new URL(`./node_modules/${from}`, import.meta.url));
    await copyFile(from.startsWith('./') ? from : dependency, `dist/${name}`);
  }
}

/**
 * esbuild renames a class that refers to itself to `_ToolError`, which an uncaught error then shows. Its option `keepNames`
 * adds a call for every function to each import.
 */
const keepClassNames: NonNullable<Options['plugins']>[number] = {
  name: 'keep-class-names',
  renderChunk: (code) => {
    const renamed = new Set([...code.matchAll(/\bvar (\w+) = class _\1\b/g)].map(([, name]) => `_${name}`));
    return { code: code.replace(/\b_\w+\b/g, (word) => (renamed.has(word) ? word.slice(1) : word)) };
  },
};

export default defineConfig({
  entry: toolwright.entries,
  format: 'esm',
  target: 'node20',
  dts: true,
  clean: true,
  splitting: true,
  sourcemap: true,
  plugins: [keepClassNames],
  metafile: true, // read by the test of import directions; not published
  external: Object.keys(optionalDependencies), // tsup leaves out the others by itself
  removeNodeProtocol: false, // the default turns `node:sqlite` into a module that does not exist
  tsconfig: '../../tsconfig.build.json',
  onSuccess: copyFiles,
});
