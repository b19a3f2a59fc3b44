// The words that are stemmed without asking FTS5 have the stems that it has.

import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { driverName, openSqlite } from '../../../../src/servers/memory/sqlite/driver.js';
import { Tokenizer } from '../../../../src/servers/memory/sqlite/tokenizer.js';

const MODEL = new URL('../../../../models/static-en.bin', import.meta.url);
/** Endings that the algorithm looks at, put to every word so that each of its rules is used. */
const ENDINGS = 's es ed ing ly eed ies sses ational ization fulness iviti biliti alism logi ement ion ize y'.split(
  ' ',
);

async function open(): Promise<Tokenizer> {
  const connection = await openSqlite(':memory:', driverName());
  onTestFinished(() => connection.close());
  return new Tokenizer(connection);
}

it('tokensOf() has the tokens of FTS5 for each word of the built-in model, with whatever ending', async () => {
  const bytes = await readFile(MODEL);
  const start = 12 + bytes.readUInt32LE(4);
  const known = bytes.toString('utf8', start, start + bytes.readUInt32LE(8)).split('\n');
  const words = known.flatMap((word, index) => [word, `${word}${ENDINGS[index % ENDINGS.length]}`]);
  const tokenizer = await open();
  for (let at = 0; at < words.length; at += 5_000) {
    const some = words.slice(at, at + 5_000);
    expect(tokenizer.tokensOf(some)).toEqual(tokenizer.tokenize(some));
  }
});

it('tokensOf() has the tokens of FTS5 for any text', async () => {
  const tokenizer = await open();
  const letters = fc.string({ unit: fc.constantFrom(...'aeiouybcdlmnrstz'), minLength: 1, maxLength: 80 });
  fc.assert(
    fc.property(fc.array(fc.oneof(letters, fc.string({ unit: 'binary', maxLength: 12 }))), (words) => {
      const texts = words.map((word) => word.replaceAll('\0', ''));
      expect(tokenizer.tokensOf(texts)).toEqual(tokenizer.tokenize(texts));
    }),
    { numRuns: 300 },
  );
});
