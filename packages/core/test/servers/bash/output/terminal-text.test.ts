import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CollapsedLines,
  showableLength,
  StreamText,
  terminalText,
} from '../../../../src/servers/bash/output/terminal-text.js';

/** The text of bytes that arrive in chunks of a given size. */
function inPieces(bytes: Buffer, size: number): string {
  const stream = new StreamText();
  const lines = new CollapsedLines();
  let text = '';
  for (let at = 0; at < bytes.length; at += size) text += lines.push(stream.push(bytes.subarray(at, at + size)));
  return text + lines.push(stream.end()) + lines.end();
}

describe('terminalText()', () => {
  it.each([
    ['colours', '\x1b[1;31mred\x1b[0m\n', 'red\n'],
    ['cursor movements', 'a\x1b[2K\x1b[1Gb\x1b[?25l\n', 'ab\n'],
    ['a title ended by BEL', '\x1b]0;title\x07text', 'text'],
    ['a link ended by ST', '\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\', 'link'],
    ['a device string', '\x1bPq#0;1\x1b\\after', 'after'],
    ['two-character forms', '\x1b(B\x1b=\x1b>x\x1b7y\x1b8', 'xy'],
    ['8-bit forms', '\u009b31mred\u009b0m', 'red'],
    ['bells, backspaces and NULs', 'a\x07\x08\0b\x7f', 'ab'],
    ['tabs and newlines, which stay', 'a\tb\nc', 'a\tb\nc'],
    ['CRLF', 'a\r\nb\r\r\nc', 'a\nb\nc'],
    ['progress', ' 10%\r 50%\r100%\nnext\n', '100%\nnext\n'],
    ['progress without an end', ' 10%\r 50%\r', ' 50%'],
    ['an open title, which hides nothing', '\x1b]0;rest of the line\nnext', ']0;rest of the line\nnext'],
    ['an open sequence at the end', 'text\x1b[3', 'text[3'],
  ])('terminalText() reads %s', (_what, printed, expected) => {
    expect(terminalText(Buffer.from(printed))).toBe(expected);
  });

  it('terminalText() returns the same whatever the chunks are', () => {
    const piece = fc.constantFrom(
      ...['a', 'é', '€', '𝄞', '\n', '\r', '\r\n', ' 50%\r', '\x1b[1;31m', '\x1b]0;t\x07', '\x1b]8;;u\x1b\\', '\x1b(B'],
      ...['\u009b1m', '\x1b', '[', '\x07', 'Pq\x1b\\'],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 1, max: 9 }), (pieces, size) => {
        const bytes = Buffer.from(pieces.join(''));
        expect(inPieces(bytes, size)).toBe(terminalText(bytes));
      }),
      { numRuns: 2_000 },
    );
  });

  it('StreamText holds back little when a sequence never ends', () => {
    const stream = new StreamText();
    let shown = stream.push(Buffer.from('\x1b]0;'));
    for (let i = 0; i < 100; i++) shown += stream.push(Buffer.from('x'.repeat(100)));
    expect(shown.length).toBeGreaterThan(5_000);
    expect((shown + stream.end()).match(/x/g)?.length).toBe(10_000);
  });

  it('CollapsedLines holds back little when a line never ends', () => {
    const lines = new CollapsedLines();
    let length = 0;
    for (let i = 0; i < 1_000; i++) length += lines.push('x'.repeat(1_000)).length;
    expect(length).toBeGreaterThan(980_000);
    expect(length + lines.end().length).toBe(1_000_000);
  });

  it('terminalText() is quick when the text is made of beginnings of sequences', () => {
    const started = performance.now();
    for (const hostile of ['\x1b', '\x1b[', '\x1b]', '\x1b]0;', '\x1bP', '\u009b', '\r', '\x1b[0;'])
      terminalText(Buffer.from(hostile.repeat(50_000)));
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});

describe('showableLength()', () => {
  it.each([
    ['whole text', 'text', 4],
    ['half a character', Buffer.from('a€').subarray(0, 3), 1],
    ['a whole character', 'a€', 4],
    ['half a sequence', 'a\x1b[1;3', 1],
    ['nothing but half a sequence', '\x1b[1', 3],
  ])('showableLength() of %s', (_what, bytes, expected) => {
    expect(showableLength(Buffer.from(bytes))).toBe(expected);
  });
});
