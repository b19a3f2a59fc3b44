// Requests of both eras as lines on one connection: ids, cancellation, faults, and whatever else may arrive.

import { connect } from 'node:net';
import { join } from 'node:path';
import { InProcessToolProvider, type JsonObject } from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';
import { createGateway, type GatewayOptions } from '@toolwright/gateway';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { echoTools } from '../fixtures/echo-tools.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

interface Message extends JsonObject {
  id?: unknown;
  method?: string;
  result?: JsonObject;
  error?: { code: number };
}

async function serve(options: GatewayOptions & { onAborted?: () => void } = {}) {
  const { onAborted, ...rest } = options;
  const project = await createTestProject({});
  const provider = new InProcessToolProvider({ servers: [echoTools(onAborted)] });
  const gateway = createGateway(provider, rest);
  const path = join(project.projectDir, 'g.sock');
  await gateway.serveSocket({ path });
  const socket = connect(path).setEncoding('utf8');
  ends.push(
    async () => project[Symbol.asyncDispose](),
    () => provider.disconnect(),
    () => gateway.close(),
    async () => void socket.destroy(),
  );
  const messages: Message[] = [];
  let text = '';
  socket.on('data', (chunk: string) => {
    const lines = (text + chunk).split('\n');
    text = lines.pop()!;
    for (const line of lines) messages.push(JSON.parse(line) as Message);
  });
  const send = (message: unknown): void =>
    void socket.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  const answerTo = async (id: unknown): Promise<Message> => {
    const find = (): Message | undefined => messages.find((message) => message.id === id && !message.method);
    await vi.waitFor(() => expect(find()).toBeDefined());
    return find()!;
  };
  return { send, messages, answerTo };
}

const call = (id: unknown, name: string, args: JsonObject = {}, _meta: JsonObject = ENVELOPE): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args, _meta },
});
const cancel = (requestId: unknown): JsonObject => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
});

describe('ModernStream on a connection', () => {
  it('carries both eras, with ids that no two requests in flight share', async () => {
    let aborted = 0;
    const { send, answerTo, messages } = await serve({ onAborted: () => aborted++ });
    send({
      jsonrpc: '2.0',
      id: 'i',
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    });
    expect((await answerTo('i')).result).toMatchObject({ protocolVersion: '2025-11-25' });
    send(call(1, 'echo__until_aborted'));
    send(call(1, 'echo__back', { text: 'same id, same era' }));
    send({ ...call(1, 'echo__back'), params: { name: 'echo__back', arguments: { text: 'same id, other era' } } });
    await vi.waitFor(() =>
      expect(messages.filter(({ id, error }) => id === 1 && error?.code === -32600)).toHaveLength(2),
    );
    send(cancel(1));
    await vi.waitFor(() => expect(aborted).toBe(1));
    send(call('b', 'echo__back', { text: 'modern' }));
    send({
      jsonrpc: '2.0',
      id: 'c',
      method: 'tools/call',
      params: { name: 'echo__back', arguments: { text: 'legacy' } },
    });
    expect((await answerTo('b')).result).toMatchObject({ resultType: 'complete' });
    expect((await answerTo('c')).result).not.toHaveProperty('resultType');
    expect(messages.filter(({ id, result }) => id === 1 && result)).toEqual([]);
    messages.length = 0;
    send(call(1, 'echo__back', { text: 'the id is free again' }));
    expect((await answerTo(1)).result).toMatchObject({ isError: false });
  });

  it('reports nothing to a client that did not ask for it', async () => {
    const { send, answerTo, messages } = await serve();
    send(call(1, 'echo__log'));
    send(call(2, 'echo__back', { text: 'x' }));
    await answerTo(1);
    await answerTo(2);
    expect(messages.filter(({ method }) => method !== undefined)).toEqual([]);
  });

  it('receives an error for every fault, and survives them all', async () => {
    const { send, answerTo, messages } = await serve();
    const faults: [unknown, number][] = [
      [call(10, 'nothing'), -32602],
      [call(11, 'echo__back', {}, { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' }), -32022],
      [call(12, 'echo__back', {}, { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': 7 }), -32602],
      [call(13, 'echo__back', {}, { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }), -32602],
      [{ jsonrpc: '2.0', id: 14, method: 'ping', params: { _meta: ENVELOPE } }, -32601],
      [{ jsonrpc: '2.0', id: 15, method: '__proto__', params: { _meta: ENVELOPE } }, -32601],
      [{ jsonrpc: '2.0', id: 16, method: 'initialize', params: { _meta: ENVELOPE } }, -32601],
      [{ jsonrpc: '2.0', id: 17, method: 'tools/list', params: { _meta: ENVELOPE, cursor: 'mine' } }, -32602],
      [{ jsonrpc: '2.0', id: 18, method: 'tools/call', params: { _meta: ENVELOPE } }, -32602],
      [{ jsonrpc: '2.0', id: 19, method: 'tools/call', params: { _meta: ENVELOPE, name: ['x'] } }, -32602],
      [
        { jsonrpc: '2.0', id: 20, method: 'tools/call', params: { _meta: ENVELOPE, name: 'x', requestState: 'y' } },
        -32602,
      ],
      [{ jsonrpc: '2.0', id: 21, method: 'subscriptions/listen', params: { _meta: ENVELOPE } }, -32602],
      [{ jsonrpc: '2.0', id: 22, method: 'resources/list', params: { _meta: ENVELOPE } }, -32601],
      [call(23, 'echo__unsayable'), -32603],
      [call(24, 'echo__back', { text: JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`) as unknown }), -32600],
    ];
    for (const [message] of faults) send(message);
    for (const [message, code] of faults) {
      const { id } = message as Message;
      expect([id, (await answerTo(id)).error?.code]).toEqual([id, code]);
    }
    send('{');
    send([call(30, 'echo__back', { text: 'in a batch' })]);
    send(cancel(999));
    send(cancel({ any: 'thing' }));
    send({ jsonrpc: '2.0', method: 'notifications/cancelled' });
    send({ jsonrpc: '2.0', method: 'notifications/made up', params: { _meta: ENVELOPE } });
    send(call({ not: 'an id' }, 'echo__back'));
    send(call('after', 'echo__back', { text: 'still here' }));
    expect((await answerTo('after')).result).toMatchObject({ isError: false });
    expect(messages.some(({ id }) => id === 30)).toBe(false);
  });

  it('has a limit of requests in flight, which subscriptions do not count towards', async () => {
    const { send, answerTo } = await serve({ limits: { maxRequestsInFlight: 2 } });
    for (let id = 0; id < 5; id++)
      send({
        jsonrpc: '2.0',
        id: `listen ${id}`,
        method: 'subscriptions/listen',
        params: { _meta: ENVELOPE, notifications: { toolsListChanged: true } },
      });
    send(call(1, 'echo__until_aborted'));
    send(call(2, 'echo__until_aborted'));
    send(call(3, 'echo__back', { text: 'one too many' }));
    send({ jsonrpc: '2.0', id: 4, method: 'tools/list', params: { _meta: ENVELOPE } });
    expect((await answerTo(3)).result).toMatchObject({
      isError: true,
      _meta: { 'toolwright/error': { code: 'BUSY' } },
    });
    expect((await answerTo(4)).error?.code).toBe(-32050);
    send(cancel(1));
    await vi.waitFor(async () => {
      const id = `again ${Math.random()}`;
      send(call(id, 'echo__back', { text: 'x' }));
      expect((await answerTo(id)).result?.isError).toBe(false);
    });
  });
});
