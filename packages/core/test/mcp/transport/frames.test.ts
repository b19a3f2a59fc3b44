// Splits a stream into messages, however it is chunked.

import { ToolError, type JsonObject } from '@toolwright/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_MAX_FRAME_BYTES, FrameReader, frameOf } from '../../../src/mcp/transport/frames.js';
import { tries } from '../../soak.js';

it('FrameReader returns whole messages wherever the stream is split', () => {
  const message = fc.record({ id: fc.integer(), text: fc.string({ unit: 'binary' }) });
  fc.assert(
    fc.property(fc.array(message), fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (messages, cuts) => {
      const stream = Buffer.from(messages.map((each) => frameOf(each)).join(''));
      const seen: object[] = [];
      const reader = new FrameReader({ onMessage: (each) => seen.push(each) }, { maxFrameBytes: 1_000_000 });
      for (let at = 0, cut = 0; at < stream.length; cut++) {
        const end = at + cuts[cut % cuts.length]!;
        reader.push(stream.subarray(at, end));
        at = end;
      }
      expect(seen).toEqual(JSON.parse(JSON.stringify(messages)));
    }),
  );
});

it('FrameReader throws FRAME_TOO_LARGE for a line above the limit, in one chunk or in many', () => {
  const whole = new FrameReader({ onMessage: () => undefined }, { maxFrameBytes: 10 });
  expect(() => whole.push(Buffer.from(`${'x'.repeat(11)}\n`))).toThrow(/larger than 10 bytes/);
  const parts = new FrameReader({ onMessage: () => undefined }, { maxFrameBytes: 10 });
  parts.push(Buffer.from('x'.repeat(10)));
  expect(() => parts.push(Buffer.from('x'))).toThrow(/larger than 10 bytes/);
});

it('FrameReader skips values that are not objects, and reports them', () => {
  const seen: object[] = [];
  const garbage: string[] = [];
  const reader = new FrameReader(
    {
      onMessage: (each) => seen.push(each),
      onBatch: (each) => seen.push(each),
      onUnparseable: (_reason, line) => garbage.push(line),
    },
    { maxFrameBytes: 1_000 },
  );
  reader.push(Buffer.from('\n  \nhello\n7\nnull\n{"a":1}\r\n{"half":\n[{"b":2}]\n'));
  reader.push(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d, 0x0a])); // {"<invalid>":1}
  expect(seen).toEqual([{ a: 1 }, [{ b: 2 }], { '\ufffd': 1 }]);
  expect(garbage).toEqual(['hello', '7', 'null', '{"half":']);
});

const MAX_DEPTH = 64;

