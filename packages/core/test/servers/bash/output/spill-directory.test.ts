import { existsSync } from 'node:fs';
import { mkdir, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SpillDirectory } from '../../../../src/servers/bash/output/spill-directory.js';

describe('SpillDirectory', () => {
  it('create() removes what a host that was killed left, and nothing of one that runs', async () => {
    const namespace = (await readlink('/proc/self/ns/pid').catch(() => '')).replace(/\D/g, '') || '0';
    const left = join(tmpdir(), `toolwright-bash-${namespace}-4194305-left`);
    const running = join(tmpdir(), `toolwright-bash-${namespace}-${process.ppid}-used`);
    for (const directory of [left, running]) {
      await mkdir(directory);
      await writeFile(join(directory, 'job.log'), 'x');
    }
    const spill = new SpillDirectory();
    try {
      const { handle } = await spill.create('a.log');
      await handle.close();
      expect([existsSync(left), existsSync(running)]).toEqual([false, true]);
    } finally {
      await spill.remove();
      for (const directory of [left, running]) await rm(directory, { recursive: true, force: true });
    }
  });
});
