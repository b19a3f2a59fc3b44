// The second check of a changed file, against the same request to the language server over a bare connection. Uses the
// server of TypeScript 7 from tools/peers; skipped without it.

import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { InProcessToolProvider } from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';
import { createDiagnosticsServer } from '@toolwright/core/servers/diagnostics';
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node';
import { compareSingly, reach, type Row } from '../method.js';

const TYPESCRIPT = fileURLToPath(new URL('../../tools/peers/node_modules/typescript7', import.meta.url));
const PROGRAM = join(TYPESCRIPT, `../@typescript/typescript-${process.platform}-${process.arch}/lib/tsc`);
const FILES = 40;

/** A module that uses the previous one, with or without an error. */
const moduleText = (number: number, turn: number): string =>
  [
    number === 0 ? 'export const value0 = 0;' : `import { value${number - 1} } from './m${number - 1}.js';`,
    ...(number === 0 ? [] : [`export const value${number}: number = value${number - 1} + 1;`]),
    `export const turn: ${turn % 2 === 0 ? 'number' : 'string'} = ${turn};`,
    '',
  ].join('\n');

export async function diagnosticsRows(): Promise<Row[]> {
  if (!existsSync(PROGRAM)) {
    process.stdout.write('No rows of diagnostics: install TypeScript 7 with "npm ci --prefix tools/peers".\n');
    return [];
  }
  const projectDir = await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-bench-`));
  try {
    const tsconfig = { compilerOptions: { strict: true, module: 'nodenext', target: 'es2022', types: [] } };
    await writeFile(join(projectDir, 'tsconfig.json'), JSON.stringify(tsconfig));
    for (let number = 0; number < FILES; number++)
      await writeFile(join(projectDir, `m${number}.ts`), moduleText(number, 0));
    const file = join(projectDir, `m${FILES - 1}.ts`);

    await using bare = await startBare(projectDir, file);
    const server = createDiagnosticsServer({ projectDir, typescript: TYPESCRIPT });
    await using provider = new InProcessToolProvider({ servers: [server] });
    let turn = 0;
    const change = async (): Promise<string> => {
      const text = moduleText(FILES - 1, ++turn);
      await writeFile(file, text);
      return text;
    };
    const expectErrors = (count: number): void => {
      if (count !== turn % 2) throw new Error(`${count} errors in turn ${turn}`);
    };
    const row = await compareSingly(
      'a file changed, and asked about',
      {
        name: 'diagnostics.diagnostics, TypeScript 7',
        run: async () => {
          await change();
          const { structuredContent } = await provider.callTool('diagnostics.diagnostics', {
            path: `m${FILES - 1}.ts`,
          });
          expectErrors((structuredContent as { counts: { error: number } }).counts.error);
        },
      },
      { name: 'its server, over a bare connection', run: async () => expectErrors(await bare.ask(await change())) },
      { each: 1, rounds: 40 },
    );
    return [reach(row, row.differenceUs.median / 1_000, '<=', 100, 'ms more')];
  } finally {
    await rm(projectDir, { recursive: true, force: true });
  }
}

/** The server with one document open: sends the new text and returns the number of errors. */
async function startBare(projectDir: string, file: string) {
  const child = spawnChild({ command: PROGRAM, args: ['--lsp', '--stdio'], cwd: projectDir, stdin: 'pipe' });
  child.stderr.resume();
  const connection = createMessageConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin!),
  );
  connection.onRequest(() => null);
  connection.listen();
  const rootUri = pathToFileURL(projectDir).href;
  const uri = pathToFileURL(file).href;
  const capabilities = { textDocument: { diagnostic: {}, synchronization: {} } };
  await connection.sendRequest('initialize', { processId: process.pid, rootUri, capabilities });
  await connection.sendNotification('initialized', {});
  const text = await readFile(file, 'utf8');
  const textDocument = { uri, languageId: 'typescript', version: 1, text };
  await connection.sendNotification('textDocument/didOpen', { textDocument });
  let version = 1;
  return {
    async ask(changed: string): Promise<number> {
      const contentChanges = [{ text: changed }];
      await connection.sendNotification('textDocument/didChange', {
        textDocument: { uri, version: ++version },
        contentChanges,
      });
      const report = await connection.sendRequest<{ items: { severity: number }[] }>('textDocument/diagnostic', {
        textDocument: { uri },
      });
      return report.items.filter(({ severity }) => severity === 1).length;
    },
    async [Symbol.asyncDispose]() {
      connection.dispose();
      await child.end({ graceMs: 0 });
    },
  };
}