function reader(maxFrameBytes = DEFAULT_MAX_FRAME_BYTES): {
  push: (chunk: Buffer) => void;
  reported: unknown[];
  messages: JsonObject[];
} {
  const messages: JsonObject[] = [];
  const reported: unknown[] = [];
  const frames = new FrameReader(
    {
      onMessage: (message) => messages.push(message),
      onTooDeep: ({ id }) => reported.push({ tooDeep: id }),
      onUnparseable: (reason) => reported.push(reason),
      onTooLarge: (beginning) => reported.push({ tooLarge: beginning.slice(0, 30) }),
    },
    { maxFrameBytes, hardFrameBytes: 4 * maxFrameBytes, maxDepth: MAX_DEPTH, strictUtf8: true },
  );
  return { push: (chunk) => frames.push(chunk), reported, messages };
}

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}\n`;

describe('FrameReader with strict UTF-8 and limits', () => {
  it('reads the same messages at whichever byte the stream is split', () => {
    const bytes = Buffer.from('{"a":"grüße 🙂 日本"}\n\r\n  \n{"b":[1,{"c":"\\n"}]}\r\n{"d":"ß"}\n');
    const expected = [{ a: 'grüße 🙂 日本' }, { b: [1, { c: '\n' }] }, { d: 'ß' }];
    for (let at = 0; at <= bytes.length; at++) {
      const { push, messages, reported } = reader();
      push(bytes.subarray(0, at));
      push(bytes.subarray(at));
      expect(messages, `split at ${at}`).toEqual(expected);
      expect(reported).toEqual([]);
    }
  });

  it('reads a message byte by byte in time proportional to its length', () => {
    const characters = tries(4 * 1024 * 1024);
    const bytes = Buffer.from(`${JSON.stringify({ text: 'ü'.repeat(characters) })}\n`);
    const { push, messages } = reader();
    const startedAt = performance.now();
    for (let at = 0; at < bytes.length; at++) push(bytes.subarray(at, at + 1));
    expect((messages[0]?.text as string).length).toBe(characters);
    expect(performance.now() - startedAt).toBeLessThan(20_000); // quadratic, it would be hours
  });

  it.each([
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d, 0x0a]), 'The line is not UTF-8.'],
    ['half a character', Buffer.from([0x7b, 0x22, 0xc3, 0x22, 0x3a, 0x31, 0x7d, 0x0a]), 'The line is not UTF-8.'],
    ['half a message', Buffer.from('{"a":\n'), 'The line is not JSON.'],
    ['an array', Buffer.from('[{"a":1}]\n'), 'The line is not a JSON object.'],
    ['a text', Buffer.from('"hello"\n'), 'The line is not a JSON object.'],
    ['null', Buffer.from('null\n'), 'The line is not a JSON object.'],
  ])('reports %s and continues', (_what, bytes, reason) => {
    const { push, messages, reported } = reader();
    push(Buffer.concat([Buffer.from('{"before":1}\n'), bytes, Buffer.from('{"after":1}\n')]));
    expect(reported).toEqual([reason]);
    expect(messages).toEqual([{ before: 1 }, { after: 1 }]);
  });

  it(`accepts ${MAX_DEPTH} levels, and reports more without reading them`, () => {
    const { push, messages, reported } = reader();
    push(Buffer.from(nested(MAX_DEPTH)));
    expect(messages.length).toBe(1);
    push(Buffer.from(nested(MAX_DEPTH + 1)));
    push(Buffer.from(`{"id":7,"result":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}\n`));
    expect(messages.length).toBe(1);
    expect(reported).toEqual([{ tooDeep: undefined }, { tooDeep: 7 }]);
  });

  it('skips a frame above the limit, reports its beginning, and continues after it', () => {
    const { push, messages, reported } = reader(100_000);
    const big = Buffer.from(`{"jsonrpc":"2.0","id":"x1","result":{"text":"${'a'.repeat(150_000)}"}}\n{"next":1}\n`);
    for (let at = 0; at < big.length; at += 1_000) push(big.subarray(at, at + 1_000));
    push(big); // in one piece, too
    expect(reported).toEqual(Array.from({ length: 2 }, () => ({ tooLarge: big.toString('utf8', 0, 30) })));
    expect(messages).toEqual([{ next: 1 }, { next: 1 }]);
  });

  it('accepts a frame of exactly the limit', () => {
    const { push, messages, reported } = reader(65_536);
    const frame = JSON.stringify({ t: 'a'.repeat(65_536 - 8) });
    push(Buffer.from(`${frame}\n`));
    expect([frame.length, messages.length, reported.length]).toEqual([65_536, 1, 0]);
  });

  it('ends a stream of 1 GB without a newline at the hard limit, in bounded memory', () => {
    const { push, reported } = reader();
    const chunk = Buffer.alloc(64 * 1024, 0x61);
    const before = process.memoryUsage().rss;
    let pushed = 0;
    let failure: unknown;
    try {
      for (; pushed < 1024 ** 3; pushed += chunk.length) push(chunk);
    } catch (thrown) {
      failure = thrown;
    }
    expect(ToolError.isInstance(failure) && failure.code).toBe('FRAME_TOO_LARGE');
    expect(pushed).toBeLessThanOrEqual(64 * 1024 * 1024);
    expect(reported).toEqual([{ tooLarge: 'a'.repeat(30) }]);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });
});

it('FrameReader accepts blanks around a message that JSON does not know', () => {
  const seen: object[] = [];
  const reader = new FrameReader({ onMessage: (message) => seen.push(message) }, { maxFrameBytes: 100 });
  reader.push(Buffer.from('\ufeff{"a":1}\n{"a":2}\u00a0\n\n\r\n'));
  expect(seen).toEqual([{ a: 1 }, { a: 2 }]);
});

it('FrameReader.stop() releases the blocks of an unfinished frame', () => {
  const reader = new FrameReader({ onMessage: () => undefined }, { maxFrameBytes: DEFAULT_MAX_FRAME_BYTES });
  reader.push(Buffer.alloc(700_000, 0x78));
  expect(reader.heldBytes).toBe(700_000);
  reader.stop();
  expect(reader.heldBytes).toBe(0);
});
