import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  isClosed,
  isLiteral,
  matchesWords,
  quoteWord,
  quoteWords,
  showHidden,
} from '../../src/contract/shell-words.js';

it('quoteWord() quotes a word as a shell does', () => {
  expect(quoteWord('./README.md')).toBe('./README.md');
  expect(quoteWord('edited by us')).toBe("'edited by us'");
  expect(quoteWord("it's")).toBe("'it'\\''s'");
  expect(quoteWord('')).toBe("''");
  expect(quoteWord('~/x')).toBe("'~/x'");
  expect(quoteWord('a\u200bb\n')).toBe("$'a\\u200bb\\n'");
});

it('quoteWord() returns what bash reads as the same word', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme-ascii' }), { minLength: 1, maxLength: 8 }), (words) => {
      const script = `printf '%s\\0' ${quoteWords(words)}`;
      expect(execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1)).toEqual(words);
    }),
    { numRuns: 50 },
  );
});

it('quoteWords() returns a pattern that matches only itself', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), fc.string(), (words, more) => {
      const claim = quoteWords(words);
      expect(matchesWords(claim, claim, 'whole')).toBe(true);
      expect(matchesWords(claim, quoteWords([...words, more]), 'whole')).toBe(false);
      expect(matchesWords(claim, quoteWords([...words, more]), 'prefix')).toBe(true);
      if (words.length > 0) expect(matchesWords(claim, quoteWords(words.slice(1)), 'whole')).toBe(false);
    }),
  );
});

it.each([
  ['git status', 'git status', true, true],
  ['git status', 'git status -s', false, true],
  ['git status', 'git statusx', false, false],
  ['git log *', 'git log', true, true],
  ['git log *', 'git log --oneline -3', true, true],
  ['git * push', 'git -C x push', true, true],
  ['git * push', 'git push --force', false, true],
  ['rm *', 'rm -rf build', true, true],
  ['rm', 'rm -rf build', false, true],
  ['rm -rf build', 'rm -rf build src', false, true],
  ['echo a*c', 'echo abc', true, true],
  ['echo a*c', 'echo ab c', false, false],
  ['echo a*c', "echo 'a b c'", true, true],
  ['echo ?', 'echo ab', false, false],
  ["echo 'a b'", 'echo a\\ b', true, true],
  ["echo '*'", "echo '*'", true, true],
  ["echo '*'", 'echo *', false, true],
  ['echo \\*', 'echo x', false, false],
  ['cat ~/x', 'cat ~/x', true, true],
  ["cat '~/x'", 'cat ~/x', false, true],
  ['> "a b.txt"', "> 'a b.txt'", true, true],
  ['echo $HOME', 'echo "$HOME"', true, true],
  ["echo 'open", 'anything', false, true],
  ['echo *', "echo 'open", false, true],
  ['ls', "rm 'open", false, false],
  ['*', '', true, true],
  ['** **', 'a', true, true],
] as const)('matchesWords() of %j and %j is %j for the whole and %j for a prefix', (pattern, claim, whole, prefix) => {
  expect(matchesWords(pattern, claim, 'whole')).toBe(whole);
  expect(matchesWords(pattern, claim, 'prefix')).toBe(prefix);
});

it.each([
  ["'>' x", '> x', false],
  ['> x', "'>' x", false],
  ['> x', '> x', true],
  ["a';'b", 'a;b', false],
] as const)('matchesWords() keeps the operator and the quoted character apart: %j and %j', (pattern, claim, whole) => {
  expect(matchesWords(pattern, claim, 'whole')).toBe(whole);
  expect(matchesWords(pattern, claim, 'prefix')).toBe(true);
});

it('isLiteral() is false when a claim as a pattern matches more than itself', () => {
  expect(["rm -rf 'a*'", '> x', "echo '$X'", ''].map(isLiteral)).toEqual([true, true, true, true]);
  expect(['ls *', 'cat ~/x', 'echo "$X"', 'echo `id`', 'ls {a,b}', "echo 'a", 'ls [a]'].map(isLiteral)).not.toContain(
    true,
  );
});

it('showHidden() escapes invisible characters only', () => {
  expect(showHidden("it's a\u200bb\u202ec")).toBe("it's a\\u200bb\\u202ec");
});

it('quoteWord() escapes every invisible character without changing what the word matches', () => {
  for (const char of '\u3164\u115f\u1160\uffa0\u034f\ufe0f\u2800\u00a0\u200b\u2066\ue000\u{e0041}\u{e0100}\u{1d173}') {
    for (const word of [char, `a${char}b`, `'${char}`]) {
      const shown = quoteWord(word);
      expect(shown, word.codePointAt(0)?.toString(16)).toMatch(/^[\x20-\x7e]+$/);
      expect(matchesWords(shown, shown, 'whole')).toBe(true);
      expect(matchesWords(shown, quoteWord(word), 'whole')).toBe(true);
      expect(matchesWords('ab', shown, 'prefix')).toBe(false);
    }
  }
});

it('isClosed() is false for an unclosed quote and a trailing backslash', () => {
  expect(['a "b"', "'a'", "$'\\''"].map(isClosed)).toEqual([true, true, true]);
  expect(['"a', "it's", 'a\\', "$'\\'"].map(isClosed)).toEqual([false, false, false, false]);
});

it('matchesWords() takes time proportional to pattern length times claim length', () => {
  const pattern = '* a '.repeat(2_000);
  expect(matchesWords(pattern, 'b '.repeat(20_000), 'whole')).toBe(false);
});
