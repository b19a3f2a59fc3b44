import { createHash } from 'node:crypto';
import { aliasOf } from '@toolwright/core/adapters';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sha256 } from '../../src/adapters/sha256.js';

it('sha256() is the digest that node:crypto gives', () => {
  const check = (text: string): void => {
    expect(Buffer.from(sha256(text)).toString('hex')).toBe(createHash('sha256').update(text).digest('hex'));
  };
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1_000])
    check('é'.repeat(length / 2) + 'x'.repeat(length % 2));
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), check), { numRuns: 200 });
});

it.each([
  ['math.add', 'math__add'],
  ['git-hub.list_open_issues', 'git-hub__list_open_issues'],
  [`a.${'b'.repeat(60)}`, `a__${'b'.repeat(60)}`],
])('aliasOf() gives server__tool when %s fits', (name, alias) => {
  expect(aliasOf(name)).toBe(alias);
});

it.each([
  'a.b__c',
  'a.b.c',
  '_a.b',
  'a_.b',
  'a._b',
  '1a.b',
  'a.b c',
  'ä.ö',
  'a.',
  '.b',
  'a',
  '',
  `a.${'b'.repeat(61)}`,
])('aliasOf() gives what all vendors take when %j does not fit', (name) => {
  const hash = createHash('sha256').update(name).digest();
  const bits = [...hash.subarray(0, 5)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const ending = bits.replaceAll(/.{5}/g, (five) => 'abcdefghijklmnopqrstuvwxyz234567'[parseInt(five, 2)]!);
  expect(aliasOf(name)).toMatch(/^[A-Za-z][A-Za-z0-9_-]{0,62}$/);
  expect(aliasOf(name).endsWith(`_${ending}`)).toBe(true);
});

it('aliasOf() keeps different names apart', () => {
  const part = fc.stringMatching(/^[ab_.-]{1,40}$/);
  fc.assert(
    fc.property(part, part, part, part, (a, b, c, d) => {
      const [one, two] = [`${a}.${b}`, `${c}.${d}`];
      expect(aliasOf(one) === aliasOf(two)).toBe(one === two);
    }),
    { numRuns: 2_000 },
  );
});
