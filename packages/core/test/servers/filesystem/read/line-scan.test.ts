// The scan of a page against what splitting the whole text gives, for random texts, chunks and windows.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineScan, type LineWindow, type ScanState } from '../../../../src/servers/filesystem/read/line-scan.js';
import { Utf8Stream, type ReadEncoding } from '../../../../src/servers/filesystem/read/text-stream.js';

const ENCODERS: Record<Exclude<ReadEncoding, 'windows-1252'>, (text: string) => Buffer> = {
  'utf-8': (text) => Buffer.from(text),
  'utf-16le': (text) => Buffer.from(text, 'utf16le'),
  'utf-16be': (text) => Buffer.from(text, 'utf16le').swap16(),
  latin1: (text) => Buffer.from(text.replace(/[^\0-\xff]/gu, '?'), 'latin1'),
};
const text = fc
  .array(fc.constantFrom('a', 'bc', 'é', '€', '😀', '\n', '\r\n', '\r', '\0', '\t'), { maxLength: 40 })
  .map((parts) => parts.join(''));
const cuts = fc.array(fc.nat(60), { maxLength: 12 });
const encoding = fc.constantFrom(...(Object.keys(ENCODERS) as (keyof typeof ENCODERS)[]));

/** Cuts bytes at these places. */
function chunksOf(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [0, ...at.map((place) => Math.min(place, bytes.length)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place));
}

function linesOf(whole: string): string[] {
  const lines = whole.split('\n');
  const last = lines.pop();
  const ended = lines.map((line) => line.replace(/\r$/, ''));
  return last === undefined || last === '' ? ended : [...ended, last];
}

const ALL: LineWindow = { first: 1, limit: 1_000, column: 1, maxLineUnits: Infinity, maxBytes: 1_000_000 };

function scanned(chunks: readonly Buffer[], window: LineWindow, from?: ScanState): LineScan {
  const scan = new LineScan(window, from);
  for (const chunk of chunks) scan.push(chunk);
  scan.end(true);
  return scan;
}

describe('Utf8Stream', () => {
  it('Utf8Stream returns the same text wherever its bytes are cut', () => {
    fc.assert(
      fc.property(text, cuts, encoding, (whole, at, label) => {
        const bytes = ENCODERS[label](whole);
        const stream = new Utf8Stream(label);
        const parts = [...chunksOf(bytes, at).map((chunk) => Buffer.from(stream.push(chunk))), stream.end()];
        expect(Buffer.concat(parts).toString()).toBe(label === 'latin1' ? bytes.toString('latin1') : whole);
        expect(stream.isValid).toBe(true);
      }),
    );
  });

  it('Utf8Stream puts U+FFFD as a decoder of the whole does when bytes are not UTF-8', () => {
    const piece = fc.constantFrom(
      ...['61', 'c3a9', 'c3', 'e282ac', 'e282', 'f09f9880', 'f09f', '80', 'ff', 'eda080', '0a'],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), cuts, (parts, at) => {
        const bytes = Buffer.from(parts.join(''), 'hex');
        const stream = new Utf8Stream('utf-8');
        const made = chunksOf(bytes, at).map((chunk) => Buffer.from(stream.push(chunk)));
        const held = stream.heldBytes;
        const whole = Buffer.concat([...made, stream.end()]).toString();
        expect(whole).toBe(bytes.toString());
        expect(held).toBeLessThan(4);
        expect(stream.isValid).toBe(!whole.includes('\ufffd'));
      }),
      { numRuns: 2_000 },
    );
  });

  it('Utf8Stream shows the characters of windows-1252 that latin1 has not', () => {
    const bytes = Buffer.from([0x80, 0x81, 0x93, 0x9f, 0xe9]);
    expect(new Utf8Stream('windows-1252').push(bytes).toString()).toBe('€\x81“Ÿé');
  });
});

