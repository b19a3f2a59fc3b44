// Framing: messages out of bytes, whatever their chunks are and whoever sends them.

import { ToolError, type JsonObject } from '@toolwright/core';
import { describe, expect, it } from 'vitest';
import { tries } from '../soak.js';
import { FrameReader, headOf, MAX_DEPTH } from '../../src/wire/framing.js';

function reader(maxFrameBytes?: number): { push: (chunk: Buffer) => void; heard: unknown[]; messages: JsonObject[] } {
  const messages: JsonObject[] = [];
  const heard: unknown[] = [];
  const frames = new FrameReader(
    {
      onMessage: (message) => messages.push(message),
      onTooDeep: ({ id }) => heard.push({ tooDeep: id }),
      onUnparseable: (reason) => heard.push(reason),
      onTooLarge: (beginning) => heard.push({ tooLarge: headOf(beginning) }),
    },
    maxFrameBytes,
  );
  return { push: (chunk) => frames.push(chunk), heard, messages };
}

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}\n`;

describe('FrameReader', () => {
  it('reads the same messages at whichever byte the stream is split', () => {
    const bytes = Buffer.from('{"a":"grüße 🙂 日本"}\n\r\n  \n{"b":[1,{"c":"\\n"}]}\r\n{"d":"ß"}\n');
    const expected = [{ a: 'grüße 🙂 日本' }, { b: [1, { c: '\n' }] }, { d: 'ß' }];
    for (let at = 0; at <= bytes.length; at++) {
      const { push, messages, heard } = reader();
      push(bytes.subarray(0, at));
      push(bytes.subarray(at));
      expect(messages, `split at ${at}`).toEqual(expected);
      expect(heard).toEqual([]);
    }
  });

  it('reads a message that comes byte by byte in a time that grows with its length', () => {
    const characters = tries(4 * 1024 * 1024);
    const bytes = Buffer.from(`${JSON.stringify({ text: 'ü'.repeat(characters) })}\n`);
    const { push, messages } = reader();
    const startedAt = performance.now();
    for (let at = 0; at < bytes.length; at++) push(bytes.subarray(at, at + 1));
    expect((messages[0]?.text as string).length).toBe(characters);
    expect(performance.now() - startedAt).toBeLessThan(20_000); // quadratic, it would be hours
  });

  it.each([
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d, 0x0a]), 'The line is not UTF-8.'],
    ['half a character', Buffer.from([0x7b, 0x22, 0xc3, 0x22, 0x3a, 0x31, 0x7d, 0x0a]), 'The line is not UTF-8.'],
    ['half a message', Buffer.from('{"a":\n'), 'The line is not JSON.'],
    ['an array', Buffer.from('[{"a":1}]\n'), 'The line is no JSON object; there are no batches.'],
    ['a text', Buffer.from('"hello"\n'), 'The line is no JSON object; there are no batches.'],
    ['null', Buffer.from('null\n'), 'The line is no JSON object; there are no batches.'],
  ])('refuses %s and reads on', (_what, bytes, reason) => {
    const { push, messages, heard } = reader();
    push(Buffer.concat([Buffer.from('{"before":1}\n'), bytes, Buffer.from('{"after":1}\n')]));
    expect(heard).toEqual([reason]);
    expect(messages).toEqual([{ before: 1 }, { after: 1 }]);
  });

  it(`takes ${MAX_DEPTH} levels, and tells of more without looking into them`, () => {
    const { push, messages, heard } = reader();
    push(Buffer.from(nested(MAX_DEPTH)));
    expect(messages.length).toBe(1);
    push(Buffer.from(nested(MAX_DEPTH + 1)));
    push(Buffer.from(`{"id":7,"result":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}\n`));
    expect(messages.length).toBe(1);
    expect(heard).toEqual([{ tooDeep: undefined }, { tooDeep: 7 }]);
  });

  it('skips a frame over the limit, says whose it is, and reads on behind it', () => {
    const { push, messages, heard } = reader(100_000);
    const big = Buffer.from(`{"jsonrpc":"2.0","id":"x1","result":{"text":"${'a'.repeat(150_000)}"}}\n{"next":1}\n`);
    for (let at = 0; at < big.length; at += 1_000) push(big.subarray(at, at + 1_000));
    push(big); // in one piece, too
    expect(heard).toEqual(Array.from({ length: 2 }, () => ({ tooLarge: { id: 'x1', isRequest: false } })));
    expect(messages).toEqual([{ next: 1 }, { next: 1 }]);
  });

  it('takes a frame of exactly the limit', () => {
    const { push, messages, heard } = reader(65_536);
    const frame = JSON.stringify({ t: 'a'.repeat(65_536 - 8) });
    push(Buffer.from(`${frame}\n`));
    expect([frame.length, messages.length, heard.length]).toEqual([65_536, 1, 0]);
  });

  it('gives up a stream of 1 GB without a newline at the hard limit, in bounded memory', () => {
    const { push, heard } = reader();
    const chunk = Buffer.alloc(64 * 1024, 0x61);
    const before = process.memoryUsage().rss;
    let pushed = 0;
    let failure: unknown;
    try {
      for (; pushed < 1024 ** 3; pushed += chunk.length) push(chunk);
    } catch (thrown) {
      failure = thrown;
    }
    expect(ToolError.isInstance(failure) && failure.code).toBe('FRAME_TOO_LARGE');
    expect(pushed).toBeLessThanOrEqual(64 * 1024 * 1024);
    expect(heard).toEqual([{ tooLarge: { id: undefined, isRequest: false } }]);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });
});

describe('headOf()', () => {
  it.each([
    ['{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"id":9,"x":"', { id: 12, isRequest: true }],
    ['{"result":{"id":5,"deep":{"id":6}},"id":"a\\"b","x":"', { id: 'a"b', isRequest: false }],
    ['{"params":{"method":"no","id":1},"text":"\\"id\\":3', { id: undefined, isRequest: false }],
    ['{ "id" : 4 , "result" : [ [', { id: 4, isRequest: false }],
    ['{"id":123', { id: undefined, isRequest: false }], // it may go on
    ['{"id":null,"result":{', { id: undefined, isRequest: false }],
    ['', { id: undefined, isRequest: false }],
  ])('reads %s', (text, head) => {
    expect(headOf(text)).toEqual(head);
  });
});
