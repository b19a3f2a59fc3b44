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
    expect(await one.open(sealed, BINDING)).toEqual({ state: STATE });
    expect(await one.open(sealed, BINDING)).toEqual({ fault: 'used', wasHeld: true });
  });

  it('rejects a state with any bit changed, and one that is cut or extended', async () => {
    const one = states();
    const sealed = Buffer.from(one.seal(STATE, BINDING), 'base64url');
    const invalid = { fault: 'invalid', wasHeld: false };
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1 << (at % 8);
      expect(await one.open(changed.toString('base64url'), BINDING)).toEqual(invalid);
    }
    for (let length = 0; length < sealed.length; length++)
      expect(await one.open(sealed.subarray(0, length).toString('base64url'), BINDING)).toEqual(invalid);
    const text = sealed.toString('base64url');
    for (const other of ['', 'x', `${text}AA`, `${text}=`, `${text}\n`, ` ${text}`, '\u0000'])
      expect(await one.open(other, BINDING)).toEqual(invalid);
    expect(await one.open(text, BINDING)).toEqual({ state: STATE }); // none of the attempts has used it up
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
      expect(await one.open(sealed, other)).toEqual({ fault: 'invalid', wasHeld: false });
    const reordered = bindingOf('token:a', 'tools/call', { arguments: { to: 'production' }, name: 'deploy' });
    expect(await one.open(sealed, reordered)).toEqual({ state: STATE });
  });

  it('rejects a state that has expired', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const one = states();
    const sealed = [one.seal(STATE, BINDING), one.seal({ asked: 'a' }, BINDING), one.seal(STATE, BINDING)];
    vi.setSystemTime(Date.now() + TTL_MS - 1);
    expect(await one.open(sealed[0]!, BINDING)).toEqual({ state: STATE });
    vi.setSystemTime(Date.now() + 1);
    expect(await one.open(sealed[1]!, BINDING)).toEqual({ fault: 'expired', wasHeld: false });
    expect(await one.open(sealed[2]!, BINDING)).toEqual({ fault: 'expired', wasHeld: true });
  });

  it('accepts the states of a replica with the same key, and of an earlier key while it is listed', async () => {
    const [old, current] = [randomBytes(32), randomBytes(32).toString('base64')];
    const sealed = states(old).seal(STATE, BINDING);
    expect(await states([current, old]).open(sealed, BINDING)).toEqual({ state: STATE });
    expect(await states(current).open(sealed, BINDING)).toEqual({ fault: 'invalid', wasHeld: false });
    expect(await states().open(sealed, BINDING)).toEqual({ fault: 'invalid', wasHeld: false });
    expect(await states(current).open(states([current, old]).seal(STATE, BINDING), BINDING)).toEqual({ state: STATE });
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
    for (const keys of [randomBytes(31), 'short', '', [], [randomBytes(32), 'x'], 7 as never])
      expect(() => states(keys)).toThrowError(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});

describe('UsedStatesInMemory.take()', () => {
  it('forgets only what has expired, and takes no more when it is full', () => {
    const used = new UsedStatesInMemory(2);
    const later = Date.now() + TTL_MS;
    expect([used.take('a', Date.now() - 1), used.take('b', later), used.take('b', later)]).toEqual([true, true, false]);
    expect([used.take('c', later), used.take('d', later), used.take('b', later)]).toEqual([true, 'full', false]);
  });
});

describe('digestOf()', () => {
  it('is equal for equal values only', () => {
    expect(digestOf({ a: 1, b: [1, 2], c: undefined })).toBe(digestOf({ b: [1, 2], a: 1 }));
    const different = [{ a: 1 }, { a: '1' }, { a: [1] }, [1], '1', 1, null, { a: null }, {}, [], [[]], '{}'];
    expect(new Set(different.map(digestOf)).size).toBe(different.length);
  });
});
