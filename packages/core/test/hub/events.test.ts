// The event stream of a hub: what happens to calls, in order, and to providers.

import { describe, expect, it } from 'vitest';
import { deferred } from '../../src/call/waiting.js';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  textOf,
  ToolHub,
  type HubEvent,
  type ToolProvider,
} from '../../src/index.js';
import { expectNoLeaks } from '../../src/testing/index.js';

const server = defineServer({
  name: 'files',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'read',
      description: 'Reads.',
      input: { type: 'object', properties: { path: { type: 'string' }, token: { type: 'string' } } },
      annotations: { readOnlyHint: true },
      execute: ({ path }: { path?: string }, ctx) => {
        ctx.progress({ progress: 1, total: 2, message: 'half' });
        ctx.logger.info('reading');
        return `content of ${String(path)}, password=hunter2`;
      },
    }),
    defineTool({ name: 'fail', description: 'Fails.', execute: () => Promise.reject(new Error('no disk')) }),
  ],
});
const files = (): InProcessToolProvider => new InProcessToolProvider({ servers: [server], logger: SILENT });
const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Collects the events of a hub. */
function listen(hub: ToolHub, options?: Parameters<ToolHub['onEvent']>[1]): HubEvent[] {
  const events: HubEvent[] = [];
  hub.onEvent((event) => events.push(event), options);
  return events;
}
const typesOf = (events: readonly HubEvent[]): string[] => events.map(({ type }) => type);

