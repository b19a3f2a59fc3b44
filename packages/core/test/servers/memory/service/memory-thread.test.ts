// The memory thread starts with the first call, ends with its provider, and can exit unexpectedly.

import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ToolError } from '../../../../src/contract/errors.js';
import { ToolHub } from '../../../../src/hub/hub.js';
import type { MemoryBackend } from '../../../../src/servers/memory/index.js';
import { MemoryThread } from '../../../../src/servers/memory/service/memory-thread.js';
import type { MemoryConfig } from '../../../../src/servers/memory/service/memory-service.js';
import { SqliteBackend } from '../../../../src/servers/memory/sqlite/sqlite-backend.js';
import { workerProgram } from '../../../../src/servers/memory/service/worker-program.js';
import { expectNoLeaks } from '../../../../src/testing/leaks.js';
import { createTestProject } from '../../../../src/testing/project.js';
import { contentsOf, openTools } from '../memory-tools.js';

const caller = (signal = new AbortController().signal) => ({ signal, progress: () => {} });
const memory = (content: string) => ({
  content,
  category: 'bug',
  tags: [],
  importance: 5,
  scope: 'project' as const,
  onDuplicate: 'merge' as const,
});
const configOf = (projectDir: string): MemoryConfig => ({
  projectDir,
  verification: 'inode',
  globalDir: undefined,
  durability: 'normal',
  secrets: 'redact',
  ranking: 'fused',
  embedder: 'off',
  modelPath: undefined,
  allowDownload: false,
});

describe('MemoryThread', () => {
  it('close() ends the thread when its provider disconnects, also with calls in flight, and leaves nothing', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    await tools.store('one');
    const calls = Array.from({ length: 50 }, (_, index) =>
      tools.call('store', { content: `${index}`, category: 'bug' }),
    );
    await tools.provider.disconnect();
    for (const { code } of await Promise.all(calls)) expect([undefined, 'CONNECTION_CLOSED']).toContain(code);
    expect(await tools.call('list')).toMatchObject({ code: 'NOT_CONNECTED' });
    expect(existsSync(tools.path('.mcp-memory/memory.db-wal'))).toBe(false);
    await tools.provider.connect();
    expect(contentsOf(await tools.call('list'))).toContain('one');
  });

  it('call() is what starts the thread, not listing tools or claims without an ID', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools({}, { globalDir: undefined });
    await tools.provider.listTools();
    await tools.provider.prepareCall('memory.delete', { memory_id: 'x' });
  });

  it('call() rejects with a typed error when the thread exits, and the next call starts another', async () => {
    await using project = await createTestProject();
    const program = project.resolve('dying.mjs');
    await writeFile(
      program,
      `import { parentPort } from 'node:worker_threads';
       await import(${JSON.stringify((await workerProgram()).href)});
       parentPort.on('message', ({ args }) => { if (args?.query === 'die' || args?.content === 'die') throw new Error('it died'); });`,
    );
    const thread = new MemoryThread(configOf(project.projectDir), () => Promise.resolve(pathToFileURL(program)));
    const die = { query: 'die', scope: 'project' as const, limit: 5 };
    const { result } = await thread.call('store', memory('acknowledged'), caller());
    await expect(thread.call('retrieve', die, caller())).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      retryable: true,
    });
    await expect(thread.call('store', memory('die'), caller())).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    const found = await thread.call('get', { ids: [result.memory.id] }, caller());
    expect(found.result).toMatchObject([{ content: 'acknowledged' }]);
    await thread.close();
    await expect(thread.call('get', { ids: ['x'] }, caller())).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  });

  it('call() rejects with UNAVAILABLE when the program is missing', async () => {
    const thread = new MemoryThread(configOf('/'), () => Promise.resolve(new URL('file:///nowhere/worker.mjs')));
    await expect(thread.call('get', { ids: ['x'] }, caller())).rejects.toBeInstanceOf(ToolError);
    await thread.close();
  });

  it('call() does not block the host thread', async () => {
    await using tools = await openTools();
    await tools.store('warm');
    const long = 'word '.repeat(6_000);
    let longest = 0;
    let last = performance.now();
    const tick = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 1);
    await Promise.all(
      Array.from({ length: 60 }, (_, index) => tools.call('store', { content: `${index} ${long}`, category: 'bug' })),
    );
    clearInterval(tick);
    expect(longest).toBeLessThan(500); // the work takes seconds
  });

  it('call() settles immediately when it is cancelled, and a waiting call does not start', async () => {
    await using tools = await openTools();
    await tools.store('first');
    const controller = new AbortController();
    const long = 'x '.repeat(15_000);
    const calls = Array.from({ length: 200 }, (_, index) =>
      tools.call('store', { content: `${index} ${long}`, category: 'bug' }, { signal: controller.signal }),
    );
    const aborted = performance.now();
    controller.abort();
    const codes = new Set((await Promise.all(calls)).map(({ code }) => code));
    expect(performance.now() - aborted).toBeLessThan(2_000);
    expect(codes).toEqual(new Set(['CANCELLED']));
    const { data } = await tools.call('stats');
    expect(data.stores[0].memories).toBeLessThan(10);
  });

  it('call() settles once when it is cancelled at any point, and loses no confirmed change', async () => {
    await using _ = expectNoLeaks();
    await using tools = await openTools();
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, async (_, index) => {
        const controller = new AbortController();
        const call = tools.call(
          'store',
          { content: `memory ${index}`, category: 'bug' },
          { signal: controller.signal },
        );
        if (index % 2)
          for (let turn = 0; turn < index % 17; turn++) await new Promise((resolve) => setImmediate(resolve));
        if (index % 2) controller.abort();
        return { index, code: (await call).code };
      }),
    );
    const ids = new Set<string>();
    for (let cursor: string | undefined; ;) {
      const page = await tools.call('list', { limit: 200, ...(cursor && { cursor }) });
      for (const content of contentsOf(page)) ids.add(content);
      cursor = page.data.cursor;
      if (cursor === undefined) break;
    }
    for (const { index, code } of outcomes) if (code === undefined) expect(ids).toContain(`memory ${index}`);
    expect(outcomes.filter(({ code }) => code === undefined).length).toBeGreaterThan(140);
  });

  it('call() reports progress of an import, and stops it when cancelled; the next one continues', async () => {
    const rows = Array.from({ length: 12_000 }, (_, index) => ({
      id: `${index}`,
      content: `row ${index}`,
      category: 'bug',
    }));
    await using tools = await openTools({ 'proj/rows.json': JSON.stringify(rows) });
    const controller = new AbortController();
    const progress: number[] = [];
    const cancelled = await tools.call(
      'import',
      { path: 'rows.json' },
      {
        signal: controller.signal,
        onProgress: (each) => {
          progress.push(each.progress);
          controller.abort();
        },
      },
    );
    expect(cancelled.code).toBe('CANCELLED');
    expect(progress).toEqual([1_000]);
    const before = (await tools.call('stats')).data.stores[0].memories as number;
    expect(before).toBeGreaterThanOrEqual(1_000);
    expect(before).toBeLessThan(12_000);
    const { data } = await tools.call('import', { path: 'rows.json' });
    expect(data).toMatchObject({ imported: 12_000 - before, skipped: before });
  });
});

