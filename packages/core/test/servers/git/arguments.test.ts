// Arguments that try to be something else: options, paths outside, patterns, messages.

import { existsSync } from 'node:fs';
import { access, readdir, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/contract/json.js';
import { createGitServer } from '../../../src/servers/git/index.js';
import { createBuiltinServers } from '../../../src/servers/index.js';
import { InProcessToolProvider } from '../../../src/provider/in-process-provider.js';
import { gitIn, GIT_IS_MISSING, openTools, type Tools } from './git-tools.js';

const REF_CALLS: readonly ((ref: string) => [tool: string, args: JsonObject])[] = [
  (ref) => ['diff', { from: ref }],
  (ref) => ['diff', { from: 'HEAD', to: ref }],
  (ref) => ['log', { ref }],
  (ref) => ['show', { ref }],
  (ref) => ['show', { ref, path: 'a.txt' }],
  (ref) => ['blame', { path: 'a.txt', ref }],
  (ref) => ['branch_list', { contains: ref }],
  (ref) => ['branch', { action: 'create', name: ref }],
  (ref) => ['branch', { action: 'create', name: 'ok', start: ref }],
  (ref) => ['branch', { action: 'rename', name: 'main', new_name: ref }],
  (ref) => ['branch', { action: 'rename', name: ref, new_name: 'ok' }],
  (ref) => ['branch', { action: 'delete', name: ref }],
  (ref) => ['checkout', { ref }],
  (ref) => ['checkout', { ref, create: true }],
  (ref) => ['checkout', { ref: 'ok', create: true, start: ref }],
  (ref) => ['restore', { paths: ['a.txt'], source: ref }],
  (ref) => ['merge', { ref }],
  (ref) => ['rebase', { onto: ref }],
  (ref) => ['cherry_pick', { ref }],
  (ref) => ['revert', { ref }],
  (ref) => ['reset', { ref, mode: 'hard' }],
  (ref) => ['tag', { action: 'create', name: ref }],
  (ref) => ['tag', { action: 'create', name: 'ok', ref }],
  (ref) => ['tag', { action: 'delete', name: ref }],
  (ref) => ['fetch', { branch: ref }],
  (ref) => ['fetch', { remote: ref }],
  (ref) => ['pull', { branch: ref }],
  (ref) => ['push', { branch: ref }],
  (ref) => ['push', { to: ref }],
  (ref) => ['push', { remote: ref }],
];

const patterns = async (tools: Tools, tool: string, args: JsonObject): Promise<string[]> =>
  (await tools.provider.prepareCall(`git.${tool}`, args)).claims.map(({ pattern }) => pattern);

describe.skipIf(GIT_IS_MISSING)('createGitServer() arguments', { timeout: 120_000 }, () => {
  it('names and creates no other repository', async () => {
    await using tools = await openTools({ 'a.txt': '' }, { init: false });
    const listed = await tools.provider.listTools();
    expect(listed.map(({ name }) => name.replace('git.', ''))).not.toContain('init');
    for (const { inputSchema } of listed)
      expect(Object.keys(inputSchema.properties ?? {}).filter((name) => /repo|dir|cwd/.test(name))).toEqual([]);
    for (const { annotations } of listed) expect(Object.keys(annotations ?? {})).toHaveLength(4);
    expect((await tools.call('commit', { message: 'x' })).code).toBe('NOT_A_REPOSITORY');
    await expect(access(tools.path('.git'))).rejects.toThrow('ENOENT');
  });

  it.each(['--output=pw', '-O./run', '-'])(
    'never treats %s as the name of a commit, even when one exists',
    async (ref) => {
      await using tools = await openTools({ 'a.txt': 'a\n' });
      await tools.git('remote', 'add', 'origin', '.');
      await tools.git('update-ref', `refs/heads/${ref}`, 'HEAD');
      await tools.git('update-ref', `refs/tags/${ref}`, 'HEAD');
      for (const call of REF_CALLS) {
        const [tool, args] = call(ref);
        expect([tool, args, (await tools.call(tool, args)).code]).toEqual([tool, args, 'INVALID_ARGUMENT']);
      }
      expect((await readdir(tools.projectDir)).sort()).toEqual(['.git', 'a.txt']);
    },
  );

  it('refuses refs with control characters, ranges and pathspecs, and passes each text as one option', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    for (const ref of ['main\n--output=pw', 'a\0b', ':/Begin', ':a.txt', '']) {
      const { code } = await tools.call('show', { ref });
      expect(code, JSON.stringify(ref)).toBe('INVALID_ARGUMENT');
    }
    for (const ref of ['HEAD..HEAD', '^HEAD', 'HEAD HEAD', 'nowhere', 'HEAD:a.txt'])
      expect((await tools.call('log', { ref })).code, ref).toBe('NOT_FOUND');
    for (const name of ['since', 'until', 'author', 'grep']) {
      expect((await tools.call('log', { [name]: '--output=pw' })).code).toBeUndefined();
      expect((await tools.call('log', { [name]: 'a\n--output=pw' })).code).toBe('INVALID_ARGUMENT');
    }
    expect((await tools.call('log', { ref: 'mian' })).text).toContain('"main"');
    expect((await readdir(tools.projectDir)).sort()).toEqual(['.git', 'a.txt']);
  });

  it('reaches nothing when a path is outside or is a pattern', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await symlink(tools.world.resolve('outside'), tools.path('link'));
    for (const path of ['../outside/secret.txt', tools.world.resolve('outside/secret.txt'), '..', '/etc/passwd']) {
      for (const [tool, args] of [
        ['add', { paths: [path] }],
        ['status', { paths: [path] }],
        ['diff', { paths: [path] }],
        ['log', { paths: [path] }],
        ['show', { ref: 'HEAD', path }],
        ['blame', { path }],
        ['restore', { paths: [path] }],
        ['unstage', { paths: [path] }],
      ] as const)
        expect([tool, path, (await tools.call(tool, args)).code]).toEqual([tool, path, 'OUTSIDE_PROJECT']);
    }
    expect((await tools.call('add', { paths: ['link/secret.txt'] })).code).toBe('OUTSIDE_PROJECT');
    for (const path of ['*.txt', ':/', ':(top)a.txt', ':!a.txt', '--all', '-A'])
      expect([path, (await tools.call('add', { paths: [path] })).code]).toEqual([path, 'NOT_FOUND']);
    expect(await tools.git('diff', '--cached', '--name-only')).toBe('');
  });

  it('keeps unusual names unchanged, in arguments and in results', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    const names = [
      'with space.txt',
      'new\nline.txt',
      '"quoted".txt',
      'ünïcödé.txt',
      '-dash.txt',
      '--output=x',
      ':colon',
      '*',
      'tab\tname',
      '..dots',
    ];
    for (const name of names) await tools.write(name, 'x\n');
    expect((await tools.call('status')).data.entries.map(({ path }: { path: string }) => path).sort()).toEqual(
      [...names].sort(),
    );
    const { data } = await tools.call('add', { paths: names });
    expect(data.staged.map(({ path }: { path: string }) => path).sort()).toEqual([...names].sort());
    expect((await tools.call('commit', { message: 'Odd' })).data.files).toBe(names.length);
    for (const name of names) {
      expect((await tools.call('show', { ref: 'HEAD', path: name })).text).toBe('x');
      expect((await tools.call('log', { paths: [name] })).data.commits).toHaveLength(1);
      expect((await tools.call('blame', { path: name })).data.lines).toHaveLength(1);
      await tools.write(name, 'y\n');
      expect((await tools.call('restore', { paths: [name] })).data.restored).toEqual([name]);
    }
    const { text } = await tools.call('show', { ref: 'HEAD', stat_only: true });
    expect(text).toContain('new\\u{a}line.txt');
  });

  it.skipIf(process.platform !== 'linux')('names that are not UTF-8 are shown by their bytes', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await writeFile(Buffer.concat([Buffer.from(`${tools.projectDir}/caf`), Buffer.from([0xe9])]), 'x\n');
    expect((await tools.call('status')).data.entries).toMatchObject([{ path: 'caf\\xe9' }]);
    expect((await tools.call('add', { paths: ['.'] })).data.staged).toMatchObject([{ path: 'caf\\xe9' }]);
    expect((await tools.call('commit', { message: 'x' })).data.files).toBe(1);
    expect((await tools.call('show', { ref: 'HEAD' })).data.files).toMatchObject([{ path: 'caf\\xe9' }]);
    expect((await tools.call('checkout', { ref: 'HEAD~1' })).data.changed).toEqual(['caf\\xe9']);
  });

  it('never reaches a remote whose address runs a program or has another transport', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' }, { protocols: ['https', 'ssh'] });
    const ran = tools.path('ran');
    await tools.git('remote', 'add', 'origin', '.');
    for (const url of [
      `ext::sh -c touch% ${ran}`,
      tools.projectDir,
      `file://${tools.projectDir}`,
      `ssh://-oProxyCommand=touch ${ran}/x`,
      `-oProxyCommand=touch ${ran}:x`,
      'git://localhost/x',
      'http://localhost:1/x',
    ]) {
      await tools.git('config', 'remote.origin.url', url);
      for (const tool of ['fetch', 'push'])
        expect([url, (await tools.call(tool)).code]).toEqual([
          url,
          expect.stringMatching(/PERMISSION_DENIED|EXECUTION_FAILED/),
        ]);
    }
    await tools.git('config', 'remote.origin.url', tools.projectDir);
    expect((await tools.call('fetch')).text).toContain('protocols');
    await tools.git('config', 'http.proxy', 'http://localhost:1');
    expect(await tools.call('fetch')).toMatchObject({
      code: 'PERMISSION_DENIED',
      text: expect.stringContaining('http.proxy'),
    });
    await expect(access(ran)).rejects.toThrow('ENOENT');
    expect((await tools.call('fetch', { remote: 'nobody' })).code).toBe('NOT_FOUND');
  });

  it('passes a message unchanged, whatever it looks like', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    for (const message of ['-F /etc/passwd', '--amend', '# Only a comment', 'a\n\n--author=x', '$(id) `id`']) {
      expect((await tools.call('commit', { message, allow_empty: true })).code).toBeUndefined();
      expect(await tools.git('log', '-1', '--format=%B')).toBe(`${message}\n`);
    }
    for (const message of ['', '  \n ', 'a\0b', 'x'.repeat(100_001)])
      expect((await tools.call('commit', { message, allow_empty: true })).code).toBe('INVALID_ARGUMENT');
    for (const author of ['A\nB <x>', '--amend', 'no address', 'A <b> <c>'])
      expect((await tools.call('commit', { message: 'x', allow_empty: true, author })).code).toBe('INVALID_ARGUMENT');
    const big = `Big\n\n${'ä'.repeat(90_000)}`;
    expect((await tools.call('commit', { message: big, allow_empty: true })).code).toBeUndefined();
    expect((await tools.call('log', { max: 1 })).data.commits[0].body).toHaveLength(90_000);
  });

  it('writes no protected file, unless it is in allowProtected or the repository is trusted', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n', '.vscode/tasks.json': '{}\n' });
    await tools.git('switch', '-q', '-c', 'evil');
    await tools.commit('Evil', { '.vscode/tasks.json': '{"run":1}\n', 'sub/.envrc': 'run\n', 'a.txt': 'evil\n' });
    await tools.git('switch', '-q', 'main');
    const calls: [string, JsonObject][] = [
      ['checkout', { ref: 'evil' }],
      ['merge', { ref: 'evil' }],
      ['cherry_pick', { ref: 'evil' }],
      ['rebase', { onto: 'evil' }],
      ['reset', { ref: 'evil', mode: 'hard' }],
      ['restore', { paths: ['.'], source: 'evil' }],
      ['restore', { paths: ['.vscode/tasks.json'], source: 'evil' }],
    ];
    for (const [tool, args] of calls)
      expect([tool, (await tools.call(tool, args)).code]).toEqual([tool, 'PROTECTED_PATH']);
    await tools.write('.vscode/tasks.json', '{"mine":1}\n');
    expect((await tools.call('stash', { action: 'push' })).code).toBe('PROTECTED_PATH');
    expect((await tools.call('restore', { paths: ['.'] })).code).toBe('PROTECTED_PATH');
    expect(await tools.git('rev-parse', '--abbrev-ref', 'HEAD')).toBe('main');
    expect(await tools.read('a.txt')).toBe('a\n');
    await tools.git('checkout', '-q', '.vscode');
    for (const more of [{ allowProtected: ['.vscode', 'sub/.envrc'] }, { trust: 'trusted' as const }]) {
      const server = createGitServer({ projectDir: tools.projectDir, ...more });
      const { error } = await new InProcessToolProvider({ servers: [server] }).callTool('git.checkout', {
        ref: 'evil',
      });
      expect(error?.code).toBeUndefined();
      expect(await tools.read('.vscode/tasks.json')).toBe('{"run":1}\n');
      await tools.git('switch', '-q', 'main');
    }
  });

  it.each(['first', 'second'])(
    'merge() writes no protected file that the %s of two merge bases has not',
    async (which) => {
      await using tools = await openTools({ 'a.txt': 'a\n', '.vscode/tasks.json': '{}\n' });
      await tools.git('switch', '-q', '-c', 'one');
      const remove = async (): Promise<unknown> => {
        await tools.git('rm', '-q', '-r', '.vscode');
        return tools.commit('Without');
      };
      if (which === 'first') await remove();
      else await tools.commit('With', { 'one.txt': '1' });
      await tools.git('switch', '-q', '-c', 'two', 'main');
      if (which === 'second') await remove();
      else await tools.commit('With', { 'two.txt': '2' });
      const trees = await Promise.all(['one', 'two'].map((name) => tools.git('rev-parse', `${name}^{tree}`)));
      const [without, all] = which === 'first' ? trees : trees.toReversed();
      const head = await tools.git('commit-tree', '-p', 'one', '-p', 'two', '-m', 'Here', without!);
      const target = await tools.git('commit-tree', '-p', 'two', '-p', 'one', '-m', 'There', all!);
      await tools.git('reset', '-q', '--hard', head);
      expect((await tools.call('merge', { ref: target })).code).toBe('PROTECTED_PATH');
      expect(existsSync(tools.path('.vscode/tasks.json'))).toBe(false);
    },
  );

  it('writes no protected file in rebase() that one commit adds and a later one removes', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await tools.git('switch', '-q', '-c', 'side');
    await tools.commit('Brings', { '.vscode/tasks.json': '{}\n' });
    await tools.commit('Clashes', { 'a.txt': 'side\n' });
    await tools.git('rm', '-q', '-r', '.vscode');
    await tools.commit('Takes away');
    await tools.git('switch', '-q', 'main');
    await tools.commit('Main', { 'a.txt': 'main\n' });
    await tools.git('switch', '-q', 'side');
    expect((await tools.call('rebase', { onto: 'main' })).code).toBe('PROTECTED_PATH');
    expect(existsSync(tools.path('.vscode/tasks.json'))).toBe(false);
  });

  it('keeps a protected file in merge() that only the current branch has changed', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n', '.vscode/tasks.json': '{}\n' });
    await tools.git('switch', '-q', '-c', 'side');
    await tools.commit('Side', { 'b.txt': 'b\n' });
    await tools.git('switch', '-q', 'main');
    await tools.commit('Mine', { '.vscode/tasks.json': '{"mine":1}\n' });
    expect((await tools.call('merge', { ref: 'side' })).data).toMatchObject({ status: 'done', changed: ['b.txt'] });
  });

  it('claims the paths, or the action and its names, that a tool works on', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    const refusal = async (tool: string, args: JsonObject): Promise<string | undefined> =>
      (await tools.provider.prepareCall(`git.${tool}`, args)).refused?.error?.code;
    expect(await patterns(tools, 'diff', {})).toEqual(['.']);
    expect(await patterns(tools, 'diff', { paths: ['./src/../a.txt', 'b'] })).toEqual(['a.txt', 'b']);
    expect(await patterns(tools, 'show', { ref: 'HEAD', path: 'secrets/x' })).toEqual(['secrets/x']);
    expect(await patterns(tools, 'restore', { paths: ['a.txt'] })).toEqual(['a.txt']);
    expect(await patterns(tools, 'commit', { message: 'x' })).toEqual(['commit']);
    expect(await patterns(tools, 'commit', { message: 'x', amend: true })).toEqual(['amend']);
    expect(await patterns(tools, 'branch', { action: 'delete', name: 'x', force: true })).toEqual(['force-delete x']);
    expect(await patterns(tools, 'checkout', { ref: 'main' })).toEqual(['switch main']);
    expect(await patterns(tools, 'push', { branch: 'main' })).toEqual(['origin main']);
    expect(await refusal('restore', { paths: ['.git/config'] })).toBe('PROTECTED_PATH');
    expect(await refusal('add', { paths: ['../x'] })).toBe('OUTSIDE_PROJECT');
  });

  it('moves commits between repositories with push, fetch and pull, never by force', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await gitIn(tools.world.projectDir, {}, ['clone', '-q', '--bare', tools.projectDir, 'remote.git']);
    const remote = tools.world.resolve('remote.git');
    await tools.git('remote', 'add', 'origin', remote);
    const oid = await tools.commit('Two', { 'b.txt': 'b\n' });
    expect((await tools.call('push', { set_upstream: true })).data).toEqual({
      ref: 'refs/heads/main',
      to: 'refs/heads/main',
      oid,
      status: 'pushed',
    });
    expect((await tools.call('push')).data.status).toBe('up_to_date');
    expect(await gitIn(remote, {}, ['rev-parse', 'main'])).toBe(oid);
    await tools.git('tag', 'v1');
    expect((await tools.call('push', { tag: 'v1' })).data.status).toBe('pushed');
    await gitIn(tools.world.projectDir, {}, ['clone', '-q', remote, 'other']);
    const other = tools.world.resolve('other');
    await tools.world.write('other/c.txt', 'c\n');
    await gitIn(other, {}, ['add', '.']);
    await gitIn(other, {}, ['-c', 'user.name=O', '-c', 'user.email=o@x.org', 'commit', '-q', '-m', 'Other']);
    await gitIn(other, {}, ['push', '-q']);
    const theirs = await gitIn(other, {}, ['rev-parse', 'HEAD']);
    expect((await tools.call('fetch')).data.updated).toEqual([
      { ref: 'refs/remotes/origin/main', from: oid, to: theirs },
    ]);
    expect((await tools.call('fetch', { branch: 'none' })).code).toBe('EXECUTION_FAILED');
    await tools.commit('Mine', { 'd.txt': 'd\n' });
    const refused = await tools.call('push');
    expect(refused).toMatchObject({ code: 'EXECUTION_FAILED', text: expect.stringContaining('pull first') });
    await tools.call('push', { to: '+main' });
    expect(await gitIn(remote, {}, ['rev-parse', 'main'])).toBe(theirs);
    expect((await tools.call('pull')).code).toBe('EXECUTION_FAILED');
    expect((await tools.call('pull', { mode: 'merge' })).data).toMatchObject({ status: 'done', changed: ['c.txt'] });
    expect((await tools.call('push')).data.status).toBe('pushed');
  });
});

