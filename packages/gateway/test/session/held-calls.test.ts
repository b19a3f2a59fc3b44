// What clients send back after a question: late, twice, for another call, as another client, to another replica. No call
// runs twice, and none runs with what was not shown.

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolHub,
  type JsonObject,
  type ToolProvider,
} from '@toolwright/core';
import { ERROR_META } from '@toolwright/core/mcp';
import { createTestProject } from '@toolwright/core/testing';
import { createGateway, type GatewayOptions } from '@toolwright/gateway';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { forwardedServer } from '../fixtures/forwarded-server.js';
import { listen, newModernClient } from '../fixtures/modern-client.js';
import { openModernSocket } from '../fixtures/modern-socket.js';
import { modernServer } from '../fixtures/modern-server.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const ALICE = 'alice-has-this-token';
const BOB = 'bob-has-another-token';
const QUESTION = { method: 'elicitation/create', message: 'hm?', requestedSchema: { type: 'object', properties: {} } };
const ONCE = { action: 'accept', content: { decision: 'once' } };

interface Result extends JsonObject {
  resultType: string;
  inputRequests?: Record<string, { method: string; params: { message: string } }>;
  requestState: string;
  content?: { text: string }[];
  _meta: JsonObject;
}
type Answer = { result: Result; error?: undefined } | { result?: undefined; error: { code: number; message: string } };

/** Sends attempts of one client, each as a request of its own. */
type Send = (name: string, args: JsonObject, more?: JsonObject, signal?: AbortSignal) => Promise<Answer>;

async function serve(provider: ToolProvider, options: GatewayOptions = {}, auth: 'none' | undefined = undefined) {
  const gateway = createGateway(provider, { forward: true, ...options });
  ends.push(
    () => provider.disconnect(),
    () => gateway.close(),
  );
  const { url, close } = await gateway.serveHttp({ auth: auth ?? { token: [ALICE, BOB] } });
  const { url: otherUrl } = await gateway.serveHttp({ auth: auth ?? { token: [ALICE, BOB] } });
  const asAt =
    (url: string) =>
    (token: string): Send =>
    async (name, args, more = {}, signal) => {
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
      };
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': name,
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name, arguments: args, ...more, _meta },
        }),
        ...(signal && { signal }),
      });
      return (await response.json()) as Answer;
    };
  return { as: asAt(url), elsewhere: asAt(otherUrl), close, gateway };
}

const codeOf = ({ result }: Answer): unknown => (result?._meta[ERROR_META] as JsonObject | undefined)?.code;
const stateOf = ({ result }: Answer): string => {
  expect(result?.resultType).toBe('input_required');
  return result!.requestState;
};
const retry = (requestState: string, inputResponses: JsonObject): JsonObject => ({ requestState, inputResponses });

/** A hub whose policy asks before each run of `sh.run`, and what ran. */
function askingHub(): { hub: ToolHub; ran: string[]; see: (suffix: string) => void } {
  const ran: string[] = [];
  let suffix = '';
  const run = defineTool({
    name: 'run',
    description: 'Runs it.',
    input: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
    permission: (args: { command?: string }) => [
      { pattern: `${args.command}${suffix}`, match: 'tokens' as const, understood: true },
    ],
    execute: ({ command }: { command?: string }) => {
      ran.push(String(command));
      return 'ran';
    },
  });
  const hub = new ToolHub({
    providers: [new InProcessToolProvider({ servers: [defineServer({ name: 'sh', version: '1.0.0', tools: [run] })] })],
    policy: { default: 'ask', rules: [] },
  });
  return { hub, ran, see: (text) => (suffix = text) };
}

/** A hub with a server of an earlier revision, and how often its tool was called. */
function heldHub() {
  const one = forwardedServer('one', []);
  let runs = 0;
  one.beforeAsking = async () => void runs++;
  return { hub: new ToolHub({ providers: [one.provider] }), runs: () => runs };
}

