// Repositories that configure programs, in every way that is known to make git run one: no tool runs them unless the
// repository is trusted. Each is first shown to work with plain git.

import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/contract/json.js';
import { soaking } from '../../soak.js';
import { gitIn, GIT_IS_MISSING, openTools, type OpenOptions, type Tools } from './git-tools.js';

/** One way to have a program run. */
interface Vector {
  /** Plants it; `run` is a command line that leaves a trace. */
  plant: (tools: Tools, run: string) => Promise<void>;
  /** Shows with plain git that it works. */
  fire: (tools: Tools) => Promise<unknown>;
}

const attributes = (line: string) => (tools: Tools) => tools.write('.git/info/attributes', `${line}\n`);

/** Another content of the same size: git has to read it, through the filter, to see that it differs. */
async function touch(tools: Tools): Promise<void> {
  const text = await tools.read('a.txt').catch(() => 'main\n');
  const [first = ''] = text;
  await rm(tools.path('a.txt'), { force: true });
  await tools.write(
    'a.txt',
    (first === first.toUpperCase() ? first.toLowerCase() : first.toUpperCase()) + text.slice(1),
  );
}

const VECTORS: Record<string, Vector> = {
  'core.fsmonitor': {
    plant: (tools, run) => tools.git('config', 'core.fsmonitor', run).then(() => {}),
    fire: (tools) => tools.git('status'),
  },
  'core.fsmonitor by include.path': {
    async plant(tools, run) {
      await tools.git('config', '--file', tools.path('.git/more'), 'core.fsmonitor', run);
      await tools.git('config', 'include.path', 'more');
    },
    fire: (tools) => tools.git('status'),
  },
  'diff.external': {
    plant: (tools, run) => tools.git('config', 'diff.external', run).then(() => {}),
    fire: (tools) => touch(tools).then(() => tools.git('diff')),
  },
  'diff.x.command': {
    async plant(tools, run) {
      await tools.git('config', 'diff.x.command', run);
      await attributes('*.txt diff=x')(tools);
    },
    fire: (tools) => touch(tools).then(() => tools.git('diff')),
  },
  'diff.x.textconv': {
    async plant(tools, run) {
      await tools.git('config', 'diff.x.textconv', `${run}; cat`);
      await attributes('*.txt diff=x')(tools);
    },
    fire: (tools) => tools.git('log', '-p'),
  },
  'filter.f.clean': {
    async plant(tools, run) {
      await tools.git('config', 'filter.f.clean', `${run}; cat`);
      await attributes('*.txt filter=f')(tools);
    },
    fire: (tools) => touch(tools).then(() => tools.git('status')),
  },
  'a filter whose name holds "="': {
    async plant(tools, run) {
      await tools.git('config', 'filter.a=b.clean', `${run}; cat`);
      await attributes('*.txt filter=a=b')(tools);
    },
    fire: (tools) => touch(tools).then(() => tools.git('status')),
  },
  'filter.f.smudge': {
    async plant(tools, run) {
      await tools.git('config', 'filter.f.smudge', `${run}; cat`);
      await attributes('*.txt filter=f')(tools);
    },
    fire: (tools) => rm(tools.path('a.txt')).then(() => tools.git('checkout', 'a.txt')),
  },
  'filter.f.process': {
    async plant(tools, run) {
      await tools.git('config', 'filter.f.process', run);
      await attributes('*.txt filter=f')(tools);
    },
    fire: (tools) => touch(tools).then(() => tools.git('status').catch(() => {})),
  },
  'merge.m.driver': {
    async plant(tools, run) {
      await tools.git('config', 'merge.m.driver', run);
      await attributes('*.txt merge=m')(tools);
    },
    fire: (tools) => tools.git('merge', 'clash').catch(() => {}),
  },
  'core.hooksPath': {
    async plant(tools, run) {
      await hook(tools, 'evil/pre-commit', run);
      await hook(tools, 'evil/post-index-change', run);
      await hook(tools, 'evil/reference-transaction', run);
      await hook(tools, 'evil/post-checkout', run);
      await tools.git('config', 'core.hooksPath', tools.path('.git/evil'));
    },
    fire: (tools) => tools.git('commit', '--allow-empty', '-m', 'x'),
  },
  hooks: {
    async plant(tools, run) {
      for (const name of ['pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit', 'post-index-change'])
        await hook(tools, `hooks/${name}`, run);
      for (const name of ['reference-transaction', 'post-checkout', 'post-merge', 'post-rewrite', 'pre-rebase'])
        await hook(tools, `hooks/${name}`, run);
      await hook(tools, 'hooks/pre-push', run);
    },
    fire: (tools) => tools.git('commit', '--allow-empty', '-m', 'x'),
  },
  'gpg.program': {
    async plant(tools, run) {
      await tools.git('config', 'gpg.program', await script(tools, 'gpg', run));
      for (const name of [
        'commit.gpgSign',
        'tag.gpgSign',
        'push.gpgSign',
        'log.showSignature',
        'merge.verifySignatures',
      ])
        await tools.git('config', name, 'true');
    },
    fire: (tools) => tools.git('commit', '--allow-empty', '-m', 'x').catch(() => {}),
  },
  'gpg.ssh.defaultKeyCommand': {
    async plant(tools, run) {
      await tools.git('config', 'gpg.format', 'ssh');
      await tools.git('config', 'gpg.ssh.defaultKeyCommand', await script(tools, 'key', run));
      await tools.git('config', 'commit.gpgSign', 'true');
    },
    fire: (tools) => tools.git('commit', '--allow-empty', '-m', 'x').catch(() => {}),
  },
  'core.editor': {
    async plant(tools, run) {
      await tools.git('config', 'core.editor', run);
      await tools.git('config', 'sequence.editor', run);
    },
    fire: (tools) =>
      gitIn(tools.projectDir, { GIT_EDITOR: undefined as never }, ['commit', '--allow-empty']).catch(() => {}),
  },
  'remote.origin.uploadpack': {
    async plant(tools, run) {
      await tools.git('config', 'remote.origin.uploadpack', run);
      await tools.git('config', 'remote.origin.receivepack', run);
    },
    fire: (tools) => tools.git('fetch').catch(() => {}),
  },
  'remote.origin.url ext::': {
    async plant(tools, run) {
      await tools.git('config', 'remote.origin.url', `ext::${await script(tools, 'remote', run)}`);
      await tools.git('config', 'protocol.ext.allow', 'always');
      await tools.git('config', 'protocol.allow', 'always');
    },
    fire: (tools) => tools.git('fetch').catch(() => {}),
  },
  'core.sshCommand': {
    async plant(tools, run) {
      await tools.git('config', 'core.sshCommand', run);
      await tools.git('config', 'remote.origin.url', 'ssh://nobody.invalid/x');
    },
    fire: (tools) => tools.git('fetch').catch(() => {}),
  },
  'a promisor remote': {
    async plant(tools, run) {
      await dropBlob(tools);
      await tools.git('config', 'remote.lazy.promisor', 'true');
      await tools.git('config', 'remote.lazy.url', 'ssh://nobody.invalid/x');
      await tools.git('config', 'extensions.partialClone', 'lazy');
      await tools.git('config', 'core.sshCommand', run);
    },
    fire: (tools) => tools.git('show', 'lost').catch(() => {}),
  },
  'filter of a submodule': {
    async plant(tools, run) {
      const sub = tools.path('sub');
      await gitIn(sub, {}, ['config', 'filter.s.clean', `${run}; cat`]);
      await writeFile(join(sub, '.gitattributes'), '* filter=s\n');
      await rm(join(sub, 's.txt'));
      await writeFile(join(sub, 's.txt'), 'S\n');
    },
    fire: (tools) => tools.git('status'),
  },
  'core.fsmonitor of a submodule': {
    plant: (tools, run) => gitIn(tools.path('sub'), {}, ['config', 'core.fsmonitor', run]).then(() => {}),
    fire: (tools) => tools.git('status'),
  },
  'a bare repository in a subdirectory': {
    async plant(tools, run) {
      const bare = tools.path('bare');
      await mkdir(join(bare, 'objects'), { recursive: true });
      await mkdir(join(bare, 'refs'), { recursive: true });
      await writeFile(join(bare, 'HEAD'), 'ref: refs/heads/main\n');
      const config = `[core]\n\trepositoryformatversion = 0\n\tworktree = ..\n\tfsmonitor = "${run.replaceAll('"', '\\"')}"\n`;
      await writeFile(join(bare, 'config'), config);
    },
    fire: (tools) => gitIn(tools.path('bare'), {}, ['status']),
  },
  'core.alternateRefsCommand': {
    async plant(tools, run) {
      await tools.git('config', 'core.alternateRefsCommand', run);
      await tools.write('.git/objects/info/alternates', `${tools.path('sub/.git/objects')}\n`);
    },
    fire: (tools) => tools.git('fetch').catch(() => {}),
  },
  'a rebase that was prepared': {
    async plant(tools, run) {
      const head = await tools.git('rev-parse', 'HEAD');
      const state = {
        'head-name': 'refs/heads/main',
        onto: head,
        'orig-head': head,
        interactive: '',
        'git-rebase-todo': `exec ${run}\n`,
      };
      for (const [name, text] of Object.entries({ ...state, done: '', end: '1', msgnum: '0' }))
        await tools.write(`.git/rebase-merge/${name}`, name === 'git-rebase-todo' || text === '' ? text : `${text}\n`);
    },
    fire: (tools) => tools.git('rebase', '--continue').catch(() => {}),
  },
};

