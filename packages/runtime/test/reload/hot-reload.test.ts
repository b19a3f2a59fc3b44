// Hot reload of real provider processes: under load, of files far away, and of versions that do not come up.

import { rename, rm, symlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ToolHub, type HubEvent, type ToolResult } from '@toolwright/core';
import { expectNoLeaks } from '@toolwright/core/testing';
import { describe, expect, it, vi } from 'vitest';
import { soaking } from '../soak.js';
import { withResolvers } from '../supervise/scripted-provider.js';
import { COUNTER, createReloadProject, next } from './reload-project.js';

const version = (number: number): string => `export const version = ${number};\n`;
const structured = ({ structuredContent, error }: ToolResult): Record<string, unknown> =>
  structuredContent ?? { error: error?.message };

describe('superviseProcess() with watch', () => {
  it('loses no call, and counts exactly, while it reloads every 200 ms under 500 calls a second', async () => {
    await using project = await createReloadProject(COUNTER);
    const provider = project.supervise({ maxConcurrent: 64, maxQueue: 5_000 });
    await provider.connect();
    let reloads = 0;
    const failures: unknown[] = [];
    provider.on('reloaded', () => reloads++);
    provider.on('reloadFailed', (failure) => failures.push(failure));
    const calls: Promise<ToolResult>[] = [];
    const startedAt = performance.now();
    const elapsed = (): number => performance.now() - startedAt;
    let saved = 0;
    const lastMs = soaking ? 60_000 : 6_000;
    while (elapsed() < lastMs) {
      for (const due = elapsed() / 2; calls.length < due;)
        calls.push(provider.callTool('counter.count', { ms: calls.length % 7 === 0 ? 5 : 0 }));
      if (elapsed() > saved * 200)
        await project.save('deep/version.mjs', version(++saved), saved % 2 === 0 ? 'in place' : 'by rename');
      await sleep(5);
    }
    const results = await Promise.all(calls);
    expect(results.filter(({ isError }) => isError).map(({ error }) => error)).toEqual([]);
    expect(results.map((result) => structured(result).count as number).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: calls.length }, (_, index) => index + 1),
    );
    // The newest version wins, however many were skipped.
    for (let tries = 0; tries < 100; tries++) {
      if (structured(await provider.callTool('counter.count')).version === saved) break;
      await sleep(100);
    }
    expect(structured(await provider.callTool('counter.count')).version).toBe(saved);
    console.log(`${calls.length} calls, ${saved} versions, ${reloads} reloads`);
    expect(reloads).toBeGreaterThan(2);
    expect(failures).toEqual([]);
    expect(provider.health()).toMatchObject({ state: 'READY', totalFailures: 0, restarts: 0 });
  }, 120_000);

  it('leaves the old version serving when the new one has a syntax error, and reports where', async () => {
    await using project = await createReloadProject(COUNTER);
    const provider = project.supervise();
    const before = structured(await provider.callTool('counter.count'));
    const failed = next(provider, 'reloadFailed');
    await project.save('deep/version.mjs', 'export const one = 1;\nexport const version = 1 1;\n');
    expect(await failed).toEqual({
      file: project.path('deep/version.mjs'),
      line: 2,
      message: expect.stringMatching(/Expected ";"/),
    });
    expect(structured(await provider.callTool('counter.count'))).toMatchObject({
      count: 2,
      pid: before.pid,
      version: 0,
    });
    const reloaded = next(provider, 'reloaded');
    await project.save('deep/version.mjs', version(2), 'by rename');
    expect(await reloaded).toEqual({ generation: 2 });
    expect(structured(await provider.callTool('counter.count'))).toMatchObject({ count: 3, version: 2 });
  });

  it('is in the event stream of a hub, with states and log entries', async () => {
    await using project = await createReloadProject(COUNTER);
    const provider = project.supervise();
    await using hub = new ToolHub({ providers: [provider] });
    const events: HubEvent[] = [];
    hub.onEvent((event) => events.push(event));
    await hub.connect();
    const reloaded = next(provider, 'reloaded');
    await project.save('deep/version.mjs', version(1), 'by rename');
    await reloaded;
    await project.save('deep/version.mjs', 'const a = ;\n', 'by rename');
    await next(provider, 'reloadFailed');
    const reloads = events.filter(({ type }) => type.startsWith('reload.'));
    expect(reloads[0]?.type).toBe('reload.started'); // a file that cannot be parsed is not started
    const ended = reloads.map(({ type }) => type).filter((type) => type !== 'reload.started');
    expect(ended).toEqual(['reload.switched', 'reload.failed']);
    expect(reloads.at(-1)).toMatchObject({ provider: 'counter', data: { line: 1 } });
    const states = events.filter(({ type }) => type === 'provider.state').map(({ data }) => data?.to);
    expect(states).toEqual(['INITIALIZING', 'READY']);
  });

  it.each([
    ['throws when it is loaded', 'const a = 1;\nthrow new Error("no licence");\n', 2],
    ['exits', 'process.stderr.write("no licence");\nprocess.exit(3);\n', undefined],
  ])('leaves the old version serving when the new one %s', async (_how, text, line) => {
    await using project = await createReloadProject(COUNTER);
    const provider = project.supervise();
    await provider.connect();
    const failed = next(provider, 'reloadFailed');
    await project.save('deep/version.mjs', `${text}${version(1)}`);
    const failure = await failed;
    expect(failure.message).toContain('no licence');
    if (line !== undefined) expect(failure).toMatchObject({ file: project.path('deep/version.mjs'), line });
    expect(structured(await provider.callTool('counter.count'))).toMatchObject({ count: 1, version: 0 });
    expect(provider.health()).toMatchObject({ state: 'READY', consecutiveFailures: 0 });
  });

  it('leaves the old version serving when the new one cannot be initialized', async () => {
    await using project = await createReloadProject(COUNTER);
    const provider = project.supervise();
    await provider.callTool('counter.count');
    const failed = next(provider, 'reloadFailed');
    const broken = COUNTER['provider.mjs'].replace(
      '=> ({ count',
      '=> { throw new Error("not like this"); return ({ count',
    );
    await project.save('provider.mjs', broken.replace('new Date() }),', 'new Date() }) },'));
    expect((await failed).message).toContain('not like this');
    expect(structured(await provider.callTool('counter.count'))).toMatchObject({ count: 2, version: 0 });
  });

  it('finishes a running call in the old process, and sends the next one to the new', async () => {
    await using project = await createReloadProject(COUNTER);
    const provider = project.supervise();
    const { promise: begun, resolve: begin } = withResolvers();
    const slow = provider.callTool('counter.wait', { ms: 3_000 }, { onProgress: () => begin() });
    await begun;
    const reloaded = next(provider, 'reloaded');
    await project.save('deep/version.mjs', version(1));
    await reloaded;
    expect(structured(await provider.callTool('counter.count'))).toMatchObject({ version: 1 });
    expect(structured(await slow)).toEqual({ version: 0 });
  });

  it('reports a changed list once, and names once the parts of the state that JSON does not carry', async () => {
    await using project = await createReloadProject(COUNTER);
    const provider = project.supervise();
    await provider.connect();
    let told = 0;
    const warnings: string[] = [];
    provider.onToolsChanged(() => told++);
    provider.on('log', ({ level, message }) => level === 'warn' && warnings.push(message));
    for (const name of ['first', 'second']) {
      const reloaded = next(provider, 'reloaded');
      const changed = new Promise<void>((resolve) => provider.onToolsChanged(resolve));
      await project.save('provider.mjs', COUNTER['provider.mjs'].replace("name: 'wait'", `name: '${name}'`));
      await Promise.all([reloaded, changed]);
    }
    expect(told).toBe(2);
    expect((await provider.listTools()).map(({ name }) => name)).toEqual(['counter.count', 'counter.second']);
    expect(warnings.filter((warning) => warning.includes('JSON'))).toEqual([
      'The state of "counter" has parts that JSON cannot represent, which initialize() must create again: when.',
    ]);
  });

  it('loads a file whose directory was removed and made again, with and without a pause', async () => {
    await using project = await createReloadProject(COUNTER);
    const provider = project.supervise();
    await provider.connect();
    for (const [version, pauseMs] of [
      [1, 0],
      [2, 300],
      [3, 0],
    ] as const) {
      const failed = pauseMs > 0 ? next(provider, 'reloadFailed') : undefined;
      const reloaded = next(provider, 'reloaded');
      await rm(project.path('deep'), { recursive: true });
      await failed; // it is seen to be gone
      await project.save('deep/version.mjs', `export const version = ${version};\n`);
      await reloaded;
      expect(structured(await provider.callTool('counter.count'))).toMatchObject({ version, count: version });
    }
  });

  it('loads a file in a directory that was not there at the start', async () => {
    await using project = await createReloadProject({});
    const provider = project.supervise({ path: 'later/on/provider.mjs' });
    await expect(provider.connect()).rejects.toMatchObject({ code: 'SPAWN_FAILED' });
    const files = Object.entries(COUNTER).map(([name, text]) => [
      `prepared/on/${name}`,
      text.replace('./api', '../../api'),
    ]);
    for (const [name, text] of files) await project.save(name!, text!);
    await rename(project.path('prepared'), project.path('later'));
    await vi.waitUntil(async () => !(await provider.callTool('counter.count')).isError, { timeout: 20_000 });
  });

  it.each(['file', 'directory'])('loads what a link to a %s is pointed to', async (kind) => {
    const second = {
      'two/provider.mjs': COUNTER['provider.mjs'].replace('./api', '../api').replace('./middle', '../middle'),
    };
    await using project = await createReloadProject({ ...COUNTER, ...second });
    await project.save('one/provider.mjs', second['two/provider.mjs']);
    await project.save('two/provider.mjs', second['two/provider.mjs'].replace('version, pid', "version: 'two', pid"));
    const link = kind === 'file' ? 'provider-link.mjs' : 'current';
    const target = (release: string): string => (kind === 'file' ? `${release}/provider.mjs` : release);
    await symlink(target('one'), project.path(link));
    const provider = project.supervise({ path: kind === 'file' ? link : 'current/provider.mjs' });
    expect(structured(await provider.callTool('counter.count'))).toMatchObject({ version: 0 });
    const pointed = async (): Promise<boolean> => {
      await symlink(target('two'), project.path('new-link'));
      await rename(project.path('new-link'), project.path(link));
      return structured(await provider.callTool('counter.count')).version === 'two';
    };
    await vi.waitUntil(pointed, { timeout: 20_000, interval: 400 });
  });

  it('holds calls for two seconds at most when the process that is not taken ends slowly', async () => {
    await using project = await createReloadProject(COUNTER);
    const provider = project.supervise({ watch: false });
    await provider.connect();
    const busy = 'const end = Date.now() + 8_000; while (Date.now() < end);';
    await project.save(
      'provider.mjs',
      COUNTER['provider.mjs']
        .replace(
          'initialize: ({ config }, previous) =>',
          `dispose() {}, initialize: ({ config }, previous, { reason }) => { if (reason === 'reload') { ${busy} } return`,
        )
        .replace('when: new Date() })', 'when: new Date() }) }'),
    );
    let isOver = false;
    let longest = 0;
    const calling = (async () => {
      while (!isOver) {
        const { isError, durationMs } = await provider.callTool('counter.count', {}, { timeoutMs: 4_000 });
        expect(isError).toBe(false);
        longest = Math.max(longest, durationMs);
      }
    })();
    await expect(provider.reload()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    isOver = true;
    await calling;
    expect(longest).toBeLessThan(4_000);
  });

  it('fails a call of the old process when that dies, and keeps the new one', async () => {
    await using project = await createReloadProject(COUNTER);
    const provider = project.supervise({ watch: false });
    const { pid: old } = structured(await provider.callTool('counter.count'));
    const waiting = Array.from({ length: 3 }, () => {
      let resolve = (): void => undefined;
      const begun = new Promise<void>((settle) => (resolve = settle));
      const options = { timeoutMs: 120_000, onProgress: resolve };
      return { begun, call: provider.callTool('counter.wait', { ms: 60_000 }, options) };
    });
    await Promise.all(waiting.map(({ begun }) => begun));
    await provider.reload();
    const { pid } = structured(await provider.callTool('counter.count'));
    process.kill(old as number, 'SIGKILL');
    for (const { call } of waiting) expect((await call).error?.code).toBe('OUTCOME_UNKNOWN');
    expect(structured(await provider.callTool('counter.count'))).toMatchObject({ pid, count: 3 });
  });

  it('puts a reload off that would hold calls for longer than two seconds, and tries again', async () => {
    await using project = await createReloadProject(COUNTER);
    const provider = project.supervise();
    await provider.connect();
    const slow = COUNTER['provider.mjs'].replace(
      'initialize: ({ config }, previous) =>',
      "initialize: async ({ config }, previous, { reason }) => (reason === 'reload' && (await sleep(10_000)),",
    );
    const putOff = new Promise<void>((resolve) =>
      provider.on('log', ({ message }) => message.includes('postponed') && resolve()),
    );
    let longest = 0;
    let isOver = false;
    const callAlways = async (): Promise<void> => {
      while (!isOver) {
        const result = await provider.callTool('counter.count');
        expect(structured(result)).toMatchObject({ version: expect.any(Number) });
        longest = Math.max(longest, result.durationMs);
      }
    };
    const calling = callAlways();
    await project.save('provider.mjs', slow.replace('when: new Date() })', 'when: new Date() }))'));
    await putOff;
    await project.save('deep/version.mjs', version(7));
    await project.save('provider.mjs', COUNTER['provider.mjs']);
    await next(provider, 'reloaded');
    isOver = true;
    await calling;
    expect(longest).toBeGreaterThan(1_000); // they were held
    expect(longest).toBeLessThan(12_000);
    expect(structured(await provider.callTool('counter.count'))).toMatchObject({ version: 7 });
  }, 40_000);

  it('starts a provider whose file was missing when that appears, and one whose import was', async () => {
    await using project = await createReloadProject({});
    const provider = project.supervise();
    expect((await provider.callTool('counter.count')).error).toMatchObject({ code: 'SPAWN_FAILED' });
    const failed = next(provider, 'reloadFailed');
    await project.save('provider.mjs', COUNTER['provider.mjs']);
    expect(await failed).toMatchObject({ file: project.path('provider.mjs'), line: 4 });
    await project.save('deep/version.mjs', version(1));
    await project.save('middle.mjs', COUNTER['middle.mjs']);
    let result = await provider.callTool('counter.count');
    for (let tries = 0; result.isError && tries < 100; tries++) {
      await sleep(50);
      result = await provider.callTool('counter.count');
    }
    expect(structured(result)).toMatchObject({ count: 1, version: 1 });
  });

  it('leaves no process, watcher, timer or file behind', async () => {
    await using project = await createReloadProject(COUNTER);
    const first = project.supervise();
    await first.connect(); // the socket of this process, and the watching library, are there
    await first.disconnect();
    await using _ = expectNoLeaks();
    const provider = project.supervise();
    await provider.connect();
    const reloaded = next(provider, 'reloaded');
    await project.save('deep/version.mjs', version(1));
    await reloaded;
    await project.save('deep/version.mjs', version(2));
    await sleep(150); // in the middle of another
    await provider.disconnect();
    expect(provider.pid).toBeUndefined();
  });
});

describe('superviseProcess().reload()', () => {
  it('carries the state to another process, and does nothing while none runs', async () => {
    await using project = await createReloadProject(COUNTER);
    const provider = project.supervise({ watch: false });
    await provider.reload();
    expect(provider.state).toBe('COLD');
    const before = structured(await provider.callTool('counter.count'));
    await provider.reload();
    const after = structured(await provider.callTool('counter.count'));
    expect(after).toMatchObject({ count: 2 });
    expect(after.pid).not.toBe(before.pid);
    await project.save('deep/version.mjs', 'throw new Error("no");');
    await expect(provider.reload()).rejects.toMatchObject({ code: 'PROCESS_EXITED' });
    expect(structured(await provider.callTool('counter.count'))).toMatchObject({ count: 3 });
  });
});
