// Messages on a stream, however it is cut.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FrameReader, frameOf } from '../../../src/mcp/transport/frames.js';

it('FrameReader returns whole messages wherever the stream is split', () => {
  const message = fc.record({ id: fc.integer(), text: fc.string({ unit: 'binary' }) });
  fc.assert(
    fc.property(fc.array(message), fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (messages, cuts) => {
      const stream = Buffer.from(messages.map((each) => frameOf(each)).join(''));
      const seen: object[] = [];
      const reader = new FrameReader(1_000_000, (each) => seen.push(each));
      for (let at = 0, cut = 0; at < stream.length; cut++) {
        const end = at + cuts[cut % cuts.length]!;
        reader.push(stream.subarray(at, end));
        at = end;
      }
      expect(seen).toEqual(JSON.parse(JSON.stringify(messages)));
    }),
  );
});

it('FrameReader reads eight megabytes byte by byte quickly', () => {
  const frame = Buffer.from(frameOf({ text: 'x'.repeat(8_000_000) }));
  let seen = 0;
  const reader = new FrameReader(16_000_000, () => seen++);
  const started = performance.now();
  for (let at = 0; at < frame.length; at++) reader.push(frame.subarray(at, at + 1));
  expect(seen).toBe(1);
  expect(performance.now() - started).toBeLessThan(20_000);
});

it('FrameReader throws FRAME_TOO_LARGE for a line above the limit, in one chunk or in many', () => {
  const whole = new FrameReader(10, () => undefined);
  expect(() => whole.push(Buffer.from(`${'x'.repeat(11)}\n`))).toThrow(/larger than 10 bytes/);
  const parts = new FrameReader(10, () => undefined);
  parts.push(Buffer.from('x'.repeat(10)));
  expect(() => parts.push(Buffer.from('x'))).toThrow(/larger than 10 bytes/);
});

it('FrameReader skips values that are not objects, and reports them', () => {
  const seen: object[] = [];
  const garbage: string[] = [];
  const reader = new FrameReader(
    1_000,
    (each) => seen.push(each),
    (line) => garbage.push(line),
  );
  reader.push(Buffer.from('\n  \nhello\n7\nnull\n{"a":1}\r\n{"half":\n[{"b":2}]\n'));
  reader.push(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d, 0x0a])); // {"<invalid>":1}
  expect(seen).toEqual([{ a: 1 }, [{ b: 2 }], { '\ufffd': 1 }]);
  expect(garbage).toEqual(['hello', '7', 'null', '{"half":']);
});
