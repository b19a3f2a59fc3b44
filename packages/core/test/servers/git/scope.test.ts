// Paths of git tools and the project scope, and merges that would carry a change to a protected path.

import { execFileSync } from 'node:child_process';
import { rename, rm, symlink } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/contract/json.js';
import { GIT_IS_MISSING, openTools, type Tools } from './git-tools.js';

const WITH_PATHS: [tool: string, args: (path: string) => JsonObject][] = [
  ['blame', (path) => ({ path })],
  ['blame', (path) => ({ path, ref: 'HEAD' })],
  ['show', (path) => ({ path, ref: 'HEAD' })],
  ['diff', (path) => ({ paths: [path] })],
  ['diff', (path) => ({ paths: ['kept.txt', path], staged: true })],
  ['log', (path) => ({ paths: [path] })],
  ['status', (path) => ({ paths: [path] })],
  ['add', (path) => ({ paths: [path] })],
  ['unstage', (path) => ({ paths: [path] })],
  ['restore', (path) => ({ paths: [path] })],
  ['restore', (path) => ({ paths: [path], staged: true })],
];

/** A repository whose directory `d` was committed, and is now a link to a directory outside with the same names. */
async function withReplacedDirectory(): Promise<Tools> {
  const tools = await openTools({ 'd/secret.txt': 'mine\n', 'kept.txt': 'kept\n' });
  await rm(tools.path('d'), { recursive: true });
  await symlink(tools.world.resolve('outside'), tools.path('d'));
  return tools;
}

describe.skipIf(GIT_IS_MISSING)('createGitServer() paths', () => {
  it.each(WITH_PATHS)('%s refuses a path below a link that leaves the project', async (tool, args) => {
    await using tools = await withReplacedDirectory();
    const answer = await tools.call(tool, args('d/secret.txt'));
    expect(answer).toMatchObject({ code: 'OUTSIDE_PROJECT' });
    expect(JSON.stringify(answer)).not.toContain('secret\\n');
  });

  it.each(WITH_PATHS)('%s refuses a path below a link that leads nowhere', async (tool, args) => {
    await using tools = await openTools({ 'kept.txt': 'kept\n' });
    await symlink('/nonexistent/place', tools.path('gone'));
    expect(await tools.call(tool, args('gone/file.txt'))).toMatchObject({ code: 'OUTSIDE_PROJECT' });
  });

  it('add stages a link that leaves the project as a link', async () => {
    await using tools = await openTools({ 'kept.txt': 'kept\n' });
    await symlink(tools.world.resolve('outside'), tools.path('olink'));
    expect(await tools.call('add', { paths: ['olink'] })).toMatchObject({ code: undefined });
    expect(await tools.git('ls-files', '--stage', 'olink')).toMatch(/^120000 /);
  });

  it('diff and restore take the path of a deleted file in a deleted directory', async () => {
    await using tools = await openTools({ 'd/e/file.txt': 'text\n' });
    await rm(tools.path('d'), { recursive: true });
    expect((await tools.call('diff', { paths: ['d/e/file.txt'] })).text).toContain('-text');
    expect(await tools.call('restore', { paths: ['d/e/file.txt'] })).toMatchObject({ code: undefined });
    expect(await tools.read('d/e/file.txt')).toBe('text\n');
  });

  it('blame of the working tree shows lines that are not committed, and those of a link as its target', async () => {
    await using tools = await openTools({ 'a.txt': 'one\ntwo\n' });
    await symlink('a.txt', tools.path('link'));
    await tools.commit('Add a link');
    await tools.write('a.txt', 'one\nnew\ntwo\n');
    const { data } = await tools.call('blame', { path: 'a.txt' });
    expect(
      data.lines.map((line: { oid?: string; author: string; text: string }) => [
        line.oid === undefined,
        line.author,
        line.text,
      ]),
    ).toEqual([
      [false, 'Test', 'one'],
      [true, 'Not Committed Yet', 'new'],
      [false, 'Test', 'two'],
    ]);
    expect((await tools.call('blame', { path: 'link' })).text).toContain('a.txt');
  });

  it('blame reports it before the first commit', async () => {
    await using tools = await openTools();
    await tools.write('a.txt', 'one\n');
    await tools.git('add', 'a.txt');
    expect(await tools.call('blame', { path: 'a.txt' })).toMatchObject({
      code: 'NOT_FOUND',
      text: expect.stringContaining('no commits yet') as string,
    });
  });
});