describe('requestState of an approval', () => {
  it('is valid for this client, this request and this state only', async () => {
    const { hub, ran } = askingHub();
    const { as } = await serve(hub);
    const [alice, bob] = [as(ALICE), as(BOB)];
    const args = { command: 'make' };
    const state = stateOf(await alice('sh__run', args));
    const answers = { approval: ONCE };
    const forged = Buffer.from(state, 'base64url');
    forged[20]! ^= 1;
    for (const answer of [
      await bob('sh__run', args, retry(state, answers)),
      await alice('sh__run', { command: 'rm -rf' }, retry(state, answers)),
      await alice('sh__run', args, retry(forged.toString('base64url'), answers)),
      await alice('sh__run', args, retry('x'.repeat(70_000), answers)),
      await alice('sh__run', args, { requestState: 7, inputResponses: answers }),
      await alice('sh__run', args, { requestState: state, inputResponses: [] }),
    ])
      expect(answer).toMatchObject({ error: { code: -32602 } });
    stateOf(await alice('sh__run', args, { inputResponses: answers })); // without a state the answer means nothing
    expect(ran).toEqual([]);
    expect((await alice('sh__run', args, retry(state, answers))).result?.isError).toBe(false);
    expect(ran).toEqual(['make']);
  });

  it('is used once, however often and however fast it is sent', async () => {
    const { hub, ran } = askingHub();
    const { as } = await serve(hub);
    const alice = as(ALICE);
    const args = { command: 'make' };
    const state = stateOf(await alice('sh__run', args));
    const attempts = Array.from({ length: 8 }, () => alice('sh__run', args, retry(state, { approval: ONCE })));
    const codes = (await Promise.all(attempts)).map(codeOf);
    expect(codes.filter((code) => code === undefined)).toHaveLength(1);
    expect(codes.filter((code) => code === 'OUTCOME_UNKNOWN')).toHaveLength(7);
    expect(ran).toEqual(['make']);
  });

  it('is replaced by a new question when the claims have changed since they were shown', async () => {
    const { hub, ran, see } = askingHub();
    const { as } = await serve(hub);
    const alice = as(ALICE);
    const args = { command: 'make' };
    const first = await alice('sh__run', args);
    see(' /etc/passwd');
    const second = await alice('sh__run', args, retry(stateOf(first), { approval: ONCE }));
    expect(second.result?.inputRequests?.approval?.params.message).toContain('Claim: make /etc/passwd');
    expect(ran).toEqual([]);
    await alice('sh__run', args, retry(stateOf(second), { approval: ONCE }));
    expect(ran).toEqual(['make']);
  });

  it('expires with the question', async () => {
    const { hub, ran } = askingHub();
    const { as } = await serve(hub, { limits: { approvalTimeoutMs: 30 } });
    const alice = as(ALICE);
    const state = stateOf(await alice('sh__run', { command: 'make' }));
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(await alice('sh__run', { command: 'make' }, retry(state, { approval: ONCE }))).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('expired') as string },
    });
    expect(ran).toEqual([]);
  });

  it('is valid without authentication, as only the client that was asked has it', async () => {
    const { hub, ran } = askingHub();
    const { as } = await serve(hub, {}, 'none');
    const state = stateOf(await as(ALICE)('sh__run', { command: 'make' }));
    await as(BOB)('sh__run', { command: 'make' }, retry(state, { approval: ONCE }));
    expect(ran).toEqual(['make']);
  });
});

