// ReplayToolProvider: results as they were, which recorded call answers which call, and the difference when none does.

import { isDeepStrictEqual } from 'node:util';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  textOf,
  ToolHub,
  type JsonObject,
  type Progress,
  type ToolProvider,
  type ToolResult,
} from '@toolwright/core';
import {
  contractServer,
  createTestProject,
  record,
  ReplayToolProvider,
  type TestProject,
} from '@toolwright/core/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const inProcess = (): ToolProvider => new InProcessToolProvider({ name: 'inner', servers: [contractServer()] });
const withoutTime = ({ durationMs: _measured, ...result }: ToolResult): Omit<ToolResult, 'durationMs'> => result;

let project: TestProject;
let file: string;
beforeEach(async () => {
  project = await createTestProject();
  file = project.resolve('calls.ndjson');
});
afterEach(() => project[Symbol.asyncDispose]());

/** Records what `run` does with a provider. */
async function recordRun<T>(run: (provider: ToolProvider) => Promise<T>, inner = inProcess()): Promise<T> {
  await using provider = record(inner, file);
  await provider.connect();
  return await run(provider);
}

describe('ReplayToolProvider', () => {
  it('returns results byte for byte, with progress, and lists the tools as they were', async () => {
    const everything = defineTool({
      name: 'all',
      description: 'Returns everything that a result can have.',
      input: { type: 'object', additionalProperties: true },
      execute: (args, ctx) => {
        ctx.progress({ progress: 1, total: 2, message: 'half' });
        return {
          content: [
            { type: 'text' as const, text: 'zero \0, \u2028, 👩‍💻, \ud800' },
            { type: 'image' as const, data: 'AAAA', mimeType: 'image/png', _meta: { a: 1 } },
            { type: 'resource' as const, resource: { uri: 'file:///x', blob: 'BBBB' } },
          ],
          structuredContent: { ...args, 10: 'ten', 2: 'two', b: null },
          directives: [{ type: 'inject_context' as const, params: { content: 'note' } }],
          _meta: { 'example.com/key': [1, 2.5, -0] },
        };
      },
    });
    const server = defineServer({ name: 'my', version: '1', tools: [everything] });
    const run = async (provider: ToolProvider) => {
      const seen: Progress[] = [];
      const result = await provider.callTool(
        'my.all',
        { z: 1, a: 2 },
        { onProgress: (progress) => seen.push(progress) },
      );
      return JSON.stringify([withoutTime(result), seen, await provider.listTools()]);
    };
    const live = await recordRun(run, new InProcessToolProvider({ servers: [server] }));
    await using replay = new ReplayToolProvider(file);
    expect(await run(replay)).toBe(live);
    expect(replay.unused).toEqual([]);
  });

  it('takes equal calls in the order in which they were made, also when they overlap', async () => {
    const run = async (provider: ToolProvider) => {
      const counts = await Promise.all([1, 2, 3].map(() => provider.callTool('contract.count')));
      const echoes = await Promise.all(['a', 'b'].map((text) => provider.callTool('contract.echo', { text })));
      return [...counts, ...echoes].map(withoutTime);
    };
    const live = await recordRun(run);
    expect(await run(new ReplayToolProvider(file))).toEqual(live);
  });

  it('matches arguments whatever the order of their keys, bare names and coerced arguments', async () => {
    await recordRun(async (provider) => {
      await using hub = new ToolHub({ providers: [provider] });
      for (let call = 0; call < 3; call++) await hub.callTool('contract.add', { a: 1, b: call });
    });
    const replay = new ReplayToolProvider(file);
    expect((await replay.callTool('contract.add', { b: 0, a: 1 })).structuredContent).toEqual({ sum: 1 });
    expect((await replay.callTool('add', { a: '1', b: 1 })).structuredContent).toEqual({ sum: 2 });
    await using hub = new ToolHub({ providers: [replay] });
    expect((await hub.callTool('add', { a: '1', b: '2' })).structuredContent).toEqual({ sum: 3 });
  });

  it('finds a call whose arguments have a secret', async () => {
    const text = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789';
    await recordRun((provider) => provider.callTool('contract.echo', { text }));
    const result = await new ReplayToolProvider(file).callTool('contract.echo', { text });
    expect(result.structuredContent).toEqual({ text: '[hidden]' });
  });

  it('gives a hub the claims of the recorded tools, so that its policy decides as it did', async () => {
    await project.write('a.txt', 'one\n');
    const policy = {
      default: 'deny',
      rules: [{ tool: 'filesystem.read_file', pattern: 'a.txt', action: 'allow' }],
    } as const;
    const run = async (provider: ToolProvider): Promise<unknown[]> => {
      const hub = new ToolHub({ providers: [provider], policy: { ...policy, rules: [...policy.rules] } });
      const calls = ['a.txt', 'b.txt', '../outside', 'a.txt'];
      const results = [];
      for (const path of calls) results.push(withoutTime(await hub.callTool('filesystem.read_file', { path })));
      results.push(withoutTime(await hub.callTool('filesystem.read_file', { pth: 'a.txt' })));
      await hub.disconnect();
      return results;
    };
    const { projectDir } = project;
    const only = { bash: false, git: false, memory: false, diagnostics: false } as const;
    const live = await run(record(InProcessToolProvider.forProject(projectDir, only), file));
    await project.write('a.txt', 'changed since\n');
    const replay = new ReplayToolProvider(file);
    expect(await run(replay)).toEqual(live);
    expect(replay.unused).toEqual([]);
    const codes = (live as ToolResult[]).map(({ error }) => error?.code);
    expect(codes).toEqual([undefined, 'PERMISSION_DENIED', 'OUTSIDE_PROJECT', undefined, 'INVALID_ARGUMENT']);
  });

  it('replays after a hub prepared a call again because its provider was reconnected', async () => {
    const inner = inProcess();
    const run = async (provider: ToolProvider, reconnect: () => Promise<void>): Promise<unknown[]> => {
      const hub = new ToolHub({ providers: [provider] });
      const prepared = await hub.prepareCall('contract.count', {});
      await reconnect();
      const results = [await prepared.execute(), await hub.callTool('contract.count')].map(withoutTime);
      await hub.disconnect();
      return results;
    };
    const live = await run(record(inner, file), async () => {
      await inner.disconnect();
      await inner.connect();
    });
    expect(await run(new ReplayToolProvider(file), () => Promise.resolve())).toEqual(live);
  });

  it('selects among the tools of a recorded hub as the hub did', async () => {
    const run = async (provider: ToolProvider): Promise<unknown> => {
      const selected = await provider.listTools({ include: ['contract.e*'] } as never);
      return [selected, await provider.listTools()];
    };
    const live = await recordRun(run, new ToolHub({ providers: [inProcess()] }));
    expect(await run(new ReplayToolProvider(file))).toEqual(live);
  });

  it('answers a call that had not settled with OUTCOME_UNKNOWN, and reads a file whose last line is cut off', async () => {
    await recordRun((provider) => provider.callTool('contract.echo', { text: 'x' }));
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    await writeFile(file, `${lines.slice(0, -1).join('\n')}\n${lines.at(-1)!.slice(0, 30)}`);
    const result = await new ReplayToolProvider(file).callTool('contract.echo', { text: 'x' });
    expect(result.error?.code).toBe('OUTCOME_UNKNOWN');
  });

  it('ends calls that wait for their recorded time when they are cancelled, late or disconnected', async () => {
    await recordRun(async (provider) => {
      await Promise.all([1, 2, 3].map(() => provider.callTool('contract.wait', { ms: 400 })));
    });
    const replay = new ReplayToolProvider(file, { timing: 'recorded' });
    const controller = new AbortController();
    const cancelled = replay.callTool('contract.wait', { ms: 400 }, { signal: controller.signal });
    const late = replay.callTool('contract.wait', { ms: 400 }, { timeoutMs: 20 });
    const closed = replay.callTool('contract.wait', { ms: 400 });
    controller.abort();
    expect((await late).error?.code).toBe('TIMED_OUT');
    await replay.disconnect();
    expect((await cancelled).error?.code).toBe('CANCELLED');
    expect((await closed).error?.code).toBe('CONNECTION_CLOSED');
  });
});

