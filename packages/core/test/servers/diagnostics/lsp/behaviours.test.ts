// Language servers as they are: slow, dying, pushing too early, too late or for another version. The answer is right, or it
// says that it is not complete; and it comes in time.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { expectNoLeaks } from '../../../../src/testing/leaks.js';
import { createDiagnosticsServer } from '../../../../src/servers/diagnostics/index.js';
import { createTestProject } from '../../../../src/testing/project.js';
import { tries } from '../../../soak.js';
import { fixtureServer, openTools } from '../diagnostics-tools.js';

const BAD = 'good\n  BAD 😀 MEH\n';
/** What is listed of it. */
const FOUND = {
  files: [
    {
      path: 'a.fix',
      diagnostics: [
        { line: 2, column: 3, end_line: 2, end_column: 6, severity: 'error', code: 'bad', source: 'fix' },
        { line: 2, column: 10, severity: 'warning', code: 'meh' },
      ],
    },
  ],
  counts: { error: 1, warning: 1 },
  complete: true,
};
const NONE = { files: [], counts: { error: 0, warning: 0 }, complete: true };
const PATH = { path: 'a.fix', wait_ms: 10_000 };

describe('diagnostics() is right with a server that', () => {
  it.concurrent.each([
    ['pulls', 'pull'],
    ['pulls after it has registered, and pushed an empty list before', 'register'],
    ['cancels what it is asked twice', 'cancel'],
    ['pushes', 'push'],
    ['pushes without a version', 'unversioned'],
    ['pushes an empty list first', 'empty-first'],
    ['pushes an empty list first, all without a version', 'empty-first', 'unversioned'],
    ['pushes an empty list first, and what it found 1.2 s later', 'empty-first', 'versioned', '1200'],
    ['pushes an empty list first, and what it found 3 s later', 'empty-first', 'unversioned', '3000'],
    ['pushes warnings first, and errors 1.2 s later', 'warnings-first'],
    ['pushes an empty list first, and is held up before it goes on', 'held-up'],
    ['pushes for the version before first', 'stale'],
    ['says that it is at work while it pushes an empty list', 'progress'],
  ])('%s', async (_, behaviour, ...more) => {
    await using tools = await openTools({ 'a.fix': BAD }, { servers: fixtureServer(behaviour, ...more) });
    expect((await tools.call('diagnostics', PATH)).data).toMatchObject(FOUND);
    await tools.write('a.fix', 'good\n');
    expect((await tools.call('diagnostics', PATH)).data).toMatchObject(NONE);
    await tools.write('a.fix', BAD);
    expect((await tools.call('diagnostics', PATH)).data).toMatchObject(FOUND);
  });
});

it.concurrent(
  'diagnostics() waits for what is found after work that the server said it was at',
  async () => {
    await using tools = await openTools({ 'a.fix': BAD }, { servers: fixtureServer('progress-first') });
    expect((await tools.call('diagnostics', { ...PATH, wait_ms: 20_000 })).data).toMatchObject(FOUND);
  },
  30_000,
);

it.concurrent(
  'diagnostics() is not complete after an empty list and a short silence, and is after a long one',
  async () => {
    await using tools = await openTools({ 'a.fix': 'good\n', 'b.fix': 'good\n' }, { servers: fixtureServer('push') });
    expect((await tools.call('diagnostics', { ...PATH, wait_ms: 2_500 })).data).toMatchObject({ complete: false });
    expect((await tools.call('diagnostics', PATH)).data).toMatchObject(NONE);
  },
);

it.concurrent('diagnostics() treats an empty list as complete after 1 second when the server pushes once', async () => {
  const [server] = fixtureServer('push')!;
  await using tools = await openTools({ 'a.fix': 'good\n' }, { servers: [{ ...server!, pushesOnce: true }] });
  expect((await tools.call('diagnostics', { ...PATH, wait_ms: 4_500 })).data).toMatchObject(NONE);
});

it.concurrent('diagnostics() returns copies of the rows, which a reader may change', async () => {
  await using tools = await openTools({ 'a.fix': BAD }, { servers: fixtureServer('push') });
  const { data } = await tools.call('diagnostics', PATH);
  for (const each of data.files[0].diagnostics) each.message = each.severity = 'changed';
  expect((await tools.call('diagnostics', PATH)).data).toMatchObject(FOUND);
});