describe('HeldCall', () => {
  it('is continued only by its client, and runs once', async () => {
    const { hub, runs } = heldHub();
    const { as } = await serve(hub);
    const [alice, bob] = [as(ALICE), as(BOB)];
    const state = stateOf(await alice('one__ask', QUESTION));
    const answers = { q1: { action: 'accept', content: { by: 'me' } } };
    expect(await bob('one__ask', QUESTION, retry(state, answers))).toMatchObject({ error: { code: -32602 } });
    const done = await alice('one__ask', QUESTION, retry(state, answers));
    expect(done.result?.content?.[0]?.text).toContain('"by":"me"');
    expect(codeOf(await alice('one__ask', QUESTION, retry(state, answers)))).toBe('OUTCOME_UNKNOWN');
    expect(runs()).toBe(1);
  });

  it('asks again for an answer that is missing', async () => {
    const { hub, runs } = heldHub();
    const { as } = await serve(hub);
    const alice = as(ALICE);
    let state = stateOf(await alice('one__ask', QUESTION));
    for (const answers of [{}, { other: {} }, { q1: null }, { q1: 'yes' }])
      state = stateOf(await alice('one__ask', QUESTION, retry(state, answers)));
    const done = await alice('one__ask', QUESTION, retry(state, { q1: { action: 'decline' } }));
    expect([done.result?.content?.[0]?.text, runs()]).toEqual(['{"action":"decline"}', 1]);
  });

  it('ends with OUTCOME_UNKNOWN when it was not continued in time', async () => {
    const { hub, runs } = heldHub();
    const { as } = await serve(hub, { limits: { approvalTimeoutMs: 30 } });
    const alice = as(ALICE);
    const state = stateOf(await alice('one__ask', QUESTION));
    await new Promise((resolve) => setTimeout(resolve, 60));
    const late = await alice('one__ask', QUESTION, retry(state, { q1: { action: 'accept' } }));
    expect([codeOf(late), runs()]).toEqual(['OUTCOME_UNKNOWN', 1]);
  });

  it('waits for an answer only as long as the question is valid, however often it is retried without one', async () => {
    const { hub } = heldHub();
    const { as } = await serve(hub, { limits: { approvalTimeoutMs: 200 } });
    const alice = as(ALICE);
    let answer = await alice('one__ask', QUESTION);
    let retries = 0;
    while (answer.result?.resultType === 'input_required' && retries++ < 40) {
      await new Promise((resolve) => setTimeout(resolve, 25));
      answer = await alice('one__ask', QUESTION, retry(stateOf(answer), {}));
    }
    expect(codeOf(answer)).toBe('OUTCOME_UNKNOWN');
  });

  it('is continued at another listener of the gateway, also when its own has closed', async () => {
    const { hub, runs } = heldHub();
    const { as, elsewhere, close } = await serve(hub);
    for (let call = 0; call < 2; call++) {
      const state = stateOf(await as(ALICE)('one__ask', QUESTION));
      if (call === 1) await close();
      const done = await elsewhere(ALICE)('one__ask', QUESTION, retry(state, { q1: { action: 'accept' } }));
      expect(done.result?.content?.[0]?.text).toBe('{"action":"accept"}');
    }
    expect(runs()).toBe(2);
  });

  it('counts until its result was sent, also when its server no longer waits for the answer', async () => {
    const { hub } = heldHub();
    const { as } = await serve(hub);
    const alice = as(ALICE);
    const asks = { ...QUESTION, timeout: 20 };
    const states: string[] = [];
    for (let count = 0; count < 64; count++) states.push(stateOf(await alice('one__ask', asks)));
    await new Promise((resolve) => setTimeout(resolve, 100)); // the server gives up on its questions
    expect((await alice('one__ask', asks)).result?.content?.[0]?.text).toContain('64 calls');
    const done = await alice('one__ask', asks, retry(states[0]!, { q1: { action: 'accept' } }));
    expect(done.result?.content?.[0]?.text).toContain('refused');
    stateOf(await alice('one__ask', asks));
  });

  it('ends when its client cancels the attempt that was answered with the question', async () => {
    const project = await createTestProject({});
    const { hub, runs } = heldHub();
    const gateway = createGateway(hub, { forward: true });
    ends.push(
      async () => project[Symbol.asyncDispose](),
      () => hub.disconnect(),
      () => gateway.close(),
    );
    const path = join(project.projectDir, 'g.sock');
    await gateway.serveSocket({ path });
    const { send, cancel, answerTo, close } = await openModernSocket(path);
    ends.push(async () => close());
    const call = { name: 'one__ask', arguments: QUESTION };
    send('a', 'tools/call', call);
    const { result } = await answerTo('a');
    expect(result?.resultType).toBe('input_required');
    cancel('a');
    send('b', 'tools/call', {
      ...call,
      requestState: result!.requestState,
      inputResponses: { q1: { action: 'accept' } },
    });
    expect((await answerTo('b')).result?._meta?.[ERROR_META]).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(runs()).toBe(1);
  });

  it('is one of 64 of its client at most, and of any number of other clients', async () => {
    const names = ['one', 'two', 'three']; // a server may have 32 questions open
    const hub = new ToolHub({ providers: names.map((name) => forwardedServer(name, []).provider) });
    const { as } = await serve(hub);
    for (let count = 0; count < 64; count++)
      stateOf(await as(ALICE)(count % 2 === 0 ? 'one__ask' : 'two__ask', QUESTION));
    const { result } = await as(ALICE)('three__ask', QUESTION);
    expect([result?.resultType, result?.content?.[0]?.text]).toEqual([
      'complete',
      expect.stringContaining('64 calls') as string,
    ]);
    stateOf(await as(BOB)('three__ask', QUESTION));
  });

  it('ends when the client closes the connection on which it waits', async () => {
    const project = await createTestProject({});
    const { hub } = heldHub();
    const gateway = createGateway(hub, { forward: true });
    ends.push(
      async () => project[Symbol.asyncDispose](),
      () => hub.disconnect(),
      () => gateway.close(),
    );
    const open = await listen(gateway, 'socket', project);
    const client = newModernClient({ elicitation: {} }, { inputRequired: { autoFulfill: false } });
    await client.connect(await open());
    const { url } = await gateway.serveHttp({ auth: 'none' });
    const metrics = new URL('/metrics', url);
    const asked = await client.callTool({ name: 'one__ask', arguments: QUESTION }, { allowInputRequired: true });
    expect(asked.resultType).toBe('input_required');
    await client.close();
    const inFlight = async (): Promise<string> => (await fetch(metrics)).text();
    await vi.waitFor(async () => expect(await inFlight()).toContain('calls_in_flight 0'));
  });
});

