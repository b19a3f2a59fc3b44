import { lstat, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { spawnChild } from '../../../src/process/index.js';
import { openTools, type Tools } from '../filesystem/filesystem-tools.js';
import { attack, named, SLOTS } from './every-tool.js';

let tools: Tools;
let socket: Server;

beforeEach(async () => {
  tools = await openTools({ 'directory/a.txt': 'inside\n', 'link-to-fifo': { link: 'fifo' } }, { requireRead: false });
  expect(await run('mkfifo', 'fifo')).toBe(0);
  socket = createServer().listen(tools.path('socket'));
  await once(socket, 'listening');
});
afterEach(async () => {
  socket.close();
  await once(socket, 'close');
  await tools[Symbol.asyncDispose]();
});

async function run(command: string, ...args: string[]): Promise<number | null> {
  await using child = spawnChild({ command, args, cwd: tools.projectDir });
  child.stdout.resume();
  return (await child.exited).code;
}

/** What is done with the entry itself opens nothing, and so may be done. */
const SERVED = new Set(['stat', 'stat of a link', 'move, source', 'delete']);

describe.each(SLOTS)('filesystem tool: $name', (slot) => {
  it.each(['fifo', 'socket'])('returns immediately, and opens nothing, when the path is a %s', async (path) => {
    expect(await attack(tools, slot, path)).toBe(SERVED.has(slot.name) ? undefined : 'INVALID_ARGUMENT');
    if (slot.name !== 'move, source' && slot.name !== 'delete')
      expect((await lstat(tools.path(path))).isFile()).toBe(false);
  });

  it('returns immediately when the path is a device', async (context) => {
    const made = await run('mknod', 'device', 'c', '1', '5'); // /dev/zero
    context.skip(made !== 0, 'devices can be made by root only');
    expect(await attack(tools, slot, 'device')).toBe(SERVED.has(slot.name) ? undefined : 'INVALID_ARGUMENT');
  });

  it('fails with a code when the path is a link to a FIFO, or goes through one', async () => {
    expect(['INVALID_ARGUMENT', 'NOT_FOUND']).toContain(await attack(tools, slot, 'fifo/x'));
    if (slot.takesLinks || slot.name === 'stat') return;
    expect(await attack(tools, slot, 'link-to-fifo')).toBe('INVALID_ARGUMENT');
  });

  it('fails with OUTSIDE_PROJECT when the path is a device, a descriptor or a process of the system', async () => {
    for (const path of [
      '/dev/zero',
      '/dev/stdin',
      '/proc/self/mem',
      '/proc/self/environ',
      '/proc/self/fd/0',
      '/proc/1/root',
    ])
      expect(await attack(tools, slot, path), path).toBe('OUTSIDE_PROJECT');
  });
});

describe('filesystem tools on a directory', () => {
  it.each([
    'read_file',
    'read_many',
    'read_media',
    'write_file',
    'edit_file',
    'apply_patch, update',
    'apply_patch, delete',
  ])('is INVALID_ARGUMENT for %s, as it is no file', async (name) => {
    for (const path of ['directory', 'directory/', '.'])
      expect(await attack(tools, named(name), path)).toBe('INVALID_ARGUMENT');
  });

  it('that holds a FIFO and a socket is searched, listed, moved and deleted without opening them, and not copied', async () => {
    expect(await run('mkfifo', 'directory/pipe')).toBe(0);
    for (const name of ['grep', 'glob', 'list_directory', 'stat'])
      expect(await attack(tools, named(name), 'directory')).toBeUndefined();
    expect(await attack(tools, named('copy, source'), 'directory')).toBe('INVALID_ARGUMENT');
    await expect(lstat(tools.path('copied'))).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await attack(tools, named('move, source'), 'directory')).toBeUndefined();
    expect(await attack(tools, named('delete'), 'moved')).toBeUndefined();
    await rm(tools.path('fifo'));
  });
});
