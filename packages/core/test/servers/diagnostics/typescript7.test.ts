// The tools with the real server of TypeScript 7.

import { describe, expect, it } from 'vitest';
import { expectNoLeaks } from '../../../src/testing/leaks.js';
import { openTools, peer, type Tools } from './tools.js';

const typescript = await peer('typescript7');
const TSCONFIG = JSON.stringify({
  compilerOptions: { strict: true, module: 'nodenext', target: 'es2022', types: [] },
  include: ['src'],
});
const ADD = 'export function add(a: number, b: number): number {\n  return a + b;\n}\n';
const USE = "import { add } from './a.js';\n/* 😀 */ export const sum: string = add(1, 2);\n";

const open = (files: Record<string, string> = {}): Promise<Tools> =>
  openTools(
    { 'tsconfig.json': TSCONFIG, 'src/a.ts': ADD, 'src/b.ts': USE, ...files },
    typescript === undefined ? {} : { typescript },
  );

describe.skipIf(typescript === undefined)('diagnostics with TypeScript 7', () => {
  it('diagnostics() tells of a type error at its line and UTF-16 column, and of none when it is mended', async () => {
    await using _ = expectNoLeaks();
    await using tools = await open();
    const { data, text } = await tools.call('diagnostics', { path: 'src/b.ts' });
    expect(data).toMatchObject({
      files: [
        {
          path: 'src/b.ts',
          diagnostics: [
            {
              line: 2,
              column: 23,
              end_line: 2,
              end_column: 26,
              severity: 'error',
              code: '2322',
              source: 'ts',
              message: "Type 'number' is not assignable to type 'string'.",
            },
          ],
        },
      ],
      counts: { error: 1, warning: 0, info: 0, hint: 0 },
      complete: true,
      pending: [],
      servers: [{ name: 'typescript', state: 'ready', root: '.' }],
    });
    expect(text).toContain("src/b.ts:2:23 error ts 2322: Type 'number' is not assignable");
    expect((await tools.call('check_errors', { path: 'src/b.ts' })).data).toEqual({
      has_errors: true,
      count: 1,
      complete: true,
    });
    await tools.write('src/b.ts', USE.replace('string', 'number'));
    const mended = await tools.call('diagnostics', { path: 'src/b.ts' });
    expect(mended.data).toMatchObject({ files: [], counts: { error: 0 }, complete: true });
    expect((await tools.call('check_errors', { path: 'src/b.ts' })).text).toBe('No, src/b.ts has no errors.');
  });

  it('diagnostics() tells of the error in another file when a signature is changed, by whomever', async () => {
    await using tools = await open({ 'src/b.ts': USE.replace('string', 'number') });
    expect((await tools.call('diagnostics')).data).toMatchObject({ files: [], complete: true, checked: 2 });
    await tools.write('src/a.ts', ADD.replace('b: number', 'b: string').replace('+ b', '+ b.length')); // as a shell would
    const changed = { files: [{ path: 'src/b.ts', diagnostics: [{ line: 2, code: '2345' }] }], complete: true };
    expect((await tools.call('diagnostics', { path: 'src/b.ts' })).data).toMatchObject(changed);
    await tools.files.write('src/a.ts', Buffer.from(ADD));
    expect((await tools.call('diagnostics')).data).toMatchObject({ files: [], complete: true });
    await tools.files.write(
      'src/a.ts',
      Buffer.from(ADD.replace('): number', '): Date').replace('a + b', 'new Date()')),
    );
    expect((await tools.call('diagnostics')).data).toMatchObject({
      files: [{ path: 'src/b.ts', diagnostics: [{ line: 2, code: '2322' }] }],
      complete: true,
    });
  });
});
