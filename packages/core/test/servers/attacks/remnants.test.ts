import { lstat, readdir, readFile, symlink, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isTemporaryName, temporaryName } from '../../../src/servers/project/write/atomic-write.js';
import { openTools } from '../filesystem/filesystem-tools.js';

const SOURCES = fileURLToPath(new URL('../../../src', import.meta.url));

it('createFilesystemServer() unpacks no archive, and no library of the package reads one', async () => {
  await using tools = await openTools({ 'a.zip': Buffer.from('PK\u0003\u0004../../x') });
  const names = (await tools.provider.listTools()).map(({ name }) => name).sort();
  expect(names).toEqual(
    ['apply_patch', 'copy', 'create_directory', 'delete', 'edit_file', 'glob', 'grep', 'list_directory', 'move']
      .concat(['read_file', 'read_many', 'read_media', 'stat', 'write_file'])
      .map((name) => `filesystem.${name}`),
  );
  expect((await tools.call('copy', { source: 'a.zip', destination: 'b.zip' })).code).toBeUndefined();
  expect(await readdir(tools.world.projectDir)).toEqual(['outside', 'proj', 'proj-evil']);
  const { dependencies } = JSON.parse(await readFile(join(SOURCES, '../package.json'), 'utf8'));
  expect(Object.keys(dependencies ?? {}).filter((name) => /zip|tar|archive|yauzl|unpack/.test(name))).toEqual([]);
});

it('createFilesystemServer() uses no directory for temporary files', async () => {
  for (const entry of await readdir(SOURCES, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // The home directory inside the sandbox, whose /tmp is its own and in memory.
    const text = (await readFile(path, 'utf8')).replace(": '/tmp/home';", '');
    expect(text, path).not.toMatch(/['"`/]\/?tmp\//);
  }
});

it('temporaryName() cannot be guessed, and is recognized by isTemporaryName()', () => {
  const names = new Set(Array.from({ length: 1_000 }, temporaryName));
  expect(names.size).toBe(1_000);
  for (const name of names) expect(isTemporaryName(name)).toBe(true);
});

it('write_file neither follows nor removes a link that waits under a name of a temporary file', async () => {
  await using tools = await openTools({}, { requireRead: false });
  const waiting = tools.path(temporaryName());
  await symlink(tools.world.resolve('outside/secret.txt'), waiting);
  const { lutimes } = await import('node:fs/promises');
  await lutimes(waiting, 0, 0); // as a crash of long ago would have left it
  await utimes(tools.path('.keep'), 0, 0);
  expect((await tools.call('write_file', { path: 'a.txt', content: 'new' })).code).toBeUndefined();
  expect((await lstat(waiting)).isSymbolicLink()).toBe(true);
  expect(await tools.world.read('outside/secret.txt')).toBe('secret needle\n');
  expect((await readdir(tools.projectDir)).sort()).toEqual(['.keep', basename(waiting), 'a.txt']);
});

it('edit_file and apply_patch put text in unchanged when it looks like a replacement pattern', async () => {
  await using tools = await openTools({}, { requireRead: false });
  const pieces = fc.constantFrom('$&', '$1', '$$', '$`', "$'", '$<a>', '\\n', '\\1', '%s', 'x');
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { minLength: 1, maxLength: 6 }), async (parts) => {
      const text = parts.join('');
      await tools.write('a.txt', 'before\nOLD\nafter\n');
      await tools.call('edit_file', { path: 'a.txt', old_string: 'OLD', new_string: `<${text}>` });
      expect((await tools.read('a.txt')).toString()).toBe(`before\n<${text}>\nafter\n`);
      const patch = `*** Begin Patch\n*** Update File: a.txt\n@@\n-<${text}>\n+[${text}]\n*** End Patch`;
      expect((await tools.call('apply_patch', { patch })).code).toBeUndefined();
      expect((await tools.read('a.txt')).toString()).toBe(`before\n[${text}]\nafter\n`);
    }),
    { numRuns: 50 },
  );
});
