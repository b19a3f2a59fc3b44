// Every tool on everyday work, compared with what plain git says.

import { rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { GIT_IS_MISSING, openTools } from './git-tools.js';

describe.skipIf(GIT_IS_MISSING)('createGitServer() tools', () => {
  it('status() reports staged, changed, new, deleted and renamed files as git does', async () => {
    await using tools = await openTools({
      'a.txt': 'a\n',
      'b.txt': 'b\n',
      'old.txt': 'many\nlines\nof\ntext\n',
      'gone.txt': '',
    });
    await tools.write('a.txt', 'changed\n');
    await tools.git('mv', 'old.txt', 'new.txt');
    await rm(tools.path('gone.txt'));
    await tools.write('dir/fresh.txt', '');
    const { data, text } = await tools.call('status');
    expect(data).toEqual({
      branch: 'main',
      oid: await tools.git('rev-parse', 'HEAD'),
      detached: false,
      operation: 'none',
      stashes: 0,
      entries: [
        { path: 'a.txt', index: '.', worktree: 'M', kind: 'changed' },
        { path: 'gone.txt', index: '.', worktree: 'D', kind: 'changed' },
        { path: 'new.txt', old_path: 'old.txt', index: 'R', worktree: '.', kind: 'renamed' },
        { path: 'dir/', index: '?', worktree: '?', kind: 'untracked' },
      ],
      counts: { staged: 1, unstaged: 2, unmerged: 0, untracked: 1 },
      truncated: false,
    });
    expect(text).toContain('On main.');
    expect((await tools.call('status', { untracked: 'all' })).text).toContain('?? dir/fresh.txt');
    expect((await tools.call('status', { untracked: 'no' })).data.counts.untracked).toBe(0);
    expect((await tools.call('status', { paths: ['a.txt'] })).data.entries).toHaveLength(1);
    const first = await tools.call('status', { limit: 3 });
    expect(first.data).toMatchObject({ truncated: true, next_skip: 3 });
    expect((await tools.call('status', { limit: 3, skip: 3 })).data).toMatchObject({
      entries: [{ path: 'dir/' }],
      truncated: false,
    });
  });

  it('status() reports how far the branch is from its upstream', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await tools.git('branch', 'up');
    await tools.git('branch', '--set-upstream-to=up');
    await tools.commit('Two', { 'a.txt': 'b\n' });
    expect((await tools.call('status')).data).toMatchObject({ upstream: 'up', ahead: 1, behind: 0 });
  });

  it('diff() returns the same patch and numbers as git', async () => {
    await using tools = await openTools({ 'a.txt': 'one\ntwo\n', 'b.bin': new Uint8Array([0, 1]), 'c.txt': 'c\n' });
    const first = await tools.git('rev-parse', 'HEAD');
    await tools.write('a.txt', 'one\n2\nthree\n');
    await tools.write('b.bin', new Uint8Array([0, 2]));
    const { data, text } = await tools.call('diff');
    expect(data).toEqual({
      files: [
        { path: 'a.txt', status: 'modified', added: 2, removed: 1, binary: false },
        { path: 'b.bin', status: 'modified', binary: true },
      ],
      file_count: 2,
      truncated: false,
    });
    expect(text).toBe(await tools.git('diff', '--no-color'));
    expect((await tools.call('diff', { staged: true })).data.files).toEqual([]);
    await tools.git('add', 'a.txt');
    expect((await tools.call('diff', { staged: true })).text).toBe(await tools.git('diff', '--cached'));
    expect((await tools.call('diff', { paths: ['b.bin'] })).data.file_count).toBe(1);
    await tools.git('mv', 'c.txt', 'd.txt');
    const second = await tools.commit('Two');
    const between = await tools.call('diff', { from: first, to: 'HEAD' });
    expect(between.text).toBe(await tools.git('diff', '-M', first, second));
    expect(between.data.files).toContainEqual({
      path: 'd.txt',
      old_path: 'c.txt',
      status: 'renamed',
      added: 0,
      removed: 0,
      binary: false,
    });
    expect((await tools.call('diff', { from: first, stat_only: true })).text).toContain('modified +2 -1 a.txt');
    expect((await tools.call('diff', { to: 'HEAD' })).code).toBe('INVALID_ARGUMENT');
  });

  it('diff() begins where two branches parted with merge_base', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await tools.git('switch', '-q', '-c', 'side');
    await tools.commit('Side', { 's.txt': 's\n' });
    await tools.git('switch', '-q', 'main');
    await tools.commit('Main', { 'm.txt': 'm\n' });
    const { data } = await tools.call('diff', { from: 'main', to: 'side', merge_base: true });
    expect(data.files.map(({ path }: { path: string }) => path)).toEqual(['s.txt']);
  });

  it('log() returns commits with their messages, narrowed by path, author, time and words', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await tools.commit('Second\n\nWith a body\nof two lines.', { 'b.txt': 'b\n' });
    await tools.git(
      'commit',
      '--quiet',
      '--allow-empty',
      '--allow-empty-message',
      '-m',
      '',
      '--author',
      'Ann <ann@x.org>',
    );
    await tools.git('tag', 'v1', 'HEAD~1');
    const { data } = await tools.call('log');
    expect(data.commits.map(({ oid }: { oid: string }) => oid).join('\n')).toBe(await tools.git('log', '--format=%H'));
    expect(data.commits[1]).toMatchObject({
      subject: 'Second',
      body: 'With a body\nof two lines.',
      author: { name: 'Test', email: 'test@example.com', date: await tools.git('log', '-1', '--format=%aI') },
      refs: ['tag: v1'],
      parents: [await tools.git('rev-parse', 'HEAD~2')],
    });
    expect(data.commits[0].subject).toBe('');
    const subjects = async (args: object): Promise<string[]> =>
      (await tools.call('log', { ...args })).data.commits.map(({ subject }: { subject: string }) => subject);
    expect(await subjects({ paths: ['b.txt'] })).toEqual(['Second']);
    expect(await subjects({ author: 'ann@' })).toEqual(['']);
    expect(await subjects({ grep: 'TWO LINES.' })).toEqual(['Second']);
    expect(await subjects({ ref: 'v1', max: 1 })).toEqual(['Second']);
    expect(await subjects({ until: '2001-01-01' })).toEqual([]);
    await tools.git('mv', 'a.txt', 'moved.txt');
    await tools.commit('Move');
    expect(await subjects({ paths: ['moved.txt'] })).toEqual(['Move']);
    expect(await subjects({ paths: ['moved.txt'], follow: true })).toEqual(['Move', 'Begin']);
  });

  it('show() returns commits, roots, merges, tags, directories and old files', async () => {
    await using tools = await openTools({ 'dir/a.txt': 'one\n', 'b.bin': new Uint8Array([1, 0, 2]) });
    const root = await tools.call('show', { ref: 'HEAD' });
    expect(root.data).toMatchObject({ type: 'commit', commit: { subject: 'Begin', parents: [] }, file_count: 2 });
    expect(root.text).toContain('+one');
    await tools.commit('Two', { 'dir/a.txt': 'two\n' });
    await tools.git('tag', '-a', 'v1', '-m', 'The tag says this', 'HEAD~1');
    expect((await tools.call('show', { ref: 'v1' })).text).toContain('The tag says this');
    expect((await tools.call('show', { ref: 'v1' })).data.type).toBe('tag');
    const old = await tools.call('show', { ref: 'HEAD~1', path: 'dir/a.txt' });
    expect(old).toMatchObject({ text: 'one', data: { type: 'blob', size: 4, binary: false } });
    expect((await tools.call('show', { ref: 'HEAD', path: 'b.bin' })).data).toMatchObject({ binary: true, size: 3 });
    expect((await tools.call('show', { ref: 'HEAD', path: 'dir' })).data.entries).toMatchObject([
      { path: 'dir/a.txt', type: 'blob' },
    ]);
    expect((await tools.call('show', { ref: 'HEAD', path: '.' })).data.entries).toHaveLength(2);
    expect((await tools.call('show', { ref: 'HEAD', path: 'none.txt' })).code).toBe('NOT_FOUND');
    await tools.git('switch', '-q', '-c', 'side', 'HEAD~1');
    await tools.commit('Side', { 's.txt': 's\n' });
    await tools.git('merge', '-q', '--no-edit', 'main');
    expect((await tools.call('show', { ref: 'HEAD' })).data).toMatchObject({
      file_count: 1,
      files: [{ path: 'dir/a.txt' }],
    });
  });

  it('blame() names the commit of each line, and what is not committed', async () => {
    await using tools = await openTools({ 'a.txt': 'one\ntwo\nthree\n' });
    const second = await tools.commit('Second', { 'a.txt': 'one\n2\nthree\n' });
    await tools.write('a.txt', 'one\n2\nthree\nfour\n');
    const { data } = await tools.call('blame', { path: 'a.txt' });
    expect(data.lines).toHaveLength(4);
    expect(data.lines[1]).toEqual({
      line: 2,
      oid: second,
      author: 'Test',
      time: '2026-01-02T03:04:05.000Z',
      summary: 'Second',
      text: '2',
    });
    expect(data.lines[3].oid).toBeUndefined();
    expect((await tools.call('blame', { path: 'a.txt', ref: 'HEAD', start: 2, end: 2 })).data).toMatchObject({
      lines: [{ line: 2 }],
      truncated: false,
    });
    expect((await tools.call('blame', { path: 'no.txt' })).code).toBe('NOT_FOUND');
    await tools.commit('Long', { 'long.txt': 'line\n'.repeat(1_500) });
    const page = await tools.call('blame', { path: 'long.txt' });
    expect(page.data).toMatchObject({ truncated: true, next_start: 1 + page.data.lines.length });
    const rest = await tools.call('blame', { path: 'long.txt', start: 1_001 });
    expect(rest.data.lines.at(-1)).toMatchObject({ line: 1_500 });
    expect(rest.data.truncated).toBe(false);
  });

  it('branch() and branch_list() make, rename, list and delete branches', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    const oid = await tools.git('rev-parse', 'HEAD');
    expect((await tools.call('branch', { action: 'create', name: 'topic/one' })).data).toEqual({
      name: 'topic/one',
      oid,
    });
    expect((await tools.call('branch', { action: 'create', name: 'topic/one' })).code).toBe('EXECUTION_FAILED');
    await tools.call('branch', { action: 'rename', name: 'topic/one', new_name: 'two' });
    expect((await tools.call('branch_list')).data).toMatchObject({
      current: 'main',
      branches: [{ name: 'main', oid, current: true }, { name: 'two' }],
    });
    expect((await tools.call('branch_list', { limit: 1 })).data).toMatchObject({ truncated: true, next_skip: 1 });
    expect((await tools.call('branch_list', { limit: 1, skip: 1 })).data.branches).toMatchObject([{ name: 'two' }]);
    await tools.git('switch', '-q', 'two');
    await tools.commit('Only here', { 'b.txt': '' });
    await tools.git('switch', '-q', 'main');
    expect((await tools.call('branch_list', { contains: 'two' })).data.branches).toMatchObject([{ name: 'two' }]);
    expect((await tools.call('branch', { action: 'delete', name: 'two' })).text).toContain('not fully merged');
    expect((await tools.call('branch', { action: 'delete', name: 'two', force: true })).code).toBeUndefined();
    expect(await tools.git('branch', '--format=%(refname:short)')).toBe('main');
  });

  it('add(), unstage() and commit() go from a change to a commit', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n', 'gone.txt': 'g\n' });
    await tools.write('a.txt', 'b\nc\n');
    await tools.write('new.txt', 'n\n');
    await rm(tools.path('gone.txt'));
    const added = await tools.call('add', { paths: ['a.txt', 'gone.txt'] });
    expect(added.data.staged).toMatchObject([
      { path: 'a.txt', added: 2 },
      { path: 'gone.txt', status: 'deleted' },
    ]);
    expect((await tools.call('add', { all: true })).data.staged).toHaveLength(3);
    expect((await tools.call('unstage', { paths: ['gone.txt'] })).data.unstaged).toEqual(['gone.txt']);
    expect(await tools.git('diff', '--cached', '--name-only')).toBe('a.txt\nnew.txt');
    const message = 'Subject line\n\n# not a comment\nbody\n';
    const { data } = await tools.call('commit', { message, author: 'Ann Ox <ann@x.org>' });
    expect(data).toMatchObject({
      branch: 'main',
      subject: 'Subject line',
      files: 2,
      insertions: 3,
      deletions: 1,
      hooks_ran: false,
      hooks: [],
    });
    expect(data.oid).toBe(await tools.git('rev-parse', 'HEAD'));
    expect(await tools.git('log', '-1', '--format=%an <%ae>%n%B')).toBe(`Ann Ox <ann@x.org>\n${message}`);
    expect((await tools.call('commit', { message: 'Nothing' })).code).toBe('NO_CHANGE');
    expect((await tools.call('commit', { message: 'All', all: true })).data.deletions).toBe(1);
    expect((await tools.call('commit', { message: 'Amended', amend: true })).data.subject).toBe('Amended');
    expect(await tools.git('rev-list', '--count', 'HEAD')).toBe('3');
    expect((await tools.call('commit', { message: 'Empty', allow_empty: true })).data.files).toBe(0);
    expect((await tools.call('add', { paths: ['nothing.txt'] })).code).toBe('NOT_FOUND');
    expect((await tools.call('add')).code).toBe('INVALID_ARGUMENT');
    await tools.write('later.txt', 'x');
    await tools.call('add', { paths: ['later.txt'], intent: true });
    expect(await tools.git('status', '--porcelain')).toBe(' A later.txt');
    expect((await tools.call('unstage')).code).toBeUndefined();
  });

  it('checkout() switches, makes branches, detaches, and notifies listeners of every file', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n', 'gone.txt': 'g\n' });
    const first = await tools.git('rev-parse', 'HEAD');
    await tools.git('switch', '-q', '-c', 'side');
    await tools.git('rm', '-q', 'gone.txt');
    await tools.commit('Side', { 'a.txt': 'side\n', 'dir/new.txt': 'n\n' });
    const { data } = await tools.call('checkout', { ref: 'main' });
    expect(data).toEqual({
      from: 'side',
      to: 'main',
      oid: first,
      detached: false,
      changed: ['a.txt', 'dir/new.txt', 'gone.txt'],
      changed_count: 3,
    });
    expect(tools.changes).toEqual([
      { path: 'a.txt', absolute: tools.path('a.txt'), kind: 'changed' },
      { path: 'dir/new.txt', absolute: tools.path('dir/new.txt'), kind: 'deleted' },
      { path: 'gone.txt', absolute: tools.path('gone.txt'), kind: 'created' },
    ]);
    expect((await tools.call('checkout', { ref: 'fresh', create: true, start: 'side' })).data).toMatchObject({
      to: 'fresh',
      detached: false,
    });
    expect(await tools.read('a.txt')).toBe('side\n');
    expect((await tools.call('checkout', { ref: first })).data).toMatchObject({
      from: 'fresh',
      to: first,
      detached: true,
    });
    await tools.write('a.txt', 'not committed\n');
    const inTheWay = await tools.call('checkout', { ref: 'side' });
    expect(inTheWay).toMatchObject({ code: 'EXECUTION_FAILED', text: expect.stringContaining('overwritten') });
    expect(await tools.read('a.txt')).toBe('not committed\n');
    expect((await tools.call('checkout', { ref: 'nowhere' })).code).toBe('NOT_FOUND');
    await tools.call('restore', { paths: ['.'] });
    expect((await tools.call('checkout', { ref: 'side~1' })).data).toMatchObject({ to: first, detached: true });
    expect((await tools.call('branch', { action: 'delete', name: 'side~1' })).code).toBe('NOT_FOUND');
  });

  it('restore() puts back files and the index, and notifies listeners', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
    await tools.write('a.txt', 'x\n');
    await tools.write('b.txt', 'y\n');
    await tools.git('add', 'b.txt');
    expect((await tools.call('restore', { paths: ['.'] })).data).toEqual({ restored: ['a.txt'], restored_count: 1 });
    expect(tools.changes).toMatchObject([{ path: 'a.txt', kind: 'changed' }]);
    expect(await tools.git('status', '--porcelain')).toBe('M  b.txt');
    expect((await tools.call('restore', { paths: ['b.txt'], staged: true })).data.restored).toEqual(['b.txt']);
    expect(await tools.git('status', '--porcelain')).toBe(' M b.txt');
    await tools.commit('Two');
    expect(
      (await tools.call('restore', { paths: ['b.txt'], source: 'HEAD~1', staged: true, worktree: true })).data.restored,
    ).toEqual(['b.txt']);
    expect(await tools.read('b.txt')).toBe('b\n');
    expect((await tools.call('restore', { paths: ['none.txt'] })).code).toBe('NOT_FOUND');
  });

  it('stash() stores changes and applies them again', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    expect((await tools.call('stash', { action: 'push' })).code).toBe('NO_CHANGE');
    await tools.write('a.txt', 'x\n');
    await tools.write('new.txt', 'n\n');
    const pushed = await tools.call('stash', { action: 'push', message: 'half done', include_untracked: true });
    expect(pushed.data).toMatchObject({
      changed: ['a.txt', 'new.txt'],
      entries: [{ index: 0, message: 'On main: half done' }],
    });
    expect(await tools.git('status', '--porcelain')).toBe('');
    const shown = await tools.call('stash', { action: 'show' });
    expect(shown.text).toContain('+x');
    expect(shown.text).toContain('new.txt');
    expect((await tools.call('stash', { action: 'apply' })).data.changed).toEqual(['a.txt', 'new.txt']);
    expect(await tools.read('a.txt')).toBe('x\n');
    await rm(tools.path('new.txt'));
    await tools.call('restore', { paths: ['a.txt'] });
    expect((await tools.call('stash', { action: 'pop' })).data.entries).toEqual([]);
    expect(await tools.read('new.txt')).toBe('n\n');
    await tools.call('stash', { action: 'push' });
    await tools.commit('Other', { 'a.txt': 'other\n' });
    const conflicted = await tools.call('stash', { action: 'pop' });
    expect(conflicted.data).toMatchObject({ conflicts: ['a.txt'], entries: [{ index: 0 }] });
    await tools.git('checkout', '-q', '-f', 'HEAD');
    expect((await tools.call('stash', { action: 'drop' })).data.entries).toEqual([]);
    expect((await tools.call('stash', { action: 'drop' })).code).toBe('NOT_FOUND');
    expect((await tools.call('stash', { action: 'list' })).data.entries).toEqual([]);
  });
});
