// Where the memory thread's program is: built, a file of its own in `dist`; in a checkout TypeScript, which no thread of
// every supported Node can run, so it is bundled once and kept among the installed packages.

import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';

/** From this module: it may be in `dist/servers/memory`, or in a chunk at the root of `dist`. */
const BUILT = ['./worker.js', './servers/memory/worker.js', './memory/worker.js'];
const SOURCE = './worker.ts';

/** What is used of esbuild. */
interface Bundler {
  build(options: Record<string, unknown>): Promise<{ outputFiles: { contents: Uint8Array; hash: string }[] }>;
  stop(): Promise<void>;
}

let program: Promise<URL> | undefined;

/** @throws {Error} when there is none, as in a bundle that left it out */
export function workerProgram(): Promise<URL> {
  return (program ??= find());
}

async function find(): Promise<URL> {
  const source = new URL(SOURCE, import.meta.url);
  if (import.meta.url.endsWith('.ts') && existsSync(source)) return bundled(source);
  for (const name of BUILT) {
    const url = new URL(name, import.meta.url);
    if (existsSync(url)) return url;
  }
  throw new Error(
    'dist/servers/memory/worker.js is not beside this module. Leave @toolwright/core out of your bundle, so that it is loaded from node_modules',
  );
}

async function bundled(source: URL): Promise<URL> {
  const bundler = 'esbuild'; // in a variable: it is no dependency of the published package
  const esbuild = (await import(bundler)) as Bundler;
  const { outputFiles } = await esbuild.build({
    entryPoints: [decodeURIComponent(source.pathname)],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    sourcemap: 'inline',
    define: { 'import.meta.url': JSON.stringify(source.href) },
    logLevel: 'silent',
  });
  await esbuild.stop(); // it is a process
  const [output] = outputFiles;
  if (!output) throw new Error('esbuild gave no output');
  const directory = new URL('../../../../node_modules/.cache/toolwright/', import.meta.url);
  const file = new URL(`memory-worker-${output.hash.replace(/\W/g, '')}.mjs`, directory);
  if (existsSync(file)) return file;
  mkdirSync(directory, { recursive: true });
  const temporary = new URL(`${file.href}.${process.pid}`);
  writeFileSync(temporary, output.contents);
  renameSync(temporary, file);
  return file;
}
