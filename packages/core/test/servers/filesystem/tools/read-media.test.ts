import fc from 'fast-check';
import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { mediaTypeOf } from '../../../../src/servers/filesystem/read/media-type.js';
import { openTools } from '../filesystem-tools.js';

const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ''), 'hex');
const text = (start: string, hexRest = ''): Buffer => Buffer.concat([Buffer.from(start, 'latin1'), hex(hexRest)]);

// Headers as encoders write them, each of a picture of 300 x 200 pixels.
const PNG = text('\x89PNG\r\n\x1a\n', '0000000d 49484452 0000012c 000000c8 08020000 00');
const JFIF = hex('ffd8 ffe0 0010 4a46494600 0101 00 0001 0001 0000');
const SOF = (marker: string): Buffer => hex(`ff${marker} 0011 08 00c8 012c 03 012200 021101 031101`);
const GIF = text('GIF89a', '2c01 c800 800000');
const BMP = text('BM', '00000000 00000000 36000000 28000000 2c010000 38ffffff 0100 1800');
const WEBP = (format: string, rest: string): Buffer =>
  Buffer.concat([text('RIFF', '20000000'), text(`WEBP${format}`, `20000000 ${rest}`)]);

/** A PNG of 5 x 3 red pixels, whole: the checksum is that of https://www.w3.org/TR/png-3/#D-CRCAppendix. */
function png(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type), data]);
    let crc = 0xffffffff;
    for (const byte of body) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(data.length);
    frame.writeUInt32BE(~crc >>> 0, 4);
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const row = Buffer.concat([Buffer.alloc(1), Buffer.alloc(3 * width, hex('ff0000'))]);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  return Buffer.concat([
    text('\x89PNG\r\n\x1a\n'),
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', hex('')),
  ]);
}

const base64 = (data: string): Buffer => Buffer.from(data, 'base64');
/** Whole files, each of one pixel but the first. */
const WHOLE: [name: string, bytes: Buffer, mimeType: string, width: number, height: number][] = [
  ['png', png(5, 3), 'image/png', 5, 3],
  [
    'jpeg',
    base64(
      '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////' +
        '////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=',
    ),
    'image/jpeg',
    1,
    1,
  ],
  ['gif', base64('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'), 'image/gif', 1, 1],
  ['webp lossy', base64('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA'), 'image/webp', 1, 1],
  ['webp lossless', base64('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=='), 'image/webp', 1, 1],
  [
    'webp extended',
    base64(
      'UklGRkoAAABXRUJQVlA4WAoAAAAQAAAAAAAAAAAAQUxQSAwAAAARBxAR/Q9ERP8DAABWUDggGAAAABQBAJ0BKgEAAQAAAP4AAA3AAP7mtQAAAA==',
    ),
    'image/webp',
    1,
    1,
  ],
  [
    'bmp',
    text('BM', '3a000000 00000000 36000000 28000000 01000000 01000000 0100 1800' + '00'.repeat(24) + '0000ff00'),
    'image/bmp',
    1,
    1,
  ],
];