async function script(tools: Tools, name: string, run: string): Promise<string> {
  await tools.write(`.git/${name}.sh`, { content: `#!/bin/sh\n${run}\nexit 1\n`, mode: 0o755 });
  return tools.path(`.git/${name}.sh`);
}

async function hook(tools: Tools, name: string, run: string): Promise<void> {
  await tools.write(`.git/${name}`, `#!/bin/sh\n${run}\n`);
  await chmod(tools.path(`.git/${name}`), 0o755);
}

/** Makes a tag of an object that is not there, so that git would have to get it from somewhere. */
async function dropBlob(tools: Tools): Promise<void> {
  await tools.write('.git/refs/tags/lost', `${'12'.repeat(20)}\n`);
}

/** A repository on which every tool has something to do. */
async function openBattlefield(options: OpenOptions = {}): Promise<Tools> {
  const tools = await openTools({}, options);
  const sub = tools.path('sub');
  await mkdir(sub);
  await gitIn(sub, {}, ['init', '-q', '-b', 'main']);
  await gitIn(sub, {}, ['config', 'user.name', 'S']);
  await gitIn(sub, {}, ['config', 'user.email', 's@x.org']);
  await writeFile(join(sub, 's.txt'), 's\n');
  await gitIn(sub, {}, ['add', '.']);
  await gitIn(sub, {}, ['commit', '-q', '-m', 's']);
  await tools.commit('Begin', { 'a.txt': 'a\n', 'b.txt': '1\n2\n3\n' });
  await tools.git('switch', '-q', '-c', 'clash');
  await tools.commit('Clash', { 'a.txt': 'clash\n' });
  await tools.git('switch', '-q', '-c', 'side', 'main');
  await tools.commit('Side', { 'side.txt': 'side\n' });
  await tools.git('switch', '-q', 'main');
  await tools.commit('Main', { 'a.txt': 'main\n' });
  await gitIn(tools.world.projectDir, {}, ['clone', '-q', '--bare', tools.projectDir, 'remote.git']);
  await tools.git('remote', 'add', 'origin', tools.world.resolve('remote.git'));
  return tools;
}