describe('ReplayToolProvider with a call that was not recorded', () => {
  const edit = (text: string, more: JsonObject = {}): JsonObject => ({
    path: 'a.ts',
    edits: [{ old_string: `${'x'.repeat(500)}${text}`, new_string: 'y' }],
    ...more,
  });

  async function recordEdits(): Promise<void> {
    const input = { type: 'object', additionalProperties: true } as const;
    const tools = ['edit', 'read'].map((name) =>
      defineTool({ name, description: 'A tool.', input, execute: () => 'done' }),
    );
    const inner = new InProcessToolProvider({ servers: [defineServer({ name: 'files', version: '1', tools })] });
    await recordRun(async (provider) => {
      await provider.callTool('files.edit', { path: 'b.ts', edits: [] });
      await provider.callTool('files.edit', edit('one'));
      await provider.callTool('files.read', { path: 'a.ts' });
    }, inner);
  }

  it('fails in strict mode with the difference from the nearest recorded call', async () => {
    await recordEdits();
    const replay = new ReplayToolProvider(file);
    const result = await replay.callTool('files.edit', edit('two', { dry_run: true }));
    expect(result.error?.code).toBe('NO_MATCH');
    const text = textOf(result);
    expect(text).toContain(`The recording ${file} has no call of "files.edit" with these arguments.`);
    expect(text).toMatch(/in line \d+ differs:\n/);
    expect(text).toMatch(/- edits\[0\]\.old_string: recorded …"x+one", called with …"x+two"/);
    expect(text).toContain('- dry_run: not in the recorded call, called with true');
    expect(result.error?.details?.differences).toHaveLength(2);
    expect(replay.unused).toHaveLength(3);
  });

  it('fails in strict mode when it was made more often than recorded, and gets the last result again otherwise', async () => {
    await recordEdits();
    const strict = new ReplayToolProvider(file);
    const loose = new ReplayToolProvider(file, { strict: false });
    for (const replay of [strict, loose])
      expect((await replay.callTool('files.read', { path: 'a.ts' })).isError).toBe(false);
    const again = await strict.callTool('files.read', { path: 'a.ts' });
    expect(again.error?.code).toBe('NO_MATCH');
    expect(textOf(again)).toMatch(/more often .* once \(line \d+\)/);
    expect(textOf(await loose.callTool('files.read', { path: 'a.ts' }))).toBe('done');
    expect((await loose.callTool('files.read', { path: 'new.ts' })).error?.code).toBe('NO_MATCH');
  });

  it('names the nearest recorded tools, or refuses as the listing does when it is not strict', async () => {
    await recordRun((provider) => provider.callTool('contract.echo', { text: 'x' }));
    const strict = await new ReplayToolProvider(file).callTool('contract.ecko', { text: 'x' });
    expect(textOf(strict)).toContain('has no call of "contract.ecko". The nearest recorded tools are contract.echo.');
    const loose = new ReplayToolProvider(file, { strict: false });
    expect((await loose.callTool('contract.ecko')).error?.code).toBe('TOOL_NOT_FOUND');
    expect((await loose.callTool('contract.echo', { text: 1 })).error?.code).toBe('INVALID_ARGUMENT');
  });

  it('fails behind a hub with the same text', async () => {
    await recordEdits();
    await using hub = new ToolHub({ providers: [new ReplayToolProvider(file)] });
    const result = await hub.callTool('files.read', { path: 'c.ts' });
    expect(textOf(result)).toContain('- path: recorded "a.ts", called with "c.ts"');
  });

  it('shows no secret of the call', async () => {
    await recordEdits();
    const result = await new ReplayToolProvider(file).callTool('files.read', { path: 'a.ts', password: 'hunter2' });
    expect(isDeepStrictEqual(result.error?.details?.differences, [{ path: 'password', called: '[hidden]' }])).toBe(
      true,
    );
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });

  it('says that the recording is incomplete', async () => {
    await recordEdits();
    await appendFile(file, '{"type":"incomplete","reason":"The disk was slow."}\n');
    const result = await new ReplayToolProvider(file).callTool('files.read', {});
    expect(textOf(result)).toContain('The recording is incomplete: The disk was slow.');
  });
});

