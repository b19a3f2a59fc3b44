// What a command in the sandbox could do where the mounts do not hold it: in `.git`, most of which it may write, and when the
// host replaces a file that was held.

import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { onHost, openRepository, whyNoSandbox } from './repositories.js';
import { until, type Tools } from '../bash-tools.js';

const missing = await whyNoSandbox();
const GIT = 'set -e; here=$PWD; git() { command git -c user.name=T -c user.email=t@e.x "$@"; }; ';

/** Ends a command that waits for its input, and gives its last answer. */
async function go(tools: Tools, job: unknown): Promise<string> {
  const { text } = await tools.call('job_input', { job_id: job as string, input: '\n', wait_ms: 10_000 });
  return text;
}

async function output(tools: Tools, job: unknown): Promise<string> {
  const { text } = await tools.call('job_output', { job_id: job as string, cursor: 0 });
  return text;
}

describe.skipIf(missing !== undefined)('what a command leaves in .git', { timeout: 60_000 }, () => {
  it.each([
    ['the message of the next commit', 'ln -sf $HOME/.profile .git/COMMIT_EDITMSG', '.git/COMMIT_EDITMSG'],
    ['the configuration', 'ln -sf config .git/COMMIT_EDITMSG', '.git/COMMIT_EDITMSG'],
    ['the log of the head', 'rm .git/logs/HEAD; ln -s $HOME/.zrc .git/logs/HEAD', '.git/logs/HEAD'],
    ['a directory of logs', 'rm -r .git/logs; ln -s $HOME/logs .git/logs', '.git/logs'],
    ['the index of a submodule', 'ln -sf $HOME/x .git/modules/sub/index', '.git/modules/sub/index'],
    ['the index of a working tree', 'ln -sf $HOME/x .git/worktrees/wt/index', '.git/worktrees/wt/index'],
    ['objects', 'rm -rf .git/objects/00; ln -s $HOME/x .git/objects/00', '.git/objects/00'],
  ])('execute() removes a link in place of %s', async (_what, command, place) => {
    await using tools = await openRepository();
    const { data, text } = await tools.execute(command);
    expect(data.exit_code, text).toBe(0);
    expect(text).toContain(`"${place}" was made a link to `);
    expect(existsSync(tools.path(place))).toBe(false);
    expect(lstatSync(tools.path(place), { throwIfNoEntry: false })).toBeUndefined();
  });

  it('execute() removes a link while the command still runs', async () => {
    await using tools = await openRepository();
    const { data } = await tools.execute('ln -sf $HOME/x .git/COMMIT_EDITMSG; echo made; read x', { background: true });
    await until(async () => (await output(tools, data.job_id)).includes('made'));
    await until(() => lstatSync(tools.path('.git/COMMIT_EDITMSG'), { throwIfNoEntry: false }) === undefined);
    expect(await go(tools, data.job_id)).toContain('".git/COMMIT_EDITMSG" was made a link to ');
  });

  it('execute() leaves the links that were there before', async () => {
    await using tools = await openRepository();
    await onHost(tools.projectDir, 'mkdir ../hooks; mv .git/description ../hooks; ln -s ../../hooks/description .git/');
    const { text } = await tools.execute('git status --short; echo done');
    expect(text).toContain('done');
    expect(text).not.toContain('link');
    expect(lstatSync(tools.path('.git/description')).isSymbolicLink()).toBe(true);
  });

  it.each(['refs/heads/z', 'index', 'packed-refs', 'ORIG_HEAD'])(
    'execute() removes a FIFO in place of %s, and neither it nor the next command waits for it',
    async (name) => {
      await using tools = await openRepository();
      const { text } = await tools.execute(`rm -f .git/${name}; mkfifo .git/${name}; echo made`);
      expect(text).toContain('made');
      expect(text).toContain(`".git/${name}" was made a device or FIFO`);
      expect((await tools.execute('echo next')).text).toContain('next');
    },
  );

  it('execute() gives what a command printed when the user has put a FIFO into .git', async () => {
    await using tools = await openRepository();
    await onHost(tools.projectDir, 'mkfifo .git/refs/heads/z');
    expect((await tools.execute('echo printed')).text).toContain('printed');
    await tools.provider.disconnect();
  });

  it('execute() sets aside a rebase to which a command has added a program', async () => {
    await using tools = await openRepository();
    await onHost(
      tools.projectDir,
      `git switch -qc topic && echo topic > a.txt && git commit -qam Topic && git switch -q main && echo main > a.txt && git commit -qam Main
       git switch -q topic && ! git rebase main 2> ../rebase.log`,
    );
    const { text } = await tools.execute(
      `echo both > a.txt; git add a.txt; echo "exec touch $PWD/evil-ran" >> .git/rebase-merge/git-rebase-todo`,
    );
    expect(text).toContain('".git/rebase-merge" says "exec touch');
    await onHost(tools.projectDir, '! GIT_EDITOR=true git rebase --continue');
    expect(existsSync(tools.path('evil-ran'))).toBe(false);
    expect(readFileSync(tools.path('.git/rebase-merge.disabled/git-rebase-todo'), 'utf8')).toContain('exec');
  });

  it("execute() leaves the user's rebase as it is, with the programs that it runs", async () => {
    await using tools = await openRepository();
    await onHost(tools.projectDir, '! git rebase -q -x false HEAD~1 2> ../rebase.log');
    const { text } = await tools.execute('git status --short; echo done');
    expect(text).not.toContain('renamed');
    expect(existsSync(tools.path('.git/rebase-merge/git-rebase-todo'))).toBe(true);
  });

  it('execute() disables a submodule that a command lists in a commit which git cannot read yet', async () => {
    await using tools = await openRepository();
    const hide = await tools.execute(
      `${GIT} git init -q new; git -C new commit -q --allow-empty -m One; git -C new config core.fsmonitor "touch $here/evil-ran;false"
       tree=$(printf '100644 blob %s\\tx\\n' $(echo hi | git hash-object -w --stdin) | git mktree)
       top=$(printf '040000 tree %s\\ta\\n160000 commit %s\\tnew\\n' $tree $(git -C new rev-parse HEAD) | git mktree)
       git branch feature $(git commit-tree -p HEAD -m Feature $top); mv .git/objects/\${tree:0:2}/\${tree:2} hidden`.replaceAll(
        '\\$',
        '$',
      ),
    );
    expect(hide.data.exit_code, hide.text).toBe(0);
    expect(hide.text).toContain('git cannot list all that ".git" holds');
    const show = await tools.execute(
      `tree=$(printf '100644 blob %s\\tx\\n' $(echo hi | git hash-object -w --stdin) | git mktree)`,
    );
    expect(show.text).toContain('the repository in "new" is listed as a submodule');
    await onHost(tools.projectDir, 'git checkout -q feature; git status --short');
    expect(existsSync(tools.path('evil-ran'))).toBe(false);
    expect((await tools.execute('echo done')).text).not.toContain('new');
  });

  it('execute() disables a submodule whose configuration names another working tree', async () => {
    await using tools = await openRepository();
    const { text } = await tools.execute(
      `${GIT} git init -q new; git -C new commit -q --allow-empty -m One; git -C new config core.worktree $HOME; git add new`,
    );
    expect(text).toContain('its config says "worktree = ');
  });

  it('execute() puts the common directory of a working tree back that was added meanwhile', async () => {
    await using tools = await openRepository();
    const { data } = await tools.execute(
      'until echo /x > .git/worktrees/later/commondir; do sleep 0.05; done 2> /dev/null; read x',
      { background: true },
    );
    await onHost(tools.projectDir, 'git worktree add -q ../later -b later');
    await until(() => readdirSync(tools.path('.git/worktrees/later')).includes('commondir.disabled'));
    expect(await tools.read('.git/worktrees/later/commondir')).toBe('../..\n');
    await onHost(tools.projectDir, 'git -C ../later status --short');
    expect(await go(tools, data.job_id)).toContain('".git/worktrees/later/commondir" was given a configuration');
  });
});

