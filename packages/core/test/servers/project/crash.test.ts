import { once } from 'node:events';
import { readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { spawnChild } from '../../../src/process/index.js';
import { ProjectFiles } from '../../../src/servers/project/project-files.js';
import { temporaryName } from '../../../src/servers/project/write/temporary-files.js';
import { createTestProject } from '../../../src/testing/project.js';
import { buildFileWriter, type FileWriter } from './file-writer.js';

const ROUNDS = process.env['TOOLWRIGHT_SOAK'] === '1' ? 400 : 40;

let writer: FileWriter;
beforeAll(async () => {
  writer = await buildFileWriter();
}, 60_000);
afterAll(() => writer[Symbol.asyncDispose]());

/** Numbers from 0 to below 1, always the same for a seed. https://en.wikipedia.org/wiki/Xorshift */
function random(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** The number in every line of a file; 0 when nothing is there yet. */
async function versionOf(path: string): Promise<number> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return 0;
  const [first = ''] = text.split('\n');
  expect(text === `${first}\n`.repeat(20_000), `${path} is whole`).toBe(true);
  return Number(first);
}

describe('write() of a process that is killed', () => {
  it(
    'change() and changeTogether() leave each file old or new, and the next writer no other, when the process is killed',
    { timeout: 10_000 + ROUNDS * 2_000 },
    async () => {
      const seed = Number(process.env['TOOLWRIGHT_SEED'] ?? Date.now() % 2 ** 31);
      console.log(`seed ${seed}: repeat with TOOLWRIGHT_SEED=${seed}`);
      const next = random(seed);
      let [leftovers, versions, apart] = [0, 0, 0];
      for (let round = 0; round < ROUNDS; round++) {
        await using world = await createTestProject();
        const { projectDir } = world;
        const child = writer.start(['loop', projectDir]);
        await once(child.stdout, 'data');
        // A point in time is what is to be random here: there is nothing to wait for.
        await new Promise((resolve) => setTimeout(resolve, next() * 60));
        process.kill(child.pid ?? 0, 'SIGKILL');
        expect((await child.exited).signal).toBe('SIGKILL');
        const [alone, one, two] = (await Promise.all(
          ['alone', 'one', 'two'].map((name) => versionOf(`${projectDir}/${name}.txt`)),
        )) as [number, number, number];
        // The two are put in place one after the other: a crash between can leave one of them a version ahead.
        expect([0, 1]).toContain(one - two);
        expect([0, 1]).toContain(alone - two);
        if (one !== two) apart++;
        versions += Math.max(alone, 0);
        leftovers += (await readdir(projectDir)).filter((name) => name.includes('.toolwright-')).length;
        await new ProjectFiles({ projectDir, fsync: false }).write('next.txt', Buffer.from('next'));
        const left = (await readdir(projectDir)).filter((name) => name.includes('.toolwright-'));
        expect(left, `round ${round} of seed ${seed}`).toEqual([]);
      }
      console.log(`${ROUNDS} kills: ${versions} versions, ${leftovers} files left for the next writer, ${apart} apart`);
      expect(versions).toBeGreaterThan(0);
      expect(leftovers).toBeGreaterThan(0); // otherwise nothing was killed at work
    },
  );

  it('write() leaves the file of a writer that lives, and removes that of one that has ended', async () => {
    await using world = await createTestProject();
    const { projectDir } = world;
    const [, system = '', pid = '', start = ''] = /^\.toolwright-(.*?)-(.*?)-(.*?)-/.exec(temporaryName()) ?? [];
    const child = spawnChild({ command: process.execPath, args: ['-e', ''], cwd: projectDir });
    await child.exited;
    const name = (...parts: (string | number)[]): string => `.toolwright-${parts.join('-')}-0123456789ab.tmp`;
    const alive = name(system, pid, start);
    const dead = name(system, `${child.pid}`, start);
    const reused = name(system, pid, Number(start) - 1);
    const foreign = name('0123abcd', `${child.pid}`, start);
    for (const each of [alive, dead, reused, foreign]) {
      await writeFile(`${projectDir}/${each}`, 'x');
      await utimes(`${projectDir}/${each}`, 1, 1); // as a renamed file may have: its entry is young
    }
    await writeFile(`${projectDir}/.toolwright-notes.tmp`, 'x');
    await new ProjectFiles({ projectDir }).write('a', Buffer.from('x'));
    const left = await readdir(projectDir);
    expect(left).toEqual(expect.arrayContaining([alive, foreign, '.toolwright-notes.tmp', 'a']));
    expect(left).not.toContain(dead);
    if (process.platform === 'linux') expect(left).not.toContain(reused);
  });

  it('write() removes the file of a writer elsewhere when it is an hour old', async () => {
    await using world = await createTestProject();
    const foreign = '.toolwright-0123abcd-1-2-0123456789ab.tmp';
    await world.write(`young/${foreign}`, 'x');
    await world.write(`old/${foreign}`, 'x');
    const files = new ProjectFiles({ projectDir: world.projectDir });
    await files.write('young/a', Buffer.from('x'));
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61 * 60_000 });
    try {
      await files.write('old/a', Buffer.from('x'));
    } finally {
      vi.useRealTimers();
    }
    expect((await readdir(`${world.projectDir}/young`)).sort()).toEqual([foreign, 'a']);
    expect(await readdir(`${world.projectDir}/old`)).toEqual(['a']);
  });

  it('change() replaces a file and not its bytes when a crash left it a second name', async () => {
    await using world = await createTestProject({ 'a.txt': 'old\n' });
    const { projectDir } = world;
    const child = spawnChild({ command: process.execPath, args: ['-e', ''], cwd: projectDir });
    await child.exited;
    const name = temporaryName().replace(`-${process.pid}-`, `-${child.pid}-`);
    const link = spawnChild({ command: 'ln', args: ['a.txt', name], cwd: projectDir });
    await link.exited;
    const { ino } = await stat(`${projectDir}/a.txt`);
    await new ProjectFiles({ projectDir }).write('a.txt', Buffer.from('new\n'));
    expect((await readdir(projectDir)).sort()).toEqual(['a.txt']);
    expect((await stat(`${projectDir}/a.txt`)).ino).not.toBe(ino);
  });
});