/** Every tool, in an order in which each finds something to do. */
const CALLS: readonly [tool: string, args: JsonObject][] = [
  ['status', {}],
  ['status', { untracked: 'all' }],
  ['diff', {}],
  ['diff', { staged: true }],
  ['diff', { from: 'main', to: 'clash' }],
  ['log', { paths: ['a.txt'] }],
  ['show', { ref: 'HEAD' }],
  ['show', { ref: 'HEAD', path: 'a.txt' }],
  ['show', { ref: 'lost' }],
  ['blame', { path: 'a.txt' }],
  ['branch_list', {}],
  ['branch', { action: 'create', name: 'made' }],
  ['branch', { action: 'delete', name: 'made' }],
  ['rebase', { step: 'continue' }],
  ['rebase', { step: 'abort' }],
  ['add', { all: true }],
  ['unstage', {}],
  ['add', { paths: ['a.txt', 'sub'] }],
  ['commit', { message: 'One', allow_empty: true }],
  ['commit', { message: 'Two', amend: true }],
  ['commit', { message: 'Three', all: true, allow_empty: true }],
  ['stash', { action: 'push', include_untracked: true }],
  ['stash', { action: 'show' }],
  ['stash', { action: 'pop' }],
  ['restore', { paths: ['a.txt'] }],
  ['restore', { paths: ['a.txt'], source: 'HEAD~1', staged: true, worktree: true }],
  ['commit', { message: 'Four', all: true, allow_empty: true }],
  ['merge', { ref: 'side' }],
  ['merge', { ref: 'clash' }],
  ['merge', { step: 'abort' }],
  ['cherry_pick', { ref: 'clash' }],
  ['cherry_pick', { step: 'abort' }],
  ['revert', { ref: 'side' }],
  ['revert', { step: 'abort' }],
  ['rebase', { onto: 'clash' }],
  ['rebase', { step: 'abort' }],
  ['checkout', { ref: 'clash' }],
  ['checkout', { ref: 'new', create: true }],
  ['reset', { ref: 'HEAD~1', mode: 'hard' }],
  ['tag', { action: 'create', name: 'v1', message: 'A tag' }],
  ['fetch', {}],
  ['pull', { branch: 'main', mode: 'merge' }],
  ['push', {}],
];

