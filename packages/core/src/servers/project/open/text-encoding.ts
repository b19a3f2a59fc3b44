// How the bytes of a text file stand for characters, told by content and never by extension; and its line ends.

import { isUtf8 } from 'node:buffer';

/** The encodings that text is shown and edited in. `latin1` is what is neither UTF-8 nor UTF-16: a byte, a character. */
export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'latin1';

/** How the lines of a file end. */
export type LineEnds = 'lf' | 'crlf' | 'mixed' | 'none';

/** A file's encoding; `bom` says whether it begins with a byte order mark. */
export interface DetectedEncoding {
  encoding: TextEncoding;
  bom: boolean;
}

/** How much of the beginning tells text from binary. */
export const SAMPLE_BYTES = 8 * 1024;
/** Text has next to no control characters but white space, backspace, form feed and escape. */
const MAX_CONTROL_SHARE = 0.3;

/**
 * Tells the encoding from the beginning of a file; undefined for what is not text.
 *
 * @param sample the first {@link SAMPLE_BYTES}, or all of it
 */
export function detectEncoding(sample: Buffer): DetectedEncoding | undefined {
  const bom = sample.length >= 2 ? sample.readUInt16BE(0) : 0;
  // UTF-32 begins like UTF-16, with two zeroes more. It is not read as text.
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

/** The encoding of a whole content, all of it looked at; undefined for what is not text. */
export function encodingOf(bytes: Buffer): DetectedEncoding | undefined {
  const detected = detectEncoding(bytes.subarray(0, SAMPLE_BYTES));
  return detected?.encoding === 'utf-8' && !isUtf8(bytes) ? { encoding: 'latin1', bom: false } : detected;
}

/** UTF-8 without a character that is cut at the end, where nothing says yet that it is wrong. */
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

/** A whole content as UTF-8, to be compared and shown; undefined for what is not text. */
export function asUtf8(bytes: Buffer): Buffer | undefined {
  if (bytes.length === 0) return bytes;
  const detected = encodingOf(bytes);
  if (!detected) return undefined;
  return detected.encoding === 'utf-8' ? bytes : Buffer.from(decodeText(bytes, detected.encoding));
}

/**
 * Text as bytes of an encoding; undefined when it has a character that the encoding has not.
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

/** From how many lines end in each way to what the file is said to be. */
export function lineEndsOf(lf: number, crlf: number): LineEnds {
  if (lf === 0) return crlf === 0 ? 'none' : 'crlf';
  return crlf === 0 ? 'lf' : 'mixed';
}
