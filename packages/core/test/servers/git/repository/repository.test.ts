// What kind of repository the project has, told truthfully; and which ones are not the project's.

import { chown, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { InProcessToolProvider } from '../../../../src/provider/in-process-provider.js';
import { createGitServer } from '../../../../src/servers/git/index.js';
import { locateGit } from '../../../../src/servers/project/git/git-program.js';
import { ProjectScope } from '../../../../src/servers/project/scope/project-scope.js';
import { gitIn, GIT_IS_MISSING, openTools, type Tools } from '../git-tools.js';

/** The same tools over another directory of the test's world. */
function toolsIn(projectDir: string, trust?: 'trusted') {
  const provider = new InProcessToolProvider({ servers: [createGitServer({ projectDir, trust, fsync: false })] });
  return {
    async call(tool: string, args = {}) {
      const { error, structuredContent, content } = await provider.callTool(`git.${tool}`, args);
      const [block] = content;
      const data: any = structuredContent ?? {}; // eslint-disable-line @typescript-eslint/no-explicit-any -- looked into
      return { code: error?.code, data, text: block?.type === 'text' ? block.text : '' };
    },
  };
}

async function conflict(tools: Tools): Promise<void> {
  await tools.git('switch', '-q', '-c', 'side');
  await tools.commit('Side', { 'a.txt': 'side\n' });
  await tools.git('switch', '-q', 'main');
  await tools.commit('Main', { 'a.txt': 'main\n' });
}

describe.skipIf(GIT_IS_MISSING)('Repository.open()', () => {
  it('fails with NOT_A_REPOSITORY when there is none, or only one above the project', async () => {
    await using tools = await openTools({ 'a.txt': '' }, { init: false });
    expect(await tools.call('status')).toMatchObject({
      code: 'NOT_A_REPOSITORY',
      text: expect.stringContaining('git init'),
    });
    await gitIn(tools.world.projectDir, {}, ['init', '-q']);
    const above = await tools.call('status');
    expect(above).toMatchObject({ code: 'NOT_A_REPOSITORY', text: expect.stringContaining('top level') });
  });

  it('works in a repository without a commit', async () => {
    await using tools = await openTools();
    expect((await tools.call('status')).data).toMatchObject({ branch: 'main', detached: false, entries: [] });
    expect((await tools.call('status')).data.oid).toBeUndefined();
    expect((await tools.call('log')).data).toEqual({ commits: [], has_more: false });
    expect((await tools.call('diff')).data.files).toEqual([]);
    expect((await tools.call('branch_list')).data).toMatchObject({ current: 'main', branches: [] });
    expect((await tools.call('show', { ref: 'HEAD' })).code).toBe('NOT_FOUND');
    expect((await tools.call('add', { all: true })).data.staged).toEqual([]);
    await tools.write('a.txt', 'a\n');
    expect((await tools.call('add', { all: true })).data.staged).toMatchObject([{ path: 'a.txt', status: 'added' }]);
    expect((await tools.call('unstage')).data.unstaged).toEqual(['a.txt']);
    expect((await tools.call('restore', { paths: ['a.txt'], staged: true })).code).toBe('NOT_FOUND');
    expect((await tools.call('stash', { action: 'push' })).code).toBe('NOT_FOUND');
    expect((await tools.call('checkout', { ref: 'first', create: true })).data).toMatchObject({
      to: 'first',
      detached: false,
    });
    await tools.call('add', { paths: ['a.txt'] });
    expect((await tools.call('commit', { message: 'First' })).data).toMatchObject({ branch: 'first', files: 1 });
  });

  it('reports a detached head', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await tools.git('switch', '-q', '--detach');
    const { data, text } = await tools.call('status');
    expect(data).toMatchObject({ detached: true, oid: await tools.git('rev-parse', 'HEAD') });
    expect(data.branch).toBeUndefined();
    expect(text).toContain('Detached');
    expect((await tools.call('branch_list')).data.current).toBeUndefined();
    const { data: made } = await tools.call('commit', { message: 'x', allow_empty: true });
    expect(made.branch).toBeUndefined();
  });

  it('reports a merge and a rebase in progress, which can be continued or aborted', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await conflict(tools);
    const merged = await tools.call('merge', { ref: 'side' });
    expect(merged.data).toMatchObject({ status: 'conflicts', conflicts: ['a.txt'] });
    expect((await tools.call('status')).data).toMatchObject({
      operation: 'merge',
      entries: [{ path: 'a.txt', index: 'U', worktree: 'U', kind: 'unmerged' }],
      counts: { unmerged: 1 },
    });
    expect((await tools.call('commit', { message: 'x' })).text).toContain('conflict');
    expect((await tools.call('merge', { ref: 'side' })).code).toBe('INVALID_ARGUMENT');
    expect((await tools.call('merge', { step: 'abort' })).data).toMatchObject({
      status: 'aborted',
      changed: ['a.txt'],
    });
    expect(await tools.read('a.txt')).toBe('main\n');
    expect((await tools.call('merge', { step: 'abort' })).code).toBe('INVALID_ARGUMENT');
    expect((await tools.call('rebase', { onto: 'side' })).data.status).toBe('conflicts');
    expect((await tools.call('status')).data.operation).toBe('rebase');
    await tools.write('a.txt', 'solved\n');
    await tools.call('add', { paths: ['a.txt'] });
    expect((await tools.call('rebase', { step: 'continue' })).data.status).toBe('done');
    expect(await tools.git('log', '--format=%s')).toBe('Main\nSide\nBegin');
  });

  it('cherry_pick, revert, merge, reset and tag do what git does', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await conflict(tools);
    expect((await tools.call('cherry_pick', { ref: 'side' })).data.status).toBe('conflicts');
    expect((await tools.call('status')).data.operation).toBe('cherry_pick');
    expect((await tools.call('cherry_pick', { step: 'skip' })).code).toBeUndefined();
    expect((await tools.call('revert', { ref: 'HEAD' })).data).toMatchObject({ status: 'done', changed: ['a.txt'] });
    expect(await tools.read('a.txt')).toBe('a\n');
    expect((await tools.call('merge', { ref: 'main' })).data.status).toBe('up_to_date');
    const { data } = await tools.call('reset', { ref: 'HEAD~1', mode: 'hard' });
    expect(data.changed).toEqual(['a.txt']);
    expect(await tools.read('a.txt')).toBe('main\n');
    expect((await tools.call('tag', { action: 'create', name: 'v1', message: 'One' })).code).toBeUndefined();
    expect((await tools.call('tag', { action: 'create', name: 'v1' })).code).toBe('EXECUTION_FAILED');
    expect((await tools.call('tag', { action: 'list' })).data.tags).toMatchObject([{ name: 'v1', subject: 'One' }]);
    expect((await tools.call('tag', { action: 'delete', name: 'v1' })).code).toBeUndefined();
    expect((await tools.call('tag', { action: 'list' })).data.tags).toEqual([]);
  });

  it('shows a bare repository in a subdirectory as files', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await gitIn(tools.projectDir, {}, ['init', '-q', '--bare', 'inner.git']);
    expect((await tools.call('status')).data.entries).toMatchObject([{ path: 'inner.git/', kind: 'untracked' }]);
    const { code } = await toolsIn(tools.path('inner.git')).call('status');
    expect(code).toBe('NOT_A_REPOSITORY');
  });

  it('opens a linked working tree, also one whose repository is outside', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    const linked = tools.world.resolve('linked');
    await tools.git('worktree', 'add', '-q', '-b', 'linked', linked);
    await tools.git('switch', '-q', '--detach');
    const there = toolsIn(linked);
    expect((await there.call('status')).data).toMatchObject({ branch: 'linked', entries: [] });
    await writeFile(join(linked, 'a.txt'), 'linked\n');
    expect((await there.call('commit', { message: 'Linked', all: true })).data).toMatchObject({
      branch: 'linked',
      files: 1,
    });
    expect((await tools.call('status')).data.detached).toBe(true);
  });

  it('opens a submodule as a project, and reports submodules in one', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    const outer = tools.world.resolve('outer');
    await gitIn(tools.world.projectDir, {}, ['init', '-q', '-b', 'main', 'outer']);
    const add = ['-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', tools.projectDir, 'sub'];
    await gitIn(outer, {}, add);
    const identity = ['-c', 'user.name=T', '-c', 'user.email=t@x.org'];
    await gitIn(outer, {}, [...identity, 'commit', '-q', '-m', 'Sub']);
    const inner = toolsIn(join(outer, 'sub'));
    expect((await inner.call('log')).data.commits).toMatchObject([{ subject: 'Begin' }]);
    const whole = toolsIn(outer);
    expect((await whole.call('status')).data.entries).toEqual([]);
    await writeFile(join(outer, 'sub/a.txt'), 'changed\n');
    expect((await whole.call('status')).data.entries).toEqual([
      {
        path: 'sub',
        index: '.',
        worktree: 'M',
        kind: 'changed',
        submodule: { commit_changed: false, modified: true, untracked: false },
      },
    ]);
    expect((await whole.call('show', { ref: 'HEAD', path: 'sub' })).text).toContain('is a submodule');
  });

  it('refuses a working tree or data that are somewhere else', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await using victim = await openTools({ 'private.txt': 'private\n' });
    const dotGit = tools.path('.git');
    await tools.git('config', 'core.worktree', victim.projectDir);
    expect((await tools.call('status')).code).toBe('OUTSIDE_PROJECT');
    await tools.git('config', '--unset', 'core.worktree');
    await writeFile(join(dotGit, 'commondir'), `${victim.path('.git')}\n`);
    expect((await tools.call('log')).code).toBe('OUTSIDE_PROJECT');
    await rm(join(dotGit, 'commondir'));
    expect((await tools.call('log')).code).toBeUndefined();
    await rename(dotGit, tools.world.resolve('elsewhere'));
    await symlink(victim.path('.git'), dotGit);
    expect((await tools.call('log')).code).toBe('OUTSIDE_PROJECT');
    await rm(dotGit);
    await writeFile(dotGit, `gitdir: ${victim.path('.git')}\n`);
    expect((await tools.call('log')).code).toBe('OUTSIDE_PROJECT');
    expect((await tools.call('show', { ref: 'HEAD', path: 'private.txt' })).code).toBe('OUTSIDE_PROJECT');
  });

  it('refuses data with links that lead out, and objects that are borrowed, unless it is trusted', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    const target = tools.world.resolve('outside/log');
    await rm(tools.path('.git/logs/HEAD'));
    await symlink(target, tools.path('.git/logs/HEAD'));
    const refused = await tools.call('commit', { message: 'x', allow_empty: true });
    expect(refused).toMatchObject({ code: 'OUTSIDE_PROJECT', text: expect.stringContaining('logs/HEAD') });
    await expect(readFile(target)).rejects.toThrow('ENOENT');
    await rm(tools.path('.git/logs/HEAD'));
    await symlink('refs/heads/main', tools.path('.git/logs/HEAD'));
    expect((await tools.call('log')).code).toBeUndefined();
    await using other = await openTools({ 'b.txt': 'b\n' });
    await writeFile(tools.path('.git/objects/info/alternates'), `${other.path('.git/objects')}\n`);
    expect((await tools.call('log')).code).toBe('OUTSIDE_PROJECT');
    expect((await toolsIn(tools.projectDir, 'trusted').call('log')).code).toBeUndefined();
    await writeFile(tools.path('.git/objects/info/alternates'), `"${other.path('.git/objects')}"\n`);
    expect((await tools.call('log')).code).toBe('OUTSIDE_PROJECT');
    // By way of objects that are in the project.
    await tools.write('near/objects/info/alternates', `${other.path('.git/objects')}\n`);
    await writeFile(tools.path('.git/objects/info/alternates'), '../../near/objects\n');
    expect((await tools.call('log')).code).toBe('OUTSIDE_PROJECT');
  });

  it('does not continue with a rebase that was prepared to run, or to write, what it may not', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await tools.git('switch', '-q', '-c', 'evil');
    const evil = await tools.commit('Evil', { '.envrc': 'run\n' });
    await tools.git('switch', '-q', 'main');
    const head = await tools.git('rev-parse', 'HEAD');
    const state = { 'head-name': 'refs/heads/main', onto: head, 'orig-head': head, end: '1', msgnum: '0' };
    const begin = async (todo: string, more: Record<string, string> = {}): Promise<string | undefined> => {
      await rm(tools.path('.git/rebase-merge'), { recursive: true, force: true });
      for (const [name, text] of Object.entries({ ...state, interactive: '', done: '', ...more }))
        await tools.write(`.git/rebase-merge/${name}`, text === '' ? '' : `${text}\n`);
      await tools.write('.git/rebase-merge/git-rebase-todo', todo);
      return (await tools.call('rebase', { step: 'continue' })).code;
    };
    for (const todo of ['exec touch ran\n', '  x touch ran\n', `noop\nreset evil\n`, `merge -C ${evil} evil\n`])
      expect([todo, await begin(todo)]).toEqual([todo, 'PERMISSION_DENIED']);
    expect(await begin('noop\n', { strategy: 'x/evil' })).toBe('PERMISSION_DENIED');
    expect(await begin(`pick ${evil} Evil\n`)).toBe('PROTECTED_PATH');
    expect((await tools.call('rebase', { step: 'abort' })).data.status).toBe('aborted');
    expect(await tools.git('status', '--porcelain')).toBe('');
    expect(await begin('noop\n')).toBeUndefined();
  });

  it.skipIf(process.getuid?.() !== 0)("explains what to do about another user's repository", async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await chown(tools.path('.git'), 4321, 4321);
    await chown(tools.projectDir, 4321, 4321);
    expect(await tools.call('status')).toMatchObject({
      code: 'PERMISSION_DENIED',
      text: expect.stringContaining('safe.directory'),
    });
  });

  it('reads only the committer from the configuration of the user', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await tools.git('config', '--unset', 'user.name');
    await tools.git('config', '--unset', 'user.email');
    const home = process.env.HOME;
    const traces = tools.world.resolve('traces');
    await mkdir(traces);
    process.env.HOME = tools.world.resolve('home');
    try {
      expect((await tools.call('commit', { message: 'x', allow_empty: true })).text).toContain('user.name');
      const config = `[user]\n\tname = Global\n\temail = g@x.org\n[core]\n\tfsmonitor = touch ${traces}/ran\n\thooksPath = /nonexistent\n`;
      await writeFile(tools.world.resolve('home/.gitconfig'), config);
      await tools.call('commit', { message: 'x', allow_empty: true });
    } finally {
      process.env.HOME = home;
    }
    expect(await tools.git('log', '-1', '--format=%an %ce')).toBe('Global g@x.org');
    await expect(readFile(join(traces, 'ran'))).rejects.toThrow('ENOENT');
  });

  it('refuses a change while the configuration includes what may change on the way', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await tools.git('branch', 'side');
    await tools.git('config', 'includeIf.onbranch:side.path', '../evil');
    expect((await tools.call('checkout', { ref: 'side' })).code).toBe('PERMISSION_DENIED');
    await tools.git('config', '--unset', 'includeIf.onbranch:side.path');
    await tools.git('config', 'include.path', '../evil');
    expect((await tools.call('checkout', { ref: 'side' })).code).toBeUndefined();
    await tools.write('a.txt', 'x\n');
    expect((await tools.call('stash', { action: 'push' })).code).toBe('PERMISSION_DENIED');
    expect((await toolsIn(tools.projectDir, 'trusted').call('stash', { action: 'push' })).code).toBeUndefined();
  });

  it('refuses a submodule that cannot be checked', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n', 'elsewhere/.keep': '' });
    await gitIn(tools.projectDir, {}, ['init', '-q', 'sub']);
    const identity = ['-c', 'user.name=T', '-c', 'user.email=t@x.org'];
    await gitIn(tools.path('sub'), {}, [...identity, 'commit', '-q', '--allow-empty', '-m', 's']);
    await tools.git('add', 'sub');
    await gitIn(tools.path('sub'), {}, ['config', 'core.worktree', tools.path('elsewhere')]);
    expect((await tools.call('status')).code).toBe('PERMISSION_DENIED');
  });

  it('fails with LOCKED and what to do while the index is locked, and waits a moment first', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await tools.write('a.txt', 'b\n');
    await writeFile(tools.path('.git/index.lock'), '');
    expect(await tools.call('add', { all: true })).toMatchObject({
      code: 'LOCKED',
      text: expect.stringContaining('delete that file'),
    });
    expect((await tools.call('status')).code).toBeUndefined();
    const waiting = tools.call('add', { all: true });
    await rm(tools.path('.git/index.lock'));
    expect((await waiting).code).toBeUndefined();
  });

  it('works in a repository whose working tree is a directory of the project', async () => {
    await using tools = await openTools({ 'tree/a.txt': 'a\n' }, { init: false });
    await gitIn(tools.projectDir, {}, ['init', '-q', '-b', 'main']);
    for (const [name, value] of [
      ['core.worktree', '../tree'],
      ['user.name', 'T'],
      ['user.email', 't@x.org'],
    ] as const)
      await gitIn(tools.projectDir, {}, ['config', name, value]);
    expect((await tools.call('add', { paths: ['tree/a.txt'] })).data.staged).toMatchObject([{ path: 'tree/a.txt' }]);
    expect((await tools.call('commit', { message: 'x' })).code).toBeUndefined();
    expect((await tools.call('log', { paths: ['.'] })).data.commits).toHaveLength(1);
    expect((await tools.call('add', { paths: ['other.txt'] })).code).toBe('INVALID_ARGUMENT');
  });
});

describe.skipIf(GIT_IS_MISSING)('locateGit()', () => {
  it('runs no git that the project brings along', async () => {
    await using tools = await openTools({
      'bin/git': { content: '#!/bin/sh\ntouch ran\necho git version 9.9.9\n', mode: 0o755 },
    });
    const scope = new ProjectScope({ projectDir: tools.projectDir });
    await symlink(tools.path('bin'), tools.world.resolve('linked-bin'));
    const path = ['.', tools.path('bin'), tools.world.resolve('linked-bin'), process.env.PATH].join(':');
    const { command, searchPath } = await locateGit(scope, path);
    expect(command).not.toContain(tools.world.projectDir);
    expect(searchPath).not.toContain(tools.world.projectDir);
    await expect(locateGit(scope, tools.path('bin'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('refuses a git that is too old for its settings to reach it', async () => {
    await using tools = await openTools();
    const old = tools.world.resolve('old');
    await tools.world.write('old/git', { content: '#!/bin/sh\necho git version 2.30.2\n', mode: 0o755 });
    const scope = new ProjectScope({ projectDir: tools.projectDir });
    await expect(locateGit(scope, old)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('2.31'),
    });
  });
});
