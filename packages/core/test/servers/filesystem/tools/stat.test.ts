import { createHash } from 'node:crypto';
import { chmod, link } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { openTools } from '../filesystem-tools.js';

describe.each(['descriptor', 'inode'] as const)('stat() (by %s)', (verification) => {
  it('stat() returns kind, size, mode, names and etag of a file', async () => {
    await using tools = await openTools({ 'a.sh': 'echo\n' }, { verification });
    await chmod(tools.path('a.sh'), 0o750);
    await link(tools.path('a.sh'), tools.path('b.sh'));
    const { data } = await tools.call('stat', { path: 'a.sh' });
    expect(data).toMatchObject({
      path: 'a.sh',
      type: 'file',
      size: 5,
      mode: '0750',
      nlink: 2,
      is_symlink: false,
      etag: createHash('sha256').update('echo\n').digest('hex').slice(0, 16),
    });
    expect(Date.now() - Number(data.mtime_ms)).toBeLessThan(60_000);
    expect((await tools.call('stat', { path: '.' })).data).toMatchObject({ path: '.', type: 'dir', is_symlink: false });
  });

  it('stat() leaves the etag out when the file is larger than 1 MiB', async () => {
    await using tools = await openTools(
      { large: Buffer.alloc(1024 * 1024 + 1), fits: Buffer.alloc(1024 * 1024) },
      { verification },
    );
    expect((await tools.call('stat', { path: 'large' })).data).not.toHaveProperty('etag');
    expect((await tools.call('stat', { path: 'fits' })).data).toHaveProperty('etag');
  });

  it('stat() describes the target when follow is true, and the link when it is false', async () => {
    await using tools = await openTools({ 'a.txt': 'one', l: { link: 'a.txt' } }, { verification });
    const link = { is_symlink: true, target: 'a.txt', outside: false };
    expect((await tools.call('stat', { path: 'l' })).data).toMatchObject({ type: 'file', size: 3, ...link });
    expect((await tools.call('stat', { path: 'l', follow: false })).data).toMatchObject({ type: 'symlink', ...link });
  });

  it('stat() describes a link that leads outside, and nothing of its target', async () => {
    await using tools = await openTools(
      { out: { link: '../outside/secret.txt' }, gone: { link: '../outside/none' }, dir: { link: '../outside' } },
      { verification },
    );
    for (const path of ['out', 'gone']) {
      expect((await tools.call('stat', { path, follow: false })).data).toMatchObject({
        type: 'symlink',
        outside: true,
      });
      expect((await tools.call('stat', { path })).code).toBe('OUTSIDE_PROJECT');
    }
    for (const path of ['dir/secret.txt', '../outside/secret.txt', '../proj-evil'])
      expect((await tools.call('stat', { path, follow: false })).code).toBe('OUTSIDE_PROJECT');
  });

  it('stat() fails with NOT_FOUND and the nearest names when nothing is there', async () => {
    await using tools = await openTools({ 'index.ts': '' }, { verification });
    expect(await tools.call('stat', { path: 'indx.ts' })).toMatchObject({
      code: 'NOT_FOUND',
      text: expect.stringContaining('"index.ts"') as string,
    });
  });
});
