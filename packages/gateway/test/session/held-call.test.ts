// One held call: which attempt its messages belong to, and when it may still ask.

import type { JsonObject } from '@toolwright/core';
import { expect, describe, it } from 'vitest';
import type { Exchange } from '../../src/engines/port.js';
import type { ModernRequest } from '../../src/engines/v2.js';
import { HeldCall, type Attempt } from '../../src/session/held-call.js';

const request = (more: Partial<ModernRequest> = {}): ModernRequest => ({
  id: 1,
  method: 'tools/call',
  params: {},
  capabilities: {},
  logLevel: undefined,
  progressToken: undefined,
  meta: {},
  inputResponses: undefined,
  requestState: undefined,
  ...more,
});

/** A call that is run by `run`, and the messages that its client has received. */
function held(run: (exchange: Exchange) => Promise<JsonObject>) {
  const sent: [string, JsonObject][] = [];
  const call = new HeldCall(request(), { run, assertMayAsk: () => undefined });
  const next = (more: Partial<ModernRequest> = {}): Promise<Attempt> =>
    call.next(request(more), {
      signal: new AbortController().signal,
      notify: (method, params) => void sent.push([method, params]),
    });
  return { call, next, sent };
}

const ask = (exchange: Exchange): Promise<JsonObject> =>
  exchange.request('elicitation/create', {}, { timeoutMs: 1_000 });
const progress = (exchange: Exchange, progressToken: string, value: number): void =>
  exchange.notify('notifications/progress', { progressToken, progress: value });

describe('HeldCall.next()', () => {
  it('sends progress with the token of the latest attempt, and none when that has no token', async () => {
    const { next, sent } = held(async (exchange) => {
      for (let value = 1; value <= 3; value++) {
        progress(exchange, 'first', value);
        await ask(exchange);
      }
      return {};
    });
    await next({ progressToken: 'first' });
    await next({ progressToken: 'second', inputResponses: { q1: {} } });
    await next({ inputResponses: { q2: {} } });
    await next({ inputResponses: { q3: {} } });
    expect(sent.map(([, { progressToken, progress: value }]) => [progressToken, value])).toEqual([
      ['first', 1],
      ['second', 2],
    ]);
  });

  it('keeps the time of a question that a retry has not answered', async () => {
    const { call, next } = held(async (exchange) => {
      await ask(exchange);
      return ask(exchange);
    });
    await next();
    const { askedAt } = call;
    await next({ inputResponses: { other: {} } });
    expect(call.askedAt).toBe(askedAt);
    await next({ inputResponses: { q1: {} } });
    expect(call.askedAt).toBeGreaterThan(askedAt!);
  });
});

describe('HeldCall.end()', () => {
  it('refuses the questions that a server asks afterwards', async () => {
    let exchange: Exchange | undefined;
    const { call, next } = held(async (given) => {
      exchange = given;
      return ask(given);
    });
    await next();
    call.end();
    await expect(ask(exchange!)).rejects.toThrow('aborted');
    expect(call.askedAt).toBeUndefined();
  });
});
