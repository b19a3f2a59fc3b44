// The tools with the real server of TypeScript 7.

import { describe, expect, it } from 'vitest';
import { ToolHub } from '../../../src/hub/hub.js';
import { InProcessToolProvider } from '../../../src/provider/in-process-provider.js';
import type { JsonObject } from '../../../src/contract/json.js';
import { textOf } from '../../../src/contract/result.js';
import { expectNoLeaks } from '../../../src/testing/leaks.js';
import { createTestProject } from '../../../src/testing/project.js';
import { openTools, peer, type Tools } from './diagnostics-tools.js';

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
  it('diagnostics() reports a type error at its line and UTF-16 column, and none when it is fixed', async () => {
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

  it('diagnostics() reports the error in another file when anyone changes a signature', async () => {
    await using tools = await open({ 'src/b.ts': USE.replace('string', 'number') });
    const right = { files: [], complete: true, checked: 1 };
    expect((await tools.call('diagnostics', { path: 'src/b.ts' })).data).toMatchObject(right); // the other is not open
    await tools.write('src/a.ts', ADD.replace('b: number', 'b: string').replace('+ b', '+ b.length')); // as a shell would
    const changed = { files: [{ path: 'src/b.ts', diagnostics: [{ line: 2, code: '2345' }] }], complete: true };
    expect((await tools.call('diagnostics', { path: 'src/b.ts' })).data).toMatchObject(changed);
    await tools.files.write('src/a.ts', Buffer.from(ADD));
    expect((await tools.call('diagnostics')).data).toMatchObject({ files: [], complete: true, checked: 2 });
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

describe.skipIf(typescript === undefined)('diagnostics with TypeScript 7, packages and permissions', () => {
  it('diagnostics() sees a package that was installed, and the settings that are wrong', async () => {
    await using tools = await open({ 'src/b.ts': "import { left } from 'left';\nleft.slice();\n" });
    expect((await tools.call('diagnostics')).data).toMatchObject({ counts: { error: 1 }, complete: true });
    await tools.write(
      'node_modules/left/package.json',
      '{ "name": "left", "version": "1.0.0", "types": "index.d.ts" }',
    );
    await tools.write('node_modules/left/index.d.ts', 'export declare const left: string;\n');
    expect((await tools.call('diagnostics')).data).toMatchObject({ counts: { error: 0 }, complete: true });
    await tools.write('tsconfig.json', TSCONFIG.replace('es2022', 'es1066'));
    // It pushes this, and when it likes.
    const wrong = [{ path: 'tsconfig.json', diagnostics: [{ line: 1, severity: 'error' }] }];
    await expect
      .poll(async () => (await tools.call('diagnostics')).data.files, { timeout: 10_000 })
      .toMatchObject(wrong);
  });

  it('diagnostics() and references() omit what the policy denies, and report it', async () => {
    await using tools = await open();
    const rules = [{ tool: 'diagnostics.*', pattern: 'src/b.ts', action: 'deny' as const }];
    await using hub = new ToolHub({ providers: [tools.provider], policy: { rules, default: 'allow' } });
    const all = await hub.callTool('diagnostics.diagnostics');
    expect(all.structuredContent).toMatchObject({ files: [], checked: 1, withheld: 1 });
    expect((await hub.callTool('diagnostics.check_errors', { path: 'src/b.ts' })).error?.code).toBe(
      'PERMISSION_DENIED',
    );
    const place = { path: 'src/a.ts', line: 1, column: 17 };
    const references = await hub.callTool('diagnostics.references', place);
    expect(references.structuredContent).toMatchObject({ locations: [{ path: 'src/a.ts' }], withheld: 2 });
    const renamed = await hub.callTool('diagnostics.rename', { ...place, new_name: 'plus', dry_run: false });
    expect(renamed.error?.code).toBe('PERMISSION_DENIED');
    expect(await tools.read('src/a.ts')).toBe(ADD);
  });
});

describe.skipIf(typescript === undefined)('symbols with TypeScript 7', () => {
  const SHAPES =
    'export interface Shape {\n  area(): number;\n}\nexport class Square implements Shape {\n  side = 2;\n  area(): number {\n    return this.side ** 2;\n  }\n}\nexport type P = Promise<string>;\n';

  it('definition(), references(), implementation() and hover() know a symbol by its place or its name', async () => {
    await using tools = await open({ 'src/shape.ts': SHAPES });
    expect((await tools.call('definition', { path: 'src/b.ts', line: 2, column: 38 })).data).toEqual({
      locations: [
        {
          path: 'src/a.ts',
          range: { line: 1, column: 17, end_line: 1, end_column: 20 },
          preview: 'export function add(a: number, b: number): number {',
        },
      ],
      count: 1,
      truncated: false,
    });
    const references = await tools.call('references', { symbol: 'add' });
    expect(
      references.data.locations.map(
        (each: { path: string; range: { line: number } }) => `${each.path}:${each.range.line}`,
      ),
    ).toEqual(['src/a.ts:1', 'src/b.ts:1', 'src/b.ts:2']);
    expect((await tools.call('references', { symbol: 'add', limit: 1 })).data).toMatchObject({
      count: 3,
      truncated: true,
    });
    expect((await tools.call('implementation', { path: 'src/shape.ts', symbol: 'Shape.area' })).text).toContain(
      'shape.ts:6:3',
    );
    expect((await tools.call('hover', { path: 'src/a.ts', symbol: 'add' })).data.markdown).toContain('add(a: number');
    const library = await tools.call('definition', { path: 'src/shape.ts', line: 10, column: 18 });
    expect(library.data.locations[0]).toMatchObject({
      path: expect.stringMatching(/^\/.*lib\..*d\.ts$/),
      external: true,
    });
  });

  it('symbols() returns the outline of a file, and finds declarations in the project', async () => {
    await using tools = await open({ 'src/shape.ts': SHAPES });
    const { data } = await tools.call('symbols', { path: 'src/shape.ts' });
    expect(data.symbols).toMatchObject([
      { name: 'Shape', kind: 'interface', line: 1 },
      { name: 'area', kind: 'method', container: 'Shape', line: 2 },
      { name: 'Square', kind: 'class', line: 4, end_line: 9 },
      { name: 'side', kind: 'property', container: 'Square' },
      { name: 'area', kind: 'method', container: 'Square' },
      { name: 'P', line: 10 },
    ]);
    expect((await tools.call('symbols', { path: 'src/shape.ts', depth: 1 })).data.count).toBe(3);
    expect((await tools.call('symbols', { query: 'Squ' })).data.symbols).toMatchObject([
      { name: 'Square', path: 'src/shape.ts' },
    ]);
  });

  it('reports what is wrong with a place, and which others there are', async () => {
    await using tools = await open({ 'src/shape.ts': SHAPES });
    expect(await tools.call('hover', { path: 'src/b.ts', line: 9, column: 1 })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      text: expect.stringContaining('3 lines'),
    });
    expect(await tools.call('hover', { path: 'src/b.ts', line: 1, column: 99 })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      text: expect.stringContaining('29 UTF-16 units'),
    });
    expect(await tools.call('hover', { path: 'src/b.ts', line: 1 })).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(await tools.call('definition', { path: 'src/shape.ts', symbol: 'area' })).toMatchObject({
      code: 'MULTIPLE_MATCHES',
      text: expect.stringContaining('src/shape.ts:2:3'),
    });
    expect(await tools.call('definition', { path: 'src/shape.ts', symbol: 'volume' })).toMatchObject({
      code: 'NOT_FOUND',
      text: expect.stringContaining('Square.side'),
    });
    expect(await tools.call('definition', { symbol: 'volume' })).toMatchObject({ code: 'NOT_FOUND' });
    expect(await tools.call('definition', { path: '../x.ts', symbol: 'x' })).toMatchObject({ code: 'OUTSIDE_PROJECT' });
  });

  it('rename() shows the change of two files, makes it, and leaves their other bytes alone', async () => {
    const use = USE.replaceAll('\n', '\r\n');
    await using tools = await open({ 'src/b.ts': `\ufeff${use}` });
    const requested = { path: 'src/a.ts', line: 1, column: 17, new_name: 'plus' };
    const shown = await tools.call('rename', requested);
    expect(shown.data).toEqual({
      changes: [
        { path: 'src/a.ts', edits: 1 },
        { path: 'src/b.ts', edits: 2 },
      ],
      applied: false,
    });
    expect(shown.text).toContain('+export function plus(a');
    expect(await tools.read('src/a.ts')).toBe(ADD);
    const made = await tools.call('rename', { ...requested, dry_run: false });
    expect(made.data).toMatchObject({ applied: true });
    expect(await tools.read('src/a.ts')).toBe(ADD.replace('add', 'plus'));
    expect(await tools.read('src/b.ts')).toBe(`\ufeff${use.replaceAll('add', 'plus')}`);
    expect((await tools.call('diagnostics')).data.counts).toMatchObject({ error: 1 });
  });

  it('rename() changes nothing when one file cannot be written, or the change would leave the project', async () => {
    await using world = await createTestProject({
      'proj/tsconfig.json': TSCONFIG.replace('"src"', '"src","../other"'),
      'proj/src/a.ts': ADD,
      'other/c.ts': "import { add } from '../proj/src/a.js';\nadd(1, 2);\n",
    });
    await using tools = await openTools({}, { typescript: typescript!, projectDir: world.resolve('proj') });
    const requested = { path: 'src/a.ts', line: 1, column: 17, new_name: 'plus', dry_run: false };
    const outside = await tools.call('rename', requested);
    expect(outside).toMatchObject({ code: 'OUTSIDE_PROJECT', text: expect.stringContaining('nothing was changed') });
    expect(await world.read('proj/src/a.ts')).toBe(ADD);
    await using other = await open({
      '.vscode/d.ts': "import { add } from '../src/a.js';\nadd(1, 2);\n",
      'tsconfig.json': TSCONFIG.replace('"src"', '"src",".vscode/d.ts"'),
    });
    expect(await other.call('rename', requested)).toMatchObject({ code: 'PROTECTED_PATH' });
    expect(await other.read('src/a.ts')).toBe(ADD);
    for (const name of ['', 'two words', 'new\nline'])
      expect((await tools.call('rename', { ...requested, new_name: name })).code).toBe('INVALID_ARGUMENT');
  });
});

describe.skipIf(typescript === undefined)('filesystem tools with TypeScript 7', () => {
  it('write_file(), edit_file() and apply_patch() report the errors that they cause, and no others', async () => {
    await using _ = expectNoLeaks();
    await using project = await createTestProject({ 'tsconfig.json': TSCONFIG, 'src/a.ts': ADD, 'src/b.ts': USE });
    await using provider = InProcessToolProvider.forProject(project.projectDir, {
      fsync: false,
      bash: false,
      git: false,
      diagnostics: { typescript: typescript! },
    });
    const call = async (name: string, args: JsonObject): Promise<JsonObject & { text: string }> => {
      const result = await provider.callTool(`filesystem.${name}`, args);
      expect(result.error).toBeUndefined();
      return { ...result.structuredContent, text: textOf(result) };
    };
    await provider.callTool('diagnostics.check_errors', { path: 'src/b.ts' }); // so that the server runs, and 1.5 s do
    await call('read_file', { path: 'src/b.ts' });
    const lines = await call('edit_file', { path: 'src/b.ts', insert_line: 0, new_string: '\n\n// moved\n' });
    expect(lines.diagnostics).toEqual({ diagnostics: [], complete: true });
    await call('read_file', { path: 'src/a.ts' });
    const edit = { path: 'src/a.ts', old_string: 'b: number)', new_string: 'b: string)' };
    const { diagnostics, text } = await call('edit_file', edit);
    expect(diagnostics).toMatchObject({
      diagnostics: [
        { path: 'src/a.ts', line: 2, code: '2322' },
        { path: 'src/b.ts', line: 5, code: '2345' },
      ],
      complete: true,
    });
    expect(text).toContain('New errors after this change: 2 errors.');
    const fresh = await call('write_file', { path: 'src/c.ts', content: 'export const c: number = "c";\n' });
    expect(fresh.diagnostics).toMatchObject({ diagnostics: [{ path: 'src/c.ts', line: 1 }], complete: true });
    const patch = `*** Begin Patch\n*** Add File: src/d.ts\n+export const d: Missing = 1;\n*** Update File: src/a.ts\n@@\n-  return a + b;\n+  return Number(a + b);\n*** End Patch`;
    expect((await call('apply_patch', { patch })).diagnostics).toMatchObject({
      diagnostics: [{ path: 'src/d.ts', line: 1, code: '2304' }],
      complete: true,
    });
    expect((await call('write_file', { path: 'notes.md', content: '# Notes\n' })).diagnostics).toBeUndefined();
  });

  it('edit_file() of a file that was not checked before reports only new errors', async () => {
    await using project = await createTestProject({
      'tsconfig.json': TSCONFIG,
      'src/a.ts': `${ADD}export const old: number = '';\n`,
    });
    await using provider = InProcessToolProvider.forProject(project.projectDir, {
      fsync: false,
      diagnostics: { typescript: typescript! },
    });
    await provider.callTool('diagnostics.symbols', { path: 'src/a.ts' });
    await provider.callTool('diagnostics.servers', { restart: 'typescript' });
    await provider.callTool('filesystem.read_file', { path: 'src/a.ts' });
    const args = { path: 'src/a.ts', old_string: 'return a', new_string: 'return c' };
    const { structuredContent } = await provider.callTool('filesystem.edit_file', args);
    const { diagnostics, complete } = structuredContent!.diagnostics as {
      diagnostics: JsonObject[];
      complete: boolean;
    };
    // On a slow machine the server may not have started within 1.5 s, and nothing is known; never the old error.
    expect(diagnostics.map(({ code }) => code)).toEqual(complete ? ['2304'] : []);
  });
});
