// One build recipe for every package: `tsup --config ../../tsup.config.ts`, run in the package's folder.
import { readFileSync } from 'node:fs';
import { defineConfig } from 'tsup';

const { toolwright } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  toolwright: { entries: Record<string, string> };
};

export default defineConfig({
  entry: toolwright.entries,
  format: 'esm',
  target: 'node20',
  dts: true,
  clean: true,
  splitting: true,
  sourcemap: true,
  minifyWhitespace: true, // comments are half of the code, and every import reads them
  metafile: true, // read by the test of import directions; not published
  removeNodeProtocol: false, // the default turns `node:sqlite` into a module that does not exist
  tsconfig: '../../tsconfig.build.json',
});
