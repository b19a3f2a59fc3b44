// Supervision of real processes: providers over the socket and MCP servers over stdio that are killed, stopped, or never start.

import { fileURLToPath } from 'node:url';
import { textOf, type ToolResult } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { expectNoLeaks } from '@toolwright/core/testing';
import {
  ProcessToolProvider,
  supervise,
  type SupervisedToolProvider,
  type SuperviseOptions,
} from '@toolwright/runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleFixtures, type BundledFixtures } from '../bundle.js';
import { soaking } from '../soak.js';

const HOSTILE = fileURLToPath(new URL('../../../core/test/mcp/fixtures/hostile.mjs', import.meta.url));
let fixtures: BundledFixtures;
beforeAll(async () => {
  fixtures = await bundleFixtures();
  await supervised().disconnect(); // the one socket of this process is there before leaks are looked for
}, 60_000);
afterAll(() => fixtures[Symbol.asyncDispose]());

function supervised(options: SuperviseOptions = {}, env: Record<string, string> = {}): SupervisedToolProvider {
  return supervise(
    () => new ProcessToolProvider({ name: 'troubled', path: fixtures.file('troubled-provider'), env }),
    options,
  );
}

const mcp = (mode: string, options: SuperviseOptions = {}): SupervisedToolProvider =>
  supervise(() => new MCPToolProvider({ name: 'hostile', command: process.execPath, args: [HOSTILE, mode] }), options);

const pidOf = ({ structuredContent }: ToolResult): number => structuredContent?.pid as number;

/** Makes the call and waits until the provider has it. */
async function begin(provider: SupervisedToolProvider, name: string): Promise<Promise<ToolResult>[]> {
  return new Promise((resolve) => {
    const call = provider.callTool(name, { ms: 60_000 }, { timeoutMs: 300_000, onProgress: () => resolve([call]) });
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // ESRCH
  }
}

describe('supervise() of a provider process', () => {
  it('keeps a process that refuses arguments which are nested too deeply', async () => {
    await using provider = supervised();
    const pid = pidOf(await provider.callTool('troubled.pid'));
    let deep = {};
    for (let level = 0; level < 80; level++) deep = { deep };
    for (let call = 0; call < 4; call++)
      expect((await provider.callTool('troubled.pid', deep)).error?.code).toBe('INVALID_ARGUMENT');
    expect(pidOf(await provider.callTool('troubled.pid'))).toBe(pid);
    expect(provider.health().consecutiveFailures).toBe(0);
  });

  it(
    'fails the call of a provider that is killed at once, and the next one starts another',
    async () => {
      await using provider = supervised({ maxStarts: 2_000, backoff: { baseMs: 0 } });
      for (let kill = 0; kill < (soaking ? 1_000 : 5); kill++) {
        const pid = pidOf(await provider.callTool('troubled.pid'));
        const [call] = await begin(provider, 'troubled.wait');
        const killedAt = performance.now();
        process.kill(pid, 'SIGKILL');
        expect((await call)?.error).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { outcomeUnknown: true } });
        expect(performance.now() - killedAt).toBeLessThan(1_000); // ten times the figure
        expect(pidOf(await provider.callTool('troubled.pid'))).not.toBe(pid);
      }
    },
    soaking ? 900_000 : 60_000,
  );

  it('sends a read-only call again, once, when its process is killed', async () => {
    await using provider = supervised();
    const pid = pidOf(await provider.callTool('troubled.pid'));
    const progress: number[] = [];
    const call = provider.callTool(
      'troubled.read',
      { ms: 200 },
      {
        onProgress: () => {
          if (progress.push(1) === 1) process.kill(pid, 'SIGKILL');
        },
      },
    );
    expect(pidOf(await call)).not.toBe(pid);
    expect(progress).toHaveLength(2);
    expect(provider.health()).toMatchObject({ state: 'READY', restarts: 1 });
  });

  it('finds a stopped provider by ping, ends it, and no call hangs', async () => {
    await using provider = supervised({ healthIntervalMs: 200, healthTimeoutMs: 200 });
    const pid = pidOf(await provider.callTool('troubled.pid'));
    const [call] = await begin(provider, 'troubled.wait');
    process.kill(pid, 'SIGSTOP');
    expect((await call)?.error?.code).toBe('OUTCOME_UNKNOWN');
    expect(pidOf(await provider.callTool('troubled.pid'))).not.toBe(pid);
    expect(isAlive(pid)).toBe(false);
  });

  it.each([
    ['exits', 'PROCESS_EXITED', /no licence/],
    ['exits-0', 'PROCESS_EXITED', /code 0/],
    ['never-registers', 'TIMED_OUT', /1000 ms/],
  ])('gives 50 concurrent calls the error of a provider that %s', async (trouble, code, words) => {
    await using provider = supervised(
      { startTimeoutMs: trouble === 'never-registers' ? 1_000 : 15_000 },
      { TROUBLE: trouble },
    );
    const results = await Promise.all(Array.from({ length: 50 }, () => provider.callTool('troubled.pid')));
    expect(new Set(results.map(({ error }) => error?.code))).toEqual(new Set([code]));
    expect(results[0]?.error?.message).toMatch(words);
    await provider.callTool('troubled.pid');
    expect((await provider.callTool('troubled.pid')).error?.code).toBe('UNAVAILABLE');
  });

  it.each(['never-registers', 'never-initializes'])(
    'reports the end of the output of a provider that %s, whoever stops waiting',
    async (TROUBLE) => {
      const told = { code: 'TIMED_OUT', message: expect.stringContaining('waits for a licence') };
      const details = { stderr: expect.stringContaining('waits for a licence') };
      await using bySupervisor = supervised({ startTimeoutMs: 2_500 }, { TROUBLE });
      await using byCaller = supervised({}, { TROUBLE });
      await using byProvider = new ProcessToolProvider({
        ...{ name: 'troubled', path: fixtures.file('troubled-provider'), env: { TROUBLE }, startTimeoutMs: 2_500 },
      });
      const late = [
        bySupervisor.callTool('troubled.pid'),
        byCaller.callTool('troubled.pid', {}, { timeoutMs: 2_500 }),
        byProvider.callTool('troubled.pid'),
      ];
      for (const { error } of await Promise.all(late)) expect(error).toMatchObject({ ...told, details });
      const signal = AbortSignal.timeout(2_500);
      await expect(byCaller.connect({ signal })).rejects.toMatchObject({ ...told, details });
    },
  );

  it('reports that a file is missing, once', async () => {
    await using provider = supervise(() => new ProcessToolProvider({ name: 'gone', path: '/nowhere/gone.ts' }));
    for (let call = 0; call < 2; call++) {
      expect((await provider.callTool('gone.x')).error).toMatchObject({
        code: 'SPAWN_FAILED',
        message: expect.stringContaining('Provider file not found: /nowhere/gone.ts'),
        details: { permanent: true },
      });
    }
  });

  it('ends in RESTART_LIMIT with a provider that goes soon after each start', async () => {
    await using provider = supervised({ maxStarts: 3, backoff: { baseMs: 0 } }, { TROUBLE: 'flaps' });
    const codes = new Set<string | undefined>();
    for (let starts = 0; starts < 20 && !codes.has('RESTART_LIMIT'); starts++) {
      const lost = new Promise<void>((resolve) => provider.on('stateChanged', ({ to }) => to === 'DEAD' && resolve()));
      const { error } = await provider.callTool('troubled.pid');
      codes.add(error?.code);
      if (provider.state === 'READY') await lost;
    }
    expect(codes).toContain('RESTART_LIMIT');
  });

  it('leaves nothing behind after an idle stop, a crash and a disconnect', async () => {
    await using _ = expectNoLeaks();
    await using provider = supervised({ idleTtlMs: 100 });
    const pids = [pidOf(await provider.callTool('troubled.pid'))];
    await new Promise<void>((resolve) => provider.on('stateChanged', ({ to }) => to === 'COLD' && resolve()));
    pids.push(pidOf(await provider.callTool('troubled.pid')));
    process.kill(pids[1]!, 'SIGKILL');
    pids.push(pidOf(await provider.callTool('troubled.pid')));
    await provider.disconnect();
    expect(pids.filter(isAlive)).toEqual([]);
  });
});