describe('createGateway({ stateKey }) of several replicas', () => {
  it('continues the question of a modern server in any replica, and fails with OUTCOME_UNKNOWN for a call that another holds', async () => {
    const stateKey = randomBytes(32);
    const up = modernServer('up');
    const again = modernServer('up');
    ends.push(
      () => up.close(),
      () => again.close(),
    );
    const held = [heldHub(), heldHub()];
    held.forEach(({ hub }, index) => void hub.add(index === 0 ? up.provider : again.provider));
    const [one, two] = [await serve(held[0]!.hub, { stateKey }), await serve(held[1]!.hub, { stateKey })];
    const relayed = stateOf(await one.as(ALICE)('up__deploy', {}));
    const confirm = { confirm: { action: 'accept', content: { yes: true } } };
    const done = await two.as(ALICE)('up__deploy', {}, retry(relayed, confirm));
    expect(done.result?.content?.[0]?.text).toContain('opaque: of the server');
    expect([up.deployed.length, again.deployed.length]).toEqual([0, 1]);
    const state = stateOf(await one.as(ALICE)('one__ask', QUESTION));
    const elsewhere = await two.as(ALICE)('one__ask', QUESTION, retry(state, { q1: { action: 'accept' } }));
    expect([codeOf(elsewhere), held.map(({ runs }) => runs())]).toEqual(['OUTCOME_UNKNOWN', [1, 0]]);
  });
});

describe('createGateway({ replicas })', () => {
  it('does not serve tools with state per session that are added after it has started', async () => {
    const warnings: string[] = [];
    const { hub } = askingHub();
    const { as } = await serve(hub, {
      replicas: true,
      stateKey: randomBytes(32),
      logger: { debug() {}, info() {}, warn: (message) => void warnings.push(message), error() {} },
    });
    const project = await createTestProject({ 'a.txt': 'a' });
    ends.push(async () => project[Symbol.asyncDispose]());
    await hub.add(InProcessToolProvider.forProject(project.projectDir));
    const read = await as(ALICE)('filesystem__read_file', { path: 'a.txt' });
    expect(read.error?.message).toContain('Unknown tool');
    expect((await as(ALICE)('git__status', {})).error).toBeUndefined();
    expect(warnings.filter((warning) => warning.includes('filesystem'))).toHaveLength(1);
  });
});

describe('requestState of a modern server', () => {
  it('is refused with TOO_LARGE when it does not fit, and never reaches the log', async () => {
    const up = modernServer('up');
    ends.push(() => up.close());
    const lines: string[] = [];
    const log = (...line: unknown[]): void => void lines.push(JSON.stringify(line));
    const { as } = await serve(new ToolHub({ providers: [up.provider] }), {
      logger: { debug: log, info: log, warn: log, error: log },
    });
    const alice = as(ALICE);
    up.state = 'secret '.repeat(5_000);
    const sealed = stateOf(await alice('up__deploy', {}));
    expect(sealed.length).toBeLessThanOrEqual(64 * 1024);
    const confirm = { confirm: { action: 'accept', content: { yes: true } } };
    expect(codeOf(await alice('up__deploy', {}, retry(sealed, confirm)))).toBeUndefined();
    expect(up.deployed).toEqual([up.state]);
    up.state = 'secret '.repeat(9_000);
    expect(codeOf(await alice('up__deploy', {}))).toBe('TOO_LARGE');
    expect(lines.join('\n')).not.toMatch(/secret|c2VjcmV0/);
  });
});
