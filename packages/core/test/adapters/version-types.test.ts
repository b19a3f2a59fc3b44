// The loops of examples/engines compile with the types of the oldest and newest versions of each vendor's package, which are
// in tools/peers; without them these tests are skipped.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const PEERS = `${ROOT}tools/peers/node_modules/`;

/** Where the types of the packages are, by the name of an import. */
const VERSIONS: Record<string, Record<string, string[]>> = {
  oldest: {
    ai: ['ai-oldest/dist/index.d.mts'],
    openai: ['openai-oldest/index.d.mts'],
    '@anthropic-ai/sdk': ['anthropic-oldest/index.d.mts'],
    '@google/genai': ['genai-oldest/dist/genai.d.ts'],
    '@langchain/core/*': ['langchain-core-oldest/dist/*/index.d.ts', 'langchain-core-oldest/dist/*.d.ts'],
  },
  newest: {
    ai: ['ai7/dist/index.d.ts'],
    openai: ['openai7/index.d.mts'],
    '@google/genai': ['genai3/dist/genai.d.ts'],
  },
};
const LOOPS = ['ai-sdk', 'anthropic', 'gemini', 'langchain', 'openai', 'openai-responses'];
const missing = Object.values(VERSIONS).some((paths) =>
  Object.values(paths).some(([first]) => !existsSync(`${PEERS}${first!.split('/')[0]}`)),
);

describe.skipIf(missing)(`the examples${missing ? ' (skipped: the versions are not in tools/peers)' : ''}`, () => {
  it.each(Object.entries(VERSIONS))(
    'compile with the types of the %s versions',
    (_, paths) => {
      const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, (path) => ts.sys.readFile(path)) as {
        config: object;
      };
      const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
      const own = Object.entries(paths).map(([name, files]) => [name, files.map((file) => `${PEERS}${file}`)] as const);
      const program = ts.createProgram(
        LOOPS.map((name) => `${ROOT}examples/engines/${name}.ts`),
        { ...options, paths: { ...options.paths, ...Object.fromEntries(own) }, pathsBasePath: ROOT },
      );
      const used = program.getSourceFiles().map(({ fileName }) => fileName);
      for (const [, files] of own) {
        const directory = `${PEERS}${files[0]!.slice(PEERS.length).split('/')[0]}/`;
        expect(
          used.some((file) => file.startsWith(directory)),
          directory,
        ).toBe(true);
      }
      const diagnostics = LOOPS.flatMap((name) => {
        const file = program.getSourceFile(`${ROOT}examples/engines/${name}.ts`)!;
        return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
      });
      const faults = diagnostics.map(({ messageText, file, start }) => {
        const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
        return `${file?.fileName}:${line} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
      });
      expect(faults).toEqual([]);
    },
    300_000,
  );
});
