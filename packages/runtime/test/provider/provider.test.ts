// What a provider file imports: definitions, the state that leaves a process, and a file without a process.

import { ToolError } from '@toolwright/core';
import { providerFromModule } from '@toolwright/runtime';
import { createProvider, createTool, startProvider, type ToolContext } from '@toolwright/runtime/provider';
import { describe, expect, it } from 'vitest';
import { exportState } from '../../src/provider/exported-state.js';

const count = createTool({
  name: 'count',
  description: 'Counts.',
  execute: (_args, { state }: ToolContext<{ n: number }>) => ({ n: ++state.n }),
});

describe('createProvider()', () => {
  it.each([
    [undefined, /createProvider\(\) takes/],
    [{ name: 'a b', version: '1', description: '', tools: [] }, /name must be/],
    [{ name: 'a', version: '', description: '', tools: [] }, /version must be/],
    [{ name: 'a', version: '1', tools: [] }, /description must be a string/],
    [{ name: 'a', version: '1', description: '', tools: [{}] }, /must come from defineTool/],
    [{ name: 'a', version: '1', description: '', tools: [count, count] }, /already has a tool "count"/],
    [{ name: 'a', version: '1', description: '', tools: [], initialize: 3 }, /initialize must be a function/],
  ])('refuses %j', (options, words) => {
    expect(() => createProvider(options as never)).toThrow(words);
  });
});

describe('startProvider()', () => {
  it('does nothing where no host started the process', () => {
    delete process.env.TOOLWRIGHT_SOCKET;
    process.env.TOOLWRIGHT_TOKEN = 'left over';
    startProvider(createProvider({ name: 'a', version: '1', description: '', tools: [] }));
    expect(process.env.TOOLWRIGHT_TOKEN).toBeUndefined();
  });
});

describe('exportState()', () => {
  it('keeps what JSON carries, and names the rest by its path', () => {
    const circle: Record<string, unknown> = { name: 'circle' };
    circle.self = circle;
    const { state, dropped } = exportState({
      text: 'a',
      list: [1, null, { deep: true }, () => 1],
      nothing: undefined,
      map: new Map(),
      date: new Date(0),
      n: { big: 1n, nan: NaN, symbol: Symbol('s') },
      circle,
      ['__proto__x']: 1,
    });
    expect(state).toEqual({
      text: 'a',
      list: [1, null, { deep: true }, null],
      n: {},
      circle: { name: 'circle' },
      ['__proto__x']: 1,
    });
    expect(dropped).toEqual(['list.3', 'map', 'date', 'n.big', 'n.nan', 'n.symbol', 'circle.self']);
  });

  it.each([undefined, null])('returns nothing for %s', (state) => {
    expect(exportState(state)).toEqual({ state: null, dropped: [] });
  });

  it.each([7, 'text', new Map(), [1]])('names the state itself for %s', (state) => {
    expect(exportState(state)).toEqual({ state: null, dropped: ['(the state itself)'] });
  });

  it('ends for a state without end', () => {
    const deep: Record<string, unknown> = {};
    let at = deep;
    for (let level = 0; level < 10_000; level++) at = at.next = {} as Record<string, unknown>;
    expect(exportState(deep).dropped).toEqual([Array.from({ length: 56 }, () => 'next').join('.')]);
  });
});

describe('providerFromModule()', () => {
  it('initializes a state for each connection, ends sessions in it, and disposes of it', async () => {
    const ended: unknown[] = [];
    const provider = createProvider<{ n: number }>({
      name: 'counter',
      version: '1',
      description: '',
      tools: [count],
      initialize: ({ config }, previous, { reason }) => ({
        n: Number(config.from) + (previous === null && reason === 'start' ? 0 : 1_000),
      }),
      endSession: ({ state, sessionId }) => void ended.push(sessionId, state.n),
      dispose: ({ state }) => void ended.push(state.n),
    });
    await using inProcess = await providerFromModule(provider, { config: { from: 5 } });
    expect((await inProcess.callTool('count')).structuredContent).toEqual({ n: 6 });
    await inProcess.disconnect();
    await inProcess.connect();
    expect((await inProcess.callTool('count')).structuredContent).toEqual({ n: 6 });
    await inProcess.endSession('one');
    await inProcess.disconnect();
    expect(ended).toEqual([6, 'one', 6, 6]);
  });

  it.each([
    ['relative.js', 'INVALID_ARGUMENT'],
    ['/nowhere/at/all.mjs', 'NOT_FOUND'],
    [new URL('../soak.ts', import.meta.url), 'INVALID_ARGUMENT'],
  ])('rejects for %s', async (file, code) => {
    const error: unknown = await providerFromModule(file).catch((thrown: unknown) => thrown);
    expect(ToolError.isInstance(error) && error.code, String(error)).toBe(code);
  });
});
