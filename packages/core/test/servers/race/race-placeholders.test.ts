// A running command replaces a placeholder by a link while the host creates it: no file outside is changed.

import { once } from 'node:events';
import { chmod, lstat, mkdir, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { spawnChild } from '../../../src/process/index.js';
import { createPlaceholder } from '../../../src/servers/bash/sandbox/placeholders.js';
import { createTestProject } from '../../../src/testing/project.js';
import { tries } from '../../soak.js';
import { compileSwapper } from './swapper.js';

const swapper = await compileSwapper(fileURLToPath(new URL('../fixtures/link-swapper.c', import.meta.url)));
afterAll(() => swapper[Symbol.asyncDispose]());
const skipped = swapper.missing === undefined ? '' : ` (skipped: ${swapper.missing})`;

/** Runs `attempt` while the swapper replaces files by links to `victim`; returns how many it replaced. */
async function whileLinking(
  directory: string,
  victim: string,
  part: string,
  attempt: () => Promise<void>,
): Promise<number> {
  await using child = spawnChild({
    command: swapper.program,
    args: [directory, victim, part],
    cwd: '/',
    stdin: 'pipe',
  });
  const lines = createInterface(child.stdout);
  await once(lines, 'line');
  const last = once(lines, 'line');
  await attempt();
  child.stdin?.end();
  return Number((await last)[0]);
}

describe.skipIf(swapper.missing !== undefined)(`createPlaceholder()${skipped}`, () => {
  it('changes no file outside when a command replaces what it creates by a link', async () => {
    await using world = await createTestProject({ 'outside/victim': 'VICTIM', 'project/a.txt': 'a' });
    const project = world.resolve('project');
    const victim = world.resolve('outside/victim');
    await chmod(victim, 0o644);
    const before = await stat(victim);
    const naive = join(project, 'naive');
    // The control: a change of mode by path reaches the file outside.
    let reached = false;
    await whileLinking(project, victim, 'naive', async () => {
      for (let attempt = 0; attempt < 2_000 && !reached; attempt++) {
        await writeFile(naive, '', { flag: 'wx' }).catch(() => undefined); // a link was made after the last removal
        await chmod(naive, 0o600).catch(() => undefined); // it was deleted at this moment
        reached = ((await stat(victim)).mode & 0o777) === 0o600;
        await rm(naive, { force: true });
      }
    });
    expect(reached).toBe(true);
    await chmod(victim, 0o644);
    const directory = join(project, 'repository');
    await mkdir(directory);
    const path = join(directory, 'config');
    let created = 0;
    const swapped = await whileLinking(directory, victim, '.placeholder-of-', async () => {
      for (let attempt = 0; attempt < tries(10_000); attempt++) {
        const placeholder = await createPlaceholder(path, 'file').catch(() => undefined); // a command replaced it
        if (placeholder) {
          created++;
          expect((await lstat(path)).isSymbolicLink() && (await readlink(path)) === victim).toBe(false);
          await placeholder.remove();
        }
        await rm(path, { force: true });
      }
    });
    const after = await stat(victim);
    expect([after.mode, after.mtimeMs, after.size]).toEqual([before.mode, before.mtimeMs, before.size]);
    expect(swapped).toBeGreaterThan(tries(10_000) / 20);
    expect(created).toBeGreaterThan(0);
  });
});
