import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ToolError } from '../../../../src/contract/errors.js';
import { applyEdits, type AppliedEdit, type TextEdit } from '../../../../src/servers/filesystem/edit/text-edit.js';
import { decodeText, encodeText, type TextEncoding } from '../../../../src/servers/project/open/text-encoding.js';

interface Edited {
  text: string;
  applied: AppliedEdit | undefined;
}

async function edit(
  content: string,
  old_string: string,
  new_string: string,
  more: Partial<TextEdit> = {},
  encoding: TextEncoding = 'utf-8',
): Promise<Edited> {
  const bytes = encodeText(content, encoding) ?? Buffer.alloc(0);
  const outcome = await applyEdits({ path: 'a.txt', bytes, encoding, bom: content.startsWith('\ufeff') }, [
    { old_string, new_string, ...more },
  ]);
  return { text: decodeText(outcome.bytes, encoding), applied: outcome.applied[0] };
}

async function failure(run: () => Promise<unknown>): Promise<{ code: string; message: string; details: unknown }> {
  try {
    await run();
  } catch (error) {
    if (ToolError.isInstance(error)) return { code: error.code, message: error.message, details: error.details };
    throw error;
  }
  return { code: 'none', message: '', details: undefined };
}

describe('applyEdits()', () => {
  it.each([
    ['eol', 'a\r\nb\r\nc\r\n', 'a\nb', 'A\nB', 'A\r\nB\r\nc\r\n'],
    ['eol', 'a\nb\nc\n', 'a\r\nb\r\n', 'A\r\n', 'A\nc\n'],
    ['eol', 'a\nb\r\nc', 'a\r\nb\nc', 'x\ny', 'x\ny'],
    ['eol, the whole of a CRLF', 'a\r\nfoo\r\nb', '\nfoo', '', 'a\r\nb'],
    ['trim_end', 'if (a) {  \n\tb();\t\n}\n', 'if (a) {\n\tb();\n}', 'x\ny', 'x\ny\n'],
    ['trim_end', 'a \r\nb\r\n', 'a\nb\n', 'A\nB\n', 'A\r\nB\r\n'],
    ['trim_end, spaces at the end of old_string', 'x\na\nb  \nc\n', 'a \nb ', 'A', 'x\nA\nc\n'],
    ['trim_end, old_string that begins with a line end', 'a  \nb \nc', '\nb\nc', '!', 'a  !'],
    ['trim_end, spaces in the middle of a line', 'a\nb = c', 'a  \nb = ', 'a\nb: ', 'a\nb: c'],
    ['trim_end, at the end of the file', 'x\na\nb \t', 'a \nb  ', 'A', 'x\nA'],
    ['indent', 'f {\n    a\n      b\n\n    c\n}\n', 'a\n  b\n\nc\n', 'A\n\n  B\n', 'f {\n    A\n\n      B\n}\n'],
    ['indent', 'f\n\ta\n\t\tb\n', 'a\n\tb', 'a\n\tb\n\t\tc', 'f\n\ta\n\t\tb\n\t\t\tc\n'],
    ['indent, less of it', 'a\n  b\nc', '    a\n      b\n', '    A\n      B\n    d\n', 'A\n  B\nd\nc'],
    ['indent, CRLF', '  a\r\n  b\r\n', 'a\nb\n', 'A\nB\n', '  A\r\n  B\r\n'],
    ['indent, spaces at the end', '  a \n  b  \n', 'a\nb', 'A\nB', '  A\n  B  \n'],
    [
      'indent, tabs for spaces',
      'f {\n\tif a\n\t\tb\n}\n',
      '    if a\n        b\n',
      '    if a\n        c\n          d\n',
      'f {\n\tif a\n\t\tc\n\t\t  d\n}\n',
    ],
    [
      'indent, tabs for two spaces each',
      '\t\ta\r\n\r\n\tb\r\n',
      '    a\n\n  b\n',
      '    A\n\t\tB\n',
      '\t\tA\r\n\t\tB\r\n',
    ],
    ['unicode', 'say(“hi”) — it’s\u00a0…\n', 'say("hi") - it\'s ...', 'x', 'x\n'],
    ['unicode', 'a "b" - c...d\n', 'a “b” – c…', 'x', 'xd\n'],
    ['unicode', 'tail\u00a0\n“b”\n', 'tail\n"b"', 'x', 'x\n'],
    ['unicode, other characters kept', '“ﬁ” “é”\u2003z\n', '"é"', '“e”', '“ﬁ” “e”\u2003z\n'],
  ])('applyEdits() finds the text by %s', async (what, content, old, now, expected) => {
    for (const encoding of ['utf-8', 'utf-16le', 'utf-16be'] as const) {
      for (const mark of ['', '\ufeff']) {
        const { text, applied } = await edit(mark + content, old, now, {}, encoding);
        expect(text).toBe(mark + expected);
        expect(applied?.strategy).toBe(what.split(',')[0]);
      }
    }
  });

  it.each([
    ['part of an ellipsis', 'a…b\n', 'a..'],
    ['a tab for spaces', '    a\n        b\n', '\ta\n\t\tb\n'],
    ['tabs for a different number of spaces', '\ta\n\t\tb\n', '  a\n      b\n'],
    ['tabs for some of the spaces', '\ta\n    b\n', '    a\n    b\n'],
    ['lines that are not shifted alike', '  a\n    b\n', 'a\nb\n'],
    ['a part of the last line', '  a\n  bc\n', 'a\nb'],
    ['indentation and typographic characters at once', '  “a”\n  b\n', '"a"\nb\n'],
    ['upper case', 'A\n', 'a'],
    ['white space within a line', 'a  b\n', 'a b\n'],
    ['compatibility characters', 'ﬁ\n', 'fi'],
    ['a missing final newline', 'a\nb', 'a \nb\n'],
  ])('applyEdits() throws NO_MATCH for %s', async (_what, content, old) => {
    expect((await failure(() => edit(content, old, 'x'))).code).toBe('NO_MATCH');
  });

  it('applyEdits() reports which indentation the file and the text have when they have others', async () => {
    const { message } = await failure(() => edit('    a\n        b\n', '\ta\n\t\tb\n', 'x'));
    expect(message).toContain('the file is indented with spaces, old_string with tabs');
  });

  it.each([
    ['eol', 'a\r\nb\r\nx\r\na\r\nb\r\n', 'a\nb\n', [1, 4]],
    ['trim_end', 'a \nb\nx\na\nb\n', 'a  \nb\n', [1, 4]],
    ['indent', '  a\n  b\n    a\n    b\n', 'a\nb\n', [1, 3]],
    ['unicode', '“a” “a”\n', '"a"', [1, 1]],
  ])('applyEdits() throws MULTIPLE_MATCHES naming %s when that finds two', async (strategy, content, old, lines) => {
    const { code, message, details } = await failure(() => edit(content, old, 'x'));
    expect(code).toBe('MULTIPLE_MATCHES');
    expect(message).toContain(`(${strategy})`);
    expect(details).toEqual({ count: 2, lines, strategy });
  });

  it('applyEdits() uses the strictest matching that finds the text', async () => {
    expect(await edit('a\nb\na\r\nb\r\n', 'a\nb', 'x')).toMatchObject({
      text: 'x\na\r\nb\r\n',
      applied: { strategy: 'exact', count: 1 },
    });
  });

  it('applyEdits() replaces many by exact and eol only', async () => {
    const many = { replace_all: true };
    expect(await edit('a\r\nb\r\na\r\nb\r\n', 'a\nb\n', 'x\n', many)).toMatchObject({
      text: 'x\r\nx\r\n',
      applied: { strategy: 'eol', count: 2 },
    });
    expect((await edit('a\r\nb\r\na\r\nb\r\n', 'a\nb\n', '', { expected_count: 2 })).text).toBe('');
    const loose: [string, string][] = [
      ['a \nb\n', 'a\nb\n'],
      ['  a\n  b\n', 'a\nb\n'],
      ['“a”', '"a"'],
    ];
    for (const [content, old] of loose) {
      expect((await failure(() => edit(content, old, 'x', many))).code).toBe('NO_MATCH');
      expect((await edit(content, old, 'x', { expected_count: 1 })).applied?.count).toBe(1);
    }
  });

  it('applyEdits() throws NO_MATCH naming the line when the new text cannot be moved as far to the left', async () => {
    const { code, message } = await failure(() => edit('a\nb\n', '  a\n  b\n', '  a\nc\n'));
    expect(code).toBe('NO_MATCH');
    expect(message).toContain('line 1');
  });

  it('applyEdits() is quick on a file of spaces and line ends', async () => {
    const content = `${' '.repeat(2_000_000)}x${'\r\n'.repeat(500_000)}`;
    const startedAt = performance.now();
    expect((await failure(() => edit(content, 'not\n  there', 'x'))).code).toBe('NO_MATCH');
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });
});