describe('LineScan', () => {
  it('LineScan finds the lines, their ends and their lengths wherever the chunks are cut', () => {
    fc.assert(
      fc.property(text, cuts, (whole, at) => {
        const stream = new Utf8Stream('utf-8');
        const scan = scanned(
          chunksOf(Buffer.from(whole), at).map((chunk) => Buffer.from(stream.push(chunk))),
          ALL,
        );
        const lines = linesOf(whole);
        expect(scan.lines.map(({ bytes }) => bytes.toString())).toEqual(lines);
        expect(scan.lines.map(({ units }) => units)).toEqual(lines.map((line) => line.length));
        expect(scan.linesSeen).toBe(lines.length);
        const crlf = whole.split('\r\n').length - 1;
        expect([scan.lf, scan.crlf]).toEqual([whole.split('\n').length - 1 - crlf, crlf]);
      }),
    );
  });

  it('LineScan returns a window that begins at a column, also when it resumes at an earlier offset', () => {
    fc.assert(
      fc.property(
        text,
        cuts,
        fc.nat(5),
        fc.nat(6),
        fc.integer({ min: 1, max: 4 }),
        (whole, at, line, column, limit) => {
          const lines = linesOf(whole);
          fc.pre(line < lines.length);
          const first = lines[line]!;
          fc.pre(column <= first.length);
          const from = /[\ud800-\udbff]$/.test(first.slice(0, column)) ? column - 1 : column;
          const window = { ...ALL, first: line + 1, limit, column: column + 1 };
          const stream = new Utf8Stream('utf-8');
          const chunks = chunksOf(Buffer.from(whole), at).map((chunk) => Buffer.from(stream.push(chunk)));
          const expected = [first.slice(from), ...lines.slice(line + 1, line + limit)];
          const states: ScanState[] = [];
          const scan = new LineScan(window);
          for (const chunk of chunks) {
            states.push(scan.state);
            scan.push(chunk);
          }
          scan.end(true);
          expect(scan.lines.map(({ bytes }) => bytes.toString())).toEqual(expected);
          expect(scan.lines[0]!.from).toBe(from + 1);
          for (const [index, state] of states.entries()) {
            const { linesSeen, units } = state;
            if (!(linesSeen < line || (linesSeen === line && units !== undefined && units <= column))) continue;
            const resumed = scanned(chunks.slice(index), window, state);
            expect([resumed.lines, resumed.linesSeen, resumed.lf, resumed.crlf]).toEqual([
              scan.lines,
              scan.linesSeen,
              scan.lf,
              scan.crlf,
            ]);
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('LineScan keeps the last lines when the tail is opened, and no more than limit and maxBytes', () => {
    fc.assert(
      fc.property(text, cuts, fc.integer({ min: 1, max: 5 }), fc.nat(30), (whole, at, limit, maxBytes) => {
        const scan = new LineScan({ ...ALL, first: undefined, limit, maxBytes });
        scan.openTail();
        for (const chunk of chunksOf(Buffer.from(whole), at)) scan.push(chunk);
        scan.end(true);
        const lines = linesOf(whole);
        const kept = scan.lines.length;
        expect(kept).toBeLessThanOrEqual(limit);
        expect(kept).toBeGreaterThanOrEqual(Math.min(1, lines.length));
        expect(scan.firstLine).toBe(lines.length - kept + 1);
        const size = scan.lines.reduce((sum, { bytes }) => sum + bytes.length + 1, 0);
        expect(kept === Math.min(limit, lines.length) || size > 0).toBe(true);
        if (kept > 1) expect(size).toBeLessThanOrEqual(maxBytes);
        for (const [index, { units }] of scan.lines.entries())
          expect(units).toBe(Buffer.from(lines.at(index - kept)!).toString().length);
      }),
    );
  });

  it('LineScan keeps of a line no more than is shown, and reports how long it is', () => {
    const scan = scanned(
      Array.from({ length: 1_000 }, () => Buffer.from('x'.repeat(1_000))),
      { ...ALL, maxLineUnits: 100 },
    );
    expect(scan.lines[0]!.bytes.length).toBeLessThan(400);
    expect(scan.lines[0]!.units).toBe(1_000_000);
  });

  it('LineScan closes the window when its bytes are kept', () => {
    const scan = scanned([Buffer.from('12345\n'.repeat(1_000))], { ...ALL, maxBytes: 60 });
    expect(scan.lines).toHaveLength(10);
    expect(scan.linesSeen).toBe(1_000);
  });
});