describe('supervise() of an MCP server', () => {
  it('starts another when the server goes during a call, and does not send that again', async () => {
    await using provider = mcp('dies');
    const dead = new Promise<void>((resolve) => provider.on('stateChanged', ({ to }) => to === 'DEAD' && resolve()));
    const result = await provider.callTool('hostile.do');
    expect(result.error?.code).toBe('OUTCOME_UNKNOWN');
    expect(textOf(result)).toContain('out of cheese');
    await dead;
    const { structuredContent: _, ...next } = await provider.callTool('hostile.do', { what: 'pid' });
    expect(next.isError).toBe(false);
    expect(provider.health().restarts).toBe(1);
  });

  it('returns the end of stderr of a server that exits at its start', async () => {
    await using provider = mcp('exits-at-start');
    expect((await provider.callTool('hostile.do')).error).toMatchObject({
      code: 'PROCESS_EXITED',
      message: expect.stringContaining('no licence'),
    });
  });

  it('returns the end of stderr of a server that does not answer in time', async () => {
    await using provider = mcp('silent-at-start', { startTimeoutMs: 1_000 });
    expect((await provider.callTool('hostile.do')).error).toMatchObject({
      code: 'TIMED_OUT',
      message: expect.stringMatching(/1000 ms.*Its stderr ends: waits for a licence/s),
    });
  });

  it('treats a server without ping as responding', async () => {
    await using provider = mcp('ok', { healthIntervalMs: 50, healthTimeoutMs: 500 });
    const pid = Number(textOf(await provider.callTool('hostile.do', { what: 'pid' })));
    process.kill(pid, 'SIGSTOP');
    await new Promise<void>((resolve) => provider.on('stateChanged', ({ to }) => to === 'DEAD' && resolve()));
    expect((await provider.callTool('hostile.do')).isError).toBe(false);
  });

  it('keeps one peer through an idle stop: requests start the server, listeners stay', async () => {
    await using provider = mcp('asks', { idleTtlMs: 150 });
    const { mcp: peer } = provider;
    peer?.setRequestHandler((method) => Promise.resolve({ asked: method }), { roots: {} });
    expect(peer?.capabilities).toEqual({});
    for (let round = 0; round < 2; round++) {
      expect(await peer?.request('resources/list')).toEqual({ resources: [{ uri: 'x:y', name: 'y' }] });
      const asked = await provider.callTool('hostile.do', { method: 'roots/list' });
      expect(textOf(asked)).toContain('asked');
      await new Promise<void>((resolve) => provider.on('stateChanged', ({ to }) => to === 'COLD' && resolve()));
      expect(peer?.capabilities).toMatchObject({ tools: {} });
    }
    expect(provider.health().restarts).toBe(0);
  });
});
