// Much of everything: long histories, huge differences, many calls at once, and calls that are given up.

import { access, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { expectNoLeaks } from '../../../src/testing/leaks.js';
import { spawnChild } from '../../../src/process/index.js';
import { runGit } from '../../../src/servers/project/git/run-git.js';
import { parseChangedFiles } from '../../../src/servers/git/repository/patch-pages.js';
import { NulRecords } from '../../../src/servers/git/repository/nul-records.js';
import { GIT_IS_MISSING, openTools, type Tools } from './git-tools.js';

async function importCommits(tools: Tools, count: number): Promise<void> {
  await using child = spawnChild({
    command: 'git',
    args: ['fast-import', '--quiet'],
    cwd: tools.projectDir,
    stdin: 'pipe',
  });
  child.stdout.resume();
  const lines: string[] = [];
  for (let index = 1; index <= count; index++)
    lines.push(
      `commit refs/heads/long\ncommitter T <t@x.org> ${1_700_000_000 + index} +0000\ndata <<E\nCommit ${index}\nE\n`,
    );
  child.stdin!.end(`${lines.join('\n')}\ndone\n`);
  expect((await child.exited).code).toBe(0);
}

/** Resolves when a file is there, or is there no more. */
async function untilFile(path: string, isThere: boolean): Promise<void> {
  for (;;) {
    const found = await access(path).then(
      () => true,
      () => false,
    );
    if (found === isThere) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A filter that says that it runs, and then does not end. */
async function plantSlowFilter(tools: Tools): Promise<{ started: () => Promise<void> }> {
  const mark = tools.world.resolve('filter-runs');
  await tools.git('config', 'filter.slow.clean', `touch ${mark}; sleep 600`);
  await tools.write('.git/info/attributes', '*.txt filter=slow\n');
  return {
    started: () => untilFile(mark, true),
  };
}

describe.skipIf(GIT_IS_MISSING)('createGitServer() limits', { timeout: 120_000 }, () => {
  it('log() pages through 5,000 commits without losing one', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await importCommits(tools, 5_000);
    const subjects: string[] = [];
    let skip = 0;
    for (;;) {
      const { data } = await tools.call('log', { ref: 'long', max: 1_000, skip });
      subjects.push(...data.commits.map(({ subject }: { subject: string }) => subject));
      if (!data.has_more) break;
      expect(data.next_skip).toBe(skip + 1_000);
      skip = data.next_skip;
    }
    expect(subjects).toEqual(Array.from({ length: 5_000 }, (_, index) => `Commit ${5_000 - index}`));
  });

  it('diff() cuts a huge patch at lines, and its cursors return all of it', async () => {
    await using tools = await openTools({ 'big.txt': '' });
    const line = (index: number): string => `line ${index} ${'ä'.repeat(40)}`;
    await tools.write('big.txt', Array.from({ length: 120_000 }, (_, index) => line(index)).join('\n'));
    const whole = await tools.git('diff');
    expect(Buffer.byteLength(whole)).toBeGreaterThan(8 * 1024 * 1024);
    let read = '';
    let cursor: string | undefined;
    do {
      const { data, text, code } = await tools.call('diff', { max_bytes: 1_000_000, ...(cursor && { cursor }) });
      expect(code).toBeUndefined();
      read += data.truncated ? text.slice(0, text.lastIndexOf('\n[') + 1) : text;
      cursor = data.cursor;
    } while (cursor !== undefined);
    expect(read === whole).toBe(true);
    const first = await tools.call('diff');
    await tools.write('big.txt', 'small\n');
    expect((await tools.call('diff', { cursor: first.data.cursor })).code).toBe('INVALID_ARGUMENT');
    expect((await tools.call('diff', { cursor: 'nonsense' })).code).toBe('INVALID_ARGUMENT');
  });

  it('show() pages through a huge old file, also one that is a single line', async () => {
    await using tools = await openTools({ 'one-line.txt': 'ä'.repeat(100_000) });
    let read = '';
    let cursor: string | undefined;
    do {
      const { data, text } = await tools.call('show', {
        ref: 'HEAD',
        path: 'one-line.txt',
        max_bytes: 33_333,
        ...(cursor && { cursor }),
      });
      read += data.truncated ? text.slice(0, text.lastIndexOf('\n[')) : text;
      cursor = data.cursor;
    } while (cursor !== undefined);
    expect(read === 'ä'.repeat(100_000)).toBe(true);
  });

  it('runGit() holds at most 8 MiB of output, and reports that it was cut', async () => {
    await using tools = await openTools({ 'big.txt': 'x'.repeat(9 * 1024 * 1024) });
    const run = {
      command: 'git',
      args: ['show', 'HEAD:big.txt'],
      cwd: tools.projectDir,
      env: { PATH: process.env.PATH ?? '' },
    };
    const { stdout, cut, code } = await runGit({ ...run, timeoutMs: 30_000, signal: new AbortController().signal });
    expect({ bytes: stdout.length, cut, code }).toEqual({ bytes: 8 * 1024 * 1024, cut: true, code: null });
  });

  it('runGit() ends git with all that it started, and leaves no lock, when the call is aborted', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' }, { trust: 'trusted' });
    const { started } = await plantSlowFilter(tools);
    await tools.write('a.txt', 'changed, and longer\n');
    await using _ = expectNoLeaks();
    const controller = new AbortController();
    const call = tools.call('add', { all: true }, { signal: controller.signal });
    await started();
    controller.abort();
    // The caller is answered at once; git takes its lock away while it ends.
    expect((await call).code).toBe('CANCELLED');
    await untilFile(tools.path('.git/index.lock'), false);
  });

  it('a git that takes too long is ended', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' }, { trust: 'trusted', timeoutMs: 3_000 });
    await plantSlowFilter(tools);
    await tools.write('a.txt', 'changed, and longer\n');
    await using _ = expectNoLeaks();
    expect((await tools.call('add', { all: true })).code).toBe('TIMED_OUT');
    await expect(access(tools.path('.git/index.lock'))).rejects.toThrow('ENOENT');
  });

  it('calls at the same time wait for each other, and all of them are done', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    const names = Array.from({ length: 8 }, (_, index) => `f${index}.txt`);
    await Promise.all(names.map((name) => tools.write(name, name)));
    await using _ = expectNoLeaks();
    const answers = await Promise.all([
      ...names.map((name) => tools.call('add', { paths: [name] })),
      ...names.map((name) => tools.call('branch', { action: 'create', name })),
      ...names.map(() => tools.call('status')),
      ...names.map((name) => tools.call('commit', { message: name, allow_empty: true })),
    ]);
    expect(answers.map(({ code }) => code).filter((code) => code !== undefined)).toEqual([]);
    expect(await tools.git('rev-list', '--count', 'HEAD')).toBe('9');
    expect((await tools.git('ls-files')).split('\n')).toEqual(['a.txt', ...names]);
  });

  it('restore() makes an edit of a file that was read before ask for another look', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n' });
    await writeFile(tools.path('a.txt'), 'seen\n');
    const seen = await tools.files.read('a.txt');
    await tools.call('restore', { paths: ['a.txt'] });
    expect((await tools.files.read('a.txt')).etag).not.toBe(seen.etag);
  });
});

describe('parseChangedFiles()', () => {
  it('joins statuses and numbers, with renames and binary files', () => {
    const text =
      ':100644 100644 a b R090\0old\tname\0new\0:000000 100644 0 c A\0bin\x001\t2\t\0old\tname\0new\0-\t-\tbin\0';
    const fields: Buffer[] = [];
    // One byte at a time: where a chunk ends makes no difference.
    const records = new NulRecords((field) => void fields.push(Buffer.from(field)));
    for (const byte of Buffer.from(text)) records.push(Buffer.from([byte]));
    expect(parseChangedFiles(fields, String)).toEqual([
      { path: 'new', old_path: 'old\tname', status: 'renamed', added: 1, removed: 2, binary: false },
      { path: 'bin', status: 'added', binary: true },
    ]);
  });
});
