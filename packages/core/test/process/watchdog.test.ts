// No process outlives a host. Real hosts are killed at various moments, and leftover processes are searched from outside.

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { spawnChild, type Child } from '@toolwright/core/process';
import { createTestProject, type TestProject } from '@toolwright/core/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startOf } from '../../src/process/stray-processes.js';
import { WATCHDOG_SCRIPT } from '../../src/process/watchdog-script.js';
import { Watchdog } from '../../src/process/watchdog.js';
import { bundleFixture } from '../mcp/bundle.js';
import { soaking, tries } from '../soak.js';
import {
  becomes,
  carrying,
  descendantsOf,
  isRunning,
  threadsOf,
  watchdogsOf,
  WITHOUT_FIRST_THREAD,
} from './outside.js';

const FIXTURES = fileURLToPath(new URL('fixtures/', import.meta.url));
const MCP_SERVER = fileURLToPath(new URL('../mcp/fixtures/hostile.mjs', import.meta.url));
const noPython = spawnSync('python3', ['-V']).status !== 0;
/** Documented are two seconds; a busy machine needs more. */
const PATIENCE_MS = 20_000;

let host: Awaited<ReturnType<typeof bundleFixture>>;
let busyHost: Awaited<ReturnType<typeof bundleFixture>>;
/** The state directory of all hosts of these tests. */
let state: TestProject;
let round = 0;
const started: Child[] = [];

beforeAll(async () => {
  [host, busyHost, state] = await Promise.all([
    bundleFixture('host', FIXTURES),
    bundleFixture('busy-host', FIXTURES),
    createTestProject({}),
  ]);
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((child) => child.end({ graceMs: 0 })));
});
afterAll(async () => {
  await Promise.all([host, busyHost, state].map((each) => each[Symbol.asyncDispose]()));
});

interface Host {
  child: Child;
  pid: number;
  /** Set in the environment of all its processes, as the variable is on the allow-list. */
  label: string;
}

function startHost(mode: string, ...args: string[]): Host {
  const label = `LC_TOOLWRIGHT_ROUND=${process.pid}.${++round}.`;
  const child = spawnChild({
    command: process.execPath,
    args: [host.file, mode, ...args],
    cwd: '/',
    stdin: 'pipe',
    extraEnv: { LC_TOOLWRIGHT_ROUND: label.slice(label.indexOf('=') + 1), XDG_STATE_HOME: state.projectDir },
  });
  started.push(child);
  return { child, pid: child.pid!, label };
}

async function said(child: Child): Promise<Record<string, number>> {
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  return JSON.parse(chunk.toString().split('\n', 1)[0]!) as Record<string, number>;
}

/** Expects that the processes of a host end, and then its watchdog. Returns how long the processes took. */
async function expectAllGone({ pid, label }: Host, others: readonly number[] = []): Promise<number> {
  const from = performance.now();
  const left = (): number[] => [...new Set([...carrying(label), ...others.filter(isRunning)])];
  expect(await becomes(() => left().length === 0, PATIENCE_MS), `left: ${left().join(', ')}`).toBe(true);
  const tookMs = performance.now() - from;
  expect(await becomes(() => watchdogsOf(pid).length === 0, PATIENCE_MS)).toBe(true);
  expect(left()).toEqual([]);
  return tookMs;
}

/** The only watchdog, after its starting and helper processes have ended. */
async function watchdogOf({ pid }: Host): Promise<number> {
  expect(await becomes(() => watchdogsOf(pid).length === 1)).toBe(true);
  return watchdogsOf(pid)[0]!;
}

const kill = ({ pid }: { pid: number }, name: NodeJS.Signals = 'SIGKILL'): true => process.kill(pid, name);
const journalDirectory = (): string => join(state.projectDir, 'toolwright', 'processes');
const journals = async (): Promise<string[]> => readdir(journalDirectory()).catch(() => []);