/** A line of a random file: its number makes it the only one of its kind. */
const line = fc.record({
  indent: fc.constantFrom('', '  ', '\t', '\t\t', '    '),
  body: fc.string({ unit: fc.constantFrom('a', ' ', '\t', '"', '“', '—', '-', '…', '\u00a0', 'é', '漢', '😀', '$&') }),
  end: fc.constantFrom('\n', '\r\n'),
});

const randomFile = fc
  .record({
    lines: fc.array(line, { minLength: 3, maxLength: 12 }),
    bom: fc.boolean(),
    final: fc.boolean(),
    encoding: fc.constantFrom<TextEncoding>('utf-8', 'utf-16le', 'utf-16be'),
    first: fc.nat(),
    count: fc.nat(),
    withLineEnd: fc.boolean(),
    newLines: fc.array(fc.string({ unit: fc.constantFrom('x', ' ', '“', '$&', '漢') }), {
      minLength: 1,
      maxLength: 4,
    }),
  })
  .map(({ lines, bom, final, encoding, first, count, withLineEnd, newLines }) => {
    const texts = lines.map(({ indent, body, end }, index) => ({ text: `${indent}"#${index}#-${body}|`, end }));
    const from = first % (texts.length - 1);
    const span = texts.slice(from, from + 2 + (count % (texts.length - from - 1)));
    const joined = (part: typeof texts, ends: boolean): string =>
      part.map(({ text, end }, index) => (ends || index < part.length - 1 ? text + end : text)).join('');
    const tail = texts.slice(from + span.length);
    const ended = withLineEnd && (tail.length > 0 || final);
    const lastEnd = span.at(-1)?.end ?? '';
    return {
      encoding,
      span,
      ended,
      head: (bom ? '\ufeff' : '') + joined(texts.slice(0, from), true),
      middle: joined(span, ended),
      tail: (ended || (tail.length === 0 && !final) ? '' : lastEnd) + joined(tail, final),
      newLines: newLines.map((each) => `${each}!`),
    };
  });

