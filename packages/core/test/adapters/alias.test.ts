import { createHash } from 'node:crypto';
import { aliasOf } from '@toolwright/core/adapters';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sha256 } from '../../src/adapters/sha256.js';

it('sha256() equals the digest of node:crypto', () => {
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
])('aliasOf() returns server__tool when %s fits', (name, alias) => {
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
])('aliasOf() returns a name that all vendors accept when %j does not fit', (name) => {
  const hash = createHash('sha256').update(name).digest();
  const bits = [...hash.subarray(0, 5)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const ending = bits.replaceAll(/.{5}/g, (five) => 'abcdefghijklmnopqrstuvwxyz234567'[parseInt(five, 2)]!);
  expect(aliasOf(name)).toMatch(/^[A-Za-z][A-Za-z0-9_-]{0,62}$/);
  expect(aliasOf(name).endsWith(`___${ending}`)).toBe(true);
});

it('aliasOf() returns an alias with ___ only when it adds a hash', () => {
  expect(aliasOf('1password.get_item')).toMatch(/^t1password__get_item___[a-z2-7]{8}$/);
  expect(aliasOf('password.get_item_joi7xmz3')).toBe('password__get_item_joi7xmz3');
  const part = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
  fc.assert(
    fc.property(part, part, (server, tool) => {
      const alias = aliasOf(`${server}.${tool}`);
      expect(alias.includes('___')).toBe(alias !== `${server}__${tool}`);
    }),
    { numRuns: 2_000 },
  );
});

it.each(['1password.get_item', 'a.b c', `a.${'b'.repeat(61)}`, '_a.b'])(
  'aliasOf() returns the alias of %j for no other name',
  (name) => {
    const alias = aliasOf(name);
    for (const text of [alias, alias.replace('__', '.'), alias.replace('___', '.'), `x.${alias}`]) {
      if (text !== name) expect(aliasOf(text)).not.toBe(alias);
    }
  },
);

it('aliasOf() returns different aliases for different names', () => {
  const part = fc.stringMatching(/^[ab_.-]{1,40}$/);
  fc.assert(
    fc.property(part, part, part, part, (a, b, c, d) => {
      const [one, two] = [`${a}.${b}`, `${c}.${d}`];
      expect(aliasOf(one) === aliasOf(two)).toBe(one === two);
    }),
    { numRuns: 2_000 },
  );
});
