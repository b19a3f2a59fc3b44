// withDuplicateGuard(): when a repeated call is refused, and what starts the count again.

import { describe, expect, it } from 'vitest';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  textOf,
  ToolError,
  ToolHub,
  withDuplicateGuard,
  type DuplicateGuardOptions,
} from '../../../src/index.js';

function guarded(
  options?: DuplicateGuardOptions,
): (tool: string, args?: object, sessionId?: string) => Promise<string> {
  let polls = 0;
  const input = { type: 'object', additionalProperties: true } as const;
  const server = defineServer({
    name: 'ci',
    version: '1',
    tools: [
      defineTool({ name: 'test', description: 'Runs the tests.', input, execute: () => 'one test fails' }),
      defineTool({ name: 'edit', description: 'Edits a file.', input, execute: () => 'edited' }),
      defineTool({ name: 'read', description: 'Reads.', input, annotations: { readOnlyHint: true }, execute: () => 'text' }), // prettier-ignore
      defineTool({ name: 'poll', description: 'Polls.', input, execute: () => `${++polls} %` }),
      defineTool({ name: 'fail', description: 'Fails.', input, execute: () => Promise.reject(new Error('no')) }),
    ],
  });
  const hub = new ToolHub({
    providers: [new InProcessToolProvider({ servers: [server] })],
    middleware: [withDuplicateGuard(options)],
  });
  return async (tool, args = {}, sessionId = 's') => {
    const result = await hub.callTool(`ci.${tool}`, { ...args }, { sessionId });
    return result.error ? result.error.code : textOf(result);
  };
}

const REFUSED = 'INVALID_ARGUMENT';

describe('withDuplicateGuard()', () => {
  it('refuses the call after three equal calls with equal results, and stays refusing', async () => {
    const call = guarded();
    for (let n = 0; n < 3; n++) expect(await call('test', { suite: 'a' })).toBe('one test fails');
    expect(await call('test', { suite: 'a' })).toBe(REFUSED);
    expect(await call('test', { suite: 'a' })).toBe(REFUSED);
    expect(await call('test', { suite: 'b' })).toBe('one test fails');
  });

  it('says why and what to do', async () => {
    const hub = new ToolHub({
      providers: [
        new InProcessToolProvider({
          servers: [defineServer({ name: 'a', version: '1', tools: [defineTool({ name: 'x', description: 'X.', execute: () => 'x' })] })], // prettier-ignore
        }),
      ],
      middleware: [withDuplicateGuard({ repeats: 1 })],
    });
    await hub.callTool('a.x');
    expect((await hub.callTool('a.x')).error).toMatchObject({
      message: expect.stringMatching(/made once .* Use that result, or make a different call/) as string,
      details: { repeats: 1 },
    });
  });

  it('refuses equal failures too, and read-only calls in between do not count as a change', async () => {
    const call = guarded();
    for (let n = 0; n < 3; n++) {
      expect(await call('fail')).toBe('EXECUTION_FAILED');
      await call('read', { n });
    }
    expect(await call('fail')).toBe(REFUSED);
  });

  it('starts again after another call that may change something', async () => {
    const call = guarded();
    for (let n = 0; n < 5; n++) {
      expect(await call('test')).toBe('one test fails');
      expect(await call('edit', { n })).toBe('edited');
    }
  });

  it('never refuses a call whose result changes', async () => {
    const call = guarded();
    for (let n = 1; n <= 6; n++) expect(await call('poll')).toBe(`${n} %`);
  });

  it('counts each session for itself', async () => {
    const call = guarded({ repeats: 1 });
    expect(await call('read', {}, 'one')).toBe('text');
    expect(await call('read', {}, 'other')).toBe('text');
    expect(await call('read', {}, 'one')).toBe(REFUSED);
  });

  it('forgets after `windowMs`, and applies to selected tools only', async () => {
    const call = guarded({ repeats: 1, windowMs: 0.001 });
    await call('read');
    await new Promise(setImmediate);
    expect(await call('read')).toBe('text');
    const excluded = guarded({ repeats: 1, exclude: ['ci.read'] });
    await excluded('read');
    expect(await excluded('read')).toBe('text');
  });

  it.each([null, { repeats: 0 }, { windowMs: 'x' }, { times: 2 }])('rejects %j', (options) => {
    expect(() => withDuplicateGuard(options as never)).toThrow(ToolError);
  });

  it('counts equal calls that run at the same time', async () => {
    const call = guarded();
    expect(await Promise.all([call('read'), call('read'), call('read')])).toEqual(['text', 'text', 'text']);
    expect(await call('read')).toBe(REFUSED);
  });

  it('does not count calls that were cancelled, such as those that pass a question of a server on', async () => {
    const waiting = defineTool({
      name: 'wait',
      description: 'Waits.',
      input: { type: 'object' },
      execute: () => new Promise<string>(() => undefined),
    });
    const hub = new ToolHub({
      providers: [
        new InProcessToolProvider({ servers: [defineServer({ name: 'ci', version: '1', tools: [waiting] })] }),
      ],
      middleware: [withDuplicateGuard()],
    });
    for (let n = 0; n < 5; n++) {
      const abort = new AbortController();
      const call = hub.callTool('ci.wait', {}, { sessionId: 's', signal: abort.signal });
      setImmediate(() => abort.abort());
      expect((await call).error?.code).toBe('CANCELLED');
    }
  });
});