describe('diagnostics() reports that it is not complete with a server that', () => {
  it.concurrent.each([
    ['never answers the handshake', 'hang', 'has not reported everything'],
    ['exits at once', 'exit', 'no licence file'],
    ['counts in bytes', 'utf-8', 'which was not offered'],
    ['says nothing', 'silent', 'has not reported everything'],
    ['pushes for the version before and nothing else', 'stale', 'has not reported everything', 'for-ever'],
    ['dies of a file', 'die', 'exited with code 7'],
    ['announces a message of nine gigabytes', 'huge', 'the limit is'],
    ['prints not a message', 'garbage', 'not a message'],
    ['floods', 'flood', 'has not reported everything'],
    ['reports what an invalid diagnostic', 'malformed', 'an invalid diagnostic'],
    ['never answers the question', 'slow-pull', 'has not reported everything'],
  ])('%s, in time', async (_, behaviour, reason, ...more) => {
    await using tools = await openTools({ 'a.fix': 'DIE\n' }, { servers: fixtureServer(behaviour, ...more) });
    const isSlow = reason === 'has not reported everything';
    const waitMs = isSlow ? 1_000 : 15_000;
    const startedAt = performance.now();
    const { data, text, code } = await tools.call('diagnostics', { path: 'a.fix', wait_ms: waitMs });
    const tookMs = performance.now() - startedAt;
    expect(code).toBeUndefined();
    expect(data).toMatchObject({ files: [], complete: false, checked: 0, pending_count: 1 });
    expect(data.pending[0].reason).toContain(reason);
    expect(text).toContain('NOT COMPLETE');
    if (!isSlow) return;
    expect(tookMs).toBeLessThan(waitMs + 3_000); // ten times the 300 ms that it may take longer
    expect((await tools.call('check_errors', { path: 'a.fix' }, { timeoutMs: 200 })).code).toBe('TIMED_OUT');
  });

  it.concurrent('dies of a file four times, and leaves it alone then, until it is restarted', async () => {
    await using tools = await openTools({ 'a.fix': 'DIE' }, { servers: fixtureServer('die') });
    for (let tries = 0; tries < 2; tries++) await tools.call('diagnostics', PATH);
    const { data, text } = await tools.call('diagnostics', PATH);
    expect(data).toMatchObject({ complete: false, servers: [{ name: 'fixture', state: 'failed' }] });
    expect(text).toContain('is no longer restarted automatically');
    await tools.write('a.fix', BAD);
    expect((await tools.call('servers', { restart: 'fixture' })).data.restarted).toBe(1);
    expect((await tools.call('diagnostics', PATH)).data).toMatchObject(FOUND);
  });
});

