// Names that look the same and are not the same code points: NFC and NFD.

import { readdir, symlink } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/contract/json.js';
import { openTools, type Tools } from './filesystem-tools.js';

const NFC = 'caf\u00e9.txt';
const NFD = 'cafe\u0301.txt';

/** Whether the file system tells the two apart; macOS does not. */
async function tellsApart(tools: Tools): Promise<boolean> {
  await tools.write('probe/\u00e9', '');
  await tools.write('probe/e\u0301', '');
  return (await readdir(tools.path('probe'))).length === 2;
}

it.each([
  [NFC, NFD],
  [NFD, NFC],
])(
  'createFilesystemServer() finds a file in every tool by either form of its name: %j for %j',
  async (requested, there) => {
    await using tools = await openTools({ [`d\u00e9/${there}`]: 'one\n' });
    const path = `de\u0301/${requested}`;
    expect(await tools.call('read_file', { path })).toMatchObject({ code: undefined, body: '     1\tone' });
    expect((await tools.call('stat', { path })).data).toMatchObject({ type: 'file' });
    expect((await tools.call('edit_file', { path, old_string: 'one', new_string: 'two' })).code).toBeUndefined();
    expect((await tools.call('write_file', { path, content: 'three\n' })).data).toMatchObject({ created: false });
    const patch = `*** Begin Patch\n*** Update File: ${path}\n@@\n-three\n+four\n*** End Patch`;
    expect((await tools.call('apply_patch', { patch })).code).toBeUndefined();
    expect(await readdir(tools.path('d\u00e9'))).toEqual([there]);
    expect((await tools.read(`d\u00e9/${there}`)).toString()).toBe('four\n');
    await tools.call('copy', { source: path, destination: 'copy.txt' });
    await tools.call('move', { source: path, destination: 'moved.txt' });
    expect(await readdir(tools.path('d\u00e9'))).toEqual([]);
    await tools.write(`d\u00e9/${there}`, 'one\n');
    expect((await tools.call('delete', { path })).code).toBeUndefined();
    await tools.write(`d\u00e9/${there}`, 'four\n');
    await tools.call('read_file', { path });
    await tools.call('apply_patch', { patch: `*** Begin Patch\n*** Delete File: ${path}\n*** End Patch` });
    expect(await readdir(tools.path('d\u00e9'))).toEqual([]);
    expect(await readdir(tools.projectDir)).toEqual(expect.arrayContaining(['copy.txt', 'moved.txt']));
  },
);

it.each(['rg', 'js'] as const)('glob() and grep() match names in either form, with %s', async (engine) => {
  await using tools = await openTools({ 'caf\u00e9/d\u00fc.txt': 'one\n', 'other.txt': 'one\n' }, { search: engine });
  await tools.write('cafe\u0301/du\u0308.txt', 'one\n');
  const both = (await tellsApart(tools)) ? 2 : 1;
  for (const form of ['NFC', 'NFD']) {
    const [directory, name] = ['caf\u00e9'.normalize(form), 'd\u00fc*'.normalize(form)];
    const count = async (tool: string, args: JsonObject): Promise<number> => {
      const { data } = await tools.call(tool, args);
      return ((data.files ?? data.matches) as unknown[]).length;
    };
    expect(await count('glob', { pattern: `${directory}/*` })).toBe(both);
    expect(await count('glob', { pattern: name })).toBe(both);
    expect(await count('glob', { pattern: '*.txt', exclude: [name] })).toBe(1);
    expect(await count('grep', { pattern: 'one', glob: name, mode: 'files' })).toBe(both);
    expect(await count('grep', { pattern: 'one', glob: [`!${name}`], mode: 'files' })).toBe(1);
  }
});

it('write_file() creates a new file under exactly the given name', async () => {
  await using tools = await openTools();
  expect((await tools.call('write_file', { path: NFD, content: 'x' })).data).toMatchObject({ created: true });
  expect(await readdir(tools.projectDir)).toContain(NFD);
});

it('read_file() fails with NOT_FOUND and shows the code points when two files look like the requested one', async () => {
  await using tools = await openTools();
  if (!(await tellsApart(tools))) return;
  await tools.write('\u1e69', 'one');
  await tools.write('s\u0323\u0307', 'two');
  const { code, text } = await tools.call('read_file', { path: 's\u0307\u0323' });
  expect(code).toBe('NOT_FOUND');
  expect(text).toContain('s\\u{323}\\u{307}');
});

it('prepareCall() claims the name of the file as it is on disk', async () => {
  await using tools = await openTools({ [NFD]: 'x' });
  if (!(await tellsApart(tools))) return;
  for (const [tool, args] of [
    ['read_file', { path: NFC }],
    ['delete', { path: NFC }],
    ['write_file', { path: NFC, content: 'x' }],
    ['move', { source: NFC, destination: 'b.txt' }],
  ] as const) {
    const { claims } = await tools.provider.prepareCall(`filesystem.${tool}`, args);
    expect(claims.map(({ pattern }) => pattern)).toEqual(expect.arrayContaining([NFC, NFD]));
  }
});

it('delete() removes a link by either form of its name, and a patch refuses to', async () => {
  await using tools = await openTools({ 'a.txt': 'one\n' });
  await symlink('a.txt', tools.path(NFD));
  await tools.call('read_file', { path: NFC });
  const patch = `*** Begin Patch\n*** Delete File: ${NFC}\n*** End Patch`;
  expect(await tools.call('apply_patch', { patch })).toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect((await tools.call('delete', { path: NFC })).code).toBeUndefined();
  expect(await readdir(tools.projectDir)).toEqual(['.keep', 'a.txt']);
});
