import { readdir } from 'node:fs/promises';
import { constants } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ProjectFiles } from '../../../src/servers/project/project-files.js';
import { createTestProject } from '../../../src/testing/project.js';
import { buildFileWriter, type FileWriter } from './file-writer.js';
import { look, prepare } from '../fixtures/written-files.js';

// Every operation of a write on the disk fails once, the first, the second, and so on until there is none left. Real
// system calls fail, in a process of their own; nothing of ours is replaced.

let writer: FileWriter;
beforeAll(async () => {
  writer = await buildFileWriter();
}, 60_000);
afterAll(() => writer[Symbol.asyncDispose]());

interface Run {
  at: number;
  failed?: string;
  code: string;
  message?: string;
  details?: { not_restored?: string[] };
  before: Record<string, string>;
  after: Record<string, string>;
}

const SCENARIOS = ['replace', 'create', 'in place, longer', 'in place, shorter', 'patch', 'patch in place'];
const { EDQUOT, EIO, ENOSPC, EROFS } = constants.errno;

async function failEach(scenario: string, how: 'once' | 'from', errno: number): Promise<Run[]> {
  await using world = await createTestProject();
  const { stdout, stderr } = await writer.run(['fail', world.projectDir, scenario, how, String(errno)], {
    failing: true,
  });
  expect(stderr).toBe('');
  const runs = JSON.parse(stdout) as Run[];
  const last = runs.at(-1);
  expect(last?.failed).toBeUndefined();
  expect(last?.code).toBe('none');
  expect(runs.length).toBeGreaterThan(1);
  return runs;
}

const isTemporary = (name: string): boolean => name.includes('.toolwright-');

describe('ProjectFiles when its Nth operation fails', () => {
  beforeEach((context) => {
    if (writer.cannotFail) context.skip(writer.cannotFail);
  });

  it.each(SCENARIOS)('change() leaves everything as it was when one operation fails (%s)', async (scenario) => {
    const runs = await failEach(scenario, 'once', EIO);
    const done = runs.at(-1)?.after;
    for (const { at, failed, code, message, before, after } of runs) {
      // Some failures do not fail the write: of syncing a directory, and of removing temporary files.
      const untidy = failed === 'unlink' ? Object.keys(after).filter(isTemporary) : [];
      const tidy = Object.fromEntries(Object.entries(after).filter(([name]) => !untidy.includes(name)));
      expect(tidy, `operation ${at}, ${failed}: ${code} ${message}`).toEqual(code === 'none' ? done : before);
      if (code !== 'none') expect(message).toMatch(/"[^"]+": the disk reported an error\./);
    }
  });

  // Less in place of more takes no space.
  it.each(SCENARIOS.filter((each) => each !== 'in place, shorter'))(
    'change() throws NO_SPACE and changes nothing when the disk fills up (%s)',
    async (scenario) => {
      const runs = await failEach(scenario, 'from', ENOSPC);
      const done = runs.at(-1)?.after;
      for (const { at, failed, code, before, after } of runs) {
        expect(after, `operation ${at}, ${failed}: ${code}`).toEqual(code === 'none' ? done : before);
        expect(['none', 'NO_SPACE']).toContain(code);
      }
      expect(runs.filter(({ code }) => code === 'NO_SPACE').length).toBeGreaterThan(0);
    },
  );

  it('change() throws NO_SPACE, and explains what to do, when the quota is used up', async () => {
    const runs = await failEach('replace', 'from', EDQUOT);
    const refused = runs.filter(({ code }) => code === 'NO_SPACE');
    expect(refused.length).toBeGreaterThan(0);
    for (const { message } of refused) expect(message).toContain('the disk quota is used up; free some space');
    for (const { before, after, code } of runs) if (code !== 'none') expect(after).toEqual(before);
  });

  it.each(SCENARIOS)('change() leaves each file whole, or names it, when the disk is gone (%s)', async (scenario) => {
    const runs = await failEach(scenario, 'from', EROFS);
    const done = runs.at(-1)?.after ?? {};
    for (const { at, failed, code, details, before, after } of runs) {
      const named = details?.not_restored ?? [];
      for (const name of new Set([...Object.keys(before), ...Object.keys(done)])) {
        // The second name of a file that is named goes with it.
        if (named.includes(name) || (name === 'second name.txt' && named.includes('linked.txt'))) continue;
        const allowed =
          code === 'none' ? [done[name]] : [before[name], ...(done[name]?.endsWith(' ') ? [done[name]] : [])];
        expect(allowed, `operation ${at}, ${failed}: ${code}, ${name}`).toContain(after[name]);
      }
      expect(['none', 'PERMISSION_DENIED']).toContain(code);
    }
  });

  it.each(['replace', 'create', 'patch'])(
    'change() leaves the old or the new file, and the next write nothing else, when it is killed at any operation (%s)',
    { timeout: 120_000 },
    async (scenario) => {
      const seen = new Set<string>();
      for (let at = 1; ; at++) {
        await using world = await createTestProject();
        const { projectDir } = world;
        await prepare(projectDir);
        const before = await look(projectDir);
        const { signal, stderr, stdout } = await writer.run(['once', projectDir, scenario, String(at)], {
          failing: true,
        });
        if (signal === null) {
          expect(JSON.parse(stdout)).toEqual({ code: 'none' });
          break;
        }
        // Whoever writes next, into each directory that is there.
        const files = new ProjectFiles({ projectDir });
        for (const directory of ['.', 'sub', 'deep', 'deep/er'])
          await files.write(`${directory}/next.txt`, Buffer.from('next')).catch(() => {});
        const left = (await readdir(projectDir, { recursive: true })).filter(isTemporary);
        expect(left, `killed at operation ${at}, ${stderr}`).toEqual([]);
        const after = await look(projectDir);
        const state = Object.keys({ ...before, ...after })
          .filter((name) => !name.endsWith('next.txt') && !['sub', 'deep', 'deep/er'].includes(name))
          .map((name) => {
            const [was, is] = [before[name], after[name]];
            // A new file is there or not, a removed one too; a replaced one has its old content or its new.
            expect([was, is === undefined ? undefined : `${was?.slice(0, 3) ?? is.slice(0, 3)} new`]).toContain(is);
            return is === was ? 'o' : 'n';
          })
          .join('');
        seen.add(state);
        // Before the first rename, all of them are old.
        if (['create', 'write', 'fchmod', 'mkdir'].includes(stderr)) expect(state).toMatch(/^o+$/);
      }
      // One file has two states; four files change one after the other.
      expect(seen.size).toBeLessThanOrEqual(scenario === 'patch' ? 5 : 2);
      expect(seen.size).toBeGreaterThan(1);
    },
  );
});
