// The frames of a language server, in whatever pieces they come.

import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import type { ToolError } from '../../../../src/contract/errors.js';
import {
  BoundedMessageReader,
  BoundedMessageWriter,
  MAX_MESSAGE_BYTES,
} from '../../../../src/servers/diagnostics/lsp/message-streams.js';

const frame = (message: object): Buffer => {
  const body = Buffer.from(JSON.stringify(message));
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]);
};

function read(): { input: PassThrough; reader: BoundedMessageReader; messages: object[]; failures: ToolError[] } {
  const input = new PassThrough();
  const messages: object[] = [];
  const failures: ToolError[] = [];
  const reader = new BoundedMessageReader(input, (reason) => failures.push(reason));
  reader.listen((message) => messages.push(message));
  return { input, reader, messages, failures };
}

it('BoundedMessageReader returns every message when bytes arrive one by one, and when all arrive at once', async () => {
  const sent = [
    { jsonrpc: '2.0', id: 1 },
    { jsonrpc: '2.0', method: '\u{1f600}' },
    { jsonrpc: '2.0', id: 3 },
  ];
  const bytes = Buffer.concat(sent.map(frame));
  const { input, messages } = read();
  for (const byte of bytes) input.write(Buffer.from([byte]));
  await expect.poll(() => messages.length).toBe(3);
  input.write(bytes);
  await expect.poll(() => messages).toEqual([...sent, ...sent]);
});

it('BoundedMessageReader pauses the server when its messages are not processed, and resumes it when they are', async () => {
  const { input, reader, messages } = read();
  input.write(Buffer.concat(Array.from({ length: 1_000 }, (_, id) => frame({ jsonrpc: '2.0', id }))));
  await expect.poll(() => input.isPaused()).toBe(true);
  const before = messages.length;
  input.write(frame({ jsonrpc: '2.0', id: 'late' }));
  for (let done = 0; done < before - 1; done++) reader.done();
  await expect.poll(() => messages.length).toBe(before + 1);
});

it.each([
  ['a message that is too large', `Content-Length: ${MAX_MESSAGE_BYTES + 1}\r\n\r\n`, 'FRAME_TOO_LARGE'],
  ['a header without a length', 'Content-Type: text\r\n\r\n{}', 'PROTOCOL_VIOLATION'],
  ['a header without an end', 'x'.repeat(10_000), 'PROTOCOL_VIOLATION'],
  ['what is no JSON', 'Content-Length: 3\r\n\r\n{,}', 'PROTOCOL_VIOLATION'],
  ['what is no object', 'Content-Length: 4\r\n\r\nnull', 'PROTOCOL_VIOLATION'],
])('BoundedMessageReader ends at %s', async (_, bytes, code) => {
  const { input, messages, failures } = read();
  input.write(bytes);
  await expect.poll(() => failures.map((each) => each.code)).toEqual([code]);
  input.write(frame({ jsonrpc: '2.0', id: 1 }));
  expect(messages).toEqual([]);
});

it('BoundedMessageWriter fails when the server reads nothing', async () => {
  const output = new PassThrough();
  const failures: ToolError[] = [];
  const writer = new BoundedMessageWriter(output, (reason) => failures.push(reason));
  const text = 'x'.repeat(8 * 1024 * 1024);
  for (let times = 0; times < 10; times++) await writer.write({ jsonrpc: '2.0', method: text } as never);
  expect(failures[0]).toMatchObject({ code: 'PROTOCOL_VIOLATION' });
});
