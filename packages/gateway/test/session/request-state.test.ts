// A state that was changed, stolen, used before or kept too long continues nothing.

import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  bindingOf,
  digestOf,
  RequestStates,
  UsedStatesInMemory,
  type RequestState,
} from '../../src/session/request-state.js';

const TTL_MS = 600_000;
const BINDING = bindingOf('token:a', 'tools/call', { name: 'deploy', arguments: { to: 'production' } });
const STATE: RequestState = { held: 'h', approved: ['x'], upstream: 'of the server' };

afterEach(() => {
  vi.useRealTimers();
});

const states = (keys?: ConstructorParameters<typeof RequestStates>[0]['keys']): RequestStates =>
  new RequestStates({ keys, ttlMs: TTL_MS });

describe('RequestStates.open()', () => {
  it('returns what was sealed, once', async () => {
    const one = states();
    const sealed = one.seal(STATE, BINDING);
    expect(sealed).not.toContain(Buffer.from('of the server').toString('base64url').slice(0, 12));
    expect(await one.open(sealed, BINDING, 'a')).toEqual({ state: STATE });
    expect(await one.open(sealed, BINDING, 'a')).toEqual({ fault: 'used', began: true });
  });

  it('rejects a state with any bit changed, and one that is cut or extended', async () => {
    const one = states();
    const sealed = Buffer.from(one.seal(STATE, BINDING), 'base64url');
    const invalid = { fault: 'invalid', began: false };
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1 << (at % 8);
      expect(await one.open(changed.toString('base64url'), BINDING, 'a')).toEqual(invalid);
    }
    for (let length = 0; length < sealed.length; length++)
      expect(await one.open(sealed.subarray(0, length).toString('base64url'), BINDING, 'a')).toEqual(invalid);
    const text = sealed.toString('base64url');
    for (const other of ['', 'x', `${text}AA`, `${text}=`, `${text}\n`, ` ${text}`, '\u0000'])
      expect(await one.open(other, BINDING, 'a')).toEqual(invalid);
    expect(await one.open(text, BINDING, 'a')).toEqual({ state: STATE }); // none of the attempts has used it up
  });

  it('rejects a state that belongs to another client, method, tool or other arguments', async () => {
    const one = states();
    const sealed = one.seal(STATE, BINDING);
    for (const other of [
      bindingOf('token:b', 'tools/call', { name: 'deploy', arguments: { to: 'production' } }),
      bindingOf('token:a', 'prompts/get', { name: 'deploy', arguments: { to: 'production' } }),
      bindingOf('token:a', 'tools/call', { name: 'delete', arguments: { to: 'production' } }),
      bindingOf('token:a', 'tools/call', { name: 'deploy', arguments: { to: 'staging' } }),
      bindingOf('token:a', 'tools/call', { name: 'deploy', arguments: { to: ['production'] } }),
      bindingOf('token:a', 'tools/call', { name: 'deploy' }),
    ])
      expect(await one.open(sealed, other, 'a')).toEqual({ fault: 'invalid', began: false });
    const reordered = bindingOf('token:a', 'tools/call', { arguments: { to: 'production' }, name: 'deploy' });
    expect(await one.open(sealed, reordered, 'a')).toEqual({ state: STATE });
  });

  it('rejects a state that has expired', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const one = states();
    const sealed = [one.seal(STATE, BINDING), one.seal({ asked: 'a' }, BINDING), one.seal(STATE, BINDING)];
    vi.setSystemTime(Date.now() + TTL_MS - 1);
    expect(await one.open(sealed[0]!, BINDING, 'a')).toEqual({ state: STATE });
    vi.setSystemTime(Date.now() + 1);
    expect(await one.open(sealed[1]!, BINDING, 'a')).toEqual({ fault: 'expired', began: false });
    expect(await one.open(sealed[2]!, BINDING, 'a')).toEqual({ fault: 'expired', began: true });
  });

  it('accepts the states of a replica with the same key, and of an earlier key while it is listed', async () => {
    const [old, current] = [randomBytes(32), randomBytes(32).toString('base64')];
    const sealed = states(old).seal(STATE, BINDING);
    expect(await states([current, old]).open(sealed, BINDING, 'a')).toEqual({ state: STATE });
    expect(await states(current).open(sealed, BINDING, 'a')).toEqual({ fault: 'invalid', began: false });
    expect(await states().open(sealed, BINDING, 'a')).toEqual({ fault: 'invalid', began: false });
    expect(await states(current).open(states([current, old]).seal(STATE, BINDING), BINDING, 'a')).toEqual({
      state: STATE,
    });
  });
});

describe('RequestStates.seal()', () => {
  it('throws TOO_LARGE when a client need not accept the state', () => {
    const one = states();
    expect(one.seal({ upstream: 'x'.repeat(40_000) }, BINDING).length).toBeLessThanOrEqual(64 * 1024);
    expect(() => one.seal({ upstream: 'x'.repeat(64_000) }, BINDING)).toThrowError(
      expect.objectContaining({ code: 'TOO_LARGE' }),
    );
  });

  it('returns another text each time', () => {
    const one = states();
    expect(new Set(Array.from({ length: 100 }, () => one.seal(STATE, BINDING))).size).toBe(100);
  });
});

describe('new RequestStates()', () => {
  it('throws INVALID_ARGUMENT for keys that are not 32 bytes', () => {
    for (const keys of [randomBytes(31), Buffer.alloc(32), 'short', '', [], [randomBytes(32), 'x'], 7 as never])
      expect(() => states(keys)).toThrowError(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});

describe('UsedStatesInMemory.take()', () => {
  it('forgets only what has expired, and takes no more when it is full', () => {
    const used = new UsedStatesInMemory(2);
    const later = Date.now() + TTL_MS;
    const take = (id: string, until = later): unknown => used.take(id, until, 'alice');
    expect([take('a', Date.now() - 1), take('b'), take('b')]).toEqual([true, true, false]);
    expect([take('c'), take('d'), take('b')]).toEqual([true, 'full', false]);
  });

  it('refuses no client for what another has used', () => {
    const used = new UsedStatesInMemory(1);
    const later = Date.now() + TTL_MS;
    expect([used.take('a', later, 'alice'), used.take('b', later, 'alice')]).toEqual([true, 'full']);
    expect(used.take('c', later, 'bob')).toBe(true);
    used.forget('alice');
    expect(used.take('b', later, 'alice')).toBe(true);
  });
});

describe('digestOf()', () => {
  it('is equal for equal values only', () => {
    expect(digestOf({ a: 1, b: [1, 2], c: undefined })).toBe(digestOf({ b: [1, 2], a: 1 }));
    const different = [{ a: 1 }, { a: '1' }, { a: [1] }, [1], '1', 1, null, { a: null }, {}, [], [[]], '{}'];
    expect(new Set(different.map(digestOf)).size).toBe(different.length);
  });
});