describe('createMemoryServer()', () => {
  it('stores memories in a custom backend, and closes it with the server', async () => {
    await using project = await createTestProject();
    const closed: string[] = [];
    const made: Record<string, MemoryBackend> = {};
    const backend = (scope: string): MemoryBackend => {
      const inner = new SqliteBackend({ directory: project.resolve(`store-${scope}`), shown: scope });
      const close = async (): Promise<void> => {
        closed.push(scope);
        await inner.close();
      };
      return (made[scope] = new Proxy(inner, {
        get: (target, name) => {
          if (name === 'close') return close;
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      }));
    };
    await using tools = await openTools({}, { backend });
    await tools.store('kept elsewhere', { scope: 'global' });
    expect(contentsOf(await tools.call('retrieve', { query: 'elsewhere' }))).toEqual(['kept elsewhere']);
    expect(existsSync(project.resolve('store-global/memory.db'))).toBe(true);
    expect(existsSync(tools.path('.mcp-memory'))).toBe(false);
    await tools.provider.disconnect();
    expect(closed.sort()).toEqual(['global', 'project']);
  });

  it('claims a scope, so that a policy can deny it', async () => {
    await using tools = await openTools();
    await using hub = new ToolHub({
      providers: [tools.provider],
      policy: { rules: [{ tool: 'memory.*', pattern: 'store global', action: 'deny' }], default: 'allow' },
    });
    const call = async (scope: string) => hub.callTool('memory.store', { content: scope, category: 'bug', scope });
    expect((await call('global')).error?.code).toBe('PERMISSION_DENIED');
    expect((await call('project')).isError).toBe(false);
  });

  it('creates nothing when the project directory is deleted', async () => {
    await using tools = await openTools();
    const { rm } = await import('node:fs/promises');
    await rm(tools.projectDir, { recursive: true });
    const { code } = await tools.call('list');
    expect(code).toBeDefined();
    await mkdir(tools.projectDir);
    expect((await tools.call('list')).code).toBeUndefined();
  });
});
