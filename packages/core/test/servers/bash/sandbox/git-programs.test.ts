// Files that make git run programs: whatever a command in the sandbox writes, the user's next git on the host runs none of
// its programs.

import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { spawnChild, type Child } from '../../../../src/process/index.js';
import { createFilesystemServer } from '../../../../src/servers/filesystem/index.js';
import { InProcessToolProvider } from '../../../../src/provider/in-process-provider.js';
import { createTestProject } from '../../../../src/testing/project.js';
import { bundleFixture } from '../../../mcp/bundle.js';
import { ENDED, recordPlaceholder } from './placeholder-records.js';
import { onHost, openRepository, whyNoSandbox } from './repositories.js';
import { openTools, until } from '../bash-tools.js';

const missing = await whyNoSandbox();

const EVIL = `mkdir -p evil && cp -r .git/HEAD .git/refs .git/objects evil/ && printf '[core]\\nrepositoryformatversion=0\\nfsmonitor=touch %s/evil-ran;false\\n' "$PWD" > evil/config;`;

describe.skipIf(missing !== undefined)('CommandGuard on files that make git run programs', { timeout: 60_000 }, () => {
  it.each([
    ['commondir of the repository', `${EVIL} echo ../evil > .git/commondir`],
    ['commondir of a working tree', `${EVIL} echo ../../../evil > .git/worktrees/wt/commondir`],
    [
      'commondir of a working tree, replaced',
      `${EVIL} echo ../../../evil > new; mv -f new .git/worktrees/wt/commondir`,
    ],
    ['commondir of a submodule', `${EVIL} echo ../../../evil > .git/modules/sub/commondir`],
    ['config.worktree of a working tree', `echo x > .git/worktrees/wt/config.worktree`],
    ['gitdir of a working tree', `echo /x/.git > .git/worktrees/wt/gitdir`],
    ['the directory of a working tree', `mv .git/worktrees/wt .git/worktrees/other`],
    ['the file .git of a working tree', `${EVIL} echo 'gitdir: ../evil' > wt/.git`],
    ['the file .git of a submodule', `${EVIL} rm -f sub/.git; echo 'gitdir: ../evil' > sub/.git`],
    ['attributes of a submodule', `echo '* filter=x' > .git/modules/sub/info/attributes`],
    ['alternates', `echo /x/objects > .git/objects/info/alternates`],
    ['programs of submodules', `printf '[submodule "sub"]\\n\\tupdate = !touch evil-ran\\n' >> .gitmodules`],
  ])('execute cannot write %s', async (_what, command) => {
    await using tools = await openRepository();
    const { data, text } = await tools.execute(command);
    expect(data.exit_code, text).not.toBe(0);
    await onHost(
      tools.projectDir,
      'git status --short; git -C wt status --short; git -C sub status --short; git submodule update',
    );
    expect(existsSync(tools.path('evil-ran'))).toBe(false);
    expect(existsSync(tools.path('.git/commondir'))).toBe(false);
  });

  it('git works in the sandbox and on the host while commondir is masked', async () => {
    await using tools = await openRepository();
    const { data } = await tools.execute('read x', { background: true });
    expect(await tools.read('.git/commondir')).toBe('.\n');
    const script =
      'git status --short && git add -A && git -c user.name=T -c user.email=t@e.x commit -q --allow-empty -m More && git -C wt status --short && git log --oneline -1 && git branch --list main';
    expect(await onHost(tools.projectDir, script)).toContain('More');
    const inside = await tools.execute(script);
    expect(inside.data.exit_code, inside.text).toBe(0);
    expect(inside.text).toContain('More');
    await tools.call('job_input', { job_id: data.job_id!, input: '\n', wait_ms: 10_000 });
    await tools.provider.disconnect();
    expect(
      readdirSync(tools.path('.git')).filter((name) => /commondir|placeholder|config\.worktree/.test(name)),
    ).toEqual([]);
  });

  it("execute leaves the user's linked working tree unchanged when the user adds it while a command runs", async () => {
    await using tools = await openRepository();
    const { data } = await tools.execute('read x', { background: true });
    await onHost(tools.projectDir, 'git add -A');
    const { text } = await tools.execute('sleep 1.2; git -C wt status --short'); // it is looked at twice meanwhile
    expect(text).not.toContain('renamed');
    expect(existsSync(tools.path('wt/.git'))).toBe(true);
    await tools.call('job_input', { job_id: data.job_id!, input: '\n', wait_ms: 10_000 });
  });

  it('execute removes the commondir that a killed host left', async () => {
    await using tools = await openRepository();
    await onHost(
      tools.projectDir,
      `cd .git && printf '.\\n' > commondir && chmod 1600 commondir &&
       cp commondir commondir.placeholder-of-${ENDED.pid}`,
    );
    await recordPlaceholder(tools.path('.git/commondir'), ENDED);
    expect((await tools.execute('echo ../evil > .git/commondir')).data.exit_code).not.toBe(0);
    expect(readdirSync(tools.path('.git')).filter((name) => name.startsWith('commondir'))).toEqual([]);
  });

  it.each([
    ['a directory of hooks', '[core]\n\thooksPath = tools/hooks', 'tools/hooks/pre-commit'],
    ['one behind a comment that seems to go on', '# \\\\\n[core]\n\thooksPath = tools/hooks', 'tools/hooks/pre-commit'],
    ['one beside another section', '[user] [core] hooksPath = tools/hooks', 'tools/hooks/pre-commit'],
    ['one whose parent is missing', '[core] hooksPath = "new/hooks" ; comment', 'new/hooks/pre-commit'],
    ['hooks in the project itself', '[core]\n\thooksPath = .', 'pre-commit'],
    ['an included file', '[include]\n\tpath = ../git.inc', 'git.inc'],
    ['a conditional one', '[includeIf "onbranch:[x]"]\n\tpath = ../conf/git.inc', 'conf/git.inc'],
    ['one that an included file includes', '[include]\n\tpath = ../first.inc', 'conf/second.inc'],
  ])('execute and write_file cannot write %s that the configuration names', async (_what, config, target) => {
    await using tools = await openRepository();
    await mkdir(tools.path('tools/hooks'), { recursive: true });
    await writeFile(tools.path('first.inc'), '[include]\n\tpath = conf/second.inc\n');
    await writeFile(join(tools.projectDir, '.git/config'), `${await tools.read('.git/config')}${config}\n`);
    const directory = target.includes('/') ? target.slice(0, target.lastIndexOf('/')) : '.';
    const { data, text } = await tools.execute(`mkdir -p ${directory} && echo x > ${target}`);
    expect(data.exit_code, text).not.toBe(0);
    await using files = new InProcessToolProvider({
      servers: [createFilesystemServer({ projectDir: tools.projectDir })],
    });
    const answer = await files.callTool('filesystem.write_file', { path: target, content: 'x' });
    expect(answer.error?.code).toBe('PROTECTED_PATH');
    expect(existsSync(tools.path(target))).toBe(false);
    const open = await tools.execute('echo x > other.txt');
    expect(open.data.exit_code, open.text).toBe(0);
  });

  it('execute and write_file cannot write hooks that the configuration names through a link to the project', async () => {
    await using tools = await openRepository();
    const alias = tools.world.resolve('alias');
    await symlink(tools.projectDir, alias);
    await onHost(tools.projectDir, `git config core.hooksPath ${alias}/hooks-of-mine`);
    const { data, text } = await tools.execute('mkdir -p hooks-of-mine && echo x > hooks-of-mine/pre-commit');
    expect(data.exit_code, text).not.toBe(0);
    await using files = new InProcessToolProvider({
      servers: [createFilesystemServer({ projectDir: tools.projectDir })],
    });
    const answer = await files.callTool('filesystem.write_file', { path: 'hooks-of-mine/pre-commit', content: 'x' });
    expect(answer.error?.code).toBe('PROTECTED_PATH');
  });

  it('execute cannot write the hooks that the configuration of a submodule names', async () => {
    await using tools = await openRepository();
    await onHost(tools.projectDir, 'git -C sub config core.hooksPath ../shared/hooks');
    const { data, text } = await tools.execute('mkdir -p shared/hooks && echo x > shared/hooks/pre-commit');
    expect(data.exit_code, text).not.toBe(0);
    expect(existsSync(tools.path('shared'))).toBe(false);
  });

  it('execute masks the data of a repository outside its working tree', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' }, { sandbox: 'require' });
    await onHost(
      tools.projectDir,
      'git init -q -b main --separate-git-dir=data . && git commit -q --allow-empty -m One',
    );
    for (const path of ['config', 'commondir', 'hooks/pre-commit'])
      expect((await tools.execute(`echo x > data/${path}`)).data.exit_code, path).not.toBe(0);
    const commit = await tools.execute('git -c user.name=T -c user.email=t@e.x commit -q --allow-empty -m Two');
    expect(commit.data.exit_code, commit.text).toBe(0);
  });

  const NEW = 'set -e; here=$PWD; git() { command git -c user.name=T -c user.email=t@e.x "$@"; }; ';
  const EMPTY = 'git init -q new; git -C new commit -q --allow-empty -m One; ';
  const WATCHED = `${EMPTY} git -C new config core.fsmonitor "touch $here/evil-ran;false"; `;
  it.each([
    ['with a program in its configuration', `${WATCHED} git add new`, 'new'],
    [
      'that is written to the index alone',
      `${WATCHED} git update-index --add --cacheinfo 160000,$(git -C new rev-parse HEAD),new`,
      'new',
    ],
    [
      'that is in the last commit and not in the index',
      `${WATCHED} git add new; git commit -qm New; git rm -q --cached new`,
      'new',
    ],
    [
      'with its data in another directory',
      `${WATCHED} mv new/.git data; echo "gitdir: ../data" > new/.git; git add new`,
      'new',
    ],
    [
      'with its data among those of submodules',
      `${WATCHED} mv new/.git .git/modules/new; echo "gitdir: ../.git/modules/new" > new/.git; git add new`,
      'new',
    ],
    ['whose .git is a link', `${WATCHED} mv new/.git data; ln -s ../data new/.git; git add new`, 'new'],
    [
      'with a hook',
      `${EMPTY} printf '#!/bin/sh\ntouch '$here'/evil-ran\n' > new/.git/hooks/post-index-change; chmod +x new/.git/hooks/*; git add new`,
      'new',
    ],
    [
      'with the configuration of another',
      `${WATCHED} mv new/.git data; git init -q new; cp data/HEAD new/.git; echo ../../data > new/.git/commondir; git add new`,
      'new',
    ],
    [
      'with an include',
      `${WATCHED} mv new/.git/config inc; printf '[include]\n\tpath = ../../inc\n' > new/.git/config; git add new`,
      'new',
    ],
    [
      'with a setting behind a comment that seems to go on',
      `${EMPTY} printf '# \\\n[core] fsmonitor = "touch %s/evil-ran;false"\n' $here >> new/.git/config; git add new`,
      'new',
    ],
    [
      'with a setting beside its section',
      `${EMPTY} printf '[core] fsmonitor = touch %s/evil-ran;false\n' $here >> new/.git/config; git add new`,
      'new',
    ],
    ['deep in the project', `${WATCHED} mkdir -p a/b/c/d; mv new a/b/c/d/; git add a`, 'a/b/c/d/new'],
    [
      'in a repository that is new as well',
      `${WATCHED} git init -q top; mv new top/; cd top; git add new; git commit -qm New; cd ..; git add top`,
      'top/new',
    ],
    [
      'in a submodule that was there',
      `${WATCHED} mv new sub/; git -C sub add new; git -C sub commit -qm New`,
      'sub/new',
    ],
    ['in place of a submodule', `${WATCHED} git rm -q --cached sub; mv sub old; mv new sub; git add sub`, undefined],
  ])('execute disables a new submodule %s', async (_what, command, place) => {
    await using tools = await openRepository();
    const { data, text } = await tools.execute(NEW + command);
    if (place === undefined) expect(data.exit_code, text).not.toBe(0);
    else {
      expect(data.exit_code, text).toBe(0);
      expect(text).toContain(`the repository in "${place}" is listed as a submodule`);
      expect(existsSync(tools.path(`${place}/.git.disabled`)) || text.includes('is a link'), text).toBe(true);
    }
    const script =
      'git status --short; git diff; git diff --submodule=diff; git stash -q || true; git reset -q --hard; git status --short; git add . ; git -C sub status --short; git submodule --quiet foreach true || true';
    await onHost(tools.projectDir, script);
    expect(existsSync(tools.path('evil-ran'))).toBe(false);
  });

  it.each([
    ['an earlier command made', [WATCHED, 'git add new'], 'true'],
    [
      'an earlier command made in another that git entered',
      [`git init -q top; cd top; ${WATCHED} cd ..`, 'git -C top add new; git -C top commit -qm New; git add top'],
      'true',
    ],
    [
      'an earlier command made and listed in another',
      [
        `git init -q top; cd top; ${WATCHED} git add new; git commit -qm New; cd ..; sed -i "s#$here/top#$here#" top/new/.git/config`,
        'git add top',
      ],
      'true',
    ],
    ['was listed before it was there', [`${EMPTY} git add new; git commit -qm New; rm -rf new`, WATCHED], 'true'],
    [
      'is in a commit of another branch',
      [`git switch -qc other; ${WATCHED} git add new; git commit -qm New; git switch -q main`],
      'git switch -q other',
    ],
    [
      'is in a commit that another branch has passed',
      [
        `git switch -qc other; ${WATCHED} git add new; git commit -qm New; git rm -q --cached new; git commit -qm Old; git switch -q main`,
      ],
      'git switch -q --detach other~1',
    ],
    [
      'is in a merge of other branches',
      [
        `git switch -qc side2; git commit -q --allow-empty -m Side; git switch -qc other main; git merge -q --no-ff --no-commit side2; ${WATCHED} git add new; git commit -qm Merge; git switch -q main; git pack-refs --all`,
      ],
      'git switch -q other',
    ],
  ])('execute disables a submodule that %s', async (_what, commands, byUser) => {
    await using tools = await openRepository();
    const texts: string[] = [];
    for (const command of commands) {
      const { data, text } = await tools.execute(NEW + command);
      expect(data.exit_code, text).toBe(0);
      texts.push(text);
    }
    await onHost(tools.projectDir, `${byUser}; git status --short; git diff; git add -u; git status --short`);
    expect(existsSync(tools.path('evil-ran'))).toBe(false);
    expect(texts.at(-1)).toContain('is listed as a submodule');
  });

  it('execute disables a new submodule while the command still runs', async () => {
    await using tools = await openRepository();
    const { data } = await tools.execute(`${NEW} ${WATCHED} git add new; read x`, { background: true });
    await until(() => existsSync(tools.path('new/.git.disabled')));
    await onHost(tools.projectDir, 'git status --short');
    expect(existsSync(tools.path('evil-ran'))).toBe(false);
    const { text } = await tools.call('job_input', { job_id: data.job_id!, input: '\n', wait_ms: 10_000 });
    expect(text).toContain('Its .git was renamed to .git.disabled.');
  });

  it('execute ends and reviews what the command of a killed host left', async () => {
    await using tools = await openRepository();
    await using state = await createTestProject();
    await using bundle = await bundleFixture('sandbox-host', fileURLToPath(new URL('../fixtures/', import.meta.url)));
    const { projectDir } = tools;
    await onHost(projectDir, 'mkfifo go; printf "go\\nready\\n" >> .git/info/exclude');
    const names = (): string[] => [...readdirSync(projectDir), ...readdirSync(tools.path('.git'))].sort();
    const before = names();
    const start = (...args: string[]): Child =>
      spawnChild({
        command: process.execPath,
        args: [bundle.file, projectDir, ...args],
        cwd: '/',
        extraEnv: { XDG_STATE_HOME: state.projectDir },
      });
    await using killed = start(
      `read -r x < go; ${NEW} ${WATCHED} git add new; touch ready; exec sleep 300`,
      'background',
    );
    await once(killed.stdout, 'data');
    expect(names()).toEqual(expect.arrayContaining(['.vscode', 'commondir']));
    // A stopped host reviews nothing before it is killed, while its command continues.
    process.kill(killed.pid!, 'SIGSTOP');
    await onHost(projectDir, 'echo > go');
    await until(() => existsSync(tools.path('ready')));
    process.kill(killed.pid!, 'SIGKILL');
    await killed.exited;
    expect(names()).toEqual(expect.arrayContaining(['.vscode', 'commondir', 'new']));
    const records = (): string[] => readdirSync(join(state.projectDir, 'toolwright/commands'));
    await until(() => records().length === 2); // what was there, and when it had ended
    // The user continues to work.
    await onHost(projectDir, 'git remote add origin https://example.com; echo "export A=1" > .new; mv .new .envrc');
    await using next = start('echo done');
    const [said] = (await once(next.stdout, 'data')) as [Buffer];
    expect(said.toString()).toContain('the repository in "new" is listed as a submodule');
    await until(() => names().join() === [...before, 'new', 'ready', '.envrc'].sort().join());
    expect(said.toString()).not.toContain('was replaced');
    expect(await onHost(projectDir, 'git remote')).toBe('origin\n');
    expect(records()).toEqual([]);
    await onHost(projectDir, 'git status --short');
    expect(existsSync(tools.path('evil-ran'))).toBe(false);
  });

  it('execute leaves new submodules unchanged when only git made them', async () => {
    await using tools = await openRepository();
    await onHost(tools.projectDir, 'git clone -q --bare ../library library.git');
    const { data, text } = await tools.execute(
      `${NEW} git clone -q library.git vendor/library; git add vendor/library; git init -q plain; git -C plain commit -q --allow-empty -m One; git add plain; git commit -qm Submodules`,
    );
    expect(data.exit_code, text).toBe(0);
    expect(text).not.toContain('renamed');
    expect(await onHost(tools.projectDir, 'git -C vendor/library log --oneline; git -C plain log --oneline')).toContain(
      'One',
    );
    // From the next command on its configuration is masked.
    expect((await tools.execute('echo x >> plain/.git/config')).data.exit_code).not.toBe(0);
  });

  it.each(['data', '.git/data', 'a/b/c/d/data'])(
    'execute cannot change what a new submodule has in %s from the next command on',
    async (data) => {
      await using tools = await openRepository();
      const made = await tools.execute(
        `${NEW} ${EMPTY} mkdir -p $(dirname ${data}); mv new/.git ${data}; echo "gitdir: $here/${data}" > new/.git; git add new`,
      );
      expect(made.data.exit_code, made.text).toBe(0);
      expect((await tools.execute(`echo x >> ${data}/config`)).data.exit_code).not.toBe(0);
      expect((await tools.execute(`mv ${data} moved`)).data.exit_code).not.toBe(0);
    },
  );

  it("execute leaves the user's linked working tree unchanged when a command adds it", async () => {
    await using tools = await openRepository();
    const { data, text } = await tools.execute(`${NEW} git add -A; git commit -qm All; git ls-files --stage wt`);
    expect(data.exit_code, text).toBe(0);
    expect(text).toContain('160000');
    expect(existsSync(tools.path('wt/.git')), text).toBe(true);
  });

  it("execute leaves the user's own repository in the project unchanged, with its submodules", async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' }, { sandbox: 'require' });
    await onHost(
      tools.projectDir,
      'git init -q own; cd own; git init -q sub; git -C sub commit -q --allow-empty -m One; git -C sub config core.fsmonitor false; git add sub; git commit -qm Sub',
    );
    const { data, text } = await tools.execute(`${NEW} cd own; git commit -q --allow-empty -m Two`);
    expect(data.exit_code, text).toBe(0);
    expect(existsSync(tools.path('own/sub/.git')), text).toBe(true);
  });

  it("execute leaves the user's own submodule unchanged, however deep, and masks its configuration", async () => {
    await using tools = await openRepository();
    const deep = 'a/b/c/d/own';
    await onHost(
      tools.projectDir,
      `git init -q ${deep}; git -C ${deep} commit -q --allow-empty -m One; git -C ${deep} config core.fsmonitor "touch ../own-ran;false"; git add a; git commit -qm Own`,
    );
    const { data, text } = await tools.execute(`touch x; git add x; echo x >> ${deep}/.git/config`);
    expect(data.exit_code).not.toBe(0);
    expect(text).not.toContain('renamed');
    expect(existsSync(tools.path(`${deep}/.git/config`))).toBe(true);
  });

  it('execute renames nothing outside the project when a submodule is replaced by a link', async () => {
    await using tools = await openRepository();
    await onHost(tools.projectDir, 'git init -q ../outside/repo; git -C ../outside/repo config core.fsmonitor true');
    const outside = tools.world.resolve('outside/repo');
    const { data, text } = await tools.execute(`${NEW} ${WATCHED} git add new; rm -rf new; ln -s ${outside} new`);
    expect(data.exit_code, text).toBe(0);
    expect(readdirSync(outside)).toEqual(['.git']);
  });
});
