// The parsers of checkers' output, on what the checkers print.

import { describe, expect, it } from 'vitest';
import { parseCargo } from '../../../../src/servers/diagnostics/checkers/cargo-output.js';
import { parseEslint } from '../../../../src/servers/diagnostics/checkers/eslint-output.js';
import { parseGeneric } from '../../../../src/servers/diagnostics/checkers/generic-output.js';
import { parseGo } from '../../../../src/servers/diagnostics/checkers/go-output.js';
import { parsePyright } from '../../../../src/servers/diagnostics/checkers/pyright-output.js';
import { parseRuff } from '../../../../src/servers/diagnostics/checkers/ruff-output.js';
import { parseTsc } from '../../../../src/servers/diagnostics/checkers/tsc-output.js';

const out = (stdout: string, stderr = '') => ({ stdout, stderr });

describe('parseTsc()', () => {
  it('reads places, codes, lines that continue, and counts the files of the project', () => {
    const report = parseTsc(
      out(
        [
          "src/a b.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.",
          "src/c.ts(10,1): error TS2345: Argument of type '{}' is not assignable.",
          "  Property 'x' is missing in type '{}'.",
          "    And that's why.",
          '/p/node_modules/typescript/lib/lib.d.ts',
          '/p/src/a b.ts',
          '/p/src/c.ts',
          '',
        ].join('\r\n'),
      ),
    );
    expect(report).toMatchObject({ understood: true, filesChecked: 2, said: [] });
    expect(report.found).toEqual([
      {
        ...{ file: 'src/a b.ts', line: 3, column: 7, end_line: 3, end_column: 7 },
        ...{ severity: 'error', code: '2322', source: 'ts' },
        message: "Type 'string' is not assignable to type 'number'.",
      },
      {
        ...{ file: 'src/c.ts', line: 10, column: 1, end_line: 10, end_column: 1 },
        ...{ severity: 'error', code: '2345', source: 'ts' },
        message:
          "Argument of type '{}' is not assignable.\n  Property 'x' is missing in type '{}'.\n    And that's why.",
      },
    ]);
  });

  it('does not treat a run over nothing, or without a configuration, as clean', () => {
    expect(parseTsc(out('')).understood).toBe(false);
    expect(parseTsc(out('/p/node_modules/typescript/lib/lib.d.ts\n')).understood).toBe(false);
    const missing = parseTsc(out("error TS5083: Cannot read file '/p/base.json'.\n/p/a.ts\n"));
    expect(missing).toMatchObject({ understood: false, said: [expect.stringContaining('TS5083')] });
    expect(parseTsc(out('Segmentation fault\n/p/a.ts\n')).understood).toBe(false);
  });
});

describe('parseEslint()', () => {
  const message = { ruleId: 'no-undef', severity: 2, message: 'x is not defined.', line: 2, column: 3 };

  it('reads errors, warnings, ends, and messages of no place', () => {
    const files = [
      {
        filePath: '/p/a.js',
        messages: [
          { ...message, endLine: 2, endColumn: 4 },
          { ...message, severity: 1, ruleId: null, line: 0, column: 0 },
        ],
      },
      { filePath: '/p/b.js', messages: [] },
    ];
    const report = parseEslint(out(JSON.stringify(files)));
    expect(report).toMatchObject({ understood: true, filesChecked: 2 });
    expect(report.found).toMatchObject([
      { file: '/p/a.js', line: 2, column: 3, end_line: 2, end_column: 4, severity: 'error', code: 'no-undef' },
      { file: '/p/a.js', line: 1, column: 1, severity: 'warning', code: '' },
    ]);
  });

  it.each(['', 'Oops! Something went wrong!', '{}', '[]', '[{"filePath":"a"}]', '[1]'])(
    'does not understand %j',
    (text) => {
      expect(parseEslint(out(text)).understood).toBe(false);
    },
  );
});

describe('parseRuff()', () => {
  it('reads rules as warnings and what cannot be parsed as errors, in characters', () => {
    const at = { location: { row: 1, column: 8 }, end_location: { row: 1, column: 10 } };
    const list = [
      { code: 'F401', filename: '/p/a.py', message: '`os` imported but unused', ...at },
      { code: null, filename: '/p/b.py', message: 'SyntaxError: Expected an expression', ...at },
    ];
    expect(parseRuff(out(JSON.stringify(list)))).toMatchObject({
      understood: true,
      found: [
        {
          file: '/p/a.py',
          line: 1,
          column: 8,
          end_column: 10,
          severity: 'warning',
          code: 'F401',
          columns: 'code-points',
        },
        { file: '/p/b.py', severity: 'error', code: '' },
      ],
    });
    expect(parseRuff(out('[]'))).toMatchObject({ understood: true, found: [] });
  });

  it('does not treat a project without Python as clean', () => {
    const none = parseRuff(out('[]', 'warning: No Python files found under the given path(s)\n'));
    expect(none).toMatchObject({ understood: false, found: [] });
    expect(parseRuff(out('error: unexpected argument')).understood).toBe(false);
  });
});

