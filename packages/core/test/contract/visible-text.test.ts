// Removes invisible characters from the text of a foreign server.

import { describe, expect, it } from 'vitest';
import { visibleText, withVisibleEscapes } from '../../src/contract/visible-text.js';

describe('visibleText()', () => {
  it.each([
    ['zero-width characters', 'a\u200bb\u2060c\ufeffd', 'abcd'],
    ['bidi controls', 'a\u202eb\u2066c\u061cd', 'abcd'],
    [
      'tag characters',
      `run${[...'rm'].map((char) => String.fromCodePoint(0xe0000 + char.charCodeAt(0))).join('')}`,
      'run',
    ],
    ['supplementary variation selectors', 'a\u{e0101}b', 'ab'],
    ['variation selectors that follow each other', 'a\ufe01\ufe02b', 'ab'],
    ['fillers', 'a\u3164b\u115fc\u00add', 'abcd'],
    ['controls but tab and newline', 'a\u0000\tb\r\n\u0085c', 'a\tb\nc'],
    ['ANSI escape sequences', '\u001b[31mred\u001b[0m \u001b]8;;http://x\u0007link\u001b]8;;\u0007', 'red link'],
    ['an unfinished escape sequence', 'a\u001b[', 'a['],
    ['separators of lines', 'a\u2028b\u2029c', 'abc'],
    ['lone surrogates', 'a\ud800b', 'ab'],
  ])('removes %s', (_, text, expected) => {
    expect(visibleText(text)).toBe(expected);
  });

  it.each(['❤️ and 👩‍💻 and 1️⃣', 'Ünïcödé, 中文, עברית', 'tab\tand\nnewline'])('keeps %j', (text) => {
    expect(visibleText(text)).toBe(text);
  });

  it('takes linear time for text that is only invisible', () => {
    expect(visibleText('\u200d\ufe0f'.repeat(500_000))).toBe('');
    expect(visibleText('\u001b]'.repeat(200_000)).length).toBeLessThanOrEqual(400_000);
  });
});

describe('withVisibleEscapes()', () => {
  it('writes each invisible character as an escape', () => {
    expect(withVisibleEscapes('a\u200bb\u{e0041}')).toBe(String.raw`a\u{200b}b\u{e0041}`);
  });
});