const HEADER = '{"type":"recording","v":1,"name":"a","servers":["a"]}\n';

describe('new ReplayToolProvider()', () => {
  it.each<[string, string | undefined, RegExp]>([
    ['is missing', undefined, /cannot be read/],
    ['is empty', '', /line 1 is not the header/],
    ['is not JSON', 'hello\n', /line 1 is not JSON/],
    ['has another version', '{"type":"recording","v":2,"name":"a","servers":[]}\n', /says version 2/],
    ['has a result without a call', '{"type":"recording","v":1,"name":"a","servers":[]}\n{"type":"result","id":4,"result":{"content":[],"isError":false}}\n', /line 2 belongs to a call/], // prettier-ignore
    ['has a tool that is null', `${HEADER}{"type":"tools","tools":[null]}\n`, /line 2 has no list of tools/],
    [
      'has a tool without a name',
      `${HEADER}{"type":"tools","partial":true,"tools":[{"name":5}]}\n`,
      /line 2 has no list/,
    ],
    [
      'has a prefix that is no text',
      '{"type":"recording","v":1,"name":"a","servers":[5]}\n',
      /line 1 is not the header/,
    ],
    ['has a block that is null', `${HEADER}{"type":"call","id":1,"name":"a.b","args":{}}\n{"type":"result","id":1,"result":{"content":[null],"isError":false}}\n`, /line 3 has no result/], // prettier-ignore
    ['is nested deeply', `${HEADER}{"type":"call","id":1,"name":"a.b","args":{"x":${'['.repeat(20_000)}${']'.repeat(20_000)}}}\n`, /line 2 is nested deeper/], // prettier-ignore
  ])('refuses a file that %s', async (_title, text, message) => {
    if (text !== undefined) await writeFile(file, text);
    expect(() => new ReplayToolProvider(file)).toThrow(message);
  });

  it('ignores types of lines that it does not know', async () => {
    await recordRun((provider) => provider.callTool('contract.echo', { text: 'x' }));
    await appendFile(file, '{"type":"later","data":1}\n');
    expect((await new ReplayToolProvider(file).callTool('contract.echo', { text: 'x' })).isError).toBe(false);
  });

  it('refuses an unknown option and an unknown timing', () => {
    expect(() => new ReplayToolProvider(file, { strikt: true } as never)).toThrow(/did you mean `strict`/);
    expect(() => new ReplayToolProvider(file, { timing: 'fast' as never })).toThrow(/'none' or 'recorded'/);
  });
});
