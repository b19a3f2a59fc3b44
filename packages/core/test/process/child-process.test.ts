import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type ToolError } from '../../src/contract/errors.js';
import { endMarked, spawnChild, type Child, type SpawnOptions } from '../../src/process/index.js';
import { threadsOf, WITHOUT_FIRST_THREAD } from './outside.js';

const fixture = (name: string): string => join(import.meta.dirname, 'fixtures', name);
const cwd = tmpdir();
const noPython = spawnSync('python3', ['-V']).status !== 0;
const open: Child[] = [];

function start(options: Partial<SpawnOptions> & { args: readonly string[] }): Child {
  const child = spawnChild({ command: process.execPath, cwd, ...options });
  open.push(child);
  return child;
}

const shell = (script: string, options: Partial<SpawnOptions> = {}): Child =>
  start({ command: 'sh', args: ['-c', script], ...options });

async function firstLine(child: Child): Promise<string> {
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  return chunk.toString().trim();
}

/** A zombie counts as ended: this machine's init may be slow to reap. */
function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((child) => child.end({ graceMs: 0 })));
});

describe('spawnChild()', () => {
  it('spawnChild() returns the output and the exit code when the program exits by itself', async () => {
    const child = shell('echo out; echo err >&2; exit 3');
    expect(await text(child.stdout)).toBe('out\n');
    expect(await child.exited).toEqual({ code: 3, signal: null });
    await finished(child.stderr);
    expect(child.stderrTail()).toBe('err\n');
  });

  it('spawnChild() passes arguments as they are when they look like shell syntax', async () => {
    const child = start({ args: ['-p', 'process.argv[1]', '--', '$(id); `id` && "*"'] });
    expect(await text(child.stdout)).toBe('$(id); `id` && "*"\n');
  });

  it('spawnChild() makes the child the leader of its own group when it starts it', async () => {
    const child = shell('sleep 30');
    const stat = readFileSync(`/proc/${child.pid}/stat`, 'latin1');
    expect(Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2])).toBe(child.pid);
  });

  it('spawnChild() passes an end of file as stdin when stdin is not requested', async () => {
    const child = shell('cat; echo done');
    expect(child.stdin).toBeNull();
    expect(await text(child.stdout)).toBe('done\n');
  });

  it(`spawnChild() does not pass the host's secrets when env is not set`, async () => {
    process.env.GITHUB_TOKEN = 'canary-1';
    process.env.LC_CANARY = 'kept';
    process.env.NODE_OPTIONS_CANARY = 'canary-2';
    try {
      const child = start({ args: ['-p', 'JSON.stringify(process.env)'], extraEnv: { ADDED: 'yes' } });
      const printed = await text(child.stdout);
      expect(printed).not.toContain('canary');
      const env = JSON.parse(printed) as Record<string, string>;
      expect(env).toMatchObject({ ADDED: 'yes', LC_CANARY: 'kept', PATH: process.env.PATH });
    } finally {
      delete process.env.GITHUB_TOKEN;
      delete process.env.LC_CANARY;
      delete process.env.NODE_OPTIONS_CANARY;
    }
  });

  it('spawnChild() uses env as the whole environment when it is set', async () => {
    const child = start({ args: ['-p', 'JSON.stringify(process.env)'], env: { ONLY: '1' }, extraEnv: { AND: '2' } });
    const { TOOLWRIGHT_HOST_MARK: mark, ...env } = JSON.parse(await text(child.stdout)) as Record<string, string>;
    expect(env).toEqual({ ONLY: '1', AND: '2' });
    expect(mark).toMatch(/^[0-9a-f]{32}$/);
  });

  it('spawnChild() keeps the last 8 KiB of stderr when the program floods it', async () => {
    const child = start({ args: ['-e', 'process.stderr.write("é".repeat(500_000) + "END")'] });
    await finished(child.stderr);
    const tail = child.stderrTail();
    expect(tail).toMatch(/^é+END$/);
    expect(Buffer.byteLength(tail)).toBeGreaterThan(8 * 1024 - 4);
    expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(8 * 1024);
  });

  it('spawnChild() does not crash the host when the child closed its stdin', async () => {
    const child = start({ args: [fixture('deaf.mjs')], stdin: 'pipe' });
    await firstLine(child);
    const error = await new Promise((resolve) => child.stdin?.write('x'.repeat(1024), resolve));
    expect((error as NodeJS.ErrnoException).code).toBe('EPIPE');
  });

  it('spawnChild() rejects exited with SPAWN_FAILED when the program does not exist', async () => {
    const child = start({ command: 'no-such-program-7d1f', args: [] });
    const error = await child.exited.catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'SPAWN_FAILED',
      details: { command: 'no-such-program-7d1f', errno: 'ENOENT' },
    });
    expect((error as ToolError).message).toMatch(/"no-such-program-7d1f".*PATH.*install it/);
    expect(child.pid).toBeUndefined();
    expect(await text(child.stdout)).toBe('');
    await child.end();
  });

  it('spawnChild() reports the working directory when it does not exist', async () => {
    const child = start({ command: 'sh', args: [], cwd: '/no/such/directory' });
    await expect(child.exited).rejects.toThrow(/working directory \/no\/such\/directory/);
  });

  it('spawnChild() causes no unhandled rejection when a failed start is not observed', async () => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', listener);
    start({ command: 'no-such-program-7d1f', args: [] });
    start({ args: ['a\0b'] });
    await delay(50);
    process.off('unhandledRejection', listener);
    expect(unhandled).toEqual([]);
  });

  it('spawnChild() rejects exited with INVALID_ARGUMENT when an argument holds a NUL', async () => {
    await expect(start({ args: ['a\0b'] }).exited).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('spawnChild() starts nothing when its signal is already aborted', async () => {
    const child = start({ args: [], signal: AbortSignal.abort() });
    await expect(child.exited).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(child.pid).toBeUndefined();
  });

  it('spawnChild() ends the child by the kill ladder when its signal is aborted', async () => {
    const controller = new AbortController();
    const child = start({ args: [fixture('graceful.mjs')], signal: controller.signal });
    await firstLine(child);
    controller.abort();
    expect(await child.exited).toEqual({ code: 7, signal: null });
  });

  it('spawnChild() leaves no listener on its signal when the child has exited', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const counted = Object.assign(Object.create(signal) as AbortSignal, {
      addEventListener: () => listeners++,
      removeEventListener: () => listeners--,
    });
    Object.defineProperty(counted, 'aborted', { value: false });
    await shell('exit 0', { signal: counted }).exited;
    expect(listeners).toBe(0);
  });
});

