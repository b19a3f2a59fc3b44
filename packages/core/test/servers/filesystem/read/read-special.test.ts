// Reading a path that is not a regular file fails immediately, and reading a file that is not text says what it is.

import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { spawnChild } from '../../../../src/process/index.js';
import { openTools } from '../filesystem-tools.js';

/** Ten times the figure. */
const PATIENCE_MS = 500;
const READERS = ['read_file', 'read_media'];

async function inTime<T>(action: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await action();
  expect(performance.now() - startedAt).toBeLessThan(PATIENCE_MS);
  return result;
}

describe.runIf(process.platform !== 'win32')('read_file() of special files', () => {
  it.each(READERS)(
    '%s() fails with INVALID_ARGUMENT immediately for a FIFO, a socket and a directory',
    async (tool) => {
      await using tools = await openTools({ 'a.txt': 'one\n' });
      const made = spawnChild({
        command: 'mkfifo',
        args: [tools.path('fifo')],
        cwd: tools.projectDir,
        stdin: 'ignore',
      });
      expect((await made.exited).code).toBe(0);
      await mkdir(tools.path('dir'));
      const server = createServer();
      server.listen(tools.path('socket'));
      await once(server, 'listening');
      await tools.call(tool, { path: 'a.txt' });
      try {
        for (const [path, kind] of [
          ['fifo', 'FIFO'],
          ['socket', 'socket'],
          ['dir', 'directory'],
        ]) {
          const { code, text } = await inTime(() => tools.call(tool, { path: path! }));
          expect(code).toBe('INVALID_ARGUMENT');
          expect(text).toContain(kind);
        }
        const { data } = await inTime(() => tools.call('read_many', { paths: ['fifo', 'a.txt', 'socket'] }));
        expect((data.files as { ok: boolean }[]).map(({ ok }) => ok)).toEqual([false, true, false]);
      } finally {
        server.close();
        await once(server, 'close');
      }
    },
  );

  it.each(READERS)('%s() fails with OUTSIDE_PROJECT immediately for a link to a device or into /proc', async (tool) => {
    const targets = ['/dev/zero', '/dev/stdin', '/proc/self/mem', '/proc/self/environ', '/proc/self/fd/0'];
    const files = Object.fromEntries(targets.map((target, index) => [`link${index}`, { link: target }]));
    await using tools = await openTools({ 'a.txt': 'one\n', ...files });
    await tools.call(tool, { path: 'a.txt' });
    for (const path of [...Object.keys(files), ...targets])
      expect((await inTime(() => tools.call(tool, { path }))).code).toBe('OUTSIDE_PROJECT');
  });

  it.runIf(process.platform === 'linux')(
    'read_file() returns immediately for a device and /proc in an extra root',
    async () => {
      const extraRoots = ['/dev', '/proc'].map((path) => ({ path, mode: 'ro' as const }));
      await using tools = await openTools({ zero: { link: '/dev/zero' }, 'a.txt': 'one\n' }, { extraRoots });
      await tools.call('read_file', { path: 'a.txt' });
      for (const path of ['zero', '/dev/zero', '/dev/null', '/dev/tty'])
        expect((await inTime(() => tools.call('read_file', { path }))).code).toMatch(/INVALID_ARGUMENT|NOT_FOUND/);
      // These are regular files of the size 0, which have a content all the same, or fail when they are read.
      const status = await inTime(() => tools.call('read_file', { path: '/proc/self/status' }));
      expect(status.text).toContain('Name:');
      expect((await inTime(() => tools.call('read_file', { path: '/proc/self/status', tail: 1 }))).text).toContain(
        'ctxt',
      );
      expect((await inTime(() => tools.call('read_file', { path: '/proc/self/mem' }))).code).toBeDefined();
    },
  );
});

describe('BINARY_FILE', () => {
  it.each([
    ['png', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), ['image/png', 'read_media']],
    ['wav', Buffer.from('524946462400000057415645', 'hex'), ['audio/wav', 'read_media']],
    ['pdf', Buffer.from('%PDF-1.7\n\0\x01'), ['PDF']],
    ['zip', Buffer.from('504b030414000000', 'hex'), ['ZIP']],
    ['program', Buffer.from('7f454c460201010000000000', 'hex'), ['ELF']],
    ['UTF-16LE without a mark', Buffer.from('text\n', 'utf16le'), ['encoding="utf-16le"']],
    ['UTF-16BE without a mark', Buffer.from('text\n', 'utf16le').swap16(), ['encoding="utf-16be"']],
    ['anything', Buffer.from([0, 1, 2, 3, 254]), ['unknown format', 'set encoding']],
  ])('read_file() reports what it is when it is %s, and what to do', async (_what, bytes, says) => {
    // Some of these have no zero byte at their beginning.
    const content = Buffer.concat([bytes, Buffer.alloc(bytes.includes(0) ? 0 : 4)]);
    await using tools = await openTools({ 'a.txt': content });
    const { code, text, details } = await tools.call('read_file', { path: 'a.txt' });
    expect(code).toBe('BINARY_FILE');
    for (const part of says) expect(text).toContain(part);
    expect(text).toContain(bytes.toString('hex', 0, 4).match(/../g)!.join(' '));
    expect(details.size).toBe(content.length);
  });
});
