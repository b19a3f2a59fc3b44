// Detects the encoding and the line endings of a text file, from its content and never from its extension.

import { isUtf8 } from 'node:buffer';

/** The encodings that text is shown and edited in. `latin1` is text that is neither UTF-8 nor UTF-16: one character per byte. */
export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'latin1';

/** The line endings of a file. */
export type LineEnds = 'lf' | 'crlf' | 'mixed' | 'none';

/** The encoding of a file; `bom`: it begins with a byte order mark. */
export interface DetectedEncoding {
  encoding: TextEncoding;
  bom: boolean;
}

/** How many bytes are examined to distinguish text from binary. */
export const SAMPLE_BYTES = 8 * 1024;
/** Text has almost no control characters except white space, backspace, form feed and escape. */
const MAX_CONTROL_SHARE = 0.3;

/**
 * Detects the encoding from the beginning of a file; undefined if it is not text.
 *
 * @param sample the first {@link SAMPLE_BYTES}, or all of it
 */
export function detectEncoding(sample: Buffer): DetectedEncoding | undefined {
  const bom = sample.length >= 2 ? sample.readUInt16BE(0) : 0;
  // UTF-32 begins like UTF-16 with two more zeros. It is not supported.
  if (bom === 0xfffe)
    return sample.length >= 4 && sample.readUInt16BE(2) === 0 ? undefined : { encoding: 'utf-16le', bom: true };
  if (bom === 0xfeff) return { encoding: 'utf-16be', bom: true };
  if (sample.includes(0)) return undefined;
  let controls = 0;
  for (const byte of sample) {
    if (byte < 0x20 ? !(byte >= 0x08 && byte <= 0x0d) && byte !== 0x1b : byte === 0x7f) controls++;
  }
  if (controls > MAX_CONTROL_SHARE * sample.length) return undefined;
  if (!isUtf8(wholeCharacters(sample))) return { encoding: 'latin1', bom: false };
  return { encoding: 'utf-8', bom: sample.length >= 3 && sample.readUIntBE(0, 3) === 0xefbbbf };
}

/** The encoding of a complete content; undefined if it is not text. */
export function encodingOf(bytes: Buffer): DetectedEncoding | undefined {
  const detected = detectEncoding(bytes.subarray(0, SAMPLE_BYTES));
  return detected?.encoding === 'utf-8' && !isUtf8(bytes) ? { encoding: 'latin1', bom: false } : detected;
}

/** UTF-8 without an incomplete character at the end. */
export function wholeCharacters(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

/** Bytes as text. Nothing is added or dropped; a byte order mark becomes U+FEFF. */
export function decodeText(bytes: Buffer, encoding: TextEncoding): string {
  if (encoding === 'utf-16be')
    return Buffer.from(bytes.subarray(0, bytes.length & ~1))
      .swap16()
      .toString('utf16le');
  return bytes.toString(encoding === 'utf-16le' ? 'utf16le' : encoding === 'latin1' ? 'latin1' : 'utf8');
}

/** A complete content as UTF-8, to compare and show; undefined if it is not text. */
export function asUtf8(bytes: Buffer): Buffer | undefined {
  if (bytes.length === 0) return bytes;
  const detected = encodingOf(bytes);
  if (!detected) return undefined;
  return detected.encoding === 'utf-8' ? bytes : Buffer.from(decodeText(bytes, detected.encoding));
}

/**
 * Encodes text; undefined if it has a character that the encoding cannot represent.
 */
export function encodeText(text: string, encoding: TextEncoding): Buffer | undefined {
  if (/\p{Surrogate}/u.test(text)) return undefined;
  switch (encoding) {
    case 'utf-8':
      return Buffer.from(text);
    case 'latin1':
      return /[^\0-\xff]/.test(text) ? undefined : Buffer.from(text, 'latin1');
    case 'utf-16le':
      return Buffer.from(text, 'utf16le');
    case 'utf-16be':
      return Buffer.from(text, 'utf16le').swap16();
  }
}

/** The line endings of a file, from the number of lines with each. */
export function lineEndsOf(lf: number, crlf: number): LineEnds {
  if (lf === 0) return crlf === 0 ? 'none' : 'crlf';
  return crlf === 0 ? 'lf' : 'mixed';
}