describe('Child.end()', () => {
  it('end() lets the child exit by itself when it handles SIGTERM', async () => {
    const child = start({ args: [fixture('graceful.mjs')], stdin: 'pipe' });
    await firstLine(child);
    await child.end({ graceMs: 10_000 });
    expect(await child.exited).toEqual({ code: 7, signal: null });
  });

  it('end() kills child and grandchild when both ignore SIGTERM', async () => {
    const child = start({ args: [fixture('stubborn.mjs')] });
    const grandchild = Number(await firstLine(child));
    expect(isRunning(grandchild)).toBe(true);
    const startedAt = performance.now();
    await child.end({ graceMs: 200 });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(199);
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(isRunning(grandchild)).toBe(false);
  });

  it('end() ends the rest of the group when the child itself has exited', async () => {
    const child = start({ args: [fixture('orphaning.mjs')] });
    const grandchild = Number(await firstLine(child));
    await child.exited;
    expect(isRunning(grandchild)).toBe(true);
    await child.end({ graceMs: 5_000 });
    expect(isRunning(grandchild)).toBe(false);
  });

  it('end() resolves immediately when the child has exited and left nothing', async () => {
    const child = shell('exit 0');
    await child.exited;
    const startedAt = performance.now();
    await child.end({ graceMs: 10_000 });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it('end() runs one kill ladder for concurrent calls', async () => {
    const child = start({ args: [fixture('stubborn.mjs')] });
    await firstLine(child);
    const first = child.end({ graceMs: 50 });
    const second = child.end({ graceMs: 60_000 });
    expect(second).toBe(first);
    await second;
    expect(await child.exited).toMatchObject({ signal: 'SIGKILL' });
  });

  it('end() sends no signal when the program exits by itself after a request, before its stdin is closed', async () => {
    const child = shell('read word; echo "$word"; cat; exit 5', { stdin: 'pipe' });
    const answered = firstLine(child);
    let signalled: AbortSignal | undefined;
    await child.end({
      ask: async (signal) => {
        signalled = signal;
        child.stdin?.write('bye\n');
        expect(await answered).toBe('bye');
        expect(child.stdin?.writableEnded).toBe(false);
      },
      askMs: 10_000,
    });
    expect(await child.exited).toEqual({ code: 5, signal: null });
    expect(signalled?.aborted).toBe(true);
  });

  it.each([
    ['never answers', () => new Promise(() => {})],
    ['fails', () => Promise.reject(new Error('no'))],
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
  ])('end() continues when the callback %s', async (_, ask) => {
    const child = start({ args: [fixture('graceful.mjs')] });
    await firstLine(child);
    await child.end({ ask, askMs: 50, graceMs: 10_000 });
    expect(await child.exited).toEqual({ code: 7, signal: null });
  });

  it('end() is hastened by a later call with shorter timeouts, and by an abort', async () => {
    const never = (): Promise<never> => new Promise(() => {});
    const child = start({ args: [fixture('stubborn.mjs')] });
    await firstLine(child);
    const first = child.end({ ask: never, askMs: 60_000, graceMs: 60_000 });
    const second = child.end({ graceMs: 60_000 }); // nothing more is asked
    expect(second).toBe(first);
    await delay(20);
    void child.end({ graceMs: 20 });
    await first;
    expect(await child.exited).toMatchObject({ signal: 'SIGKILL' });

    const controller = new AbortController();
    const other = start({ args: [fixture('graceful.mjs')], signal: controller.signal });
    await firstLine(other);
    const ending = other.end({ ask: never, askMs: 60_000 });
    controller.abort();
    await ending;
    expect(await other.exited).toEqual({ code: 7, signal: null });
  });

  it('end() kills a child that is stopped by SIGSTOP', async () => {
    const child = shell('kill -STOP $$; sleep 30');
    while (!/^T/.test(stateOf(child.pid))) await delay(5);
    await child.end({ graceMs: 50 });
    expect(await child.exited).toMatchObject({ signal: 'SIGKILL' });
  });

  it('end() closes the pipes when a process outside the group still holds them', async () => {
    const child = shell('setsid sleep 30 & echo $!; wait');
    child.stdout.resume();
    const escaped = Number(await firstLine(child));
    await child.end({ graceMs: 1_000 });
    expect(child.stdout.destroyed).toBe(true);
    if (isRunning(escaped)) process.kill(escaped, 'SIGKILL');
  });
});

function stateOf(pid: number | undefined): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2);
}

