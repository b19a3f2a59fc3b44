// Detects the type of an image or sound by its first bytes, never by its name, and the size of an image.

import { ToolError } from '../../../contract/errors.js';
import { quote } from '../../project/scope/project-scope.js';

/** An image or sound that can be shown to models. */
export interface MediaType {
  kind: 'image' | 'audio';
  mimeType: string;
  /** In pixels, as stored; undefined if the header does not contain it, and for sounds. */
  width?: number;
  height?: number;
}

/** The media type of a file; undefined for a file that cannot be shown to models. */
export function mediaTypeOf(bytes: Buffer): MediaType | undefined {
  const image = imageTypeOf(bytes);
  if (image) {
    const [mimeType, size] = image;
    return { kind: 'image', mimeType, ...(size && size.width > 0 && size.height > 0 && size) };
  }
  const mimeType = audioTypeOf(bytes);
  return mimeType === undefined ? undefined : { kind: 'audio', mimeType };
}

/** The type of the file in words, guessed from its first bytes. */
export function otherTypeOf(bytes: Buffer): string {
  const start = bytes.toString('latin1', 0, 1024);
  if (/^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^]*?-->\s*|<!DOCTYPE svg[^>]*>\s*)*<svg[\s>]/i.test(start))
    return 'an SVG image, which is text: use read_file';
  if (start.startsWith('%PDF-')) return 'a PDF document, which is not supported';
  if (/^PK(?:\x03\x04|\x05\x06)/.test(start)) return 'a ZIP archive, or a document in that format';
  if (start.startsWith('\x1f\x8b')) return 'compressed with gzip';
  if (start.startsWith('\x7fELF')) return 'a program (ELF)';
  if (start.slice(4, 8) === 'ftyp') return 'a video, or an image such as HEIC or AVIF, which is not supported';
  if (/^(?:II\*\0|MM\0\*)/.test(start)) return 'a TIFF image, which is not supported';
  if (bytes.length === 0) return 'empty';
  return start.includes('\0') ? 'of an unknown format' : 'not an image or audio; if it is text, use read_file';
}

/**
 * The error for a file that is not text: says which type it has, and which tool can show or change it.
 *
 * @param wanted what was to be done with it
 */
export function binaryFileOf(shown: string, size: number, start: Buffer, wanted: 'read' | 'edit' = 'read'): ToolError {
  const media = mediaTypeOf(start);
  const utf16 = utf16Of(start);
  const hex = start.toString('hex', 0, 32).replace(/(..)(?=.)/g, '$1 ');
  const [what, next] = media
    ? [`${media.kind === 'image' ? 'an image' : 'audio'} (${media.mimeType})`, 'Use read_media']
    : utf16
      ? ['like UTF-16 without a byte order mark', `Read it with encoding="${utf16}"`]
      : [otherTypeOf(start), 'Use a program that supports its format; if it is text, set encoding'];
  return new ToolError(
    'BINARY_FILE',
    `${quote(shown)} is not text but ${what}: ${size} bytes that begin ${hex}. ` +
      (wanted === 'edit' ? 'Only text can be edited; use a program that supports its format.' : `${next}.`),
    { details: { size, ...(media && { mime_type: media.mimeType }) } },
  );
}

/** What is mostly ASCII in UTF-16 has a zero in every other byte. */
function utf16Of(bytes: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  const zeros = [0, 0];
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === 0) zeros[at % 2]!++;
  const [even = 0, odd = 0] = zeros;
  const most = 0.35 * bytes.length;
  if (odd > most && even * 20 < odd) return 'utf-16le';
  return even > most && odd * 20 < even ? 'utf-16be' : undefined;
}

type Size = { width: number; height: number } | undefined;

