// A local HTTP server that records what it receives, and answers as a test says.

import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from '@toolwright/core';

/** A request as it came over the wire. */
export interface Received {
  method: string;
  /** The path with the query, as it was sent. */
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface TestServer extends AsyncDisposable {
  origin: string;
  /** All requests so far. */
  received: Received[];
  /** The latest request. */
  readonly last: Received;
  server: Server;
  close(): Promise<void>;
}

/** What to answer: JSON of a value, or whatever the function does. */
export type Answer = (request: Received, response: ServerResponse) => unknown;

/** Listens at a free port of the loopback address. An answer that returns a value other than undefined is sent as JSON. */
export async function serve(answer: Answer = () => ({ ok: true })): Promise<TestServer> {
  const received: Received[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined); // the client left
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one: Received = { method, url, headers, body: Buffer.concat(chunks) };
      received.push(one);
      void (async () => {
        const value = await answer(one, response);
        if (value === undefined) return;
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(value));
      })().catch(() => response.destroy());
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    get last() {
      return received.at(-1)!;
    },
    server,
    close,
    [Symbol.asyncDispose]: close,
  };
}

type Json = Record<string, unknown>;

/** A document of OpenAPI 3.1 with these paths. */
export function documentOf(paths: Json, more: Json = {}): Json {
  return { openapi: '3.1.0', info: { title: 'Test', version: '1' }, paths, ...more };
}

/** A document with one operation, `call`. */
export function documentWith(operation: Json, path = '/call', method = 'get', more: Json = {}): Json {
  return documentOf({ [path]: { [method]: { operationId: 'call', ...operation } } }, more);
}

export const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** A logger that keeps its messages. */
export function keepingLogger(): { messages: string[]; logger: Logger } {
  const messages: string[] = [];
  const keep = (message: string, fields?: unknown): void => void messages.push(message + JSON.stringify(fields ?? ''));
  return { messages, logger: { debug: keep, info: keep, warn: keep, error: keep } };
}
