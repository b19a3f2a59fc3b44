import { chmod, readdir, stat, symlink, truncate } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { spawnChild } from '../../../../src/process/index.js';
import { openTools, type Answer, type Tools } from '../filesystem-tools.js';

const patch = (...lines: string[]): string => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
const update = (path: string, ...lines: string[]): string[] => [`*** Update File: ${path}`, ...lines];

async function read(tools: Tools, ...paths: string[]): Promise<void> {
  for (const path of paths) expect((await tools.call('read_file', { path })).code).toBeUndefined();
}

async function everything(tools: Tools): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(tools.projectDir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const name = `${entry.parentPath}/${entry.name}`.slice(tools.projectDir.length + 1);
    files[name] = (await tools.read(name)).toString('latin1');
  }
  return files;
}

/** One update of one file that was read: the answer, and the file after it. */
async function patched(content: string | Buffer, ...lines: string[]): Promise<{ answer: Answer; text: string }> {
  await using tools = await openTools({ 'a.txt': content });
  await read(tools, 'a.txt');
  const answer = await tools.call('apply_patch', { patch: patch(...update('a.txt', ...lines)) });
  return { answer, text: (await tools.read('a.txt')).toString() };
}

describe('apply_patch()', () => {
  it('apply_patch() adds, updates, moves and deletes, and reports what it did', async () => {
    await using tools = await openTools({ 'a.txt': 'one\ntwo\n', 'b.sh': 'echo\n', 'c.txt': 'c\n' });
    await chmod(tools.path('b.sh'), 0o755);
    await read(tools, 'a.txt', 'b.sh', 'c.txt');
    const { data, text } = await tools.call('apply_patch', {
      patch: patch(
        '*** Add File: new/dir/d.txt',
        '+first',
        '+',
        ...update('a.txt', '@@', ' one', '-two', '+2', '+3'),
        ...update('b.sh', '*** Move to: bin/b.sh', '@@', '-echo', '+echo hi'),
        '*** Delete File: c.txt',
      ),
    });
    expect(data.changes).toEqual([
      { op: 'add', path: 'new/dir/d.txt', diff_stat: { added: 2, removed: 0 } },
      { op: 'update', path: 'a.txt', diff_stat: { added: 2, removed: 1 } },
      { op: 'move', path: 'b.sh', move_path: 'bin/b.sh', diff_stat: { added: 1, removed: 1 } },
      { op: 'delete', path: 'c.txt', diff_stat: { added: 0, removed: 1 } },
    ]);
    expect(text).toContain('--- /dev/null\n+++ b/new/dir/d.txt\n@@ -0,0 +1,2 @@\n+first\n+');
    expect(text).toContain('--- a/c.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-c');
    expect(text).toContain('+++ b/a.txt\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3');
    expect(await everything(tools)).toEqual({
      '.keep': '',
      'a.txt': 'one\n2\n3\n',
      'bin/b.sh': 'echo hi\n',
      'new/dir/d.txt': 'first\n\n',
    });
    expect((await stat(tools.path('bin/b.sh'))).mode & 0o777).toBe(0o755);
    // What it wrote counts as read.
    expect((await tools.call('apply_patch', { patch: patch('*** Delete File: bin/b.sh') })).code).toBeUndefined();
  });

  it('apply_patch() shows the diff and changes nothing when dry_run is set', async () => {
    await using tools = await openTools({ 'a.txt': 'one\n' });
    await read(tools, 'a.txt');
    const before = await everything(tools);
    const answer = await tools.call('apply_patch', {
      patch: patch('*** Add File: x/y.txt', '+y', ...update('a.txt', '*** Move to: b.txt', '-one', '+1')),
      dry_run: true,
    });
    expect(answer.text).toContain('-one\n+1');
    expect(await everything(tools)).toEqual(before);
    expect(await readdir(tools.projectDir)).not.toContain('x');
  });

  it.each([
    ['its line ends', 'a\r\nb\r\nc\n', ['-b', '+B', '+B2'], 'a\r\nB\r\nB2\r\nc\n'],
    ['a missing final newline', 'a\nb', ['-b', '+B', '+C'], 'a\nB\nC'],
    ['a missing final newline when the last line goes', 'a\nb', [' a', '-b'], 'a'],
    ['a missing final newline when lines are appended', 'a\r\nb', [' b', '+c'], 'a\r\nb\r\nc'],
    ['a byte order mark', '\ufeffa\nb\n', ['-a', '+A'], '\ufeffA\nb\n'],
    ['context that is only alike', '“a”  \nb\u00a0\nc\n', [' "a"', '-b', '+B', ' c'], '“a”  \nB\nc\n'],
    [
      'the indentation of the file',
      '\tif x\n\t\ty\n',
      [' if x', '-\ty', '+\tz', '+', '+\tw'],
      '\tif x\n\t\tz\n\n\t\tw\n',
    ],
  ])('apply_patch() keeps %s', async (_what, content, lines, expected) => {
    expect((await patched(content, '@@', ...lines)).text).toBe(expected);
  });

  it('apply_patch() accepts file headers with blanks around them', async () => {
    await using tools = await openTools({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n', 'd.txt': 'd\n' });
    for (const name of ['a', 'b', 'c', 'd']) await read(tools, `${name}.txt`);
    const lines = [
      '  *** Update File: a.txt  ',
      '@@',
      '-a',
      '+A',
      '\t*** Update File:   b.txt',
      '@@',
      '-b',
      '+B',
      '*** Add File: new.txt',
      '+new',
      '   *** Delete File: c.txt',
      ' *** Update File: d.txt',
      ' *** Move to: e.txt ',
      '@@',
      '-d',
      '+D',
    ];
    expect((await tools.call('apply_patch', { patch: patch(...lines) })).text).toContain('Made 5 changes');
    const texts = ['a.txt', 'b.txt', 'new.txt', 'e.txt'].map(async (name) => (await tools.read(name)).toString());
    expect(await Promise.all(texts)).toEqual(['A\n', 'B\n', 'new\n', 'D\n']);
    expect(await readdir(tools.projectDir)).not.toContain('c.txt');
  });

  it('apply_patch() treats a file header in the middle of a hunk as a line of context', async () => {
    const { text } = await patched('*** Update File: x\na\n', '@@', ' *** Update File: x', '-a', '+b');
    expect(text).toBe('*** Update File: x\nb\n');
  });

  it.each([
    ['several hunks', 'a\nb\nc\nd\n', ['@@', '-a', '+A', '@@', '-d', '+D'], 'A\nb\nc\nD\n'],
    ['a hunk without @@', 'a\nb\n', ['-a', '+A'], 'A\nb\n'],
    ['a hunk at the end of the file', 'x\ny\nx\n', ['@@', '-x', '+z', '*** End of File'], 'x\ny\nz\n'],
    ['lines appended to the file', 'x\n', ['@@', '+y', '*** End of File'], 'x\ny\n'],
    ['a hunk that only adds lines', 'x\ny\n', ['@@', '+z'], 'x\ny\nz\n'],
    ['a hunk that only adds lines to a file without a final newline', 'x', ['@@', '+y'], 'x\ny'],
    ['a hunk that only adds lines before others', 'x\ny\n', ['@@', '+z', '@@', '-x', '+X'], 'X\ny\nz\n'],
    ['a hunk that only adds lines, with tabs for spaces elsewhere', 'f\n\tx\n', ['@@', '-    x', '+    y'], 'f\n\ty\n'],
    ['lines after a header', 'x\ny\n', ['@@ x', '+z'], 'x\nz\ny\n'],
    ['an empty file', '', ['@@', '+a'], 'a\n'],
    ['blank lines of context', 'a\n\nb\n', ['@@', ' a', '', '-b', '+B'], 'a\n\nB\n'],
    ['the numbers of a unified diff', 'a\nb\n', ['@@ -1,2 +1,2 @@', '-b', '+B'], 'a\nB\n'],
    [
      'the place that the header names',
      'def a():\n  x\n\ndef b():\n  x\n\ndef c():\n  x\n',
      ['@@ def b():', '-  x', '+  y'],
      'def a():\n  x\n\ndef b():\n  y\n\ndef c():\n  x\n',
    ],
    [
      'the place that two headers name',
      'class A:\n  def f():\n    x\nclass B:\n  def f():\n    x\n',
      ['@@ class B:', '@@ def f():', '-    x', '+    y'],
      'class A:\n  def f():\n    x\nclass B:\n  def f():\n    y\n',
    ],
  ])('apply_patch() accepts %s', async (_what, content, lines, expected) => {
    const { answer, text } = await patched(content, ...lines);
    expect(answer.code).toBeUndefined();
    expect(text).toBe(expected);
  });

  it.each([
    ['MULTIPLE_MATCHES', 'x\ny\nx\n', ['@@', '-x', '+z'], 'lines 1, 3'],
    ['NO_MATCH', 'alpha\nbeta\n', ['@@', '-alpho', '+z'], 'Line 1:\n     1\talpha'],
    ['NO_MATCH', 'a\nb\n', ['@@', '-b', '+B', '@@', '-a', '+A'], 'hunk 2 (line 6 of the patch)'],
    ['NO_MATCH', 'a\n', ['@@ def f', '-a', '+b'], 'the line "def f" was not found'],
    ['NO_CHANGE', 'a\n', ['@@', '-a', '+a'], 'a.txt'],
    ['INVALID_ARGUMENT', 'a\n', ['@@ -1,0 +2,1 @@', '+b'], 'omit the numbers to append'],
    ['INVALID_ARGUMENT', 'a\n', ['@@', '-a', '+// ... rest of code'], 'placeholder'],
    ['INVALID_ARGUMENT', 'a\n', ['@@', ' a'], 'changes nothing'],
    ['INVALID_ARGUMENT', 'a\n', [], 'no hunk'],
    ['INVALID_ARGUMENT', 'a\n', ['@@', 'a'], 'Line 4 of the patch'],
  ])(
    'apply_patch() fails with %s for %j with %j and does not change the file',
    async (code, content, lines, message) => {
      const { answer, text } = await patched(content, ...lines);
      expect(answer.code).toBe(code);
      expect(answer.text).toContain(message);
      expect(text).toBe(content);
    },
  );

  it.each([
    'no patch',
    '*** Begin Patch\n*** End Patch',
    '*** Begin Patch\n*** Add File: a.txt\n+x',
    '*** Begin Patch\n*** Add File: a.txt\nx\n*** End Patch',
    '*** Begin Patch\n*** Delete File: a.txt\n-x\n*** End Patch',
    '*** Begin Patch\n*** Replace File: a.txt\n*** End Patch',
  ])('apply_patch() fails with INVALID_ARGUMENT for %j', async (text) => {
    await using tools = await openTools();
    expect((await tools.call('apply_patch', { patch: text })).code).toBe('INVALID_ARGUMENT');
  });

  it.each([
    ['OUTSIDE_PROJECT', ['*** Add File: ../outside/x', '+x']],
    ['OUTSIDE_PROJECT', update('a.txt', '*** Move to: ../outside/x', '-one', '+1')],
    ['OUTSIDE_PROJECT', ['*** Add File: out/x', '+x']],
    ['PROTECTED_PATH', update('a.txt', '*** Move to: .git/hooks/pre-commit', '-one', '+1')],
    ['PROTECTED_PATH', ['*** Add File: .vscode/tasks.json', '+x']],
    ['INVALID_ARGUMENT', ['*** Add File: b.txt', '+x']],
    ['INVALID_ARGUMENT', update('a.txt', '*** Move to: b.txt', '-one', '+1')],
    ['INVALID_ARGUMENT', ['*** Add File: fifo', '+x']],
    ['INVALID_ARGUMENT', ['*** Delete File: link']],
    ['NOT_FOUND', update('aa.txt', '-one', '+1')],
    ['NOT_FOUND', ['*** Delete File: a.txt', ...update('a.txt', '-one', '+1')]],
    ['NOT_FOUND', ['*** Delete File: none/x.txt']],
    ['READ_REQUIRED', update('unread.txt', '-unread', '+1')],
    ['READ_REQUIRED', ['*** Delete File: unread.txt']],
    ['NO_MATCH', update('b.txt', '-none', '+1')],
  ])('apply_patch() fails with %s and changes no file when one of several is %j', async (code, lines) => {
    await using tools = await openTools({
      'a.txt': 'one\n',
      'b.txt': 'two\n',
      'c.txt': 'c\n',
      'unread.txt': 'unread\n',
    });
    await symlink(tools.world.resolve('outside'), tools.path('out'));
    await symlink('a.txt', tools.path('link'));
    const mkfifo = spawnChild({ command: 'mkfifo', args: [tools.path('fifo')], cwd: tools.projectDir });
    expect((await mkfifo.exited).code).toBe(0);
    await read(tools, 'a.txt', 'b.txt', 'c.txt');
    const before = await everything(tools);
    const answer = await tools.call('apply_patch', {
      patch: patch(...update('c.txt', '-c', '+C'), '*** Add File: new/n.txt', '+n', ...lines),
    });
    expect(answer.code).toBe(code);
    expect(await everything(tools)).toEqual(before);
    expect(await readdir(tools.projectDir)).not.toContain('new');
    expect(await readdir(tools.world.resolve('outside'))).toEqual(['secret.txt']);
  });

  it('apply_patch() puts every file back when one cannot be written', async () => {
    await using tools = await openTools({ 'a.txt': 'one\r\n', 'b.txt': 'b\n' });
    await chmod(tools.path('a.txt'), 0o640);
    await read(tools, 'a.txt', 'b.txt');
    const before = await everything(tools);
    // The last file needs a directory where the one before it put a file.
    const answer = await tools.call('apply_patch', {
      patch: patch(
        ...update('a.txt', '-one', '+1'),
        ...update('b.txt', '*** Move to: deep/er/b.txt', '-b', '+B'),
        '*** Add File: x',
        '+x',
        '*** Add File: x/y',
        '+y',
      ),
    });
    expect(answer.code).toBeDefined();
    expect(answer.text).toContain('Nothing was changed.');
    expect(await everything(tools)).toEqual(before);
    expect((await readdir(tools.projectDir)).sort()).toEqual(['.keep', 'a.txt', 'b.txt']);
    expect((await stat(tools.path('a.txt'))).mode & 0o777).toBe(0o640);
  });

  it.skipIf(process.getuid?.() === 0)('apply_patch() puts every file back when a directory is read-only', async () => {
    await using tools = await openTools({ 'a.txt': 'one\n', 'ro/b.txt': 'b\n' });
    await read(tools, 'a.txt', 'ro/b.txt');
    await chmod(tools.path('ro'), 0o555);
    const before = await everything(tools);
    const answer = await tools.call('apply_patch', {
      patch: patch(...update('a.txt', '-one', '+1'), '*** Delete File: ro/b.txt'),
    });
    await chmod(tools.path('ro'), 0o755);
    expect(answer.code).toBe('PERMISSION_DENIED');
    expect(await everything(tools)).toEqual(before);
  });

  it('apply_patch() deletes a file and adds it again, and updates what it added', async () => {
    await using tools = await openTools({ 'a.txt': 'one\n' });
    await read(tools, 'a.txt');
    const answer = await tools.call('apply_patch', {
      patch: patch('*** Delete File: a.txt', '*** Add File: ./a.txt', '+new', ...update('a.txt', ' new', '+more')),
    });
    expect(answer.code).toBeUndefined();
    expect((await tools.read('a.txt')).toString()).toBe('new\nmore\n');
  });

  it('apply_patch() fails with FILE_CHANGED and the difference when a file is not as it was read', async () => {
    await using tools = await openTools({ 'a.txt': 'one\n' });
    await read(tools, 'a.txt');
    await tools.write('a.txt', 'one\ntwo\n');
    const answer = await tools.call('apply_patch', { patch: patch(...update('a.txt', '-one', '+1')) });
    expect(answer.code).toBe('FILE_CHANGED');
    expect(answer.text).toContain('+two');
  });

  it('apply_patch() makes 20 concurrent patches of the same files one after the other', async () => {
    await using tools = await openTools({ 'a.txt': 'list\n', 'b.txt': 'list\n' });
    await read(tools, 'a.txt', 'b.txt');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const parts = ['a.txt', 'b.txt'].map((path) => update(path, '@@', ' list', `+${index}`));
        return tools.call('apply_patch', { patch: patch(...(index % 2 ? parts : parts.toReversed()).flat()) });
      }),
    );
    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => undefined));
    const [a, b] = [(await tools.read('a.txt')).toString(), (await tools.read('b.txt')).toString()];
    expect(a).toBe(b);
    expect(a.split('\n')).toHaveLength(22);
  });

  it('apply_patch() does not offer if_match, which it does not take, when a file is stale', async () => {
    await using tools = await openTools({ 'a.txt': 'one\n' });
    await read(tools, 'a.txt');
    await tools.write('a.txt', 'one\ntwo\n');
    const { text } = await tools.call('apply_patch', { patch: patch(...update('a.txt', '-one', '+1')) });
    expect(text).not.toContain('if_match');
    expect(text).toContain('Read it again, then repeat the change.');
  });

  it('apply_patch() deletes what is not text, or above 64 MiB, unread', async () => {
    await using tools = await openTools({ 'a.bin': Buffer.from([0, 1, 2, 3]), 'b.txt': 'b\n' });
    await tools.write('huge', '');
    await truncate(tools.path('huge'), 65 * 1024 * 1024);
    await read(tools, 'b.txt');
    const { code, data, text } = await tools.call('apply_patch', {
      patch: patch('*** Delete File: a.bin', '*** Delete File: huge', '*** Delete File: b.txt'),
    });
    expect(code).toBeUndefined();
    expect(data.changes).toEqual([
      { op: 'delete', path: 'a.bin' },
      { op: 'delete', path: 'huge' },
      { op: 'delete', path: 'b.txt', diff_stat: { added: 0, removed: 1 } },
    ]);
    expect(text).toContain('a.bin is not shown as text');
    expect(await readdir(tools.projectDir)).toEqual(['.keep']);
  });

  it('apply_patch() names what to do when it would change what is not text, or above 64 MiB', async () => {
    await using tools = await openTools({ 'a.bin': Buffer.from([0, 1, 2, 3]) }, { requireRead: false });
    await tools.write('huge', '');
    await truncate(tools.path('huge'), 65 * 1024 * 1024);
    const apply = (...lines: string[]) => tools.call('apply_patch', { patch: patch(...lines) });
    expect((await apply(...update('a.bin', '-x', '+y'))).code).toBe('BINARY_FILE');
    await tools.write('long', Buffer.alloc(17 * 1024 * 1024, 'a line\n'));
    await tools.write('lines', Buffer.alloc(1_000_002, '\n'));
    for (const path of ['long', 'lines'])
      expect(await apply(...update(path, '@@', '-x', '+y'))).toMatchObject({
        code: 'TOO_LARGE',
        text: expect.stringContaining('Use edit_file') as string,
      });
    expect(await apply(...update('huge', '*** Move to: big'))).toMatchObject({
      code: 'TOO_LARGE',
      text: expect.stringContaining('Rename it with move') as string,
    });
    expect(await apply('*** Delete File: huge', '*** Add File: huge', '+x')).toMatchObject({
      code: 'TOO_LARGE',
      text: expect.stringContaining('Delete it in a separate call') as string,
    });
    expect((await stat(tools.path('huge'))).size).toBe(65 * 1024 * 1024);
    expect((await apply(...update('a.bin', '*** Move to: b.bin'))).code).toBeUndefined();
    expect(await tools.read('b.bin')).toEqual(Buffer.from([0, 1, 2, 3]));
  });

  it('apply_patch() and move() of the same files do not deadlock', async () => {
    await using tools = await openTools({ 'a.txt': '0\n' }, { requireRead: false });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => {
        const [from, to] = index % 2 ? ['a.txt', 'b.txt'] : ['b.txt', 'a.txt'];
        return index % 3
          ? tools.call('move', { source: from, destination: to })
          : tools.call('apply_patch', { patch: patch(...update(from ?? '', `*** Move to: ${to}`)) });
      }),
    );
    expect(answers).toHaveLength(40);
    expect((await readdir(tools.projectDir)).filter((name) => name !== '.keep')).toHaveLength(1);
  });

  it('apply_patch() fails with INVALID_ARGUMENT when a file would be in another file of the patch', async () => {
    await using tools = await openTools();
    const answer = await tools.call('apply_patch', {
      patch: patch('*** Add File: x/y', '+y', '*** Add File: x', '+x'),
    });
    expect(answer).toMatchObject({
      code: 'INVALID_ARGUMENT',
      text: expect.stringContaining('"x/y" cannot be inside "x"') as string,
    });
    expect(await readdir(tools.projectDir)).toEqual(['.keep']);
  });
});