/** `main` has moved `from` to `to`, which is protected; `theirs` changes what is at `from`. */
async function withRename(from: string, to: string, theirs: Record<string, string>): Promise<Tools> {
  const tools = await openTools({ [`${from}/keep.json`]: '{ "a": 1 }\n', [`${from}/more.json`]: '{ "b": 2 }\n' });
  await tools.git('checkout', '-q', '-b', 'theirs');
  await tools.commit('Change', theirs);
  await tools.git('checkout', '-q', 'main');
  await rename(tools.path(from), tools.path(to));
  await tools.commit('Move');
  return tools;
}

describe.skipIf(GIT_IS_MISSING)('createGitServer() and protected files that a commit renames', () => {
  const TOOLS: [tool: string, args: JsonObject][] = [
    ['merge', { ref: 'theirs' }],
    ['cherry_pick', { ref: 'theirs' }],
  ];

  it.each(TOOLS)(
    'adds no file to a protected directory that another directory was renamed to: %s',
    async (tool, args) => {
      await using tools = await withRename('conf', '.vscode', { 'conf/tasks.json': '{ "evil": true }\n' });
      await tools.call(tool, args);
      await expect(tools.read('.vscode/tasks.json')).rejects.toThrow();
    },
  );

  it.each(TOOLS)('changes no protected file through its former name: %s', async (tool, args) => {
    await using tools = await withRename('conf', '.vscode', { 'conf/keep.json': '{ "a": 1, "evil": true }\n' });
    await tools.call(tool, args);
    expect(await tools.read('.vscode/keep.json')).not.toContain('evil');
  });

  it('changes no protected file through a former name in revert and stash pop', async () => {
    await using tools = await openTools({ 'conf/keep.json': '{ "evil": true }\n', 'conf/more.json': '{ "b": 2 }\n' });
    const fixed = await tools.commit('Fix', { 'conf/keep.json': '{ "a": 1 }\n' });
    await tools.write('conf/more.json', '{ "b": "evil" }\n');
    await tools.git('stash', 'push', '--quiet');
    await rename(tools.path('conf'), tools.path('.vscode'));
    await tools.commit('Move');
    await tools.call('revert', { ref: fixed });
    expect(await tools.read('.vscode/keep.json')).not.toContain('evil');
    await tools.git('reset', '--hard', '--quiet');
    await tools.call('stash', { action: 'pop' });
    expect(await tools.read('.vscode/more.json')).not.toContain('evil');
  });

  it('rebase changes no protected file through a former name', async () => {
    await using tools = await withRename('conf', '.vscode', {
      'conf/keep.json': '{ "a": 1, "evil": true }\n',
      'conf/tasks.json': '{ "evil": true }\n',
    });
    await tools.git('checkout', '-q', 'theirs');
    await tools.call('rebase', { onto: 'main' });
    expect(await tools.read('.vscode/keep.json').catch(() => '')).not.toContain('evil');
    expect(await tools.read('.vscode/tasks.json').catch(() => '')).not.toContain('evil');
  });
});

describe.skipIf(GIT_IS_MISSING)('createGitServer() in a repository that would make git wait', () => {
  it.each(['config', 'HEAD', 'index', 'commondir'])(
    'status returns immediately when .git/%s is a FIFO',
    async (name) => {
      await using tools = await openTools({ 'a.txt': 'a\n' });
      await rm(tools.path(`.git/${name}`), { force: true });
      execFileSync('mkfifo', [tools.path(`.git/${name}`)]);
      expect(await tools.call('status', {})).toMatchObject({ code: 'NOT_A_REPOSITORY' });
    },
  );
});
