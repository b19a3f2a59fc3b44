import { afterEach, describe, expect, it, vi } from 'vitest';
import { deferred, type Deferred } from '../../../../src/call/waiting.js';
import { SerialEmbedder } from '../../../../src/servers/memory/embeddings/serial-embedder.js';

/** An embedder whose calls are settled by the test. */
function opened() {
  const calls: { texts: readonly string[]; done: Deferred<Float32Array[]> }[] = [];
  const embedder = new SerialEmbedder({
    id: 'e',
    dim: 2,
    fusionWeight: 0.5,
    embed: (texts) => {
      const done = deferred<Float32Array[]>();
      calls.push({ texts, done });
      return done.promise;
    },
  });
  return { embedder, calls, started: () => calls.map(({ texts }) => texts[0]) };
}

describe('SerialEmbedder', () => {
  afterEach(() => vi.useRealTimers());

  it('embed() calls once at a time, queries before contents', async () => {
    const { embedder, calls, started } = opened();
    const results = [
      embedder.embed(['doc 1'], 'doc'),
      embedder.embed(['doc 2'], 'doc'),
      embedder.embed(['query 1'], 'query'),
      embedder.embed(['query 2'], 'query'),
    ];
    for (const [index, result] of [results[0], results[2], results[3], results[1]].entries()) {
      expect(calls).toHaveLength(index + 1);
      calls[index]?.done.resolve([Float32Array.of(index)]);
      expect(await result).toEqual([Float32Array.of(index)]);
    }
    expect(started()).toEqual(['doc 1', 'query 1', 'query 2', 'doc 2']);
  });

  it('embed() continues after a call that throws, rejects or does not settle', async () => {
    vi.useFakeTimers();
    let run = 0;
    const embedder = new SerialEmbedder({
      id: 'e',
      dim: 2,
      fusionWeight: 0.5,
      embed: () => {
        if (++run === 1) throw new Error('thrown');
        if (run === 2) return Promise.reject(new Error('rejected'));
        return run === 3 ? new Promise<never>(() => undefined) : Promise.resolve([]);
      },
    });
    const results = Promise.allSettled(Array.from({ length: 4 }, () => embedder.embed(['text'], 'doc')));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await results).toMatchObject([
      { reason: { message: 'thrown' } },
      { reason: { message: 'rejected' } },
      { reason: { code: 'TIMED_OUT' } },
      { value: [] },
    ]);
  });

  it('stop() fails the calls that run or wait, and later ones', async () => {
    const { embedder, calls, started } = opened();
    const results = Promise.allSettled([embedder.embed(['one'], 'doc'), embedder.embed(['two'], 'query')]);
    embedder.stop();
    calls[0]?.done.resolve([]);
    const closed = { reason: { code: 'CONNECTION_CLOSED' } };
    expect(await results).toMatchObject([closed, closed]);
    await expect(embedder.embed(['three'], 'doc')).rejects.toMatchObject(closed.reason);
    expect(started()).toEqual(['one']);
  });
});
