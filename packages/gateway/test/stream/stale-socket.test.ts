// The socket of a killed gateway is replaced by the next gateway; that of a running one never is.

import { once } from 'node:events';
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InProcessToolProvider, textOf } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { spawnChild, type Child } from '@toolwright/core/process';
import { createTestProject } from '@toolwright/core/testing';
import { createGateway } from '@toolwright/gateway';
import { describe, expect, it } from 'vitest';
import { bundleFixture } from '../../../core/test/mcp/bundle.js';
import { echoTools } from '../fixtures/echo-tools.js';

const fixtures = fileURLToPath(new URL('../fixtures', import.meta.url));

async function started(file: string, cwd: string, ...args: string[]): Promise<Child> {
  const child = spawnChild({ command: process.execPath, args: [file, ...args], cwd });
  await Promise.race([once(child.stdout, 'data'), child.exited]);
  return child;
}

describe('serveSocket()', () => {
  it.each(['socket', 'http'])('replaces the socket file of a killed gateway: %s', async (kind) => {
    await using program = await bundleFixture('gateway-socket', fixtures);
    await using project = await createTestProject({});
    const path = join(project.projectDir, 's');
    await using first = await started(program.file, project.projectDir, path, kind);
    const exited = first.exited;
    first.signal('SIGKILL');
    await exited;
    expect(readdirSync(project.projectDir)).toContain('s');
    await using second = await started(program.file, project.projectDir, path, kind);
    if (kind === 'socket') {
      await using client = new MCPToolProvider({ name: 'c', socketPath: path });
      expect(textOf(await client.callTool('c.who__pid'))).toBe(String(second.pid));
    }
    expect(second.stderrTail()).toBe('');
    expect(readdirSync(project.projectDir)).toEqual(['s']); // the renamed stale socket was removed
  });

  it('lets one of several concurrent gateways replace a stale socket; the others get LOCKED', async () => {
    await using program = await bundleFixture('gateway-socket', fixtures);
    await using project = await createTestProject({});
    const path = join(project.projectDir, 's');
    await using first = await started(program.file, project.projectDir, path);
    first.signal('SIGKILL');
    await first.exited;
    const gateways = Array.from({ length: 8 }, () =>
      createGateway(new InProcessToolProvider({ servers: [echoTools()] })),
    );
    const tries = await Promise.allSettled(gateways.map((gateway) => gateway.serveSocket({ path })));
    const codes = tries.map((tried) => (tried.status === 'fulfilled' ? 'ok' : (tried.reason as { code: string }).code));
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1);
    expect(codes.filter((code) => code === 'LOCKED')).toHaveLength(7);
    await using client = new MCPToolProvider({ name: 'c', socketPath: path });
    expect((await client.listTools()).length).toBeGreaterThan(0);
    for (const gateway of gateways) await gateway.close();
  });

  it('does not replace the socket of a running gateway, a file or a symbolic link', async () => {
    await using project = await createTestProject({});
    const path = join(project.projectDir, 's');
    await using one = createGateway(new InProcessToolProvider({ servers: [echoTools()] }));
    await using two = createGateway(new InProcessToolProvider({ servers: [echoTools()] }));
    await one.serveSocket({ path });
    await expect(two.serveSocket({ path })).rejects.toMatchObject({ code: 'LOCKED' });
    writeFileSync(join(project.projectDir, 'file'), 'mine');
    symlinkSync('nowhere', join(project.projectDir, 'link'));
    for (const name of ['file', 'link'])
      await expect(two.serveSocket({ path: join(project.projectDir, name) })).rejects.toMatchObject({ code: 'LOCKED' });
    expect(readdirSync(project.projectDir).sort()).toEqual(['file', 'link', 's']);
    await using client = new MCPToolProvider({ name: 'c', socketPath: path });
    expect((await client.listTools()).length).toBeGreaterThan(0);
  });
});