describe('LanguageClient', () => {
  it('restarts a server that died during a request', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'toolwright-died-'));
    await using tools = await openTools(
      { 'a.fix': BAD },
      { servers: fixtureServer('die-once', join(directory, 'died')) },
    );
    expect((await tools.call('diagnostics', PATH)).data).toMatchObject(FOUND);
    await rm(directory, { recursive: true });
  });

  it('stops a server that no one uses, and starts it for the next call', async () => {
    await using tools = await openTools({ 'a.fix': BAD }, { servers: fixtureServer('pull'), idleMs: 150 });
    await tools.call('diagnostics', PATH);
    await expect.poll(async () => (await tools.call('servers')).data.servers[0].state).toBe('idle');
    expect((await tools.call('diagnostics', PATH)).data).toMatchObject(FOUND);
  });

  it('continues to start a server when the call that started it was cancelled', async () => {
    await using tools = await openTools({ 'a.fix': BAD }, { servers: fixtureServer('slow-start') });
    const first = await tools.call('diagnostics', { path: 'a.fix', wait_ms: 700 });
    expect(first.data).toMatchObject({ complete: false, servers: [{ state: 'starting' }] });
    expect((await tools.call('diagnostics', PATH)).data).toMatchObject(FOUND);
  });

  it('leaves nothing behind when the provider disconnects, of whatever the server is doing', async () => {
    await using _ = expectNoLeaks();
    await Promise.all(
      ['deaf', 'hang', 'flood', 'huge', 'die', 'exit', 'slow-pull', 'progress'].map(async (behaviour) => {
        await using tools = await openTools({ 'a.fix': 'DIE' }, { servers: fixtureServer(behaviour) });
        await tools.call('diagnostics', { path: 'a.fix', wait_ms: 700 });
      }),
    );
  });

  it('checks a file again that was written while the server thought of it', async () => {
    await using tools = await openTools({ 'a.fix': 'good\n' }, { servers: fixtureServer('pull-later') });
    await tools.call('diagnostics', PATH);
    const requested = tools.call('diagnostics', PATH);
    await expect.poll(async () => (await tools.call('servers')).data.servers[0].state).toBe('ready');
    await setTimeout(200); // the server has the question, and answers after 500 ms
    await tools.write('a.fix', BAD);
    expect((await requested).data).toMatchObject(FOUND);
  });

  it('leaves nothing behind when calls are given up at any time', async () => {
    await using _ = expectNoLeaks();
    for (const behaviour of ['pull-later', 'slow-start', 'empty-first']) {
      await using tools = await openTools({ 'a.fix': BAD }, { servers: fixtureServer(behaviour) });
      const calls = Array.from({ length: 20 }, (_unused, index) => {
        const giveUp = new AbortController();
        const tool = ['diagnostics', 'check_errors', 'symbols'][index % 3]!;
        const call = tools.call(tool, { path: 'a.fix' }, { signal: giveUp.signal });
        void setTimeout(index * 17).then(() => giveUp.abort());
        return call;
      });
      for (const { code } of await Promise.all(calls))
        expect(['CANCELLED', 'EXECUTION_FAILED', undefined]).toContain(code);
    }
  });

  it('stops immediately when the caller cancels, and cancels the request at the server', async () => {
    await using tools = await openTools({ 'a.fix': BAD }, { servers: fixtureServer('slow-pull') });
    const { code } = await tools.call(
      'diagnostics',
      { ...PATH, wait_ms: 60_000 },
      { signal: AbortSignal.timeout(500) },
    );
    expect(code).toMatch(/CANCELLED|TIMED_OUT/);
  });

  it('answers every request of a server, and lets it change nothing', async () => {
    await using tools = await openTools({ 'a.fix': 'good' }, { servers: fixtureServer('ask-all') });
    const { data } = await tools.call('diagnostics', { ...PATH, severity: 'hint' });
    expect(JSON.parse(data.files[0].diagnostics[0].message)).toEqual([
      [null, {}],
      [{ uri: expect.stringContaining('file:///'), name: expect.any(String) }],
      null,
      null,
      null,
      { applied: false, failureReason: expect.any(String) },
      null,
      null,
      { success: false },
      { error: -32601 },
    ]);
  });

  it('opens once, counts versions, and reports files that were created, changed and deleted', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'toolwright-log-'));
    const log = join(directory, 'log');
    await using tools = await openTools({ 'a.fix': BAD, 'b.fix': 'b' }, { servers: fixtureServer('log', log) });
    await tools.call('diagnostics', PATH);
    await tools.write('a.fix', 'good');
    await writeFile(tools.project.resolve('c.fix'), 'c');
    await rm(tools.project.resolve('b.fix'));
    await tools.call('diagnostics', PATH);
    await tools.call('diagnostics', PATH);
    await rm(tools.project.resolve('a.fix'));
    await tools.call('diagnostics', { path: 'c.fix' });
    const told = (await readFile(log, 'utf8')).trim().split('\n');
    const messages = told.map((line) => JSON.parse(line) as { method: string; params: any }); // eslint-disable-line @typescript-eslint/no-explicit-any
    const documents = messages
      .filter(({ method }) => /didOpen|didChange$|didClose/.test(method))
      .map(({ method, params }) =>
        `${method.slice(13)} ${params.textDocument.uri.slice(-5)} ${params.textDocument.version ?? ''}`.trim(),
      );
    expect(documents).toEqual(['didOpen a.fix 1', 'didChange a.fix 2', 'didClose a.fix', 'didOpen c.fix 1']);
    const watched = messages
      .filter(({ method }) => method === 'workspace/didChangeWatchedFiles')
      .flatMap(({ params }) => params.changes.map((each: any) => `${each.type} ${each.uri.slice(-5)}`)); // eslint-disable-line @typescript-eslint/no-explicit-any
    expect(new Set(watched)).toEqual(
      new Set(['2 a.fix', '3 b.fix', '1 c.fix', '3 a.fix', ...watched.filter((each) => each === '2 c.fix')]),
    );
    await rm(directory, { recursive: true });
  });

  it('names what is missing, and how to get it', async () => {
    await using tools = await openTools(
      { 'a.fix': BAD, 'b.xyz': '', 'c.rs': '' },
      { servers: [{ name: 'fixture', command: 'no-such-language-server', extensions: ['.fix'] }] },
    );
    const missing = await tools.call('diagnostics', { path: 'a.fix' });
    expect(missing.data).toMatchObject({ complete: false, pending: [{ path: 'a.fix' }] });
    expect(missing.text).toContain('install it, or set command to its absolute path');
    const unknown = await tools.call('check_errors', { path: 'b.xyz' });
    expect(unknown.data).toEqual({ has_errors: false, count: 0, complete: false });
    expect(unknown.text).toContain('No language server supports .xyz files');
    expect((await tools.call('diagnostics', { path: 'c.rs' })).text).toContain('the project is not trusted');
    expect((await tools.call('diagnostics')).data).toMatchObject({ complete: false, pending_count: 2 });
    expect((await tools.call('diagnostics', { path: 'gone.fix' })).code).toBe('NOT_FOUND');
    expect((await tools.call('diagnostics', { path: '../outside.fix' })).code).toBe('OUTSIDE_PROJECT');
  });
});

