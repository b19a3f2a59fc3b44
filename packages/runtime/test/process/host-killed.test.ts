// Providers and what they started end with their host, also when it is killed and asks nobody to end.

import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { spawnChild } from '@toolwright/core/process';
import { createTestProject } from '@toolwright/core/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { becomes, carrying, descendantsOf, isRunning, watchdogsOf } from '../../../core/test/process/outside.js';
import { bundleFixtures, type BundledFixtures } from '../bundle.js';
import { soaking } from '../soak.js';

const ROUNDS = soaking ? 200 : 2;
/** Both do not end when they are asked to. */
const DEAF = [
  '../../../core/test/mcp/fixtures/hostile.mjs',
  '../../../core/test/servers/diagnostics/fixtures/language-server.mjs',
];

describe.skipIf(process.platform !== 'linux')('ProcessToolProvider of a killed host with eight processes', () => {
  let fixtures: BundledFixtures;
  beforeAll(async () => void (fixtures = await bundleFixtures()));
  afterAll(() => fixtures[Symbol.asyncDispose]());

  it('leaves no process when it is killed with SIGKILL', { timeout: soaking ? 1_800_000 : 60_000 }, async () => {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await using project = await createTestProject({ 'a.fix': 'whatever\n' });
      const label = `${process.pid}.crowd-${round}`;
      await using host = spawnChild({
        command: process.execPath,
        args: [
          fixtures.file('crowd-host'),
          fixtures.file('contract-provider'),
          fixtures.file('parenting-provider'),
          project.projectDir,
          ...DEAF.map((file) => fileURLToPath(new URL(file, import.meta.url))),
        ],
        cwd: '/',
        extraEnv: { LC_TOOLWRIGHT_ROUND: label, XDG_STATE_HOME: project.projectDir },
      });
      const [said] = (await once(host.stdout, 'data')) as [Buffer];
      expect(said.toString(), host.stderrTail()).toBe('ready\n');
      let below: number[] = [];
      // The providers, the children of one, the job, MCP, language. Whoever has a shell has started it, and may wait for it.
      const isCrowded = (): boolean => (below = descendantsOf(host.pid!)).length >= 8 + 4 + 3 + 2 + 1;
      expect(await becomes(isCrowded), `only ${below.length} processes`).toBe(true);
      process.kill(host.pid!, 'SIGKILL');
      const killedAt = performance.now();
      const left = (): number[] => [
        ...carrying(`LC_TOOLWRIGHT_ROUND=${label}`),
        ...below.filter(isRunning),
        ...watchdogsOf(host.pid!),
      ];
      expect(await becomes(() => left().length === 0), `left: ${left().join(', ')}`).toBe(true);
      times.push(performance.now() - killedAt);
    }
    times.sort((a, b) => a - b);
    console.log(
      `gone after ${Math.round(times[times.length >> 1]!)} ms, the last after ${Math.round(times.at(-1)!)} ms`,
    );
  });
});