describe('parsePyright()', () => {
  it('turns ranges from 0 into places from 1', () => {
    const report = {
      generalDiagnostics: [
        {
          ...{ file: '/p/a.py', severity: 'error', message: 'not int', rule: 'reportAssignmentType' },
          range: { start: { line: 0, character: 9 }, end: { line: 0, character: 12 } },
        },
        { file: '/p/a.py', severity: 'information', message: 'note' },
      ],
      summary: { filesAnalyzed: 1 },
    };
    expect(parsePyright(out(JSON.stringify(report)))).toMatchObject({
      understood: true,
      filesChecked: 1,
      found: [
        { line: 1, column: 10, end_line: 1, end_column: 13, severity: 'error', code: 'reportAssignmentType' },
        { line: 1, column: 1, severity: 'info', code: '' },
      ],
    });
  });

  it('does not treat a run over no file as clean', () => {
    const empty = JSON.stringify({ generalDiagnostics: [], summary: { filesAnalyzed: 0 } });
    expect(parsePyright(out(empty)).understood).toBe(false);
    expect(parsePyright(out('No configuration file found.')).understood).toBe(false);
  });
});

describe('parseCargo()', () => {
  const line = (record: unknown): string => `${JSON.stringify(record)}\n`;
  const message = (level: string, spans: unknown[]) =>
    line({
      reason: 'compiler-message',
      message: { message: 'mismatched types', level, code: { code: 'E0308' }, spans },
    });
  const span = { file_name: 'src/main.rs', line_start: 2, line_end: 2, column_start: 18, column_end: 21 };

  it('reads the primary place of each message', () => {
    const spans = [
      { ...span, is_primary: false, line_start: 1 },
      { ...span, is_primary: true },
    ];
    const text =
      message('error', spans) +
      message('warning', spans) +
      message('error', []) +
      line({ reason: 'build-finished', success: false });
    expect(parseCargo(out(text))).toMatchObject({
      understood: true,
      found: [
        { file: 'src/main.rs', line: 2, column: 18, end_column: 21, severity: 'error', code: 'E0308' },
        { severity: 'warning' },
      ],
    });
  });

  it('does not treat an unfinished build as clean', () => {
    const stopped = parseCargo(
      out(line({ reason: 'compiler-artifact' }), 'error: no matching package named `x` found'),
    );
    expect(stopped).toMatchObject({ understood: false, said: ['error: no matching package named `x` found'] });
  });
});

describe('parseGo()', () => {
  it('reads findings and what does not compile', () => {
    const vet =
      '# example.com/a\n{\n\t"example.com/a": {\n\t\t"printf": [\n\t\t\t{\n\t\t\t\t"posn": "/p/a.go:6:2",\n\t\t\t\t"message": "wrong type"\n\t\t\t}\n\t\t]\n\t}\n}\n';
    const compiler = '# example.com/b\nvet: ./b.go:3:5: undefined: x\n';
    expect(parseGo(out('', vet + compiler))).toMatchObject({
      understood: true,
      found: [
        { file: './b.go', line: 3, column: 5, severity: 'error', source: 'go', message: 'undefined: x' },
        { file: '/p/a.go', line: 6, column: 2, severity: 'warning', code: 'printf', columns: 'bytes' },
      ],
    });
    expect(parseGo(out(vet, ''))).toMatchObject({ understood: true, found: [{ line: 6 }] });
    expect(parseGo(out('', '# example.com/a\n{}\n'))).toMatchObject({ understood: true, found: [] });
  });

  it('does not treat unreadable output as a clean run', () => {
    for (const stderr of [
      '{\n\t"a": {"printf": [{"posn": "nowhere"}]}\n}\n',
      '{\n"a": {"printf": {"error": "failed"}}\n}\n',
      '{\n cut off',
      'go: go.mod file not found in current directory',
    ])
      expect(parseGo(out('', stderr)).understood, stderr).toBe(false);
  });
});

describe('parseGeneric()', () => {
  it.each([
    ['src/a.c:3:7: error: unknown type', 'src/a.c', 3, 7, 'error', '', 'unknown type'],
    ['src/a.c:3:7: fatal error: no such file', 'src/a.c', 3, 7, 'error', '', 'no such file'],
    ['a.sh:12: warning: unused', 'a.sh', 12, 1, 'warning', '', 'unused'],
    ['lib/x.rb:4:2: W: Lint/Useless: drop it', 'lib/x.rb', 4, 2, 'error', '', 'W: Lint/Useless: drop it'],
    ['a.py:1:5: note[mypy]: see above', 'a.py', 1, 5, 'info', 'mypy', 'see above'],
    ['Program.cs(5,10): error CS1002: ; expected', 'Program.cs', 5, 10, 'error', 'CS1002', '; expected'],
    ['C:\\src\\a.c:3:7: warning: x', 'C:\\src\\a.c', 3, 7, 'warning', '', 'x'],
    ['/abs/a b.c:3: it is wrong', '/abs/a b.c', 3, 1, 'error', '', 'it is wrong'],
  ])('reads %j', (line, file, at, column, severity, code, message) => {
    const { found, understood } = parseGeneric(out('', `building…\n${line}\n`));
    expect(understood).toBe(true);
    expect(found).toEqual([
      { file, line: at, column, end_line: at, end_column: column, severity, code, source: '', message },
    ]);
  });

  it('understands silence, and no other text without a place', () => {
    expect(parseGeneric(out(''))).toMatchObject({ understood: true, found: [] });
    for (const text of ['Build failed', 'at 12:30:05 it broke', 'https://example.com:80/ is down'])
      expect(parseGeneric(out(text)), text).toMatchObject({ understood: false, found: [] });
  });

  it('takes long hostile lines in linear time', () => {
    const startedAt = performance.now();
    for (const line of [
      'a:'.repeat(200_000),
      `${'a'.repeat(400_000)}:`,
      `${'x(1,'.repeat(100_000)}`,
      'a:1'.repeat(150_000),
    ])
      parseGeneric(out(line));
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});
