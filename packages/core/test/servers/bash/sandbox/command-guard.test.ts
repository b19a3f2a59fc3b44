// Commands in the sandbox where mount masks do not protect the project: in `.git`, most of which is writable, and when the
// host replaces a masked file.

import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { onHost, openRepository, whyNoSandbox } from './repositories.js';
import { until, type Tools } from '../bash-tools.js';

const missing = await whyNoSandbox();
const GIT = 'set -e; here=$PWD; git() { command git -c user.name=T -c user.email=t@e.x "$@"; }; ';

/** Ends a command that waits for its input, and returns its last answer. */
async function go(tools: Tools, job: unknown): Promise<string> {
  const { text } = await tools.call('job_input', { job_id: job as string, input: '\n', wait_ms: 10_000 });
  return text;
}

async function output(tools: Tools, job: unknown): Promise<string> {
  const { text } = await tools.call('job_output', { job_id: job as string, cursor: 0 });
  return text;
}

describe.skipIf(missing !== undefined)(
  'CommandGuard on files that a command leaves in .git',
  { timeout: 60_000 },
  () => {
    it.each([
      ['the message of the next commit', 'ln -sf $HOME/.profile .git/COMMIT_EDITMSG', '.git/COMMIT_EDITMSG'],
      ['the configuration', 'ln -sf config .git/COMMIT_EDITMSG', '.git/COMMIT_EDITMSG'],
      ['the log of the head', 'rm .git/logs/HEAD; ln -s $HOME/.zrc .git/logs/HEAD', '.git/logs/HEAD'],
      ['a directory of logs', 'rm -r .git/logs; ln -s $HOME/logs .git/logs', '.git/logs'],
      ['the index of a submodule', 'ln -sf $HOME/x .git/modules/sub/index', '.git/modules/sub/index'],
      ['the index of a working tree', 'ln -sf $HOME/x .git/worktrees/wt/index', '.git/worktrees/wt/index'],
      ['objects', 'rm -rf .git/objects/00; ln -s $HOME/x .git/objects/00', '.git/objects/00'],
    ])('execute removes a link in place of %s', async (_what, command, place) => {
      await using tools = await openRepository();
      const { data, text } = await tools.execute(command);
      expect(data.exit_code, text).toBe(0);
      expect(text).toContain(`"${place}" became a link to `);
      expect(existsSync(tools.path(place))).toBe(false);
      expect(lstatSync(tools.path(place), { throwIfNoEntry: false })).toBeUndefined();
    });

    it('execute removes a link while the command still runs', async () => {
      await using tools = await openRepository();
      const { data } = await tools.execute('ln -sf $HOME/x .git/COMMIT_EDITMSG; echo made; read x', {
        background: true,
      });
      await until(async () => (await output(tools, data.job_id)).includes('made'));
      await until(() => lstatSync(tools.path('.git/COMMIT_EDITMSG'), { throwIfNoEntry: false }) === undefined);
      expect(await go(tools, data.job_id)).toContain('".git/COMMIT_EDITMSG" became a link to ');
    });

    it('execute leaves links that existed before the command', async () => {
      await using tools = await openRepository();
      await onHost(
        tools.projectDir,
        'mkdir ../hooks; mv .git/description ../hooks; ln -s ../../hooks/description .git/',
      );
      const { text } = await tools.execute('git status --short; echo done');
      expect(text).toContain('done');
      expect(text).not.toContain('link');
      expect(lstatSync(tools.path('.git/description')).isSymbolicLink()).toBe(true);
    });

    it.each(['refs/heads/z', 'index', 'packed-refs', 'ORIG_HEAD'])(
      'execute removes a FIFO in place of %s, and neither it nor the next command waits for it',
      async (name) => {
        await using tools = await openRepository();
        const { text } = await tools.execute(`rm -f .git/${name}; mkfifo .git/${name}; echo made`);
        expect(text).toContain('made');
        expect(text).toContain(`".git/${name}" became a device or FIFO`);
        expect((await tools.execute('echo next')).text).toContain('next');
      },
    );

    it('execute returns the output when the user put a FIFO into .git', async () => {
      await using tools = await openRepository();
      await onHost(tools.projectDir, 'mkfifo .git/refs/heads/z');
      expect((await tools.execute('echo printed')).text).toContain('printed');
      await tools.provider.disconnect();
    });

    it('execute disables a rebase to which a command added a program', async () => {
      await using tools = await openRepository();
      await onHost(
        tools.projectDir,
        `git switch -qc topic && echo topic > a.txt && git commit -qam Topic && git switch -q main && echo main > a.txt && git commit -qam Main
       git switch -q topic && ! git rebase main 2> ../rebase.log`,
      );
      const { text } = await tools.execute(
        `echo both > a.txt; git add a.txt; echo "exec touch $PWD/evil-ran" >> .git/rebase-merge/git-rebase-todo`,
      );
      expect(text).toContain('".git/rebase-merge" contains "exec touch');
      await onHost(tools.projectDir, '! GIT_EDITOR=true git rebase --continue');
      expect(existsSync(tools.path('evil-ran'))).toBe(false);
      expect(readFileSync(tools.path('.git/rebase-merge.disabled/git-rebase-todo'), 'utf8')).toContain('exec');
    });

    it("execute leaves the user's rebase unchanged, with the programs that it runs", async () => {
      await using tools = await openRepository();
      await onHost(tools.projectDir, '! git rebase -q -x false HEAD~1 2> ../rebase.log');
      const { text } = await tools.execute('git status --short; echo done');
      expect(text).not.toContain('renamed');
      expect(existsSync(tools.path('.git/rebase-merge/git-rebase-todo'))).toBe(true);
    });

    it('execute disables a submodule in a commit that git cannot read yet', async () => {
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
      expect(hide.text).toContain('git cannot list everything in ".git"');
      const show = await tools.execute(
        `tree=$(printf '100644 blob %s\\tx\\n' $(echo hi | git hash-object -w --stdin) | git mktree)`,
      );
      expect(show.text).toContain('the repository in "new" is listed as a submodule');
      await onHost(tools.projectDir, 'git checkout -q feature; git status --short');
      expect(existsSync(tools.path('evil-ran'))).toBe(false);
      expect((await tools.execute('echo done')).text).not.toContain('new');
    });

    it('execute disables a submodule whose configuration names another working tree', async () => {
      await using tools = await openRepository();
      const { text } = await tools.execute(
        `${GIT} git init -q new; git -C new commit -q --allow-empty -m One; git -C new config core.worktree $HOME; git add new`,
      );
      expect(text).toContain('its config contains "worktree = ');
    });

    it('execute restores the common directory of a working tree that was added meanwhile', async () => {
      await using tools = await openRepository();
      const { data } = await tools.execute(
        'until echo /x > .git/worktrees/later/commondir; do sleep 0.05; done 2> /dev/null; read x',
        { background: true },
      );
      await onHost(tools.projectDir, 'git worktree add -q ../later -b later');
      await until(() => readdirSync(tools.path('.git/worktrees/later')).includes('commondir.disabled'));
      expect(await tools.read('.git/worktrees/later/commondir')).toBe('../..\n');
      await onHost(tools.projectDir, 'git -C ../later status --short');
      expect(await go(tools, data.job_id)).toContain('".git/worktrees/later/commondir" takes its configuration');
    });
  },
);

