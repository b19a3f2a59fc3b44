import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeadAndTail, lastLines } from '../../../../src/servers/bash/output/head-and-tail.js';

const keep = (pieces: readonly string[], limits = { maxBytes: 100, maxLines: 20 }) => {
  const kept = new HeadAndTail(limits);
  for (const piece of pieces) kept.push(piece);
  return kept.parts();
};

describe('KeptText', () => {
  it('KeptText keeps all of a text when it is within the limits', () => {
    const { head, tail, omittedBytes } = keep(['one\n', 'two\n', 'three']);
    expect(head + tail).toBe('one\ntwo\nthree');
    expect(omittedBytes).toBe(0);
  });

  it('KeptText keeps head and tail when there are too many lines', () => {
    const { head, tail } = keep([Array.from({ length: 50 }, (_, i) => `${i}\n`).join('')], {
      maxBytes: 10_000,
      maxLines: 8,
    });
    expect(head).toBe('0\n1\n');
    expect(tail).toBe('44\n45\n46\n47\n48\n49\n');
  });

  it('KeptText respects its limits and counts what it omits when text arrives in any pieces', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\n', 'é€𝄞', 'x'.repeat(40), 'line\nline\nline\n'),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join('');
        const { head, tail, omittedBytes } = keep(pieces);
        expect(text.startsWith(head)).toBe(true);
        expect(text.endsWith(tail)).toBe(true);
        expect(Buffer.byteLength(head) + omittedBytes + Buffer.byteLength(tail)).toBe(Buffer.byteLength(text));
        expect(Buffer.byteLength(head + tail)).toBeLessThanOrEqual(100);
        expect(tail.split('\n').length - 1 + (head.split('\n').length - 1)).toBeLessThanOrEqual(20);
        if (Buffer.byteLength(text) <= 75 && text.split('\n').length <= 15) expect(omittedBytes).toBe(0);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('lastLines()', () => {
  it.each([
    ['a\nb\nc\n', 2, 'b\nc\n'],
    ['a\nb\nc', 2, 'b\nc'],
    ['a\nb', 5, 'a\nb'],
    ['\n\n', 1, '\n'],
    ['', 3, ''],
  ])('lastLines(%j, %i) is %j', (text, count, expected) => {
    expect(lastLines(text, count)).toBe(expected);
  });
});
