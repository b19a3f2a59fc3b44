import { chmodSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { lstat, mkdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../../../src/servers/bash/index.js';
import { createBubblewrap } from '../../../../src/servers/bash/sandbox/bubblewrap.js';
import { InProcessToolProvider } from '../../../../src/provider/in-process-provider.js';
import { createFilesystemServer } from '../../../../src/servers/filesystem/index.js';
import { createGitServer } from '../../../../src/servers/git/index.js';
import { ProjectFiles } from '../../../../src/servers/project/project-files.js';
import { ProjectScope } from '../../../../src/servers/project/scope/project-scope.js';
import { spawnChild } from '../../../../src/process/index.js';
import { startOf } from '../../../../src/process/stray-processes.js';
import { expectNoLeaks } from '../../../../src/testing/leaks.js';
import { createTestProject, type TestFile } from '../../../../src/testing/project.js';
import { ENDED, recordPlaceholder } from './placeholder-records.js';
import { isRunning, openTools, until, type Tools } from '../bash-tools.js';

/** Why the sandbox does not work on this machine; undefined when it does. */
async function whyNot(): Promise<string | undefined> {
  await using project = await createTestProject();
  const scope = new ProjectScope({ projectDir: project.projectDir });
  const sample = { command: '/bin/bash', args: ['-c', ':'], cwd: project.projectDir, env: { PATH: '/usr/bin:/bin' } };
  try {
    await (await createBubblewrap(scope)).check?.({ scope, network: false, readable: [] }, sample);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const missing = await whyNot();
if (missing !== undefined) console.warn(`The tests of the sandbox are skipped: ${missing}`);

const open = (files: Record<string, TestFile> = {}, options = {}): Promise<Tools> =>
  openTools(files, { sandbox: 'require', ...options });

/** Makes the project a repository with one commit. */
async function initGit(tools: Tools): Promise<void> {
  const script =
    'git init -q -b main && git -c user.name=T -c user.email=t@example.com commit -q --allow-empty -m Begin';
  await using child = spawnChild({ command: 'bash', args: ['-c', script], cwd: tools.projectDir });
  child.stdout.resume();
  expect((await child.exited).code).toBe(0);
}

describe.skipIf(missing !== undefined)('execute in bubblewrap', () => {
  const canary = join(homedir(), `.toolwright-test-canary-${process.pid}`);
  afterAll(() => rm(canary, { force: true }));

  it('execute reports that the command was sandboxed, and leaves the project unchanged', async () => {
    await using _ = expectNoLeaks();
    await using tools = await open();
    const { data, text } = await tools.execute('echo hi > made; cat made; exit 3');
    expect(text).toBe('hi\n[exit code: 3]');
    expect(data).toMatchObject({ sandboxed: true, exit_code: 3, leftover: [] });
    expect(await tools.read('made')).toBe('hi\n');
    expect(readdirSync(tools.projectDir).sort()).toEqual(['.keep', 'made']);
  });

  it.each([
    'echo x > /outside-canary',
    'echo x > /usr/outside-canary',
    'echo x > /etc/outside-canary',
    'echo x > ../outside/canary',
    'mkdir ../made; test -e ../../made', // in /tmp, where this project is, it is a private one
    'ln -s / root && echo x > root/outside-canary',
    'echo x >> ../outside/secret.txt',
    'mount -o remount,rw / && echo x > /outside-canary',
    'mount -t tmpfs none /usr',
    'mknod device b 8 0',
  ])('execute cannot write outside: %s', async (command) => {
    await using tools = await open();
    expect((await tools.execute(command)).data.exit_code).not.toBe(0);
    for (const path of ['/outside-canary', '/usr/outside-canary', '/etc/outside-canary', tools.world.resolve('made')])
      expect(existsSync(path)).toBe(false);
    expect(await tools.world.read('outside/secret.txt')).toBe('secret\n');
    expect(readdirSync(tools.world.resolve('outside'))).toEqual(['secret.txt']);
  });

  it('execute cannot read secrets of the system or the home, or files next to the project', async () => {
    await using tools = await open();
    await tools.world.write('home/.ssh/id_rsa', 'canary');
    for (const path of [
      ...[
        '/etc/shadow',
        '/etc/sudoers',
        '/etc/ssl/private',
        '/root/.bashrc',
        '/root/.ssh',
        '/home',
        '/var/lib',
        '/sys',
        '/boot',
      ],
      ...[`${homedir()}/.gitconfig`, tools.world.resolve('outside/secret.txt'), tools.world.resolve('home')],
    ]) {
      const { data } = await tools.execute(`ls -d ${path} && test -r ${path} && (cat ${path} || ls ${path}/*)`);
      expect(data.exit_code, path).not.toBe(0);
    }
    await using _made = { [Symbol.asyncDispose]: () => rm(canary, { force: true }) };
    const own = await tools.execute(`ls -A ~; echo x > ${canary} && cat ${canary}`);
    expect(own.text).toBe('x\n[exit code: 0]'); // a home of its own, empty, that goes with it
    expect(existsSync(canary)).toBe(false);
    expect((await tools.execute('ls -A ~ /tmp')).text).not.toContain('canary');
  });

  it('execute uses a private temporary directory', async () => {
    await using tools = await openTools({}, { sandbox: 'require' });
    const name = `toolwright-test-${process.pid}`;
    expect((await tools.execute(`echo x > /tmp/${name}; cat $TMPDIR/${name}`)).text).toContain('x\n');
    expect(existsSync(join(tmpdir(), name))).toBe(false);
    expect((await tools.execute(`ls /tmp/${name}`)).data.exit_code).not.toBe(0);
  });

  it('execute reaches the network only when it is allowed', async () => {
    const server = createServer((socket) => socket.end('reached\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const command = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`;
    try {
      await using closed = await open();
      expect((await closed.execute(command)).data.exit_code).not.toBe(0);
      await using opened = await open({}, { network: true });
      expect((await opened.execute(command)).text).toBe('reached\n[exit code: 0]');
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('execute cannot see or end processes of the host', async () => {
    await using tools = await open();
    const { text } = await tools.execute(
      'ls /proc | grep -c "^[0-9]"; cat /proc/1/environ | tr "\\0" "\\n" | grep -c npm',
    );
    expect(Number(text.split('\n')[0])).toBeLessThan(8);
    const { data } = await tools.execute(`kill -9 ${process.pid}; kill -9 -1; true`);
    expect(data.status).not.toBe('running');
    expect(isRunning(process.pid)).toBe(true);
  });

  it('execute runs the command without privileges', async () => {
    await using tools = await open();
    expect((await tools.execute('grep CapEff /proc/self/status')).text).toMatch(/CapEff:\s+0000000000000000/);
  });

  it.each([
    ['a child that left the session', 'setsid sleep 61.5 > /dev/null 2>&1 & echo hi'],
    ['one without an environment', 'env -i setsid sh -c "exec sleep 61.5" > /dev/null 2>&1 & echo hi'],
  ])('execute ends %s with the shell', async (_what, command) => {
    await using _ = expectNoLeaks();
    await using tools = await open();
    const { data, text } = await tools.execute(command);
    expect(text).toBe('hi\n[exit code: 0]');
    expect(data.leftover).toEqual([]);
    await until(async () => !(await commandLines()).some((line) => line.includes('sleep 61.5')));
  });

  it('execute ends every process at its timeout, also one that cleared its environment', async () => {
    await using _ = expectNoLeaks();
    await using tools = await open();
    const { code } = await tools.execute('(env -i setsid sleep 61.7 &); trap "" TERM; sleep 61.7; sleep 61.7', {
      timeout_ms: 500,
    });
    expect(code).toBe('TIMED_OUT');
    expect((await commandLines()).filter((line) => line.includes('sleep 61.7'))).toEqual([]);
  });

  it('job_kill sends the signal to the command inside the sandbox, and job_input reaches it', async () => {
    await using _ = expectNoLeaks();
    await using tools = await open();
    const { data } = await tools.execute(
      "trap 'echo asked; exit 5' TERM; echo ready; while :; do read -t 0.1 l && echo got $l; done",
      {
        background: true,
      },
    );
    const job_id = data.job_id!;
    await tools.call('job_output', { job_id, wait_ms: 10_000 });
    const { text } = await tools.call('job_input', { job_id, input: 'a\n', wait_ms: 10_000 });
    expect(text).toContain('got a');
    await tools.call('job_kill', { job_id });
    expect((await tools.call('job_output', { job_id })).text).toContain('asked');
  });

  it('execute ends a background job with the provider', async () => {
    await using _ = expectNoLeaks();
    await using tools = await open();
    await tools.execute('sleep 61.9', { background: true });
    await until(async () => (await commandLines()).some((line) => line.includes('sleep 61.9')));
    await tools.provider.disconnect();
    expect((await commandLines()).filter((line) => line.includes('sleep 61.9'))).toEqual([]);
    expect(readdirSync(tools.projectDir)).toEqual(['.keep']);
  });
});

async function commandLines(): Promise<string[]> {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return Promise.all(
    pids.map(async (pid) => (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ')),
  );
}

describe.skipIf(missing !== undefined)('execute in the sandbox on protected paths', () => {
  it.each([
    ['an existing file', 'echo x >> .envrc'],
    ['an existing file, removed', 'rm -f .envrc'],
    ['an existing file, replaced', 'echo x > new; mv -f new .envrc'],
    ['an existing directory', 'echo x > .vscode/tasks.json'],
    ['a new file in one', 'echo x > .vscode/launch.json'],
    ['an existing directory, renamed', 'mv .vscode other'],
    ['an existing directory, removed', 'rm -rf .vscode; test ! -e .vscode/settings.json'],
    ['a missing file', 'echo x > .mcp.json'],
    ['a missing directory', 'mkdir -p .claude/commands'],
    ['a missing file by a link', 'ln -s evil .bashrc'],
    ['a missing file by a rename', 'echo x > new; mv -T new .gitmodules'],
    ['a missing repository', 'git init -q .'],
    ['one through a link', 'ln -s .vscode link; echo x > link/tasks.json'],
    ['one further down', 'echo x > sub/.vscode/tasks.json'],
    ['one by its parent, renamed', 'mv sub sub2; mkdir -p sub/.vscode && echo x > sub/.vscode/settings.json'],
    ['one with its mount taken away', 'umount .vscode; echo x > .vscode/settings.json'],
    ['one mounted over', 'mount -t tmpfs none .vscode'],
  ])('execute cannot change %s', async (_what, command) => {
    await using _ = expectNoLeaks();
    await using tools = await open({
      '.envrc': 'kept',
      '.vscode/settings.json': '{}',
      '.vscode/tasks.json': 'kept',
      'sub/.vscode/settings.json': 'kept',
    });
    const { text, data } = await tools.execute(command);
    expect(data, text).toMatchObject({ sandboxed: true });
    expect(data.exit_code, text).not.toBe(0);
    expect([
      await tools.read('.envrc'),
      await tools.read('.vscode/tasks.json'),
      await tools.read('.vscode/settings.json'),
    ]).toEqual(['kept', 'kept', '{}']);
    expect(await tools.read('sub/.vscode/settings.json')).toBe('kept');
    const names = readdirSync(tools.projectDir).filter((name) => name.startsWith('.'));
    expect(names.sort()).toEqual(['.envrc', '.keep', '.vscode']);
    expect(readdirSync(tools.path('.vscode')).sort()).toEqual(['settings.json', 'tasks.json']);
  });

  it('execute can commit, but not change what git runs', async () => {
    await using tools = await open({ 'a.txt': 'a\n' });
    await initGit(tools);
    const before = await tools.read('.git/config');
    const commit = await tools.execute(
      'git add -A && git -c user.name=T -c user.email=t@example.com commit -qm One && git status --short && git log --oneline | wc -l',
    );
    expect(commit.text).toBe('2\n[exit code: 0]');
    expect((await tools.execute('git show --stat --format= HEAD')).text).toMatch(/^ \.keep .*\n a\.txt .*\n 2 files/);
    for (const command of [
      'git config core.fsmonitor ./evil',
      'echo x >> .git/config',
      'mv .git/config other',
      'echo x > .git/hooks/pre-commit',
      'mv .git/hooks other',
      'rm -rf .git/hooks && mkdir .git/hooks',
      'echo "* filter=x" > .git/info/attributes',
      'echo x > .git/config.worktree',
      'mv .git other && git init -q .',
      'mv .git/info other && mkdir .git/info && echo x > .git/info/attributes',
    ]) {
      const { data, text } = await tools.execute(command);
      expect(data.exit_code, `${command}: ${text}`).not.toBe(0);
    }
    expect(await tools.read('.git/config')).toBe(before);
    for (const path of ['.git/info/attributes', '.git/config.worktree', '.git/hooks/pre-commit', 'other/HEAD'])
      await expect(lstat(tools.path(path)), path).rejects.toThrow();
  });

  it('execute cannot change the configuration of a submodule', async () => {
    await using tools = await open({ 'lib/.git': 'gitdir: ../.git/modules/deep/lib\n' });
    await initGit(tools);
    await mkdir(tools.path('.git/modules/deep/lib/hooks'), { recursive: true });
    await using child = spawnChild({
      command: 'bash',
      args: ['-c', 'cp .git/HEAD .git/config .git/modules/deep/lib'],
      cwd: tools.projectDir,
    });
    child.stdout.resume();
    await child.exited;
    for (const command of [
      'echo x >> .git/modules/deep/lib/config',
      'echo x > .git/modules/deep/lib/hooks/post-checkout',
      'mv .git/modules/deep other',
      'echo x > lib/.git',
    ]) {
      const { data, text } = await tools.execute(command);
      expect(data.exit_code, `${command}: ${text}`).not.toBe(0);
    }
    expect(await tools.read('lib/.git')).toContain('gitdir');
  });

  it('execute can change a protected path that the operator opened', async () => {
    await using tools = await open(
      { '.vscode/settings.json': '{}' },
      { allowProtected: ['.vscode', '.claude/commands'] },
    );
    expect((await tools.execute('echo x > .vscode/settings.json; echo y > .vscode/new')).data.exit_code).toBe(0);
    expect(await tools.read('.vscode/new')).toBe('y\n');
  });

  it('execute refuses a command when a protected path is a link, which cannot be masked', async () => {
    await using tools = await open({ 'conf/a': '', '.claude': { link: 'conf' } });
    const { code, text } = await tools.execute('touch ran');
    expect(code).toBe('PROTECTED_PATH');
    expect(text).toContain('allowProtected');
    expect(readdirSync(tools.projectDir).sort()).toEqual(['.claude', '.keep', 'conf']);
  });

  it('execute keeps protected paths masked while any command runs', async () => {
    await using _ = expectNoLeaks();
    await using tools = await open();
    const { data } = await tools.execute('read x; echo x > .envrc', { background: true });
    await Promise.all(Array.from({ length: 10 }, () => tools.execute('true')));
    expect((await tools.call('job_input', { job_id: data.job_id!, input: '\n', wait_ms: 10_000 })).text).toMatch(
      /read-only|directory/i,
    );
    await until(() => readdirSync(tools.projectDir).length === 1);
  });

  it('list_directory and git status omit the placeholders of a command that runs', async () => {
    await using tools = await open({ 'a.txt': 'text\n' });
    await initGit(tools);
    const { job_id } = (await tools.execute('sleep 60', { background: true })).data as { job_id: string };
    await until(() => existsSync(tools.path('.vscode'))); // the command has begun
    const files = new ProjectFiles({ projectDir: tools.projectDir });
    await using provider = new InProcessToolProvider({
      servers: [
        createFilesystemServer({ projectDir: tools.projectDir, projectFiles: files }),
        createGitServer({ projectDir: tools.projectDir, projectFiles: files }),
      ],
    });
    const { structuredContent } = await provider.callTool('filesystem.list_directory', { depth: 2 });
    const listed = (structuredContent?.entries as { path: string }[]).map(({ path }) => path);
    expect(listed).toEqual(expect.arrayContaining(['a.txt', '.git']));
    expect(listed.filter((path) => /vscode|idea|mcp\.json/.test(path))).toEqual([]);
    const status = await provider.callTool('git.status');
    expect(JSON.stringify(status.structuredContent)).not.toContain('vscode');
    await tools.call('job_kill', { job_id });
  });

  it('execute removes the placeholders of a killed host', async () => {
    await using tools = await open({ '.idea/kept': '' });
    for (const name of ['.envrc', '.vscode', '.codex']) {
      mkdirSync(tools.path(name));
      chmodSync(tools.path(name), 0o1700);
    }
    mkdirSync(tools.path('.claude'));
    await recordPlaceholder(tools.path('.envrc'), ENDED);
    await recordPlaceholder(tools.path('.vscode'), { pid: 1, start: startOf(1) });
    expect((await tools.execute('echo x > .envrc')).data.exit_code).not.toBe(0);
    // The owner of .vscode runs; .codex and .claude are the user's.
    expect(readdirSync(tools.projectDir).sort()).toEqual(['.claude', '.codex', '.idea', '.keep', '.vscode']);
  });

  it('execute respects the modes of extra roots', async () => {
    await using world = await createTestProject({ 'ro/a': 'a\n', 'rw/.keep': '', 'ro/.vscode/x': '' });
    const extraRoots = [
      { path: world.resolve('ro'), mode: 'ro' },
      { path: world.resolve('rw'), mode: 'rw' },
    ];
    await using tools = await open({}, { extraRoots });
    expect((await tools.execute(`cat ${world.resolve('ro/a')}; echo b > ${world.resolve('rw/b')}`)).text).toBe(
      'a\n[exit code: 0]',
    );
    expect(await world.read('rw/b')).toBe('b\n');
    for (const path of ['ro/b', 'ro/.vscode/x', 'rw/.envrc']) {
      expect((await tools.execute(`echo x > ${world.resolve(path)}`)).data.exit_code, path).not.toBe(0);
    }
  });
});

describe('chooseSandbox()', () => {
  const broken: Sandbox = {
    name: 'broken',
    check: () => Promise.reject(new Error('it is broken')),
    wrap: () => Promise.reject(new Error('never asked')),
  };

  it('execute runs without a sandbox and reports why when none works and the mode is auto', async () => {
    await using tools = await openTools({}, { sandbox: 'auto', sandboxWith: broken });
    const { text, data } = await tools.execute('echo hi');
    expect(text).toBe('hi\n[not sandboxed: it is broken]\n[exit code: 0]');
    expect(data.sandboxed).toBe(false);
  });

  it.each(['require', undefined] as const)('execute refuses when none works and the mode is %s', async (sandbox) => {
    await using tools = await openTools({}, { sandbox, sandboxWith: broken });
    const { code, text } = await tools.execute('touch ran');
    expect(code).toBe('UNAVAILABLE');
    expect(text).toContain('it is broken');
    expect(text).toContain("sandbox: 'auto'");
    expect(existsSync(tools.path('ran'))).toBe(false);
  });

  it('execute explains how to install bubblewrap when it is missing', async () => {
    await using tools = await openTools();
    const scope = new ProjectScope({ projectDir: tools.projectDir });
    await expect(createBubblewrap(scope, [tools.projectDir])).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining(process.platform === 'linux' ? 'apt-get install' : 'sandboxWith') as string,
    });
  });

  it('execute runs the command that a custom sandbox returns, and releases it after the command has ended', async () => {
    const released: string[] = [];
    const own: Sandbox = {
      name: 'own',
      wrap: async (run, { scope, network }) => ({
        ...run,
        env: { ...run.env, OWN: `${network} ${scope.projectDir}` },
        release: async () => void released.push(run.args.at(-1) ?? ''),
      }),
    };
    await using tools = await openTools({}, { sandbox: 'require', sandboxWith: own });
    const { text, data } = await tools.execute('echo "$OWN"; sleep 0.1');
    expect(text).toBe(`false ${tools.projectDir}\n[exit code: 0]`);
    expect(data.sandboxed).toBe(true);
    expect(released).toEqual(['echo "$OWN"; sleep 0.1']);
  });
});

describe.skipIf(missing !== undefined)('execute of many commands in the sandbox', () => {
  it('execute masks missing paths for many overlapping commands, and leaves no placeholder', async () => {
    await using _ = expectNoLeaks();
    await using tools = await open({ 'a.txt': '' });
    await initGit(tools);
    const attacks = Array.from({ length: 24 }, async (_unused, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 15));
      const { data, text } = await tools.execute(
        `sleep 0.0${index % 10}; for p in .envrc .git/info/attributes .git/hooks/x; do echo x > $p && echo "escaped $p"; done; true`,
      );
      expect(data.exit_code, text).toBe(0);
      expect(text).not.toContain('escaped');
    });
    await Promise.all(attacks);
    expect(readdirSync(tools.projectDir).sort()).toEqual(['.git', '.keep', 'a.txt']);
    expect(existsSync(tools.path('.git/info/attributes'))).toBe(false);
  });

  it('execute leaves no placeholder when calls are cancelled at any moment', async () => {
    await using _ = expectNoLeaks();
    await using tools = await open();
    await tools.execute('true');
    const calls = Array.from({ length: 16 }, async (_unused, index) => {
      const abort = new AbortController();
      setTimeout(() => abort.abort(), index * 9);
      const { code } = await tools.execute('setsid sleep 62.1 & sleep 62.1', {}, { signal: abort.signal });
      expect(code).toBe('CANCELLED');
    });
    await Promise.all(calls);
    await until(async () => !(await commandLines()).some((line) => line.includes('sleep 62.1')));
    await until(() => readdirSync(tools.projectDir).length === 1);
  });
});
