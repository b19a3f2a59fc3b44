// A changed config: who decides what it takes, and that the provider gets it.

import { describe, expect, it, vi } from 'vitest';
import { actionFor, changedPaths } from '../../src/reload/config-change.js';
import { COUNTER, createReloadProject } from './reload-project.js';

const provider = (functions: string): Record<string, string> => ({
  ...COUNTER,
  'provider.mjs': COUNTER['provider.mjs'].replace('initialize:', `${functions}\n  initialize:`),
});

describe('superviseProcess().setConfig()', () => {
  it('initializes again in place by default, with the state, and keeps the old config when that throws', async () => {
    const files = {
      ...COUNTER,
      'provider.mjs': COUNTER['provider.mjs']
        .replace(
          'initialize: ({ config }, previous) => (',
          'initialize: ({ config }, previous) => { if (config.bad) throw new Error("bad config"); return (',
        )
        .replace('new Date() }),', 'new Date() }) },'),
    };
    await using project = await createReloadProject(files);
    const supervised = project.supervise({ watch: false, config: { mode: 'one' } });
    const first = (await supervised.callTool('counter.count')).structuredContent;
    expect(first).toMatchObject({ count: 1, config: { mode: 'one' } });
    expect(await supervised.setConfig({ mode: 'two' })).toBe('reinitialize');
    const second = (await supervised.callTool('counter.count')).structuredContent;
    expect(second).toMatchObject({ count: 2, config: { mode: 'two' }, pid: first?.pid });
    expect(await supervised.setConfig({ mode: 'two' })).toBe('nothing');
    await expect(supervised.setConfig({ bad: true })).rejects.toMatchObject({
      message: expect.stringContaining('bad config'),
    });
    expect((await supervised.callTool('counter.count')).structuredContent).toMatchObject({
      count: 3,
      config: { mode: 'two' },
    });
    await expect(supervised.setConfig([] as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it.each([
    [{ restartTrigger: ['mode'] }, 'restartTriggers'],
    [{ restartTriggers: 'mode' }, 'must be a list of paths'],
  ])('refuses changeAnalysis %j', async (changeAnalysis, words) => {
    await using project = await createReloadProject(COUNTER);
    expect(() => project.supervise({ changeAnalysis: changeAnalysis as never })).toThrow(words);
  });

  it('refuses a config that is not JSON, and an event that there is not', async () => {
    await using project = await createReloadProject(COUNTER);
    const supervised = project.supervise({ watch: false });
    await expect(supervised.setConfig({ n: 1n })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(() => supervised.on('relaoded' as never, () => undefined)).toThrow('reloaded');
  });

  it('hides the variables of every config in what initialize() throws, and in logs and output', async () => {
    const files = {
      ...COUNTER,
      'provider.mjs': COUNTER['provider.mjs']
        .replace(
          'initialize: ({ config }, previous) => (',
          `initialize: ({ config, variables }, previous, { logger }) => {
          logger.warn('begins with ' + variables.KEY);
          if (config.bad) throw new Error('no login with ' + variables.KEY + ' or ' + JSON.stringify(variables));
          return (`,
        )
        .replace('new Date() }),', 'new Date() }) },'),
    };
    await using project = await createReloadProject(files);
    const lines: string[] = [];
    const log = (line: string): void => void lines.push(line);
    const logger = { debug: log, info: log, warn: log, error: log };
    const supervised = project.supervise({
      watch: false,
      logger,
      variables: { USER: 'deploy', KEY: 'deploy-0123456' },
    });
    await supervised.connect();
    await supervised.setConfig({}, { USER: 'other-user', KEY: 'line one\nline "two"' });
    const failed = supervised.setConfig({ bad: true }, { USER: 'other-user', KEY: 'other-user-0123456' });
    const { message } = (await failed.catch((error: unknown) => error)) as Error;
    expect(message).toContain('no login with [hidden]');
    expect([message, ...lines].join('\n')).not.toMatch(/deploy|012345|line one|two/);
  });

  it('keeps the old config when initialize() takes too long and succeeds afterwards', async () => {
    const files = {
      ...COUNTER,
      'provider.mjs': COUNTER['provider.mjs']
        .replace(
          'initialize: ({ config }, previous) =>',
          'initialize: async ({ config }, previous) => (await sleep(config.slow ?? 0),',
        )
        .replace('when: new Date() })', 'when: new Date() }))'),
    };
    await using project = await createReloadProject(files);
    const supervised = project.supervise({ watch: false, config: { mode: 'old' }, startTimeoutMs: 2_000 });
    await supervised.connect();
    await expect(supervised.setConfig({ mode: 'new', slow: 2_500 })).rejects.toMatchObject({ code: 'TIMED_OUT' });
    expect(await supervised.setConfig({ mode: 'other' })).toBe('reinitialize'); // after the late one, and the old one
    expect((await supervised.callTool('counter.count')).structuredContent).toMatchObject({ config: { mode: 'other' } });
    await expect(supervised.setConfig({ mode: 'new', slow: 2_500 })).rejects.toMatchObject({ code: 'TIMED_OUT' });
    expect(await supervised.setConfig({ mode: 'other' })).toBe('nothing');
    await vi.waitUntil(
      async () => {
        const { structuredContent } = await supervised.callTool('counter.count');
        return (structuredContent?.config as { mode: string }).mode === 'other';
      },
      { timeout: 10_000 },
    );
  });

  it('starts another process with the state when the provider wants one, or a trigger does', async () => {
    await using project = await createReloadProject(
      provider('shouldRestart: (old, next) => old.config.port !== next.config.port,'),
    );
    const supervised = project.supervise({
      watch: false,
      config: { port: 1, database: { url: 'a' } },
      changeAnalysis: { restartTriggers: ['database.url'] },
    });
    const pids = [(await supervised.callTool('counter.count')).structuredContent?.pid];
    expect(await supervised.setConfig({ port: 2, database: { url: 'a' } })).toBe('restart');
    pids.push((await supervised.callTool('counter.count')).structuredContent?.pid);
    expect(await supervised.setConfig({ port: 2, database: { url: 'b' } })).toBe('restart');
    const last = (await supervised.callTool('counter.count')).structuredContent;
    expect(last).toMatchObject({ count: 3, config: { port: 2, database: { url: 'b' } } });
    expect(new Set([...pids, last?.pid]).size).toBe(3);
    expect(await supervised.setConfig({ port: 2, database: { url: 'b' }, other: 1 })).toBe('reinitialize');
  });

  it('does nothing when the provider reports it, and the next process has the config all the same', async () => {
    await using project = await createReloadProject(provider('shouldReinitialize: () => false,'));
    const supervised = project.supervise({ watch: false, changeAnalysis: { reinitTriggers: ['mode'] } });
    await supervised.callTool('counter.count');
    expect(await supervised.setConfig({ colour: 'red' })).toBe('nothing');
    expect((await supervised.callTool('counter.count')).structuredContent?.config).toEqual({});
    expect(await supervised.setConfig({ colour: 'red', mode: 'x' })).toBe('reinitialize');
    await supervised.setConfig({ colour: 'blue', mode: 'x' });
    await supervised.reload();
    expect((await supervised.callTool('counter.count')).structuredContent).toMatchObject({
      count: 3,
      config: { colour: 'blue', mode: 'x' },
    });
  });

  it('is what a provider is started with that does not run', async () => {
    await using project = await createReloadProject(COUNTER);
    const supervised = project.supervise({ watch: false });
    expect(await supervised.setConfig({ mode: 'cold' })).toBe('restart');
    expect((await supervised.callTool('counter.count')).structuredContent?.config).toEqual({ mode: 'cold' });
  });
});

describe('changedPaths()', () => {
  it('names the smallest parts that differ', () => {
    const before = { a: 1, b: { c: 2, d: [1, 2] }, e: { f: 1 } };
    expect(changedPaths(before, structuredClone(before))).toEqual([]);
    expect(changedPaths(before, { a: 1, b: { c: 3, d: [2, 1] }, e: 4, g: null })).toEqual(['b.c', 'b.d', 'e', 'g']);
  });
});

describe('actionFor()', () => {
  it.each([
    [[], undefined, {}, 'nothing'],
    [['a'], undefined, {}, 'reinitialize'],
    [['a'], { restart: true, reinitialize: false }, {}, 'restart'],
    [['a.b'], undefined, { restartTriggers: ['a'] }, 'restart'],
    [['a'], undefined, { restartTriggers: ['a.b'] }, 'restart'],
    [['ab'], undefined, { restartTriggers: ['a'] }, 'reinitialize'],
    [['a'], { restart: false, reinitialize: false }, {}, 'nothing'],
    [['a'], { restart: false, reinitialize: false }, { reinitTriggers: ['a'] }, 'reinitialize'],
  ] as const)('for %j, %j and %j is %s', (changed, decision, triggers, action) => {
    expect(actionFor(changed, decision, triggers)).toBe(action);
  });
});