describe.skipIf(process.platform === 'darwin')('write() of two processes to one file', () => {
  it('change() applies every change of two processes, and no reader sees part of a version', async () => {
    await using world = await createTestProject({ 'shared.txt': 'begin\n' });
    const { projectDir } = world;
    const COUNT = 100;
    const runs = await Promise.all(['a', 'b'].map((name) => writer.run(['add', projectDir, name, String(COUNT)])));
    expect(runs.map(({ stdout }) => JSON.parse(stdout) as object)).toEqual([{}, {}]);
    const lines = (await readFile(`${projectDir}/shared.txt`, 'utf8')).trim().split('\n').slice(1);
    for (const line of lines) expect(line).toMatch(/^[ab] \d+$/);
    expect(new Set(lines).size).toBe(2 * COUNT);
    expect((await readdir(projectDir)).sort()).toEqual(['shared.txt']);
  });

  it('write() loses none of 180 updates of both when each names the version that it read', async () => {
    await using world = await createTestProject({ 'count.txt': '0' });
    const { projectDir } = world;
    const runs = await Promise.all([1, 2].map(() => writer.run(['count', projectDir, '90'])));
    console.log(`refused: ${runs.map(({ stdout }) => stdout).join(', ')}`);
    expect(runs.map(({ stderr }) => stderr)).toEqual(['', '']);
    expect(await readFile(`${projectDir}/count.txt`, 'utf8')).toBe('180');
    expect(await readdir(projectDir)).toEqual(['count.txt']);
  });

  it('write() waits for the change of another process, and continues when that is killed', async () => {
    await using world = await createTestProject({ 'held.txt': 'old' });
    const { projectDir } = world;
    const child = writer.start(['hold', projectDir]);
    await once(child.stdout, 'data');
    expect(await readdir(projectDir)).toEqual(['held.txt']);
    let isDone = false;
    const files = new ProjectFiles({ projectDir, fsync: false });
    const writing = files.write('held.txt', Buffer.from('new')).then(() => (isDone = true));
    for (let count = 0; count < 20; count++) await files.write('other.txt', Buffer.from(`not held ${count}`));
    expect(isDone).toBe(false);
    process.kill(child.pid ?? 0, 'SIGKILL');
    await child.exited;
    await writing;
    expect(await readFile(`${projectDir}/held.txt`, 'utf8')).toBe('new');
    expect((await readdir(projectDir)).sort()).toEqual(['held.txt', 'other.txt']);
  });
});