describe('spawnChild() with a mark', () => {
  const pidsIn = (printed: string): number[] => printed.trim().split('\n').map(Number);

  it('end() ends a process that left the session when it carries the mark', async () => {
    const child = shell('setsid sh -c "echo \\$\\$; exec sleep 30" & wait', { mark: 'test-mark-1' });
    const [stray] = pidsIn(await firstLine(child));
    expect(child.runningPids()).toContain(stray);
    expect(child.runningPids()).toContain(child.pid);
    await child.end({ graceMs: 100 });
    expect(isRunning(stray!)).toBe(false);
    expect(child.runningPids()).toEqual([]);
  });

  it('end() ends a process that cleared its environment when it descends from the child', async () => {
    const child = shell('env -i setsid -w sh -c "echo \\$\\$; exec sleep 30"; true', { mark: 'test-mark-2' });
    const [stray] = pidsIn(await firstLine(child));
    await child.end({ graceMs: 100 });
    expect(isRunning(stray!)).toBe(false);
  });

  it('end() kills such a process even when it ignores SIGTERM and its parent has exited', async () => {
    const deaf = 'trap \\"\\" TERM; echo \\$\\$; while :; do sleep 1; done';
    const child = shell(`env -i setsid -w sh -c "${deaf}"; true`, { mark: 'test-mark-5' });
    const [stray] = pidsIn(await firstLine(child));
    await child.end({ graceMs: 100 });
    expect(isRunning(stray!)).toBe(false);
  });

  it('end() kills such a process when its parent exits at the end of its stdin', async () => {
    const child = shell('env -i setsid sh -c "echo \\$\\$; exec sleep 30" & cat', {
      mark: 'test-mark-6',
      stdin: 'pipe',
    });
    const [stray] = pidsIn(await firstLine(child));
    await child.end({ askMs: 300, graceMs: 100 });
    expect(isRunning(stray!)).toBe(false);
  });

  it('end() kills a process that left the group while it was ended', async () => {
    const leave = 'env -i setsid sh -c "echo \\$\\$; exec sleep 30" & sleep 0.3; exit';
    const child = shell(`trap '${leave}' TERM; echo ready; while :; do sleep 0.05; done`, { mark: 'test-mark-7' });
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    await firstLine(child);
    await child.end({ graceMs: 2_000 });
    const stray = Number(printed.split('\n')[1]);
    expect(stray).toBeGreaterThan(0);
    expect(isRunning(stray)).toBe(false);
  });

  it.skipIf(noPython)(
    `end() kills a process whose first thread has ended${noPython ? ' (skipped: no python3)' : ''}`,
    async () => {
      const child = start({ command: 'sh', args: ['-c', 'python3 -c "$0" & wait', WITHOUT_FIRST_THREAD] });
      const [pid] = pidsIn(await firstLine(child));
      expect([stateOf(pid)[0], threadsOf(pid!)]).toEqual(['Z', 2]);
      await child.end({ graceMs: 100 });
      expect(threadsOf(pid!)).toBeLessThan(2); // a dead one that nobody has reaped has its last
    },
  );

  it('end() does not affect processes with a different mark, even with a common prefix', async () => {
    const child = shell('echo ready; sleep 30', { mark: 'test-mark-3' });
    await firstLine(child);
    const other = shell('echo ready; sleep 30', { mark: 'test-mark-30' });
    await firstLine(other);
    await child.end({ graceMs: 100 });
    expect(isRunning(other.pid!)).toBe(true);
    await endMarked('test-mark-3');
    expect(isRunning(other.pid!)).toBe(false);
  });

  it('signal() reaches the group and the processes that left it', async () => {
    const script = "trap 'echo told' USR1; echo ready; while :; do sleep 0.05; done";
    const child = shell(`setsid sh -c "${script.replaceAll('"', '\\"')}" & wait`, { mark: 'test-mark-4' });
    await firstLine(child);
    const told = once(child.stdout, 'data');
    child.signal('SIGUSR1');
    expect(String((await told)[0])).toContain('told');
  });
});
