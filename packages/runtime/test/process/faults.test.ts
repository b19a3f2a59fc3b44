// What a provider process may do wrong on the wire: it costs the call that it spoils, or its connection, and nothing else.

import { fileURLToPath } from 'node:url';
import { textOf } from '@toolwright/core';
import { expectNoLeaks } from '@toolwright/core/testing';
import { ProcessToolProvider } from '@toolwright/runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleFixtures, type BundledFixtures } from '../bundle.js';
import { soaking, tries } from '../soak.js';

let fixtures: BundledFixtures;
beforeAll(async () => {
  fixtures = await bundleFixtures();
}, 60_000);
afterAll(() => fixtures[Symbol.asyncDispose]());

const RAW = fileURLToPath(new URL('../fixtures/raw-provider.mjs', import.meta.url));
const raw = (): ProcessToolProvider => new ProcessToolProvider({ name: 'raw', path: RAW });
const TIMEOUT_MS = soaking ? 1_200_000 : 60_000;

describe('ProcessToolProvider with a faulty process', () => {
  it('costs no other call when it sends garbage, wrong ids, or another registration', async () => {
    await using _ = expectNoLeaks();
    await using provider = raw();
    await provider.connect();
    const { pid } = provider;
    for (const mode of ['garbage', 'ids', 'register-again', 'slow-bytes', 'right']) {
      const result = await provider.callTool('raw.echo', { mode });
      expect(textOf(result), mode).toBe(mode === 'slow-bytes' ? '🙂ü' : 'right');
    }
    for (const [mode, code] of [
      ['deep', 'OUTPUT_INVALID'],
      ['over-soft-limit', 'FRAME_TOO_LARGE'],
      ['no-result', 'PROTOCOL_VIOLATION'],
    ]) {
      expect((await provider.callTool('raw.echo', { mode })).error?.code, mode).toBe(code);
    }
    expect(textOf(await provider.callTool('raw.echo'))).toBe('right');
    expect(provider.pid).toBe(pid);
    expect(provider.generation!.peer.counts.droppedAnswers).toBeGreaterThanOrEqual(5);
  });

  it('is ended for 1 GB without a newline, in bounded memory, and started again', async () => {
    await using _ = expectNoLeaks();
    await using provider = raw();
    await provider.connect();
    const before = process.memoryUsage().rss;
    const { error } = await provider.callTool('raw.echo', { mode: 'giant' });
    expect([error?.code, error?.details?.cause], error?.message).toEqual(['OUTCOME_UNKNOWN', 'FRAME_TOO_LARGE']);
    expect(process.memoryUsage().rss - before).toBeLessThan(250 * 1024 * 1024);
    expect(textOf(await provider.callTool('raw.echo'))).toBe('right');
  });

  it('is ended when it hangs up and runs on', async () => {
    await using _ = expectNoLeaks();
    await using provider = raw();
    const { error } = await provider.callTool('raw.echo', { mode: 'hang-up' });
    expect([error?.code, error?.details?.cause]).toEqual(['OUTCOME_UNKNOWN', 'CONNECTION_CLOSED']);
    expect(textOf(await provider.callTool('raw.echo'))).toBe('right');
  });

  it('is notified of a cancelled call, and its late response is dropped', async () => {
    await using provider = new ProcessToolProvider({ name: 'raw', path: RAW, args: ['late'] });
    await provider.connect();
    const { error } = await provider.callTool('raw.echo', { mode: 'hang' }, { timeoutMs: 20 });
    expect([error?.code, error?.details?.outcomeUnknown]).toEqual(['TIMED_OUT', true]);
    const { structuredContent } = await provider.callTool('raw.echo', { mode: 'cancelled' });
    expect(typeof structuredContent?.cancelled).toBe('number');
    await expect.poll(() => provider.generation!.peer.counts.droppedAnswers).toBe(1);
  });
});

describe('ProcessToolProvider.callTool()', () => {
  it(
    'settles when the process is killed in the middle, and the next call works',
    async () => {
      await using _ = expectNoLeaks();
      await using provider = raw();
      const late: number[] = [];
      for (let kill = 0; kill < tries(1_000); kill++) {
        expect(textOf(await provider.callTool('raw.echo'))).toBe('right');
        const call = provider.callTool('raw.echo', { mode: 'hang' });
        process.kill(provider.pid!, 'SIGKILL');
        const killedAt = performance.now();
        expect((await call).error?.code).toBe('OUTCOME_UNKNOWN');
        late.push(performance.now() - killedAt);
      }
      late.sort((a, b) => a - b);
      console.info(
        `after a kill, calls settled within ${late.at(-1)?.toFixed(1)} ms, half within ${late[late.length >> 1]?.toFixed(1)}`,
      );
      expect(late.at(-1)).toBeLessThan(1_000);
    },
    TIMEOUT_MS,
  );

  it(
    'settles each of many calls that are cancelled at random points, once',
    async () => {
      const seed = Math.floor(Math.random() * 2 ** 31);
      console.info(`seed ${seed}`);
      const random = randomOf(seed);
      await using _ = expectNoLeaks();
      await using provider = new ProcessToolProvider({ name: 'lab', path: fixtures.file('lab-provider') });
      await provider.connect();
      const codes: Record<string, number> = {};
      let running = 0;
      let mostRunning = 0;
      const one = async (): Promise<void> => {
        mostRunning = Math.max(mostRunning, ++running);
        const controller = new AbortController();
        const after = random();
        const call = provider.callTool('lab.wait', { ms: Math.floor(random() * 4) }, { signal: controller.signal });
        if (after < 0.2) controller.abort();
        else if (after < 0.5) setImmediate(() => controller.abort());
        else if (after < 0.9) setTimeout(() => controller.abort(), after * 6);
        // The others are left to be answered, however slow the machine is.
        const { isError, error } = await call;
        const code = isError ? error!.code : 'answered';
        codes[code] = (codes[code] ?? 0) + 1;
        running--;
      };
      for (let left = tries(10_000); left > 0; left -= 100) await Promise.all(Array.from({ length: 100 }, one));
      expect(Object.keys(codes).toSorted()).toEqual(['CANCELLED', 'answered']);
      expect(codes.CANCELLED! + codes.answered!).toBe(tries(10_000));
      expect([mostRunning, running, provider.generation!.inFlight]).toEqual([100, 0, 0]);
      expect(await provider.generation!.drain(5_000)).toBe(true); // the functions have ended too
      expect((await provider.callTool('lab.echo', { text: 'x' })).isError).toBe(false);
    },
    TIMEOUT_MS,
  );
});

/** Mulberry32: a seed gives the same run again. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