describe('hub.onEvent()', () => {
  it('redacts and cuts the names of unknown tools, which are the text of the caller, and takes any name', async () => {
    await using hub = new ToolHub({ providers: [files()] });
    await hub.connect();
    const events = listen(hub);
    const names = [`files.token=hunter2x`, 'x'.repeat(100_000), Object.create(null) as string, undefined as never];
    for (const name of names) expect((await hub.callTool(name)).isError).toBe(true);
    const settled = events.filter(({ type }) => type === 'call.settled').map(({ tool }) => tool);
    expect(settled).toEqual(['files.token=[hidden]', `${'x'.repeat(256)}…`, '(object)', '(undefined)']);
  });

  it('emits the events of a call in order, with one id, growing event ids and times', async () => {
    await using hub = new ToolHub({
      providers: [files()],
      policy: { default: 'ask', rules: [{ tool: 'files.read', action: 'allow' }] },
    });
    await hub.connect();
    const events = listen(hub);
    await hub.callTool('files.read', { path: 'a' }, { sessionId: 's', callId: 'c' });
    expect(typesOf(events)).toEqual([
      'call.queued',
      'call.prepared',
      'call.judged',
      'call.started',
      'call.progress',
      'call.log',
      'call.settled',
    ]);
    expect(
      events.every(({ v, callId, sessionId, tool }) => v === 1 && callId === 'c' && sessionId === 's' && tool),
    ).toBe(true);
    expect(events.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(events.map(({ at }) => Date.parse(at)).every(Number.isFinite)).toBe(true);
    expect(events[1]?.data).toEqual({ claims: [{ pattern: 'read', understood: true }] });
    expect(events[2]?.data).toEqual({ decision: 'allow', by: 'rule', claims: ['read'] });
    expect(events[4]?.data).toEqual({ progress: 1, total: 2, message: 'half' });
    expect(events[6]?.data).toMatchObject({ isError: false, characters: 30 });
  });

  it('adds arguments and results only for listeners that ask for them, redacted', async () => {
    await using hub = new ToolHub({ providers: [files()] });
    const brief = listen(hub);
    const full = listen(hub, { includeData: true });
    await hub.callTool('files.read', { path: 'a', token: 'hunter2' });
    expect(JSON.stringify(brief)).not.toContain('content of');
    expect(full.find(({ type }) => type === 'call.prepared')?.data?.args).toEqual({ path: 'a', token: '[hidden]' });
    expect(JSON.stringify(full)).toContain('content of a, password=[hidden]');
    expect(JSON.stringify(full)).not.toContain('hunter2');
    expect(full.map(({ id }) => id)).toEqual(brief.map(({ id }) => id));
  });

  it('says how a call failed, also one of an unknown tool', async () => {
    await using hub = new ToolHub({ providers: [files()] });
    await hub.connect();
    const events = listen(hub);
    await hub.callTool('files.fail');
    await hub.callTool('files.none');
    const settled = events.filter(({ type }) => type === 'call.settled');
    expect(settled[0]?.data).toMatchObject({ isError: true, code: 'EXECUTION_FAILED', message: 'no disk' });
    expect(settled[1]?.data).toMatchObject({ isError: true, code: 'TOOL_NOT_FOUND' });
  });

  it('names the call on whose behalf another is made', async () => {
    const outer = defineTool({
      name: 'twice',
      description: 'Reads.',
      execute: async (_args, ctx): Promise<string> =>
        textOf(await hub.callTool('files.read', { path: 'b' }, ctx.nested)),
    });
    const agent = defineServer({ name: 'agent', version: '1.0.0', tools: [outer] });
    await using hub = new ToolHub({
      providers: [files(), new InProcessToolProvider({ name: 'agent', servers: [agent] })],
    });
    const events = listen(hub);
    await hub.callTool('agent.twice', {}, { callId: 'outer' });
    const [nested] = events.filter(({ type, tool }) => type === 'call.queued' && tool === 'files.read');
    expect(nested?.parentCallId).toBe('outer');
    expect(nested?.callId).not.toBe('outer');
  });

  it('emits what a person is asked, answers, and adds as a rule', async () => {
    await using hub = new ToolHub({
      providers: [files()],
      policy: { default: 'ask', rules: [], approve: () => ({ decision: 'always' }) },
    });
    await hub.connect();
    const events = listen(hub);
    await hub.callTool('files.read');
    expect(typesOf(events)).toEqual(
      expect.arrayContaining(['approval.asked', 'approval.answered', 'policy.rule', 'call.judged']),
    );
    expect(events.find(({ type }) => type === 'approval.answered')?.data).toEqual({ decision: 'always' });
  });

  it('emits that a question expired when its call is cancelled', async () => {
    const asked = deferred<undefined>();
    await using hub = new ToolHub({
      providers: [files()],
      policy: {
        default: 'ask',
        rules: [],
        approve: () => {
          asked.resolve(undefined);
          return new Promise(() => undefined);
        },
      },
    });
    const events = listen(hub);
    const abort = new AbortController();
    const call = hub.callTool('files.read', {}, { signal: abort.signal });
    await asked.promise;
    abort.abort();
    expect((await call).error?.code).toBe('CANCELLED');
    await expect.poll(() => typesOf(events)).toContain('approval.expired');
  });

  it('emits states and lists of providers, and passes on the events of one that has them', async () => {
    const own: ToolProvider = files();
    let emit: (event: { type: string; data?: { level: string; message: string } }) => void = () => undefined;
    own.onEvent = (listener) => {
      emit = listener;
      return () => undefined;
    };
    const hub = new ToolHub({ providers: [own, new ToolHub({ name: 'inner' })] });
    const events = listen(hub);
    await hub.connect();
    emit({ type: 'provider.log', data: { level: 'warn', message: 'slow, token=hunter2' } });
    emit({ type: 'call.settled' });
    emit({ type: 'unknown' });
    await hub.disconnect();
    expect(events.filter(({ type }) => type === 'provider.log')).toMatchObject([
      { provider: own.name, data: { level: 'warn', message: 'slow, token=[hidden]' } },
    ]);
    expect(events.find(({ type, provider }) => type === 'provider.tools' && provider === own.name)).toMatchObject({
      data: { count: 2 },
    });
    expect(
      events
        .filter(({ type, provider }) => type === 'provider.state' && provider === 'inner')
        .map(({ data }) => data?.to),
    ).toEqual(['INITIALIZING', 'READY', 'COLD']);
    expect(typesOf(events)).not.toContain('call.settled');
  });

  it('survives listeners that throw, and stops after unsubscribe', async () => {
    await using _ = expectNoLeaks();
    await using hub = new ToolHub({ providers: [files()] });
    hub.onEvent(() => {
      throw new Error('listener');
    });
    const events: HubEvent[] = [];
    const unsubscribe = hub.onEvent((event) => events.push(event));
    await hub.callTool('files.read');
    unsubscribe();
    const { length } = events;
    expect((await hub.callTool('files.read')).isError).toBe(false);
    expect(events).toHaveLength(length);
    expect(() => hub.onEvent('x' as never)).toThrow(/takes a function/);
    expect(() => hub.onEvent(() => undefined, { data: true } as never)).toThrow(/includeData/);
  });
});
