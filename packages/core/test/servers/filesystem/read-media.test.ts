import { describe, expect, it } from 'vitest';
import { openTools } from './tools.js';

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

describe('read_media()', () => {
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
    [hex('ff fe 41 00 42 00'), 'not known'],
    ['', 'empty'],
  ])('read_media() says what it is when it is no picture or sound (%#)', async (content, says) => {
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

  it('read_media() answers TOO_LARGE when the file is larger than max_bytes', async () => {
    await using tools = await openTools({ 'a.png': Buffer.concat([PNG, Buffer.alloc(1_000)]) });
    expect((await tools.call('read_media', { path: 'a.png', max_bytes: 1_000 })).code).toBe('TOO_LARGE');
    expect((await tools.call('read_media', { path: 'a.png' })).code).toBeUndefined();
  });

  it('P3 read_media() answers OUTSIDE_PROJECT when a link leads outside', async () => {
    await using tools = await openTools({ 'a.png': { link: '../outside/secret.txt' } });
    expect((await tools.call('read_media', { path: 'a.png' })).code).toBe('OUTSIDE_PROJECT');
  });
});