describe.skipIf(process.platform !== 'linux')('Watchdog of a host that is killed', () => {
  const ROUNDS = soaking ? 200 : tries(200);
  it(`leaves no process, whatever it was doing: ${ROUNDS} times`, { timeout: ROUNDS * 10_000 }, async (context) => {
    await using project = await createTestProject({ 'a.txt': 'a\n' }, { git: true });
    const seed = Number(process.env['TOOLWRIGHT_SEED'] ?? Date.now() % 1_000_000);
    const random = randomOf(seed);
    const times: number[] = [];
    let alive = 0;
    let begun = 0;
    const one = async (): Promise<void> => {
      const label = `LC_TOOLWRIGHT_ROUND=${process.pid}.${++round}.`;
      const child = spawnChild({
        command: process.execPath,
        args: [busyHost.file, project.projectDir, MCP_SERVER],
        cwd: '/',
        extraEnv: { LC_TOOLWRIGHT_ROUND: label.slice(label.indexOf('=') + 1), XDG_STATE_HOME: state.projectDir },
      });
      child.stdout.resume();
      const pid = child.pid!;
      await delay(random() * 1_200);
      const below = descendantsOf(pid);
      if (below.length > 0) alive++;
      kill({ pid });
      times.push(await expectAllGone({ child, pid, label }, below));
      await child.exited;
      await child.end();
    };
    const lane = async (): Promise<void> => {
      while (begun++ < ROUNDS) await one();
    };
    await Promise.all([lane(), lane(), lane(), lane()]);
    times.sort((a, b) => a - b);
    const [median, last] = [times[times.length >> 1]!, times.at(-1)!].map(Math.round);
    await context.annotate(
      `seed ${seed}: gone after ${median} ms (median), ${last} ms (longest); ${alive} had programs`,
    );
    expect(alive).toBeGreaterThan(times.length / 4);
  });

  it('leaves processes while its watchdog is stopped, and none once it continues', async () => {
    const one = startHost('family');
    await said(one.child);
    const watchdog = await watchdogOf(one);
    kill({ pid: watchdog }, 'SIGSTOP');
    kill(one);
    await one.child.exited;
    await delay(300);
    expect(carrying(one.label).length).toBeGreaterThan(3);
    kill({ pid: watchdog }, 'SIGCONT');
    await expectAllGone(one);
  });

  it.skipIf(noPython)(
    `leaves no process whose first thread has ended${noPython ? ' (skipped: no python3)' : ''}`,
    async () => {
      const one = startHost('python', WITHOUT_FIRST_THREAD);
      const { pid = 0 } = await said(one.child);
      expect(await becomes(() => !isRunning(pid))).toBe(true); // as its first thread looks
      expect(threadsOf(pid)).toBe(2);
      kill(one);
      expect(await becomes(() => threadsOf(pid) < 2, PATIENCE_MS)).toBe(true);
      await expectAllGone(one);
    },
  );

  it('leaves no process when it is killed before it can report what it started', async () => {
    const one = startHost('killed-between');
    expect(await one.child.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await expectAllGone(one);
  });

  it('leaves no process when the terminal interrupts its whole group', async () => {
    const one = startHost('family');
    await said(one.child);
    process.kill(-one.pid, 'SIGINT');
    expect((await one.child.exited).signal).toBe('SIGINT');
    await expectAllGone(one);
  });

  it(`does not affect another host's processes`, async () => {
    const [one, other] = [startHost('sleeper'), startHost('sleeper')];
    const [, { pid = 0 }] = await Promise.all([said(one.child), said(other.child)]);
    kill(one);
    await expectAllGone(one);
    expect(isRunning(pid)).toBe(true);
    kill(other);
    await expectAllGone(other);
  });

  it('leaves no process of a second copy of the module or of its threads, each of which has a watchdog', async () => {
    const copies = startHost('bundles');
    await said(copies.child);
    expect(await becomes(() => watchdogsOf(copies.pid).length === 2)).toBe(true);
    kill(copies);
    await expectAllGone(copies);
  });

  it('ends the processes of a thread that ends, and no others', async () => {
    const one = startHost('thread');
    const { worker = 0, pid = 0 } = await said(one.child);
    expect([isRunning(worker), isRunning(pid)]).toEqual([true, true]);
    one.child.stdin!.write('end the thread\n');
    await said(one.child);
    expect(await becomes(() => !isRunning(worker))).toBe(true);
    expect(isRunning(pid)).toBe(true);
    kill(one);
    await expectAllGone(one);
  });
});

describe.skipIf(process.platform !== 'linux')('Watchdog of a host that exits', () => {
  it.each(['ends-by-itself', 'exits-at-once', 'exits-between'])('leaves nothing when it %s', async (mode) => {
    const one = startHost(mode);
    // Its watchdog must not hold inherited descriptors.
    await Promise.all([one.child.exited, text(one.child.stdout)]);
    expect((await one.child.exited).code).toBe(mode === 'ends-by-itself' ? 7 : 0);
    await expectAllGone(one);
  });

  it('is not kept alive by its watchdog, which exits with it', async () => {
    const one = startHost('runs-out');
    const from = performance.now();
    expect(await text(one.child.stdout)).toBe('{}\n');
    expect((await one.child.exited).code).toBe(0);
    await expectAllGone(one);
    expect(performance.now() - from).toBeLessThan(PATIENCE_MS);
    expect(await journals()).toEqual([]);
  });

  it('does not report its watchdog as a leak', async () => {
    const one = startHost('leaks');
    expect(await text(one.child.stdout), one.child.stderrTail()).toBe('{}\n');
  });
});

describe.skipIf(process.platform !== 'linux')('Watchdog', () => {
  it('is replaced when it is killed, and the replacement knows what runs', async () => {
    const one = startHost('family');
    await said(one.child);
    const first = await watchdogOf(one);
    for (let killed = 0; killed < 3; killed++) {
      const last = await watchdogOf(one);
      kill({ pid: last });
      expect(await becomes(() => watchdogsOf(one.pid).some((pid) => pid !== last))).toBe(true);
    }
    expect(watchdogsOf(one.pid)).not.toContain(first);
    kill(one);
    await expectAllGone(one);
  });

  it('that was killed with its host leaves a journal, which the next host cleans up; journals of running hosts are kept', async () => {
    const living = startHost('sleeper');
    const { pid: bystander = 0 } = await said(living.child);
    const one = startHost('family');
    await said(one.child);
    const watchdog = await watchdogOf(one);
    await expect.poll(journals).toHaveLength(2);
    kill(one, 'SIGSTOP'); // or it would start another
    kill({ pid: watchdog });
    kill(one);
    await one.child.exited;
    await delay(300);
    expect(carrying(one.label).length).toBeGreaterThan(3);
    expect(await journals()).toHaveLength(2);

    const next = startHost('sleeper');
    const { pid = 0 } = await said(next.child);
    await expectAllGone(one);
    expect(await becomes(() => watchdogsOf(next.pid).length === 1)).toBe(true);
    expect([isRunning(bystander), isRunning(pid)]).toEqual([true, true]);
    expect(await journals()).toHaveLength(2);
    for (const host of [living, next]) kill(host);
    await Promise.all([expectAllGone(living), expectAllGone(next)]);
    expect(await journals()).toEqual([]);
  });

  it('that cleans up a journal kills the listed processes, but no process that reuses a pid', async () => {
    await mkdir(journalDirectory(), { recursive: true, mode: 0o700 });
    const here = async (): Promise<string> => {
      const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'latin1')).trim();
      return `${boot} ${await readlink('/proc/self/ns/pid')}`;
    };
    const sleeper = (): Child => {
      const child = spawnChild({ command: 'sleep', args: ['300'], cwd: '/' });
      started.push(child);
      return child;
    };
    const [named, renumbered, leaderless, other] = [sleeper(), sleeper(), sleeper(), sleeper()];
    const start = (child: Child): number => startOf(child.pid!);
    const journal = (name: string, ...lines: string[]): Promise<void> =>
      writeFile(join(journalDirectory(), name), `${lines.join('\n')}\n`, { mode: 0o600 });
    const mark = 'a0'.repeat(16);
    const dead = `${await here()} 2 1 ${mark}`; // a number that is another's since the boot
    const add = (child: Child, at = start(child)): string => `+ ${child.pid} ${at}`;
    await journal(
      'dead',
      dead,
      add(named),
      add(renumbered, start(renumbered) - 1),
      `~ ${leaderless.pid}`,
      '+ x 1',
      '+',
      '',
    );
    await journal('alive', `${await here()} ${process.pid} ${startOf(process.pid)} ${mark}`, add(other));
    await journal('elsewhere', `0b7e ${await readlink('/proc/self/ns/pid')} 2 1 ${mark}`, add(other));
    await journal('no-mark', `${await here()} 2 1`, add(other));
    await journal('empty-mark', `${await here()} 2 1 `, add(other));
    await symlink(join(journalDirectory(), 'dead'), join(journalDirectory(), 'link'));
    const one = startHost('sleeper');
    await said(one.child);
    expect(await named.exited).toEqual({ code: null, signal: 'SIGTERM' });
    expect(await becomes(() => !existsSync(join(journalDirectory(), 'dead')))).toBe(true);
    expect([renumbered, leaderless, other].map(({ pid }) => isRunning(pid!))).toEqual([true, true, true]);
    kill(one);
    await expectAllGone(one);
    expect((await journals()).toSorted()).toEqual(['alive', 'elsewhere', 'empty-mark', 'link', 'no-mark']);
    await rm(journalDirectory(), { recursive: true });
  });

  it('keeps no journal in a directory that others can write to', async () => {
    await mkdir(journalDirectory(), { recursive: true, mode: 0o700 });
    await chmod(journalDirectory(), 0o777);
    const one = startHost('family');
    await said(one.child);
    kill(one);
    await expectAllGone(one);
    expect(await journals()).toEqual([]);
    await rm(journalDirectory(), { recursive: true });
  });

  it('that is stopped does not block the host, and is replaced once its pipe is full', async () => {
    const one = startHost('waits', 'flood', '2600');
    await said(one.child);
    const first = await watchdogOf(one);
    kill({ pid: first }, 'SIGSTOP');
    one.child.stdin!.write('go\n');
    const { count, longestMs } = await said(one.child);
    expect(count).toBeGreaterThan(200);
    expect(longestMs).toBeLessThan(2_000);
    expect(await becomes(() => watchdogsOf(one.pid).length === 1 && watchdogsOf(one.pid)[0] !== first)).toBe(true);
    kill(one);
    await expectAllGone(one);
  });

  it('does not put its mark into arguments of programs', async () => {
    await using project = await createTestProject({});
    const at = (name: string): string => join(project.projectDir, name);
    const programs = ['grep', 'sleep', 'ls', 'mkdir', 'mv', 'rm', 'find'];
    for (const name of programs) {
      const wrapper = `#!/bin/sh\necho "${name} $*" >> '${at('ran')}'\nPATH=/usr/bin:/bin\nexec ${name} "$@"\n`;
      await writeFile(at(name), wrapper, { mode: 0o700 });
    }
    const mark = 'b1'.repeat(16);
    await mkdir(at('journals'), { mode: 0o700 });
    await writeFile(at('journals/old'), 'elsewhere 1 1 1\n');
    const changes = Array.from({ length: 1_001 }, () => '- 99999999\n').join('');
    await writeFile(at('changes'), changes);
    const env = { PATH: project.projectDir, MARK: mark, HOST: 'boot space 1 1', JOURNAL: at('journals/own') };
    await using child = spawnChild({
      command: '/bin/sh',
      args: ['-c', `exec 3<'${at('changes')}'; eval "$SCRIPT"`],
      cwd: '/',
      env: { ...env, SCRIPT: WATCHDOG_SCRIPT },
    });
    child.stdout.resume();
    await child.exited;
    const ran = await readFile(at('ran'), 'utf8');
    expect(new Set(ran.match(/^\w+/gm))).toEqual(new Set(programs.filter((name) => name !== 'mkdir')));
    expect(ran).not.toContain(mark);
  });

  it.each([
    ['/no/such/shell', /watchdog of Toolwright does not run.*ENOENT.*may continue to run/],
    ['/bin/false', /watchdog of Toolwright does not run.*ends immediately after its start.*may continue to run/],
  ])('that is %s costs a warning, once, and no program', async (shell, words) => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    try {
      const watchdog = new Watchdog(shell);
      watchdog.ensure();
      await becomes(() => warnings.length > 0);
      watchdog.ensure();
      await delay(20);
      expect(warnings.map(({ message }) => message)).toEqual([expect.stringMatching(words)]);
    } finally {
      process.off('warning', listen);
    }
  });
});

/** Mulberry32. https://gist.github.com/tommyettinger/46a874533244883189143505d203312c */
function randomOf(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