describe('createGitServer()', () => {
  it('has the groups that were asked for, and refuses what it does not know', async () => {
    await using tools = await openTools({}, { init: false });
    const { projectDir } = tools;
    const names = (groups?: readonly 'tag'[]): string[] =>
      createGitServer({ projectDir, groups }).tools.map(({ name }) => name);
    expect(names()).toEqual([
      'status',
      'diff',
      'log',
      'show',
      'blame',
      'branch_list',
      'branch',
      'add',
      'unstage',
      'commit',
      'checkout',
      'restore',
      'stash',
    ]);
    expect(names(['tag'])).toEqual([...names(), 'tag']);
    for (const wrong of [
      { trust: 'yes' },
      { trust: true },
      { groups: ['force'] },
      { protocols: ['ext'] },
      { timeoutMs: 0 },
      { output: { maxLines: 0 } },
    ])
      expect(() => createGitServer({ projectDir, ...(wrong as object) }), JSON.stringify(wrong)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
  });

  it('is one of the built-in servers, under their one trust', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' }, { init: false });
    const { projectDir } = tools;
    expect(createBuiltinServers({ projectDir }).map(({ name }) => name)).toContain('git');
    expect(createBuiltinServers({ projectDir, git: false }).map(({ name }) => name)).not.toContain('git');
    expect(() => createBuiltinServers({ projectDir, trust: 'maybe' as never })).toThrow('trust');
    expect(() => createBuiltinServers({ projectDir, git: true as never })).toThrow('git must be its options');
    expect(InProcessToolProvider.forProject(projectDir).servers).toContain('git');
    expect(InProcessToolProvider.forProject(projectDir, { git: false }).servers).not.toContain('git');
  });
});
