import { chmod, chown, link, readlink, stat, utimes } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/contract/json.js';
import { encodeText, type TextEncoding } from '../../../../src/servers/project/open/text-encoding.js';
import { openTools } from '../filesystem-tools.js';

// A naive model edits the decoded text; the file must have exactly the bytes of that. Seeds are fast-check's: a failure
// prints them.

const RUNS = process.env['TOOLWRIGHT_SOAK'] === '1' ? 2_000 : 150;

const ENCODINGS = fc.constantFrom<[TextEncoding, string]>(
  ['utf-8', ''],
  ['utf-8', '\ufeff'],
  ['utf-16le', '\ufeff'],
  ['utf-16be', '\ufeff'],
  ['latin1', 'caf\xe9\xff\n'], // what is no UTF-8
);
const ASCII = ['a', 'Z', '0', ' ', '\t', '$&', '\\', '"', "'", '{', '}', '-', '...', '\r'];
const WIDE = ['é', '漢', '😀', '👩‍👩‍👧', '\u00a0', '“', '”', '—', '…', 'e\u0301', '\u200b'];
/** `@1@` is in the file once, `@all@` any number of times, `@two@` twice. */
const TOKENS = ['@1@', '@2@', '@all@', '@all@', '@two@'];

const file = ENCODINGS.chain(([encoding, head]) => {
  const characters = fc.constantFrom(...ASCII, ...(encoding === 'latin1' ? ['\xe9', '\xff'] : WIDE));
  const piece = fc.oneof(
    { weight: 8, arbitrary: fc.string({ unit: characters, maxLength: 12 }) },
    { weight: 1, arbitrary: fc.nat(5_000).map((length) => 'long'.repeat(length)) },
  );
  const line = fc.record({ before: piece, token: fc.constantFrom('', ...TOKENS), after: piece });
  return fc.record({
    encoding: fc.constant(encoding),
    text: fc
      .tuple(
        fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 12 }),
        fc.boolean(),
        fc.shuffledSubarray(['@1@', '@2@', '@two@ @two@', '@all@'], { minLength: 4 }),
      )
      .map(([lines, isEnded, once]) => {
        const text = lines.map(([{ before, token, after }, end]) => {
          return before + (token === '@all@' ? token : '') + after + end;
        });
        // Each of the others goes somewhere, so that the counts are known.
        once.forEach((token, index) => text.splice((index * 7) % (text.length + 1), 0, `${token}\n`));
        const whole = head + text.join('');
        return isEnded ? whole : whole.replace(/\r?\n$/, '');
      }),
  });
});

const newText = fc
  .array(fc.constantFrom('x', 'Y y', '\n', '\r\n', '$1', '$&', '  ', '\\n', 'é'), { maxLength: 6 })
  .map((parts) => parts.join(''));

function majority(text: string): string {
  return 2 * (text.split('\r\n').length - 1) > text.split('\n').length - 1 ? '\r\n' : '\n';
}

/** What the file should be: tokens are within a line, so new lines end as most do. */
function replaced(text: string, token: string, now: string): string {
  return text.split(token).join(now.replace(/\r?\n/g, majority(text)));
}

function inserted(text: string, line: number, now: string): string {
  const [, mark = '', body = ''] = /^(\ufeff?)([\s\S]*)$/.exec(text) ?? [];
  const end = majority(text);
  const lines = body.split(/(?<=\n)/).filter((each) => each !== '');
  const added = now.replace(/\r?\n/g, end).replace(/\r?\n$/, '');
  const isLastUnended = line === lines.length && lines.length > 0 && !body.endsWith('\n');
  lines.splice(line, 0, isLastUnended ? end + added : added + end);
  return mark + lines.join('');
}

describe('edit_file() on random files', () => {
  it('edit_file() changes no byte that it was not asked to, nor mode, owner, links, and sets the time', async () => {
    await using tools = await openTools({}, { requireRead: false });
    const path = tools.path('dir/a.txt');
    const isRoot = process.getuid?.() === 0;
    await fc.assert(
      fc.asyncProperty(
        file,
        fc.array(newText, { minLength: 4, maxLength: 4 }),
        fc.constantFrom('several', 'flat', 'all', 'insert'),
        fc.constantFrom('plain', 'symbolic link', 'hard link'),
        fc.nat(),
        async ({ encoding, text }, [first = '', second = '', all = '', two = ''], form, kind, at) => {
          const before = encodeText(text, encoding);
          if (!before) throw new Error('The generator made what cannot be encoded.');
          await tools.call('delete', { path: 'dir', recursive: true });
          await tools.write('dir/a.txt', before);
          await chmod(path, 0o755);
          if (isRoot) await chown(path, 1234, 4321);
          await utimes(path, 1_000, 1_000);
          const name = kind === 'plain' ? 'dir/a.txt' : 'dir/name';
          if (kind === 'symbolic link') await tools.write('dir/name', { link: 'a.txt' });
          if (kind === 'hard link') await link(path, tools.path('dir/name'));
          let args: JsonObject;
          let expected = text;
          const lines = text
            .replace('\ufeff', '')
            .split(/(?<=\n)/)
            .filter((each) => each !== '').length;
          if (form === 'insert') {
            const [line, now] = [at % (lines + 1), first || 'x'];
            args = { insert_line: line, new_string: now };
            expected = inserted(text, line, now);
          } else if (form === 'flat') {
            args = { old_string: '@1@', new_string: first };
            expected = replaced(text, '@1@', first);
          } else if (form === 'all') {
            args = { old_string: '@all@', new_string: all, replace_all: true };
            expected = replaced(text, '@all@', all);
          } else {
            args = {
              edits: [
                { old_string: '@1@', new_string: first },
                { old_string: '@two@', new_string: two, expected_count: 2 },
                { old_string: '@2@', new_string: second },
                { old_string: '@all@', new_string: all, replace_all: true },
              ],
            };
            for (const [token, now] of [
              ['@1@', first],
              ['@two@', two],
              ['@2@', second],
              ['@all@', all],
            ] as const)
              expected = replaced(expected, token, now);
          }
          const answer = await tools.call('edit_file', { path: name, ...args });
          expect(answer.code, answer.text).toBeUndefined();
          const bytes = await tools.read('dir/a.txt');
          expect(bytes.equals(encodeText(expected, encoding) ?? Buffer.alloc(0)), JSON.stringify([text, args])).toBe(
            true,
          );
          const stats = await stat(path);
          expect(stats.mode & 0o7777).toBe(0o755);
          if (isRoot) expect([stats.uid, stats.gid]).toEqual([1234, 4321]);
          expect(stats.mtimeMs).toBeGreaterThan(1_000_000);
          if (kind === 'symbolic link') expect(await readlink(tools.path('dir/name'))).toBe('a.txt');
          if (kind === 'hard link') {
            const other = await stat(tools.path('dir/name'));
            expect([other.ino, other.nlink]).toEqual([stats.ino, 2]);
          }
        },
      ),
      { numRuns: RUNS },
    );
  }, 120_000);
});
