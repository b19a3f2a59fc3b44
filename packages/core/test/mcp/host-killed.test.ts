// When its host is killed, an MCP server is ended by the watchdog (watchdog.ts).

import { once } from 'node:events';
import { spawnChild } from '@toolwright/core/process';
import { createTestProject } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';
import { becomes, carrying, descendantsOf, isRunning, watchdogsOf } from '../process/outside.js';
import { bundleFixture } from './bundle.js';

describe.skipIf(process.platform !== 'linux')(
  'MCPToolProvider of a killed host whose server ignores the end of stdin',
  () => {
    it('leaves no process behind when it is killed with SIGKILL', async () => {
      await using server = await bundleFixture('contract-stdio');
      await using program = await bundleFixture('mcp-host');
      await using state = await createTestProject({});
      const label = `${process.pid}.mcp`;
      await using host = spawnChild({
        command: process.execPath,
        args: [program.file, server.file],
        cwd: '/',
        extraEnv: { LC_TOOLWRIGHT_ROUND: label, XDG_STATE_HOME: state.projectDir },
      });
      const [listed] = (await once(host.stdout, 'data')) as [Buffer];
      expect(Number(listed.toString()), host.stderrTail()).toBeGreaterThan(5);
      const below = descendantsOf(host.pid!);
      expect(below).toHaveLength(2); // the shell and the server
      process.kill(host.pid!, 'SIGKILL');
      const left = (): number[] => [
        ...carrying(`LC_TOOLWRIGHT_ROUND=${label}`),
        ...below.filter(isRunning),
        ...watchdogsOf(host.pid!),
      ];
      expect(await becomes(() => left().length === 0), `left: ${left().join(', ')}`).toBe(true);
    });
  },
);
