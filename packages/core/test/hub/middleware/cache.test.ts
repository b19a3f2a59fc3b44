// withCache(): what is kept, for whom and for how long, and what drops it.

import { describe, expect, it } from 'vitest';
import { deferred } from '../../../src/call/waiting.js';
import {
  deferredTools,
  defineServer,
  defineTool,
  InProcessToolProvider,
  textOf,
  ToolError,
  ToolHub,
  withCache,
  type CacheOptions,
  type ToolProvider,
} from '../../../src/index.js';

/** `docs.read` counts its runs and returns the count; `docs.write` changes something; others are special in one way. */
function docs(): InProcessToolProvider {
  let runs = 0;
  const readOnly = {
    annotations: { readOnlyHint: true },
    input: { type: 'object', additionalProperties: true },
  } as const;
  return new InProcessToolProvider({
    servers: [
      defineServer({
        name: 'docs',
        version: '1',
        tools: [
          defineTool({ name: 'read', description: 'Reads.', ...readOnly, execute: () => ({ run: ++runs }) }),
          defineTool({ name: 'write', description: 'Writes.', execute: () => 'written' }),
          defineTool({ name: 'unsure', description: 'No annotations.', execute: () => `run ${++runs}` }),
          defineTool({
            name: 'fail',
            description: 'Fails.',
            ...readOnly,
            execute: () => Promise.reject(new Error(`run ${++runs}`)),
          }),
          defineTool({
            name: 'direct',
            description: 'Returns a directive.',
            ...readOnly,
            execute: () => ({
              content: [{ type: 'text', text: `run ${++runs}` }],
              directives: [{ type: 'stop_processing', params: {} }],
            }),
          }),
        ],
      }),
    ],
  });
}

async function cached(options: Partial<CacheOptions> = {}, provider: ToolProvider = docs()) {
  const cache = withCache({ include: ['docs'], ...options });
  const hub = new ToolHub({ providers: [provider], middleware: [cache] });
  await hub.connect();
  const call = async (tool: string, args = {}, more = {}): Promise<string> => {
    const result = await hub.callTool(`docs.${tool}`, args, more);
    return textOf(result) + (result._meta?.['toolwright/cached'] === true ? ' cached' : '');
  };
  return { hub, cache, call };
}

