// Converts chunks of any encoding to UTF-8, wherever the chunks are cut, so that the line scan handles only one encoding.

import { isUtf8 } from 'node:buffer';
import { wholeCharacters, type TextEncoding } from '../../project/open/text-encoding.js';

/** The encodings that a caller may request. `windows-1252` is never detected: it differs from latin1 in 32 bytes only. */
export type ReadEncoding = TextEncoding | 'windows-1252';

/** All encodings, and `auto`: detected from the content. */
export const READ_ENCODINGS = ['auto', 'utf-8', 'utf-16le', 'utf-16be', 'latin1', 'windows-1252'] as const;

/** https://encoding.spec.whatwg.org/index-windows-1252.txt, from 0x80 to 0x9F; five bytes map to themselves. */
const WINDOWS_1252 =
  '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f' +
  '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178';

const MARKS: Readonly<Partial<Record<ReadEncoding, Buffer>>> = {
  'utf-8': Buffer.from([0xef, 0xbb, 0xbf]),
  'utf-16le': Buffer.from([0xff, 0xfe]),
  'utf-16be': Buffer.from([0xfe, 0xff]),
};

/** The length in bytes of the byte order mark at the beginning of a file; 0 if there is none. */
export function markLength(bytes: Buffer, encoding: ReadEncoding): number {
  const mark = MARKS[encoding];
  return mark && bytes.subarray(0, mark.length).equals(mark) ? mark.length : 0;
}

/** Turns chunks of an encoding into chunks of valid UTF-8, each of whole characters. */
export class Utf8Stream {
  readonly #encoding: ReadEncoding;
  #rest: Buffer = Buffer.alloc(0);
  #valid = true;

  constructor(encoding: ReadEncoding) {
    this.#encoding = encoding;
  }

  /** False if some bytes were invalid in the encoding; they become U+FFFD. */
  get isValid(): boolean {
    return this.#valid;
  }

  /** The number of pushed bytes that wait for the rest of their character. */
  get heldBytes(): number {
    return this.#rest.length;
  }

  /** The result may share the chunk's memory. */
  push(chunk: Buffer): Buffer {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const whole = wholeOf(bytes, this.#encoding);
    this.#rest = Buffer.from(bytes.subarray(whole.length));
    return this.#decode(whole);
  }

  /** The remaining text at the end of the file. */
  end(): Buffer {
    const bytes = this.#rest;
    this.#rest = Buffer.alloc(0);
    if (bytes.length === 0) return bytes;
    this.#valid = false;
    // Of UTF-8 it may be several: an invalid byte looks like the beginning of a character, too.
    return Buffer.from(this.#encoding === 'utf-8' ? bytes.toString() : '\ufffd');
  }

  #decode(bytes: Buffer): Buffer {
    switch (this.#encoding) {
      case 'utf-8':
        if (isUtf8(bytes)) return bytes;
        this.#valid = false;
        return Buffer.from(bytes.toString('utf8'));
      case 'utf-16le':
        return Buffer.from(bytes.toString('utf16le'));
      case 'utf-16be':
        return Buffer.from(Buffer.from(bytes).swap16().toString('utf16le'));
      case 'latin1':
        return Buffer.from(bytes.toString('latin1'));
      case 'windows-1252':
        return Buffer.from(
          bytes.toString('latin1').replace(/[\x80-\x9f]/g, (byte) => WINDOWS_1252[byte.charCodeAt(0) - 0x80] ?? byte),
        );
    }
  }
}

/** Bytes without a character that is cut at their end. */
function wholeOf(bytes: Buffer, encoding: ReadEncoding): Buffer {
  if (encoding === 'utf-8') return wholeCharacters(bytes);
  if (encoding !== 'utf-16le' && encoding !== 'utf-16be') return bytes;
  const even = bytes.subarray(0, bytes.length & ~1);
  if (even.length === 0) return even;
  const last = encoding === 'utf-16le' ? even.readUInt16LE(even.length - 2) : even.readUInt16BE(even.length - 2);
  return (last & 0xfc00) === 0xd800 ? even.subarray(0, even.length - 2) : even;
}
