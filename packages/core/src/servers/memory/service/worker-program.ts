// Finds the memory thread's program: a separate file in `dist`. In a checkout it is TypeScript, which not every supported
// Node can run in a thread, so esbuild bundles it once into node_modules/.cache.

import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';

/** Relative to this module, which may be in `dist/servers/memory` or in a chunk at the root of `dist`. */
const BUILT = ['./worker.js', './servers/memory/worker.js', './memory/worker.js'];
const SOURCE = './worker.ts';

/** The part of esbuild's interface that is used. */
interface Bundler {
  build(options: Record<string, unknown>): Promise<{ outputFiles: { contents: Uint8Array; hash: string }[] }>;
  stop(): Promise<void>;
}

let program: Promise<URL> | undefined;

/** @throws {Error} when it is missing, as in a bundle of an application */
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
    'dist/servers/memory/worker.js was not found relative to this module. Mark @toolwright/core as external in your bundler, so that it is loaded from node_modules',
  );
}

async function bundled(source: URL): Promise<URL> {
  const bundler = 'esbuild'; // in a variable, as it is not a dependency of the published package
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
  await esbuild.stop(); // ends its process
  const [output] = outputFiles;
  if (!output) throw new Error('esbuild produced no output');
  const directory = new URL('../../../../node_modules/.cache/toolwright/', import.meta.url);
  const file = new URL(`memory-worker-${output.hash.replace(/\W/g, '')}.mjs`, directory);
  if (existsSync(file)) return file;
  mkdirSync(directory, { recursive: true });
  const temporary = new URL(`${file.href}.${process.pid}`);
  writeFileSync(temporary, output.contents);
  renameSync(temporary, file);
  return file;
}
