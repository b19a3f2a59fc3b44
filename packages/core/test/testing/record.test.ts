// record(): what it writes, redacted and in order, what it passes on, and what happens when it cannot write.

import { readFile, stat } from 'node:fs/promises';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolError,
  ToolHub,
  type JsonObject,
  type Progress,
  type ToolProvider,
} from '@toolwright/core';
import { contractServer, createTestProject, record, type RecordOptions } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';

type Line = JsonObject & { type: string };
const inProcess = (): ToolProvider => new InProcessToolProvider({ name: 'inner', servers: [contractServer()] });

async function recorded(
  run: (provider: ReturnType<typeof record>) => Promise<unknown>,
  inner: ToolProvider = inProcess(),
  options?: RecordOptions,
): Promise<{ lines: Line[]; text: string; mode: number }> {
  await using project = await createTestProject({ 'calls.ndjson': 'an older recording\n' });
  const file = project.resolve(options ? 'new.ndjson' : 'calls.ndjson');
  const provider = record(inner, file, options);
  await run(provider);
  await provider.disconnect();
  const text = await readFile(file, 'utf8');
  const lines = text.trimEnd().split('\n');
  return { text, lines: lines.map((line) => JSON.parse(line) as Line), mode: (await stat(file)).mode };
}

describe('record()', () => {
  it('writes a header, the list of tools, and each call with its progress and its result', async () => {
    const { lines } = await recorded(async (provider) => {
      await provider.listTools();
      await provider.callTool('contract.wait', { ms: 0 });
    });
    const [header, tools, call, ...rest] = lines;
    expect(header).toMatchObject({ type: 'recording', v: 1, name: 'inner', kind: 'in-process', servers: ['contract'] });
    expect(tools?.type).toBe('tools');
    expect(call).toEqual({ type: 'call', id: 1, name: 'contract.wait', args: { ms: 0 } });
    expect(rest.slice(0, -1)).toHaveLength(10);
    expect(rest[0]).toMatchObject({ type: 'progress', id: 1, progress: { progress: 1, total: 10, message: 'step 1' } });
    expect(rest.at(-1)).toMatchObject({
      type: 'result',
      id: 1,
      result: { content: [{ type: 'text', text: 'waited 0 ms' }], isError: false, directives: [] },
    });
  });

  it('writes the list of tools even if its caller reads none, and a list only when it has changed', async () => {
    const { lines } = await recorded(async (provider) => {
      await provider.callTool('contract.echo', { text: 'a' });
      await provider.flush();
      for (let time = 0; time < 3; time++) await provider.listTools();
      provider.onToolsChanged(() => undefined);
      await provider.callTool('contract.grow');
      await provider.listTools();
    });
    expect(lines.filter(({ type }) => type === 'tools').map(({ tools }) => (tools as unknown[]).length)).toEqual([
      9, 10,
    ]);
    expect(lines.filter(({ type }) => type === 'changed')).toHaveLength(1);
  });

  it('writes what a hub prepares, and calls in the order in which they were made', async () => {
    const { lines } = await recorded(async (provider) => {
      const hub = new ToolHub({ providers: [provider] });
      const slow = hub.callTool('contract.wait', { ms: 30 });
      await hub.callTool('contract.add', { a: '1', b: 2 });
      await hub.callTool('contract.add', { a: 'one', b: 2 });
      await slow;
    });
    const seen = lines.slice(2).map(({ type, name, id }) => [type, name ?? id].join(' '));
    expect(seen.filter((line) => !line.startsWith('progress'))).toEqual([
      'prepare contract.wait',
      'call contract.wait',
      'prepare contract.add',
      'call contract.add',
      'result 2',
      'prepare contract.add',
      'result 1',
    ]);
    const [, sent, refused] = lines.filter(({ type }) => type === 'prepare');
    expect(sent).toMatchObject({ args: { a: '1', b: 2 }, sent: { a: 1, b: 2 } });
    expect(refused).toMatchObject({ args: { a: 'one', b: 2 }, refused: { isError: true } });
  });

  it('redacts secrets in arguments, results, errors and progress, and keeps binary data', async () => {
    const secrets = {
      password: 'hunter2-is-not-it',
      text: 'use ghp_abcdefghijklmnopqrstuvwxyz0123456789',
      url: 'https://me:swordfish@example.com',
      nested: { 'X-Api-Key': 'plain-value-1' },
      header: 'Authorization: Bearer abcdefgh12345678',
    };
    const data = Buffer.from('AIzaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').toString('base64');
    const leaky = defineTool({
      name: 'leak',
      description: 'Returns its arguments. Try sk-live_0123456789abcdefghij.',
      input: { type: 'object', additionalProperties: true },
      execute: (args, ctx) => {
        ctx.progress({ progress: 1, message: secrets.text });
        if ('fail' in args) throw new ToolError('UNAVAILABLE', secrets.text, { details: { token: 'detail-secret' } });
        return { structuredContent: args, content: [{ type: 'image' as const, data, mimeType: 'image/png' }] };
      },
    });
    const server = defineServer({ name: 'leaky', version: '1', tools: [leaky] });
    const { text, lines } = await recorded(
      async (provider) => {
        await using hub = new ToolHub({ providers: [provider] });
        await hub.callTool('leaky.leak', secrets);
        await hub.callTool('leaky.leak', { fail: true, ...secrets });
      },
      new InProcessToolProvider({ servers: [server] }),
    );
    for (const secret of [
      'hunter2',
      'ghp_abc',
      'swordfish',
      'plain-value-1',
      'abcdefgh12345678',
      'detail-secret',
      'sk-live_0123',
    ])
      expect(text).not.toContain(secret);
    expect(text).toContain(data);
    const tools = lines.find(({ type }) => type === 'tools')?.tools as { inputSchema: unknown }[];
    expect(tools[0]?.inputSchema).toMatchObject({ type: 'object' });
  });

  it('keeps a schema whose properties are named like secrets', async () => {
    const input = { type: 'object', properties: { token: { type: 'string' } }, required: ['token'] } as const;
    const tool = defineTool({ name: 'login', description: 'Logs in.', input, execute: () => 'done' });
    const inner = new InProcessToolProvider({ servers: [defineServer({ name: 's', version: '1', tools: [tool] })] });
    const { lines } = await recorded((provider) => provider.listTools(), inner);
    const [listed] = lines[1]?.tools as { inputSchema: typeof input }[];
    expect(listed?.inputSchema.properties).toEqual(input.properties);
  });

  it('records arguments that are not JSON, and what a foreign provider returns or throws in place of a result', async () => {
    const inner = inProcess();
    const answers: (() => unknown)[] = [() => 'no result', () => Promise.reject(new Error('it rejects'))];
    inner.callTool = async () => answers.shift()?.() as never;
    const { lines } = await recorded(async (provider) => {
      const cyclic: JsonObject = {};
      cyclic.self = cyclic;
      expect(await provider.callTool('contract.echo', cyclic)).toBe('no result');
      await expect(provider.callTool('contract.echo', {})).rejects.toThrow('it rejects');
    }, inner);
    expect(lines.filter(({ type }) => type === 'call').map(({ args }) => args)).toEqual(['[not JSON]', {}]);
    const codes = lines.filter(({ type }) => type === 'result').map(({ result }) => (result as never)['error']['code']);
    expect(codes).toEqual(['INTERNAL', 'INTERNAL']);
  });

  it('passes progress and every option on', async () => {
    await recorded(async (provider) => {
      const seen: Progress[] = [];
      const result = await provider.callTool(
        'contract.wait',
        { ms: 1_000 },
        { timeoutMs: 60, calledAs: 'alias', onProgress: (progress) => seen.push(progress) },
      );
      expect(result.error?.code).toBe('TIMED_OUT');
      const wrong = await provider.callTool('contract.add', { a: 1 }, { calledAs: 'alias' });
      expect(wrong.error?.message).toContain('alias');
    });
  });

  it('replaces an older file, and makes it readable only by its user', async () => {
    const { text } = await recorded((provider) => provider.connect());
    expect(text).not.toContain('an older recording');
    const { mode } = await recorded((provider) => provider.connect(), inProcess(), {});
    if (process.platform !== 'win32') expect(mode & 0o777).toBe(0o600);
  });

  it('reports once that it cannot write, while calls go on', async () => {
    await using project = await createTestProject();
    const errors: string[] = [];
    const logger = { debug() {}, info() {}, warn() {}, error: (message: string) => errors.push(message) };
    const provider = record(inProcess(), project.resolve('missing/calls.ndjson'), { logger });
    for (let call = 0; call < 3; call++) {
      expect((await provider.callTool('contract.echo', { text: 'x' })).isError).toBe(false);
      await provider.flush().catch(() => undefined);
    }
    await expect(provider.flush()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await provider.disconnect();
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/calls\.ndjson is incomplete: ENOENT/);
  });

  it('ends the recording with a line that says why when too much waits to be written', async () => {
    await using project = await createTestProject();
    const options = {
      maxPendingCharacters: 20_000,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    };
    const provider = record(inProcess(), project.resolve('calls.ndjson'), options);
    const result = await provider.callTool('contract.big', { bytes: 50_000 });
    expect(result.isError).toBe(false);
    await provider.disconnect();
    await expect(provider.flush()).rejects.toThrow('20000 characters waited');
    const last = (await project.read('calls.ndjson')).trimEnd().split('\n').at(-1)!;
    expect(JSON.parse(last)).toMatchObject({ type: 'incomplete' });
  });

  it.each<[string, () => unknown, RegExp]>([
    ['no provider', () => record(undefined as never, 'x'), /takes a provider/],
    ['no file', () => record(inProcess(), 1 as never), /`file` must be a path/],
    ['an unknown option', () => record(inProcess(), 'x', { log: 1 } as never), /unknown option `log`/],
  ])('refuses %s', (_title, make, message) => {
    expect(make).toThrow(message);
  });
});