const NEEDS_CLEAN_FILES: ReadonlySet<string> = new Set([
  'merge',
  'rebase',
  'cherry_pick',
  'revert',
  'checkout',
  'pull',
]);

/** One call of each tool, and what belongs together, for what is planted alone. */
const ONE_OF_EACH = CALLS.filter(
  ([tool, args], index) =>
    CALLS.findIndex(([other]) => other === tool) === index || args.onto !== undefined || args.action === 'pop',
);

/** A quarter of them, another for each vector, so that each tool meets every fourth vector alone; all when it soaks. */
function someOf(calls: typeof CALLS, turn: number): typeof CALLS {
  return soaking ? calls : calls.filter((_, index) => index % 4 === turn % 4);
}

/** Calls every tool; the file is touched before each, so that filters have a reason to run. */
async function callAll(
  tools: Tools,
  traces: string,
  calls = CALLS,
): Promise<{ ran: string[]; codes: Record<string, string[]> }> {
  const ran: string[] = [];
  const codes: Record<string, string[]> = {};
  for (const [tool, args] of calls) {
    if (!NEEDS_CLEAN_FILES.has(tool)) await touch(tools);
    else await gitIn(tools.projectDir, {}, ['-c', 'core.hooksPath=/dev/null', 'reset', '-q', '--hard']).catch(() => {});
    await clear(traces); // what plain git has run just now does not count
    const { code } = await tools.call(tool, args);
    (codes[tool] ??= []).push(code ?? 'ok');
    if ((await readdir(traces)).length > 0) ran.push(`${tool} ${JSON.stringify(args)}`);
    await clear(traces);
  }
  return { ran, codes };
}

async function clear(traces: string): Promise<void> {
  for (const name of await readdir(traces)) await rm(join(traces, name));
}