/** Creates a repository in which the user's next `git status` runs `mon.sh` once it is listed. */
const EVIL = `evil() { git init -q $1; git -C $1 commit -q --allow-empty -m x; rm -rf $1/.git/hooks
  printf '[core]\n\tfsmonitor = %s/evil.sh\n' "$here" >> $1/.git/config; }; `;
/** Adds an entry to the index that git would refuse. */
const ADD_TO_INDEX = `cat > add.py <<'END'
import hashlib, struct, sys
path, blob, file, mode = sys.argv[1].encode(), *(sys.argv[2:] + ['.git/index', '100755'][len(sys.argv) - 3:])
index = open(file, 'rb').read()
end, at, count = index[-20:], 12, struct.unpack('>I', index[8:12])[0]
if mode == '160000':
    for _ in range(count): at += (70 + struct.unpack('>H', index[at + 60:at + 62])[0]) // 8 * 8
entry = struct.pack('>10I', 0, 0, 0, 0, 0, 0, int(mode, 8), 0, 0, 1) + bytes.fromhex(blob) + struct.pack('>H', len(path)) + path
entry += bytes(8 - len(entry) % 8)
index = index[:8] + struct.pack('>I', count + 1) + index[12:at] + entry + index[at:-20]
open(file, 'wb').write(index + (hashlib.sha1(index).digest() if file == '.git/index' else end))
END
`;

