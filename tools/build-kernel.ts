// npm run build:kernel: compiles tools/vector-kernel and writes it as base64 to the sources of the memory server.

import { writeFile } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

const SOURCE = fileURLToPath(new URL('vector-kernel/dot-products.ts', import.meta.url));
const TARGET = fileURLToPath(
  new URL('../packages/core/src/servers/memory/embeddings/dot-products-wasm.ts', import.meta.url),
);

/** The used part of `assemblyscript/asc`, whose types declare another global `console` for the whole program. */
interface Compiler {
  main(
    args: string[],
    system: { writeFile: (name: string, contents: string | Uint8Array) => void },
  ): Promise<{ error: Error | null; stderr: { toString(): string } }>;
}

/** The compiled kernel. @throws {Error} with the compiler's output */
export async function compileKernel(): Promise<Uint8Array> {
  const name: string = 'assemblyscript/asc';
  const asc = (await import(name)) as unknown as Compiler;
  const files = new Map<string, string | Uint8Array>();
  const { error, stderr } = await asc.main(
    [SOURCE, '-o', 'kernel.wasm', '-O3', '--runtime', 'stub', '--importMemory', '--enable', 'simd', '--noAssert'],
    { writeFile: (name, contents) => void files.set(name, contents) },
  );
  const compiled = files.get('kernel.wasm');
  if (error || !(compiled instanceof Uint8Array)) throw new Error(stderr.toString(), { cause: error });
  return compiled;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const base64 = Buffer.from(await compileKernel()).toString('base64');
  await writeFile(
    TARGET,
    `// Made by \`npm run build:kernel\` from tools/vector-kernel/dot-products.ts. Do not edit; a test compares the two.\n\n` +
      `/** A WebAssembly module, as base64, that imports \`env.memory\` and exports \`dotProducts\`. */\n` +
      `export const DOT_PRODUCTS_WASM =\n  '${base64}';\n`,
  );
}