describe('withCache()', () => {
  it('answers an equal call without running it, and marks the result', async () => {
    const { hub, call } = await cached();
    expect(await call('read', { a: 1, b: { c: 2, d: 3 } })).toBe('{"run":1}');
    expect(await call('read', { b: { d: 3, c: 2 }, a: 1 })).toBe('{"run":1} cached');
    expect((await hub.callTool('docs.read', { a: 1, b: { c: 2, d: 3 } })).structuredContent).toEqual({ run: 1 });
    expect(await call('read', { a: 2 })).toBe('{"run":2}');
  });

  it('caches what deferredTools() calls, which drops nothing by itself', async () => {
    const { hub, call } = await cached();
    await using _ = hub;
    await hub.add(new InProcessToolProvider({ servers: [deferredTools(hub)] }));
    expect(await call('read')).toBe('{"run":1}');
    const result = await hub.callTool('tools.call_tool', { name: 'docs.read' });
    expect(textOf(result)).toBe('{"run":1}');
    expect(await call('read')).toBe('{"run":1} cached');
  });

  it('gives each caller a copy', async () => {
    const { hub, call } = await cached();
    const first = await hub.callTool('docs.read');
    (first.structuredContent as { run: number }).run = 99;
    const second = await hub.callTool('docs.read');
    (second.structuredContent as { run: number }).run = 98;
    expect(await call('read')).toBe('{"run":1} cached');
  });

  it('separates sessions and the meta of callers, but not trace contexts; shares with `all`', async () => {
    const { call } = await cached();
    expect(await call('read', {}, { sessionId: 'a' })).toBe('{"run":1}');
    expect(await call('read', {}, { sessionId: 'b' })).toBe('{"run":2}');
    expect(await call('read', {})).toBe('{"run":3}');
    expect(await call('read', {}, { sessionId: 'a', meta: { user: 'x' } })).toBe('{"run":4}');
    expect(await call('read', {}, { sessionId: 'a', meta: { traceparent: '00-1' } })).toBe('{"run":1} cached');
    const all = await cached({ share: 'all' });
    expect(await all.call('read', {}, { sessionId: 'a' })).toBe('{"run":1}');
    expect(await all.call('read', {}, { sessionId: 'b' })).toBe('{"run":1} cached');
  });

  it.each(['unsure', 'fail', 'direct', 'write'])('never keeps a result of docs.%s', async (tool) => {
    const { call } = await cached();
    await call(tool);
    expect(await call(tool)).not.toContain('cached');
  });

  it('never believes annotations that the hub does not trust', async () => {
    const inner = new ToolHub({ providers: [docs()] });
    const cache = withCache({ include: ['*'] });
    await using hub = new ToolHub({
      providers: [{ provider: inner, trustAnnotations: false }],
      middleware: [cache],
    });
    await hub.callTool('docs.read');
    expect((await hub.callTool('docs.read'))._meta).toBeUndefined();
  });

  it('drops everything when a call may change something, whatever its provider', async () => {
    const other = new InProcessToolProvider({
      servers: [
        defineServer({ name: 'other', version: '1', tools: [defineTool({ name: 'run', description: 'Runs.', execute: () => 'ran' })] }), // prettier-ignore
      ],
    });
    const { hub, call } = await cached();
    await hub.add(other);
    await call('read');
    await hub.callTool('other.run');
    expect(await call('read')).toBe('{"run":2}');
    expect(await call('read')).toBe('{"run":2} cached');
  });

  it('does not keep what was read before or during a change', async () => {
    const reading = deferred();
    const read = deferred<string>();
    const slow = new InProcessToolProvider({
      servers: [
        defineServer({
          name: 'docs',
          version: '1',
          tools: [
            defineTool({
              name: 'read',
              description: 'Reads.',
              annotations: { readOnlyHint: true },
              execute: () => {
                reading.resolve();
                return read.promise;
              },
            }),
            defineTool({ name: 'write', description: 'Writes.', execute: () => 'written' }),
          ],
        }),
      ],
    });
    const { call } = await cached({}, slow);
    const first = call('read');
    await reading.promise;
    await call('write');
    read.resolve('old');
    expect(await first).toBe('old');
    expect(await call('read')).toBe('old'); // it ran again
    expect(await call('read')).toBe('old cached');
  });

  it('keeps a result for `ttlMs`, at most `maxEntries`, within `maxCharacters`, and until `clear()`', async () => {
    const short = await cached({ ttlMs: 0.001 });
    await short.call('read');
    await new Promise(setImmediate);
    expect(await short.call('read')).toBe('{"run":2}');

    const few = await cached({ maxEntries: 2 });
    for (const n of [1, 2, 1, 3]) await few.call('read', { n }); // 2 is the least recently used
    expect(await few.call('read', { n: 1 })).toContain('cached');
    expect(await few.call('read', { n: 2 })).not.toContain('cached');

    const small = await cached({ maxCharacters: 10 });
    await small.call('read');
    expect(await small.call('read')).toBe('{"run":2}');

    const cleared = await cached();
    await cleared.call('read');
    cleared.cache.clear();
    expect(await cleared.call('read')).toBe('{"run":2}');
  });

  it('still lets the policy decide about each call', async () => {
    const decisions: string[] = [];
    await using hub = new ToolHub({
      providers: [docs()],
      middleware: [withCache({ include: ['docs'] })],
      policy: {
        default: 'ask',
        rules: [],
        approve: () => ({ decision: decisions.push('asked') === 1 ? 'once' : 'deny' }),
      },
    });
    expect((await hub.callTool('docs.read')).isError).toBe(false);
    expect((await hub.callTool('docs.read')).error?.code).toBe('PERMISSION_DENIED');
  });

  it.each([
    null,
    {},
    { include: 'docs' },
    { include: ['a'], ttlMs: 0 },
    { include: ['a'], share: 'me' },
    { include: [], ttl: 1 },
  ])('rejects %j', (options) => {
    expect(() => withCache(options as never)).toThrow(ToolError);
  });
});
