// The tools with the real typescript-language-server, over TypeScript 5.

import { describe, expect, it } from 'vitest';
import { expectNoLeaks } from '../../../src/testing/leaks.js';
import { openTools, peer, TYPESCRIPT_5 } from './diagnostics-tools.js';

const bridge = await peer('typescript-language-server');
const ADD = 'export function add(a: number, b: number): number {\n  return a + b;\n}\n';
const USE = "import { add } from './a.js';\n/* 😀 */ export const sum: string = add(1, 2);\n";
const TSCONFIG = JSON.stringify({ compilerOptions: { strict: true, module: 'nodenext', target: 'es2022', types: [] } });

describe.skipIf(bridge === undefined)('diagnostics with typescript-language-server', () => {
  it('diagnostics() reports a type error, none when it is fixed, and one in another file', async () => {
    await using _ = expectNoLeaks();
    // On the PATH, as a host that has installed it globally.
    const path = process.env.PATH;
    process.env.PATH = `${bridge}/../.bin:${path}`;
    try {
      await using tools = await openTools(
        { 'tsconfig.json': TSCONFIG, 'a.ts': ADD, 'b.ts': USE },
        { typescript: TYPESCRIPT_5 },
      );
      const requested = { path: 'b.ts', wait_ms: 60_000 };
      const { data } = await tools.call('diagnostics', requested);
      expect(data).toMatchObject({
        files: [
          {
            path: 'b.ts',
            diagnostics: [{ line: 2, column: 23, end_column: 26, severity: 'error', code: '2322', source: 'ts' }],
          },
        ],
        complete: true,
        servers: [{ name: 'typescript', version: expect.stringMatching(/^5\./) }],
      });
      await tools.write('b.ts', USE.replace('string', 'number'));
      expect((await tools.call('diagnostics', requested)).data).toMatchObject({ files: [], complete: true });
      await tools.write('a.ts', ADD.replace('b: number', 'b: string').replace('+ b', '+ b.length'));
      expect((await tools.call('diagnostics', requested)).data).toMatchObject({
        files: [{ path: 'b.ts', diagnostics: [{ line: 2, code: '2345' }] }],
        complete: true,
      });
    } finally {
      process.env.PATH = path;
    }
  });
});