/** Each reading's own kind of difference, made to the lines of a span; `none` is one that no reading allows. */
const PERTURBED: Readonly<Record<string, (lines: { text: string; end: string }[], shift: string) => typeof lines>> = {
  exact: (lines) => lines,
  eol: (lines) => lines.map(({ text, end }) => ({ text, end: end === '\n' ? '\r\n' : '\n' })),
  trim_end: (lines, shift) => lines.map(({ text, end }) => ({ text: text + shift, end })),
  indent: (lines, shift) => lines.map(({ text, end }) => ({ text: shift + text, end })),
  unicode: (lines) => lines.map(({ text, end }) => ({ text: text.replace('"#', '“#').replace('#-', '#\u2212'), end })),
  none: (lines) => lines.map(({ text, end }) => ({ text: text.replace('"#', '"##'), end })),
};

describe('applyEdits() with random files', () => {
  it.each(Object.entries(PERTURBED))(
    'applyEdits() changes no byte outside the span when it is found by %s',
    async (strategy, perturb) => {
      await fc.assert(
        fc.asyncProperty(randomFile, fc.constantFrom(' ', '\t', '   '), async (file, shift) => {
          const { encoding, span, ended, head, middle, tail, newLines } = file;
          const perturbed = perturb(span, shift);
          const old = perturbed
            .map(({ text, end }, index) => (ended || index < span.length - 1 ? text + end : text))
            .join('');
          const indent = strategy === 'indent' ? shift : '';
          const now = newLines.map((each) => indent + each).join('\n') + (ended ? '\n' : '');
          const content = head + middle + tail;
          if (strategy === 'none') {
            expect((await failure(() => edit(content, old, now, {}, encoding))).code).toBe('NO_MATCH');
            return;
          }
          const { text, applied } = await edit(content, old, now, {}, encoding);
          expect(applied).toEqual({ line: head.split('\n').length, count: 1, strategy });
          const ends = middle.split('\n').length - 1;
          const lineEnd = 2 * (middle.split('\r\n').length - 1) > ends ? '\r\n' : '\n';
          const expected = newLines.join(lineEnd) + (ended ? lineEnd : '');
          expect(text).toBe(head + expected + tail);
        }),
        { numRuns: 300 },
      );
    },
  );

  it('applyEdits() indents the lines as the file does when they are deeper there', async () => {
    await fc.assert(
      fc.asyncProperty(
        randomFile,
        fc.constantFrom(' ', '\t', '   '),
        async ({ encoding, ended, head, span, tail, newLines }, shift) => {
          const lines = (part: { text: string; end: string }[]): string =>
            part.map(({ text, end }, index) => (ended || index < part.length - 1 ? text + end : text)).join('');
          const middle = lines(span.map(({ text, end }) => ({ text: shift + text, end })));
          const now = newLines.join('\n') + (ended ? '\n' : '');
          const { text, applied } = await edit(head + middle + tail, lines(span), now, {}, encoding);
          expect(applied?.strategy).toBe('indent');
          expect(text.startsWith(head)).toBe(true);
          expect(text.endsWith(tail)).toBe(true);
          const written = text.slice(head.length, text.length - tail.length).split(/\r?\n/);
          expect(written).toEqual([...newLines.map((each) => shift + each), ...(ended ? [''] : [])]);
        },
      ),
      { numRuns: 300 },
    );
  });
});
