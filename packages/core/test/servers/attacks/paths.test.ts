import { readdir, writeFile } from 'node:fs/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTools, type Tools } from '../filesystem/filesystem-tools.js';
import { attack, named, SLOTS } from './every-tool.js';

let tools: Tools;
beforeAll(async () => {
  tools = await openTools({ 'a/b.txt': 'inside\n' }, { requireRead: false });
  for (const name of ['proj_evil', 'project2', ' proj', 'proj.', 'Proj'])
    await tools.world.write(`${name}/secret.txt`, 'secret needle\n');
});
afterAll(() => tools[Symbol.asyncDispose]());

const FULL_PATH = `${'d/'.repeat(2047)}ef`;

describe.each(SLOTS)('filesystem tool: $name', (slot) => {
  it('fails with OUTSIDE_PROJECT when the path is in a sibling whose name begins like the project', async () => {
    for (const name of ['proj-evil', 'proj_evil', 'project2', ' proj', 'proj.', 'Proj']) {
      for (const path of [tools.world.resolve(`${name}/secret.txt`), `../${name}/secret.txt`, `../${name}`])
        expect(await attack(tools, slot, path)).toBe('OUTSIDE_PROJECT');
    }
  });

  it('fails with OUTSIDE_PROJECT when the path leads up, or is absolute', async () => {
    const up = ['..', '../outside/secret.txt', 'a/../../outside/secret.txt', 'a//../../outside', './a/./../../outside'];
    const absolute = [
      '/',
      '//etc',
      '/etc/passwd',
      '/proc/self/environ',
      '/proc/self/cwd/x',
      '/proc/self/root/etc/passwd',
    ];
    for (const path of [...up, ...absolute]) expect(await attack(tools, slot, path), path).toBe('OUTSIDE_PROJECT');
  });

  it('fails with INVALID_ARGUMENT when the path has a foreign form', async () => {
    for (const path of ['C:\\x', 'c:/x', '\\\\?\\C:\\x', '\\\\server\\share', 'file:///etc/passwd', 'FILE://x'])
      expect(await attack(tools, slot, path), path).toBe('INVALID_ARGUMENT');
  });

  it.each([
    ['a NUL', 'a\0b'],
    ['a NUL behind what is outside', '../outside/secret.txt\0.png'],
    ['a name of 5,000 characters', 'n'.repeat(5_000)],
    ['a name of 256 bytes', 'é'.repeat(128)],
    ['more than 4,096 bytes', 'a/'.repeat(2_049)],
    ['half a surrogate pair', 'a\ud800b'],
  ])('fails with INVALID_ARGUMENT when the path is, or holds, %s', async (_what, path) => {
    expect(await attack(tools, slot, path)).toBe('INVALID_ARGUMENT');
  });

  it('fails with a code when the path has 4,096 bytes, and more with the project before it', async () => {
    expect(Buffer.byteLength(FULL_PATH)).toBe(4096);
    expect(['INVALID_ARGUMENT', 'NOT_FOUND']).toContain(await attack(tools, slot, FULL_PATH));
    expect((await readdir(tools.projectDir)).sort()).not.toContain('d');
  });
});

describe('filesystem tools on a path of any spelling', () => {
  it('write_file, stat and delete touch nothing outside', async () => {
    const pieces = fc.constantFrom(
      '..',
      '.',
      '',
      'proj',
      'proj-evil',
      'outside',
      'secret.txt',
      '...',
      '~',
      '%2e%2e',
      '\\',
    );
    const paths = fc.array(pieces, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('/'));
    const slots = fc.constantFrom('write_file', 'stat', 'delete', 'copy, source', 'create_directory');
    await fc.assert(
      fc.asyncProperty(slots, paths, async (name, path) => {
        await attack(tools, named(name), path);
      }),
      { numRuns: 200 },
    );
  }, 60_000);

  it.each(['~/x', '$HOME/x', '%2e%2e/x', '..\\..\\x', '..x', '.../x', 'proj-evil'])(
    'write_file treats %s as a name in the project',
    async (path) => {
      await using own = await openTools();
      expect(await attack(own, named('write_file'), path)).toBeUndefined();
      expect((await own.read(path)).toString()).toBe('x');
    },
  );
});

describe('filesystem tools with hostile file names', () => {
  const NAMES = [
    'new\nline.txt',
    'esc\u001b[31mred.txt',
    'rtl\u202etxt.exe',
    'zero\u200bwidth.txt',
    '-rf',
    ' ',
    'a\'b"c.txt',
  ];
  /** What a path cannot say: é in latin1. */
  const LATIN1 = Buffer.concat([Buffer.from('caf'), Buffer.from([0xe9]), Buffer.from('.txt')]);

  it('escapes control characters in every tool, and no tool fails on them', async () => {
    for (const slot of SLOTS) {
      await using own = await openTools({}, { requireRead: false });
      for (const name of NAMES) await own.write(name, 'needle secret\n');
      for (const name of NAMES) {
        const code = await attack(own, slot, name);
        expect(
          [undefined, 'INVALID_ARGUMENT', 'BINARY_FILE', 'NOT_FOUND', 'NO_MATCH'],
          `${slot.name} ${name}`,
        ).toContain(code);
      }
    }
  }, 60_000);

  it('shows names that are not UTF-8 by their bytes, and confuses them with no other file', async () => {
    for (const slot of SLOTS) {
      await using own = await openTools({ 'sub/a.txt': '' }, { requireRead: false });
      await writeFile(Buffer.concat([Buffer.from(own.path('sub/')), LATIN1]), 'needle');
      const { data } = await own.call('list_directory', { path: 'sub' });
      expect(data['entries']).toMatchObject([{ path: 'sub/a.txt' }, { path: 'sub/caf\\xe9.txt' }]);
      for (const path of ['sub/caf\\xe9.txt', 'sub/caf\ufffd.txt']) {
        const code = await attack(own, slot, path);
        if (!slot.writes || slot.name === 'delete') expect(code, `${slot.name} ${path}`).toBe('NOT_FOUND');
      }
      expect((await readdir(own.path('sub'), { encoding: 'buffer' })).some((name) => name.equals(LATIN1))).toBe(true);
    }
  }, 60_000);

  it('fails to move, copy and delete a directory with a code when a name in it is not UTF-8', async () => {
    await using own = await openTools({ 'sub/a.txt': '' });
    await writeFile(Buffer.concat([Buffer.from(own.path('sub/')), LATIN1]), 'needle');
    expect(await attack(own, named('copy, source'), 'sub')).toBe('INVALID_ARGUMENT');
    expect(await attack(own, named('move, source'), 'sub')).toBeUndefined();
    expect(await attack(own, named('delete'), 'moved')).toBeUndefined();
  });
});