it.each([
  [{ trust: 'yes' as never }, 'trust must be'],
  [{ typescript: 'node_modules/typescript' }, 'typescript must be the absolute path'],
  [{ idleMs: 0 }, 'idleMs must be 100 to'],
  [{ servers: [{ name: 'x', command: './x', extensions: ['.x'] }] }, 'servers[0].command must be'],
  [{ servers: [{ name: 'x', command: 'x', extensions: ['x'] }] }, 'servers[0].extensions must be'],
  [{ servers: [{ name: 'x', command: 'x', extensions: [] }] }, 'servers[0].extensions must be'],
  [{ servers: [...fixtureServer('a')!, ...fixtureServer('b')!] }, 'two entries of one name'],
])('createDiagnosticsServer() refuses wrong options: %j', async (options, message) => {
  await using project = await createTestProject();
  expect(() => createDiagnosticsServer({ projectDir: project.projectDir, ...options })).toThrow(message);
});

describe('rename()', () => {
  it.each([
    ['leaves the project', 'rename-outside', 'OUTSIDE_PROJECT'],
    ['overlaps itself', 'rename-overlap', 'PROTOCOL_VIOLATION'],
    ['deletes a file', 'rename-delete', 'INVALID_ARGUMENT'],
  ])('changes nothing when the edit of the server %s', async (_, behaviour, code) => {
    await using world = await createTestProject({ 'outside.fix': 'good', 'proj/a.fix': 'good good' });
    const servers = fixtureServer(behaviour, pathToFileURL(world.resolve('outside.fix')).href);
    await using tools = await openTools({}, { servers, projectDir: world.resolve('proj') });
    for (const dry_run of [true, false]) {
      const requested = { path: 'a.fix', line: 1, column: 1, new_name: 'bad', dry_run };
      expect(await tools.call('rename', requested)).toMatchObject({
        code,
        text: expect.stringContaining('nothing was changed'),
      });
    }
    expect(await world.read('proj/a.fix')).toBe('good good');
    expect(await world.read('outside.fix')).toBe('good');
  });
});

describe('diagnostics()', () => {
  it('lists with since what is new, and lines that move are not', async () => {
    await using tools = await openTools({ 'a.fix': BAD }, { servers: fixtureServer('pull') });
    const { token } = (await tools.call('diagnostics', PATH)).data;
    await tools.write('a.fix', `\n\n${BAD}x BAD\n`);
    const { data } = await tools.call('diagnostics', { ...PATH, since: token });
    expect(data).toMatchObject({
      files: [{ path: 'a.fix', diagnostics: [{ line: 5, column: 3 }] }],
      counts: { error: 2, warning: 1 },
    });
    expect((await tools.call('diagnostics', { ...PATH, since: data.token })).data.files).toEqual([]);
    expect((await tools.call('diagnostics', { ...PATH, since: 'unknown' })).text).toContain('has expired');
  });

  it('respects severity and limit, and reports what it omits', async () => {
    await using tools = await openTools(
      { 'a.fix': 'BAD MEH\n'.repeat(50), 'dist/b.fix': 'BAD', '.gitignore': 'dist/\n*.log\n' },
      { servers: fixtureServer('pull') },
    );
    const errors = (await tools.call('diagnostics', { severity: 'error', limit: 7 })).data;
    expect(errors).toMatchObject({ counts: { error: 50, warning: 50 }, truncated: true, complete: true, checked: 1 });
    expect(errors.files).toHaveLength(1);
    expect(errors.files[0].diagnostics).toHaveLength(7);
    expect((await tools.call('diagnostics', { path: 'dist' })).data).toMatchObject({ counts: { error: 1 } });
  });

  it('keeps memory flat while fifty files are opened and edited', async () => {
    const files = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`f${index}.fix`, BAD.repeat(20)]));
    await using tools = await openTools(files, { servers: fixtureServer('pull') });
    const round = async (number: number): Promise<void> => {
      for (const name of Object.keys(files)) await tools.write(name, `${number}\n${BAD.repeat(20)}`);
      const { data } = await tools.call('diagnostics', { wait_ms: 60_000 });
      expect(data).toMatchObject({ complete: true, counts: { error: 1_000 }, checked: 50 });
    };
    for (let number = 0; number < 3; number++) await round(number);
    const before = await heapUsed();
    for (let number = 3; number < 3 + tries(50); number++) await round(number);
    expect((await heapUsed()) - before).toBeLessThan(8 * 1024 * 1024);
  }, 120_000);
});

/** After everything that nobody holds is gone. */
async function heapUsed(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let times = 0; times < 3; times++) {
    collect();
    await nextTurn();
  }
  return process.memoryUsage().heapUsed;
}