describe('read_media()', () => {
  it.each(WHOLE)('read_media() shows a whole %s', async (_name, bytes, mime_type, width, height) => {
    await using tools = await openTools({ 'file.txt': bytes });
    const { data } = await tools.call('read_media', { path: 'file.txt' });
    expect(data).toEqual({ path: 'file.txt', mime_type, size: bytes.length, width, height });
  });

  it.each(WHOLE)(
    'mediaTypeOf() returns the size of a %s or none wherever it is cut off',
    (_name, bytes, mimeType, width, height) => {
      const kinds = new Set<string>();
      for (let length = 0; length < bytes.length; length++) {
        const media = mediaTypeOf(bytes.subarray(0, length));
        kinds.add(media?.mimeType ?? 'none');
        if (media?.width !== undefined || media?.height !== undefined)
          expect(media).toEqual({ kind: 'image', mimeType, width, height });
      }
      expect([...kinds]).toEqual(['none', mimeType]);
    },
  );

  it('mediaTypeOf() never throws, and returns no size that is not positive, whatever follows the first bytes', () => {
    const starts = WHOLE.map(([, bytes]) => bytes);
    fc.assert(
      fc.property(fc.constantFrom(...starts), fc.nat(30), fc.uint8Array({ maxLength: 60 }), (bytes, kept, rest) => {
        const media = mediaTypeOf(Buffer.concat([bytes.subarray(0, kept), rest]));
        if (media?.width !== undefined) expect(Math.min(media.width, media.height!)).toBeGreaterThan(0);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['png', PNG, 'image/png'],
    ['jpeg', Buffer.concat([JFIF, SOF('c0')]), 'image/jpeg'],
    ['progressive jpeg', Buffer.concat([JFIF, SOF('c2')]), 'image/jpeg'],
    ['jpeg without JFIF and EXIF', Buffer.concat([hex('ffd8 ffdb 0004 0000'), hex('ffff'), SOF('c1')]), 'image/jpeg'],
    ['jpeg with tables first', Buffer.concat([hex('ffd8 ffc4 0004 0000'), SOF('c0')]), 'image/jpeg'],
    ['gif', GIF, 'image/gif'],
    ['webp lossy', WEBP('VP8 ', '300100 9d012a 2c01 c800'), 'image/webp'],
    ['webp lossless', WEBP('VP8L', '2f 2bc13100'), 'image/webp'],
    ['webp extended', WEBP('VP8X', '10000000 2b0100 c70000'), 'image/webp'],
    ['bmp, rows from the top', BMP, 'image/bmp'],
  ])('read_media() shows a %s with its size', async (_name, bytes, mimeType) => {
    await using tools = await openTools({ 'misnamed.txt': bytes });
    const result = await tools.provider.callTool('filesystem.read_media', { path: 'misnamed.txt' });
    expect(result.content).toEqual([{ type: 'image', mimeType, data: bytes.toString('base64') }]);
    expect(result.structuredContent).toEqual({
      path: 'misnamed.txt',
      mime_type: mimeType,
      size: bytes.length,
      width: 300,
      height: 200,
    });
  });

  it.each([
    ['wav', text('RIFF', '24000000 57415645'), 'audio/wav'],
    ['mp3 with a tag', text('ID3', '0400'), 'audio/mpeg'],
    ['mp3 without one', hex('fffb9064 0000'), 'audio/mpeg'],
    ['ogg', Buffer.concat([Buffer.from('OggS'), Buffer.alloc(24), Buffer.from('OpusHead')]), 'audio/ogg'],
    ['flac', text('fLaC', '00000022'), 'audio/flac'],
  ])('read_media() plays a %s', async (_name, bytes, mimeType) => {
    await using tools = await openTools({ file: bytes });
    const result = await tools.provider.callTool('filesystem.read_media', { path: 'file' });
    expect(result.content).toEqual([{ type: 'audio', mimeType, data: bytes.toString('base64') }]);
    expect(result.structuredContent).toEqual({ path: 'file', mime_type: mimeType, size: bytes.length });
  });

  it.each([
    ['<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', 'read_file'],
    ['BM is how this text begins, and it goes on', 'read_file'],
    ['%PDF-1.7', 'PDF'],
    [hex('ff fe 41 00 42 00'), 'unknown format'],
    ['', 'empty'],
  ])('read_media() reports what it is when it is not an image or audio (%#)', async (content, says) => {
    await using tools = await openTools({ 'a.png': content });
    expect(await tools.call('read_media', { path: 'a.png' })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      text: expect.stringContaining(says) as string,
    });
  });

  it.each([PNG.subarray(0, 12), JFIF, GIF.subarray(0, 7), WEBP('VP8L', '2f')])(
    'read_media() leaves the size out when the header is cut (%#)',
    async (bytes) => {
      await using tools = await openTools({ file: bytes });
      expect((await tools.call('read_media', { path: 'file' })).data).not.toHaveProperty('width');
    },
  );

  it('read_media() fails with TOO_LARGE when the file is larger than max_bytes', async () => {
    await using tools = await openTools({ 'a.png': Buffer.concat([PNG, Buffer.alloc(1_000)]) });
    const { code, text: message } = await tools.call('read_media', { path: 'a.png', max_bytes: 1_000 });
    expect(code).toBe('TOO_LARGE');
    expect(message).toContain(`${PNG.length + 1_000} bytes; the limit is 1000`);
    expect((await tools.call('read_media', { path: 'a.png' })).code).toBeUndefined();
  });

  it('read_media() fails with OUTSIDE_PROJECT when a link leads outside', async () => {
    await using tools = await openTools({ 'a.png': { link: '../outside/secret.txt' } });
    expect((await tools.call('read_media', { path: 'a.png' })).code).toBe('OUTSIDE_PROJECT');
  });
});