describe.skipIf(missing !== undefined)('what the host replaces while a command runs', { timeout: 60_000 }, () => {
  /** Waits until it can write a file, and then writes it over and over. It makes `runs` when it has begun. */
  const writer = (file: string, text: string): string =>
    `touch runs; until printf '%s\\n' '${text}' >> ${file}; do :; done 2> /dev/null; while printf '%s\\n' '${text}' >> ${file}; do sleep 0.01; done`;

  it('execute() ends a command that could write the configuration, and puts it back', async () => {
    await using tools = await openRepository();
    const before = await tools.read('.git/config');
    const { data } = await tools.execute(writer('.git/config', '[core] fsmonitor = "touch evil-ran;false"'), {
      background: true,
    });
    await until(() => existsSync(tools.path('runs')));
    await onHost(tools.projectDir, 'git config user.nickname x');
    await until(async () => (await tools.call('job_list')).text.includes('killed'));
    const text = await output(tools, data.job_id);
    expect(text).toContain('".git/config" was replaced on the host');
    expect(text).toContain('renamed to "config.disabled"');
    expect(await tools.read('.git/config')).toBe(before);
    expect(await tools.read('.git/config.disabled')).toContain('fsmonitor');
    await onHost(tools.projectDir, 'git status --short');
    expect(existsSync(tools.path('evil-ran'))).toBe(false);
  });

  it('execute() keeps a configuration that only follows another branch, and ends the command', async () => {
    await using tools = await openRepository();
    const { data } = await tools.execute('read x', { background: true });
    await onHost(tools.projectDir, 'git branch -q --track more main');
    const after = await tools.read('.git/config');
    expect(after).toContain('[branch "more"]');
    await until(async () => (await tools.call('job_list')).text.includes('killed'));
    expect(await output(tools, data.job_id)).toContain('the command was ended');
    expect(await tools.read('.git/config')).toBe(after);
    expect(existsSync(tools.path('.git/config.disabled'))).toBe(false);
  });

  it('execute() breaks a second name that the command gave the new configuration', async () => {
    await using tools = await openRepository();
    const { data } = await tools.execute(
      'until ln .git/config.lock .git/second; do :; done 2> /dev/null; echo linked; read x',
      { background: true },
    );
    // The user's git takes its time between the lock and the renaming.
    await onHost(tools.projectDir, 'cp .git/config .git/config.lock');
    await until(() => existsSync(tools.path('.git/second')));
    await rename(tools.path('.git/config.lock'), tools.path('.git/config'));
    await until(async () => (await tools.call('job_list')).text.includes('killed'));
    await output(tools, data.job_id);
    expect(lstatSync(tools.path('.git/config')).nlink).toBe(1);
  });

  it('execute() sets a protected file aside that an editor saved while a command ran', async () => {
    await using tools = await openRepository();
    await writeFile(tools.path('.envrc'), 'export A=1\n');
    const { data } = await tools.execute(writer('.envrc', 'evil'), { background: true });
    await until(() => existsSync(tools.path('runs')));
    await writeFile(tools.path('.envrc.new'), 'export A=2\n');
    await rename(tools.path('.envrc.new'), tools.path('.envrc'));
    await until(async () => (await tools.call('job_list')).text.includes('killed'));
    expect(await output(tools, data.job_id)).toContain('".envrc" was replaced while the command ran');
    expect(existsSync(tools.path('.envrc'))).toBe(false);
    expect(await tools.read('.envrc.disabled')).toMatch(/^export A=2\n(?:evil\n)+$/);
  });

  it('execute() does not end for what the host writes in place', async () => {
    await using tools = await openRepository();
    await writeFile(tools.path('.envrc'), 'export A=1\n');
    const { data } = await tools.execute('read x; echo alive', { background: true });
    await writeFile(tools.path('.envrc'), 'export A=2\n');
    await onHost(tools.projectDir, 'sleep 0.3; git status --short; git commit -q --allow-empty -m More');
    const text = await go(tools, data.job_id);
    expect(text).toContain('alive');
    expect(text).not.toContain('replaced');
    expect(await tools.read('.envrc')).toBe('export A=2\n');
  });
});