describe.skipIf(missing !== undefined)(
  'CommandGuard on files that a command hides from git',
  { timeout: 60_000 },
  () => {
    it('execute runs no program that the configuration of the repository names', async () => {
      await using tools = await openRepository();
      await onHost(tools.projectDir, 'git config log.showSignature true; git config gpg.program "$PWD/evil.sh"');
      const made = await tools.execute(
        `${GIT}export MARK=$here/../ran; c=$( (printf 'tree %s\nauthor T <t@e> 1 +0000\ncommitter T <t@e> 1 +0000\n' $(git rev-parse HEAD^{tree})
        printf 'gpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\nm\n') | git hash-object -w -t commit --stdin)
      printf '#!/bin/sh\ntouch %s/gpg-ran\n' "$here" > evil.sh; git update-ref refs/heads/signed $c; echo made`,
      );
      expect(made.text).toContain('made');
      expect(existsSync(tools.path('gpg-ran'))).toBe(false);
      await onHost(tools.projectDir, 'git log -1 signed >/dev/null');
      expect(existsSync(tools.path('gpg-ran'))).toBe(true); // which the user's own git does
    });

    it.each([
      ['on no branch', 'git checkout -q --detach $F'],
      ['behind a graft', 'git update-ref refs/heads/x $F; echo "$T $E\n$E" > .git/info/grafts'],
      [
        'behind a replaced commit',
        'git update-ref refs/heads/x $F; git update-ref refs/replace/$T $(git cat-file commit $T | sed "1a parent $E" | git hash-object -t commit -w --stdin)',
      ],
    ])('execute disables a submodule that a commit lists %s', async (_where, hide) => {
      await using tools = await openRepository();
      const { text } = await tools.execute(
        `${GIT}${EVIL}evil evil; T=$(git rev-parse HEAD); t=$(git rev-parse HEAD^{tree})
      E=$(git commit-tree -p $T -m E $( (git ls-tree $t; printf '160000 commit %s\\tevil\\n' $(git -C evil rev-parse HEAD)) | git mktree --missing))
      F=$(git commit-tree -p $E -m F $t); ${hide}`,
      );
      expect(text).toContain('the repository in "evil" is listed as a submodule');
      expect(existsSync(tools.path('evil/.git'))).toBe(false);
      expect(existsSync(tools.path('.git/info/grafts'))).toBe(false);
      expect(await onHost(tools.projectDir, 'git replace -l')).toBe('');
    });

    it.each(['loose', 'packed'])('execute removes a %s reference that replaces an object', async (where) => {
      await using tools = await openRepository();
      await onHost(tools.projectDir, 'git tag one; git replace HEAD~1 HEAD');
      const before = await onHost(tools.projectDir, 'git replace -l; git rev-parse one main');
      const { text } = await tools.execute(
        `${GIT}git replace HEAD^{tree} HEAD~1^{tree}; ${where === 'packed' ? 'git pack-refs --all; ' : ''}git replace -l | wc -l`,
      );
      expect(text).toContain('replaced the object');
      expect(await onHost(tools.projectDir, 'git replace -l; git rev-parse one main')).toBe(before);
    });

    it.each(['.git/hooks/post-checkout', '../outside.txt', '.GIT/config', 'a/../../x', '/tmp/x'])(
      'execute removes %s from the index, and keeps what else is staged',
      async (path) => {
        await using tools = await openRepository();
        const { text } = await tools.execute(
          `${GIT}${ADD_TO_INDEX}echo b > b.txt; git add b.txt; python3 add.py ${path} $(git hash-object -w evil.sh); rm add.py; git ls-files`,
        );
        expect(text).toContain(`the index in ".git" contained "${path}"`);
        expect(await onHost(tools.projectDir, 'git restore .; git diff --cached --name-only')).toBe('b.txt\n');
        expect(existsSync(tools.path('.git/hooks/post-checkout'))).toBe(false);
        expect(existsSync(tools.path('.git/index.disabled'))).toBe(true);
      },
    );

    it('execute removes such paths from the index of a linked working tree', async () => {
      await using tools = await openRepository();
      const { text } = await tools.execute(
        `${GIT}${ADD_TO_INDEX}sed -i "s#file == '.git/index'#True#" add.py; python3 add.py .git/config $(git hash-object -w evil.sh) .git/worktrees/wt/index`,
      );
      expect(text).toContain('the index in ".git/worktrees/wt" contained ".git/config"');
      expect(await onHost(tools.path('wt'), 'git ls-files')).not.toContain('.git/config');
    });

    it('execute disables a submodule that a part of a split index lists', async () => {
      await using tools = await openRepository();
      await tools.execute(`${GIT}git update-index --split-index`);
      const { text } = await tools.execute(
        `${GIT}${EVIL}evil z; ${ADD_TO_INDEX}chmod +w .git/sharedindex.*
      python3 add.py z $(git -C z rev-parse HEAD) .git/sharedindex.* 160000; git ls-files -s z`,
      );
      expect(text).toMatch(/160000 .*\tz\n/);
      expect(text).toContain('the repository in "z" is listed as a submodule');
    });

    it('execute disables a list of files that the next commit would copy into .git', async () => {
      await using tools = await openRepository();
      const { text } = await tools.execute(
        `mkdir -p .git/rr-cache/aa; echo x > .git/rr-cache/aa/preimage; printf 'aa\\t/etc/hostname\\0' > .git/MERGE_RR`,
      );
      expect(text).toContain('".git/MERGE_RR" lists files');
      expect(existsSync(tools.path('.git/MERGE_RR'))).toBe(false);
    });

    it('execute disables addresses of remotes outside the configuration', async () => {
      await using tools = await openRepository();
      const { text } = await tools.execute(
        'mkdir -p .git/remotes; echo URL: https://evil.example/ > .git/remotes/origin',
      );
      expect(text).toContain('".git/remotes/origin" contains an address');
    });
  },
);