describe.skipIf(GIT_IS_MISSING)('createGitServer() in a hostile repository', { timeout: 300_000 }, () => {
  it.each(Object.entries(VECTORS))('never runs %s, which plain git does', async (name, { plant, fire }) => {
    await using tools = await openBattlefield();
    const traces = tools.world.resolve('traces');
    await mkdir(traces);
    await plant(tools, `touch ${join(traces, 'ran')}`);
    await fire(tools);
    expect(await readdir(traces), 'plain git runs it').toEqual(['ran']);
    await tools.git('-c', 'core.hooksPath=/dev/null', 'merge', '--abort').catch(() => {});
    await plant(tools, `touch ${join(traces, 'ran')}`);
    const calls = someOf(ONE_OF_EACH, Object.keys(VECTORS).indexOf(name));
    expect((await callAll(tools, traces, calls)).ran).toEqual([]);
  });

  it('runs none of them when all are planted at once', async () => {
    await using tools = await openBattlefield();
    const traces = tools.world.resolve('traces');
    await mkdir(traces);
    const all: string[] = [];
    for (const [name, { plant }] of Object.entries(VECTORS)) {
      const kept = all.join('\n');
      await plant(tools, `touch ${join(traces, name.replace(/\W+/g, '-'))}`);
      // Attributes share one file.
      const now = await tools.read('.git/info/attributes').catch(() => '');
      if (now !== kept) all.push(now.trimEnd());
      await tools.write('.git/info/attributes', all.join('\n'));
    }
    await tools.write('.git/info/attributes', '*.txt filter=f diff=x merge=m\n');
    const { ran, codes } = await callAll(tools, traces);
    expect(ran).toEqual([]);
    for (const tool of ['status', 'diff', 'log', 'blame', 'add', 'commit', 'branch_list'])
      expect(codes[tool], tool).toContain('ok');
  });

  it('works in the same repository without the programs', async () => {
    await using tools = await openBattlefield();
    const traces = tools.world.resolve('traces');
    await mkdir(traces);
    const { codes } = await callAll(tools, traces);
    for (const [tool, of] of Object.entries(codes)) expect(of, tool).toContain('ok');
  });

  it('runs hooks and filters when the repository is trusted, and reports it in commit()', async () => {
    await using tools = await openBattlefield({ trust: 'trusted' });
    const traces = tools.world.resolve('traces');
    await mkdir(traces);
    await VECTORS.hooks!.plant(tools, `touch ${join(traces, 'hook')}`);
    await VECTORS['filter.f.clean']!.plant(tools, `touch ${join(traces, 'filter')}`);
    await touch(tools);
    const { data } = await tools.call('commit', { message: 'Trusted', all: true });
    expect(data).toMatchObject({
      hooks_ran: true,
      hooks: ['pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit'],
    });
    expect((await readdir(traces)).sort()).toEqual(['filter', 'hook']);
  });

  it('names the hooks that commit() did not run, and fails when a trusted hook refuses', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await hook(tools, 'hooks/pre-commit', 'echo No way; exit 1');
    const { data, text } = await tools.call('commit', { message: 'x', allow_empty: true });
    expect(data).toMatchObject({ hooks_ran: false, hooks: ['pre-commit'] });
    expect(text).toContain('were not run');
    await using trusted = await openTools({ 'a.txt': 'a\n' }, { trust: 'trusted' });
    await hook(trusted, 'hooks/pre-commit', 'echo No way >&2; exit 1');
    const refused = await trusted.call('commit', { message: 'x', allow_empty: true });
    expect(refused).toMatchObject({ code: 'EXECUTION_FAILED', text: expect.stringContaining('pre-commit') });
  });

  it('passes no GIT_* variable of the host to git', async () => {
    await using tools = await openBattlefield();
    const traces = tools.world.resolve('traces');
    await mkdir(traces);
    const run = await script(tools, 'run', `touch ${join(traces, 'ran')}`);
    const evil: Record<string, string> = {
      GIT_EXTERNAL_DIFF: run,
      GIT_SSH_COMMAND: run,
      GIT_EDITOR: run,
      GIT_SEQUENCE_EDITOR: run,
      GIT_DIR: tools.world.resolve('remote.git'),
      GIT_WORK_TREE: tools.world.resolve('outside'),
      GIT_INDEX_FILE: join(traces, 'index'),
      GIT_OBJECT_DIRECTORY: join(traces, 'objects'),
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'core.fsmonitor',
      GIT_CONFIG_VALUE_0: run,
      GIT_TRACE: join(traces, 'trace'),
      GIT_ASKPASS: run,
      GIT_PROXY_COMMAND: run,
    };
    Object.assign(process.env, evil);
    try {
      expect((await callAll(tools, traces, ONE_OF_EACH)).ran).toEqual([]);
    } finally {
      for (const name of Object.keys(evil)) Reflect.deleteProperty(process.env, name);
    }
  });
});
