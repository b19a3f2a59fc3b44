// What killed hosts leave in the directory for temporary files, and what a later host takes for it.

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { spawnChild, type Child } from '@toolwright/core/process';
import { ProviderListener } from '@toolwright/runtime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { removeStaleDirectories } from '../../src/wire/stale-directories.js';
import { bundleFixtures, type BundledFixtures } from '../bundle.js';

const NAMES = ['s', 's.new'];
let fixtures: BundledFixtures;
let base: string;
const hosts: Child[] = [];
beforeAll(async () => {
  fixtures = await bundleFixtures();
}, 60_000);
afterAll(() => fixtures[Symbol.asyncDispose]());
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'stale-'));
});
afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.end({ graceMs: 0 })));
  await rm(base, { recursive: true });
});

/** A host of its own, and the directory of its socket. */
async function startHost(): Promise<{ host: Child; directory: string }> {
  const host = spawnChild({ command: process.execPath, args: [fixtures.file('listening-host'), base], cwd: '/' });
  hosts.push(host);
  const [line] = (await once(host.stdout, 'data')) as [Buffer];
  return { host, directory: dirname(line.toString().trim()) };
}

async function startKilledHost(): Promise<string> {
  const { host, directory } = await startHost();
  process.kill(host.pid!, 'SIGKILL');
  await host.exited;
  expect(await readdir(directory)).toEqual(['s']); // what this is about
  return directory;
}

describe.skipIf(process.platform !== 'linux')('removeStaleDirectories()', () => {
  it('is done by the next host that listens, which leaves those of hosts that run', async () => {
    const { directory: running } = await startHost(); // first, as it would remove the other's
    const killed = await startKilledHost();
    const expectation = await new ProviderListener({ directory: base }).expect('next', {
      config: {},
      variables: {},
      previousState: null,
    });
    await expect.poll(() => existsSync(killed), { timeout: 10_000 }).toBe(false);
    expect([existsSync(join(running, 's')), existsSync(expectation.socketPath)]).toEqual([true, true]);
    await expectation.release();
  });

  it('leaves what is not known to be of an ended host of this user, on this system', async () => {
    const killed = await startKilledHost();
    const [, place = '', pid = '', start = ''] = basename(killed).split('-');
    const also = (...parts: string[]): string => join(base, ['toolwright', ...parts].join('-'));
    const make = async (path: string): Promise<string> => (await mkdir(path, { mode: 0o700 }), path);
    const kept = [
      await make(also('abcdef')), // of whom, nobody knows
      await make(also(place === 'f'.repeat(8) ? '0'.repeat(8) : 'f'.repeat(8), pid, start, 'aaaaaa')), // of another boot
      await make(also(place, pid, start, 'aaaaaa', 'more')),
      await make(also(place, pid, start, 'shared')),
      await make(also(place, pid, start, 'filled')),
      await make(also(place, pid, start, 'notsok')),
    ];
    await chmod(also(place, pid, start, 'shared'), 0o755);
    await writeFile(join(also(place, pid, start, 'filled'), 'mine'), '');
    await writeFile(join(also(place, pid, start, 'notsok'), 's'), 'no socket');
    await mkdir(join(base, 'elsewhere'), { mode: 0o700 });
    await rename(join(killed, 's'), join(base, 'elsewhere', 's'));
    await symlink(join(base, 'elsewhere'), also(place, pid, start, 'linked'));
    kept.push(also(place, pid, start, 'linked'), join(base, 'elsewhere', 's'));
    if (process.getuid?.() === 0) {
      kept.push(await make(also(place, pid, start, 'theirs')));
      await chown(also(place, pid, start, 'theirs'), 12_345, 12_345);
    }
    await removeStaleDirectories(base, NAMES);
    expect(kept.filter((path) => !existsSync(path))).toEqual([]);
    expect(existsSync(killed)).toBe(false); // it did look
  });

  it('asks the socket of a directory whose name does not say its owner', async () => {
    const { directory: running } = await startHost();
    const killed = await startKilledHost();
    const [answered, unanswered] = [join(base, 'toolwright-aaaaaa'), join(base, 'toolwright-bbbbbb')];
    await rename(running, answered);
    await rename(killed, unanswered);
    await removeStaleDirectories(base, NAMES);
    expect([existsSync(join(answered, 's')), existsSync(unanswered)]).toEqual([true, false]);
  });

  it('removes nothing where others may rename what is ours, unless the directory is sticky', async () => {
    const killed = await startKilledHost();
    await chmod(base, 0o777);
    await removeStaleDirectories(base, NAMES);
    expect(existsSync(join(killed, 's'))).toBe(true);
    await chmod(base, 0o1777);
    await removeStaleDirectories(base, NAMES);
    expect(existsSync(killed)).toBe(false);
  });

  it('reports nothing about a directory that is not there', async () => {
    await removeStaleDirectories(join(base, 'nowhere'), NAMES);
  });
});