describe.skipIf(missing !== undefined)("CommandGuard on the user's files in .git", { timeout: 60_000 }, () => {
  it('execute leaves a head that is a link to its branch', async () => {
    await using tools = await openRepository();
    await onHost(tools.projectDir, 'git config core.preferSymlinkRefs true; git branch other');
    const { data } = await tools.execute('read x; echo done', { background: true });
    await onHost(tools.projectDir, 'git checkout -q other');
    expect(await go(tools, data.job_id)).not.toContain('HEAD');
    expect(await onHost(tools.projectDir, 'git symbolic-ref HEAD')).toBe('refs/heads/other\n');
  });

  it('execute leaves the lock of an editor', async () => {
    await using tools = await openRepository();
    const { text } = await tools.execute('ln -s me@host.1234:99 ".git/.#COMMIT_EDITMSG"; ln -s ../../x ".git/.#x"');
    expect(text).toContain('.#x');
    expect(text).not.toContain('COMMIT_EDITMSG');
  });

  it('execute leaves the steps of a rebase that the user runs meanwhile', async () => {
    await using tools = await openRepository();
    const rebasing = onHost(
      tools.projectDir,
      "echo 2 > a.txt; git commit -qam Two; git rebase -q -x 'touch begun; while ! [ -e go ]; do sleep 0.02; done' HEAD~1; git log -1 --format=%s",
    );
    await until(() => existsSync(tools.path('begun')));
    expect((await tools.execute('echo harmless')).text).toBe('harmless\n[exit code: 0]');
    await writeFile(tools.path('go'), '');
    expect(await rebasing).toContain('Two');
  });

  it('execute leaves the configuration of a working tree that git copied from the main one', async () => {
    await using tools = await openRepository();
    await onHost(
      tools.projectDir,
      'git config extensions.worktreeConfig true; git config --worktree core.editor vim; git config --worktree core.bare false',
    );
    const { data } = await tools.execute('read x; echo done', { background: true });
    await onHost(tools.projectDir, 'git worktree add -q ../other HEAD');
    expect(await go(tools, data.job_id)).not.toContain('configuration from elsewhere');
    expect(await onHost(tools.path('../other'), 'git config core.editor')).toBe('vim\n');
  });
});

describe.skipIf(missing !== undefined)(
  'CommandGuard on files that the host replaces meanwhile',
  { timeout: 60_000 },
  () => {
    /** Waits until it can write a file, and then writes it repeatedly. It creates `runs` when it has started. */
    const writer = (file: string, text: string): string =>
      `touch runs; until printf '%s\\n' '${text}' >> ${file}; do :; done 2> /dev/null; while printf '%s\\n' '${text}' >> ${file}; do sleep 0.01; done`;

    it('execute ends a command that could write the configuration, and restores it', async () => {
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

    it('execute keeps a configuration that only follows another branch, and ends the command', async () => {
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

    it('execute breaks a hard link that the command made to the new configuration', async () => {
      await using tools = await openRepository();
      const { data } = await tools.execute(
        'until ln .git/config.lock .git/second; do :; done 2> /dev/null; echo linked; read x',
        { background: true },
      );
      // The user's git pauses between the lock and the renaming.
      await onHost(tools.projectDir, 'cp .git/config .git/config.lock');
      await until(() => existsSync(tools.path('.git/second')));
      await rename(tools.path('.git/config.lock'), tools.path('.git/config'));
      await until(async () => (await tools.call('job_list')).text.includes('killed'));
      await output(tools, data.job_id);
      expect(lstatSync(tools.path('.git/config')).nlink).toBe(1);
    });

    it('execute disables a protected file that an editor saved while a command ran', async () => {
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

    it('execute continues when the host writes a protected file in place', async () => {
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
  },
);