function imageTypeOf(bytes: Buffer): [mimeType: string, size: Size] | undefined {
  // https://www.w3.org/TR/png-3/#5PNG-file-signature; IHDR is the first chunk.
  if (starts(bytes, '\x89PNG\r\n\x1a\n'))
    return ['image/png', sizeAt(bytes, 24, () => [bytes.readUInt32BE(16), bytes.readUInt32BE(20)])];
  if (starts(bytes, '\xff\xd8\xff')) return ['image/jpeg', jpegSize(bytes)];
  if (starts(bytes, 'GIF87a') || starts(bytes, 'GIF89a'))
    return ['image/gif', sizeAt(bytes, 10, () => [bytes.readUInt16LE(6), bytes.readUInt16LE(8)])];
  if (starts(bytes, 'RIFF') && starts(bytes, 'WEBP', 8)) return ['image/webp', webpSize(bytes)];
  // "BM" alone begins many a text; what follows the sizes is the length of one of the known headers.
  if (starts(bytes, 'BM') && bytes.length >= 26 && [12, 40, 52, 56, 64, 108, 124].includes(bytes.readUInt32LE(14)))
    return ['image/bmp', bmpSize(bytes)];
  return undefined;
}

/** https://www.w3.org/Graphics/JPEG/itu-t81.pdf, B.1 and B.2.2: markers, each with its length, until a start of frame. */
function jpegSize(bytes: Buffer): Size {
  for (let at = 2; at + 9 <= bytes.length;) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff)
      at++; // padding
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) at += 2;
    else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    else if (marker === 0xda || marker === 0xd9) return undefined;
    else at += 2 + Math.max(2, bytes.readUInt16BE(at + 2));
  }
  return undefined;
}

/** https://developers.google.com/speed/webp/docs/riff_container */
function webpSize(bytes: Buffer): Size {
  const format = bytes.toString('latin1', 12, 16);
  if (format === 'VP8 ' && starts(bytes, '\x9d\x01\x2a', 23))
    return sizeAt(bytes, 30, () => [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff]);
  if (format === 'VP8L' && bytes[20] === 0x2f)
    return sizeAt(bytes, 25, () => {
      const bits = bytes.readUInt32LE(21);
      return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
    });
  if (format === 'VP8X') return sizeAt(bytes, 30, () => [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1]);
  return undefined;
}

function bmpSize(bytes: Buffer): Size {
  if (bytes.readUInt32LE(14) === 12) return { width: bytes.readUInt16LE(18), height: bytes.readUInt16LE(20) };
  // A negative height means that the rows begin at the top.
  return { width: bytes.readInt32LE(18), height: Math.abs(bytes.readInt32LE(22)) };
}

function audioTypeOf(bytes: Buffer): string | undefined {
  if (starts(bytes, 'RIFF') && starts(bytes, 'WAVE', 8)) return 'audio/wav';
  if (starts(bytes, 'fLaC')) return 'audio/flac';
  // An Ogg stream may hold a video as well; its first page names what it holds.
  if (starts(bytes, 'OggS'))
    return /OpusHead|\x01vorbis|\x7fFLAC|Speex {3}/.test(bytes.toString('latin1', 0, 128)) ? 'audio/ogg' : undefined;
  if (starts(bytes, 'ID3')) return 'audio/mpeg';
  if (bytes.length < 4) return undefined;
  // A frame of MPEG audio: eleven ones, then a version, layer III, a rate and a frequency that exist.
  const header = bytes.readUInt32BE(0);
  const isFrame = header >>> 21 === 0x7ff && ((header >>> 19) & 3) !== 1 && ((header >>> 17) & 3) === 1;
  const rate = (header >>> 12) & 15;
  return isFrame && rate !== 0 && rate !== 15 && ((header >>> 10) & 3) !== 3 ? 'audio/mpeg' : undefined;
}

function sizeAt(bytes: Buffer, needed: number, read: () => [width: number, height: number]): Size {
  if (bytes.length < needed) return undefined;
  const [width, height] = read();
  return { width, height };
}

function starts(bytes: Buffer, text: string, at = 0): boolean {
  return bytes.toString('latin1', at, at + text.length) === text;
}
