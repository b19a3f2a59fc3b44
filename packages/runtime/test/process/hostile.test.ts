// A provider process that means harm, and hosts and providers that do not read: real processes at real sockets. What is
// only clumsy is in faults.test.ts.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { textOf, type LogEntry, type Progress } from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';
import { createTestProject, expectNoLeaks } from '@toolwright/core/testing';
import { ProcessToolProvider, type ProcessToolProviderOptions } from '@toolwright/runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleFixtures, type BundledFixtures } from '../bundle.js';
import { soaking, tries } from '../soak.js';
import { RawPeer } from '../wire/raw-peer.js';

const MEBIBYTE = 1024 * 1024;
const HOSTILE = fileURLToPath(new URL('../fixtures/hostile-provider.mjs', import.meta.url));
const hostile = (options: Partial<ProcessToolProviderOptions> = {}): ProcessToolProvider =>
  new ProcessToolProvider({ name: 'bad', path: HOSTILE, ...options });

let fixtures: BundledFixtures;
beforeAll(async () => {
  fixtures = await bundleFixtures();
}, 60_000);
afterAll(() => fixtures[Symbol.asyncDispose]());

function residentBytes(pid: number): number {
  return 1_024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** The bytes that this process has more than before; garbage counts until it is collected, so a bound is generous. */
function growth(): () => number {
  const before = process.memoryUsage().rss;
  return () => process.memoryUsage().rss - before;
}

describe('ProcessToolProvider with a hostile process', () => {
  it('is ended for a result of 100 MB, in bounded memory, and started again', async () => {
    await using _ = expectNoLeaks();
    await using provider = hostile();
    await provider.connect();
    const grown = growth();
    const { error } = await provider.callTool('bad.echo', { mode: 'huge' });
    expect(error?.code).toBe('FRAME_TOO_LARGE'); // known at the soft limit; the connection ends at the hard one
    await expect.poll(() => provider.health().state, { timeout: 20_000 }).toBe('DEAD');
    expect(grown()).toBeLessThan(250 * MEBIBYTE);
    expect(textOf(await provider.callTool('bad.echo'))).toBe('right');
  });

  it('is understood when a large result comes byte by byte, and others are served meanwhile', async () => {
    await using provider = hostile();
    await using other = hostile();
    const bytes = soaking ? 8 * MEBIBYTE : 128 * 1024;
    const slow = provider.callTool('bad.echo', { mode: 'byte-by-byte', times: bytes }, { timeoutMs: 600_000 });
    expect(textOf(await other.callTool('bad.echo'))).toBe('right');
    expect(textOf(await slow).length).toBe(bytes / 2);
  }, 600_000);

  it('reaches no call with the progress of another or of one that has ended', async () => {
    await using provider = hostile();
    const received: Progress[] = [];
    const onProgress = (progress: Progress): void => void received.push(progress);
    const times = tries(100_000);
    await provider.callTool('bad.echo', { mode: 'own-progress', times: 3 }, { onProgress });
    await provider.callTool('bad.echo', { mode: 'foreign-progress', times }, { onProgress });
    expect(received.map(({ progress }) => progress)).toEqual([0, 1, 2]);
    expect(provider.generation!.inFlight).toBe(0);
  });

  it('cannot have its list read at each word of a change, nor tell engines of more changes than there are', async () => {
    await using provider = hostile();
    await provider.listTools();
    let told = 0;
    provider.onToolsChanged(() => told++);
    await provider.callTool('bad.echo', { mode: 'list-changed', times: tries(100_000) });
    await provider.listTools();
    const reads = Number(textOf(await provider.callTool('bad.echo', { mode: 'lists' })));
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThan(200); // one at a time, 50 ms apart, as long as the flood takes
    expect(told).toBeLessThanOrEqual(reads);
  });

  it('may have 10,000 tools, not one more, and a schema of 15 MB', async () => {
    await using many = hostile({ args: ['many-tools'] });
    expect((await many.listTools()).length).toBe(10_000);
    expect(textOf(await many.callTool('bad.t9999'))).toBe('right');
    await using more = hostile({ args: ['too-many-tools'] });
    await expect(more.connect()).rejects.toThrow(/it has 10001 tools; the limit is 10000/);
    await using large = hostile({ args: ['large-schema'] });
    expect(JSON.stringify(await large.listTools()).length).toBeGreaterThan(15 * MEBIBYTE);
    expect(textOf(await large.callTool('bad.echo'))).toBe('right');
  });

  it('is refused with few plain words for a name of 8 MB in colours', async () => {
    await using provider = hostile({ args: ['long-name'] });
    const error = await provider.connect().then(
      () => expect.unreachable(),
      (thrown: Error) => thrown,
    );
    expect(error.message.length).toBeLessThan(1_000);
    expect(error.message).not.toMatch(/\u001b/);
  });

  it('fills no log: its lines are cut, without what a terminal obeys and without its token', async () => {
    const lines: string[] = [];
    const write = (message: string): void => void lines.push(message);
    const received: LogEntry[] = [];
    await using provider = hostile({ logger: { debug: write, info: write, warn: write, error: write } });
    await provider.connect();
    const grown = growth();
    const times = soaking ? 1_000 : 40;
    await provider.callTool('bad.echo', { mode: 'log', times }, { onLog: (entry) => received.push(entry) });
    expect([lines.length, received.length]).toEqual([times, times]);
    for (const line of [...lines, ...received.map(({ message }) => message)]) {
      expect(line.length).toBeLessThanOrEqual(8_193);
      expect(line).not.toMatch(/[\u001b\u202e]|[0-9a-f]{64}/);
    }
    expect(grown()).toBeLessThan(300 * MEBIBYTE);
  });

  it('affects no one with a malformed log entry or notification', async () => {
    const lines: unknown[][] = [];
    const write = (...line: unknown[]): void => void lines.push(line);
    await using provider = hostile({ logger: { debug: write, info: write, warn: write, error: write } });
    await provider.connect();
    const { pid } = provider;
    const received: LogEntry[] = [];
    const result = await provider.callTool(
      'bad.echo',
      { mode: 'malformed-log' },
      { onLog: (entry) => received.push(entry) },
    );
    expect(textOf(result)).toBe('right');
    expect(textOf(await provider.callTool('bad.echo'))).toBe('right');
    expect(provider.pid).toBe(pid);
    expect(received.map(({ message }) => message)).toEqual(['null', '', '7', 'text', '[1]', '', '{"toString":1}', '']);
    expect(JSON.stringify(lines).length).toBeLessThan(10_000);
  });

  it('changes no prototype: not with a result, an error, a state or the names of its tools', async () => {
    await using provider = hostile();
    const result = await provider.callTool('bad.echo', { mode: 'pollute' });
    expect(textOf(result)).toBe('t');
    const failed = await provider.callTool('bad.echo', { mode: 'fail-pollute' });
    expect([failed.error?.code, failed.error!.message.length < 20_000]).toEqual(['BUSY', true]);
    const { state } = await provider.generation!.exportState();
    const next = await provider.startGeneration({ previousState: state });
    await provider.retire(next);
    await using named = hostile({ args: ['names-of-objects'] });
    expect((await named.listTools()).map(({ name }) => name)).toEqual([
      'bad.__proto__',
      'bad.constructor',
      'bad.toString',
      'bad.echo',
    ]);
    expect(textOf(await named.callTool('bad.__proto__'))).toBe('right');
    for (const name of ['hasOwnProperty', 'valueOf']) {
      expect((await named.callTool(`bad.${name}`)).error?.code).toBe('TOOL_NOT_FOUND');
    }
    const each = { ...result, ...failed } as unknown as Record<string, unknown>;
    for (const object of [{}, [], each, result.structuredContent, result._meta, failed.error?.details]) {
      expect((object as Record<string, unknown> | undefined)?.polluted).toBeUndefined();
    }
  });

  it('that reads nothing gets no more than its queue holds, and is ended in time', async () => {
    await using _ = expectNoLeaks();
    await using provider = hostile();
    await provider.connect();
    const deaf = provider.callTool('bad.echo', { mode: 'deaf' });
    const grown = growth();
    const text = 'x'.repeat(MEBIBYTE);
    const calls = Array.from({ length: 200 }, () => provider.callTool('bad.echo', { text }, { timeoutMs: 1_500 }));
    const codes = (await Promise.all(calls)).map(({ error }) => error?.code);
    expect([...new Set(codes)]).toEqual(['TIMED_OUT']);
    expect(grown()).toBeLessThan(150 * MEBIBYTE); // of 200 MiB that were given
    const startedAt = performance.now();
    await provider.disconnect();
    expect((await deaf).error?.code).toBe('CONNECTION_CLOSED');
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it('is no longer read when it sends requests without end and reads no responses, and others are not affected', async () => {
    await using _ = expectNoLeaks();
    await using provider = hostile();
    await using other = hostile();
    await Promise.all([provider.connect(), other.connect()]);
    const grown = growth();
    const asking = provider.callTool('bad.echo', { mode: 'asks-and-reads-nothing', text: 'x'.repeat(100) });
    for (let call = 0; call < 20; call++) {
      expect(textOf(await other.callTool('bad.echo'))).toBe('right');
      await new Promise((resolve) => setTimeout(resolve, 20)); // time for the flood
    }
    expect(grown()).toBeLessThan(300 * MEBIBYTE);
    await provider.disconnect();
    expect((await asking).error?.code).toBe('CONNECTION_CLOSED');
  });
});

describe.skipIf(process.platform === 'win32')('ProcessToolProvider in a host without free file descriptors', () => {
  it('calls the provider that it has, reports why no other starts, and starts it when there are some', async () => {
    await using project = await createTestProject({});
    const raw = fileURLToPath(new URL('../fixtures/raw-provider.mjs', import.meta.url));
    await using host = spawnChild({
      command: 'sh',
      args: [
        '-c',
        'ulimit -n 96; exec "$@"',
        'sh',
        process.execPath,
        fixtures.file('crowded-host'),
        raw,
        project.projectDir,
      ],
      cwd: '/',
    });
    let said = '';
    host.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    expect((await host.exited).code, host.stderrTail()).toBe(0);
    const { started, ...rest } = JSON.parse(said) as Record<string, string>;
    expect(rest).toEqual({ before: 'right', connected: 'right', after: 'right' });
    expect(['SPAWN_FAILED', 'TIMED_OUT']).toContain(started); // and not for good
  }, 60_000);
});

describe('startProvider() in an honest process', () => {
  it.skipIf(process.platform !== 'linux')(
    'holds no more than a queue of answers for a host that reads none',
    async () => {
      await using project = await createTestProject({});
      const path = join(project.projectDir, 's');
      const server = createServer().listen(path);
      await once(server, 'listening');
      await using child = spawnChild({
        command: process.execPath,
        args: [fixtures.file('lab-provider')],
        cwd: '/',
        stdin: 'pipe',
        extraEnv: { TOOLWRIGHT_SOCKET: path, TOOLWRIGHT_PROVIDER: 'lab', TOOLWRIGHT_TOKEN: 'feed' },
      });
      const [socket] = (await once(server, 'connection')) as [Socket];
      using host = new RawPeer(socket);
      const { id } = await host.next();
      const limits = { maxFrameBytes: 16 * MEBIBYTE, maxDepth: 64 };
      host.send({ id, result: { protocol: 1, config: {}, variables: {}, previousState: null, limits } });
      const settings = { config: {}, variables: {}, previousState: null, reason: 'start', isReinitialization: false };
      host.send({ id: 'i', method: 'provider/initialize', params: settings });
      await host.next(({ id: answered }) => answered === 'i');
      const before = residentBytes(child.pid!);
      socket.pause();
      const text = 'x'.repeat(MEBIBYTE);
      const calls = 150;
      for (let call = 0; call < calls; call++) {
        host.send({ id: call, method: 'tools/call', params: { name: 'echo', arguments: { text } } });
      }
      let most = 0;
      for (let look = 0; look < 20; look++) {
        most = Math.max(most, residentBytes(child.pid!) - before);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect(most).toBeLessThan(120 * MEBIBYTE); // of 150 that are asked for
      expect(socket.writableLength).toBeGreaterThan(50 * MEBIBYTE); // it reads no more requests either
      let answers = 0;
      socket.removeAllListeners('data').on('data', (chunk: string) => (answers += chunk.split('\n').length - 1));
      socket.resume();
      await expect.poll(() => answers, { timeout: 30_000 }).toBe(calls);
      socket.destroy();
      await child.exited;
      server.close();
    },
    60_000,
  );

  it('keeps __proto__ in config and state an ordinary key', async () => {
    const config = JSON.parse('{"__proto__":{"polluted":1},"mode":"x"}') as Record<string, unknown>;
    await using provider = new ProcessToolProvider({ name: 'lab', path: fixtures.file('lab-provider'), config });
    const { structuredContent } = await provider.callTool('lab.state');
    expect(
      (structuredContent as { settings: { config: { mode: string; polluted?: unknown } } }).settings.config.mode,
    ).toBe('x');
    const { state } = await provider.generation!.exportState();
    expect((state as { polluted?: unknown }).polluted).toBeUndefined();
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect((await provider.callTool('lab.state')).isError).toBe(false);
  });
});
