// An HTTP server of MCP 2026-07-28 without an SDK: the test answers everything but discovery and the list of tools.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the server receives it. */
export interface ScriptedRequest {
  readonly id?: number;
  readonly method: string;
  readonly params: Record<string, unknown>;
  readonly headers: IncomingMessage['headers'];
}

/** Answers a request by writing to the response; undefined for a method that the server does not have. */
export type Script = (request: ScriptedRequest, response: ServerResponse) => unknown;

/** A running server. */
export interface ScriptedServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The requests, in the order of their arrival. */
  readonly requests: ScriptedRequest[];
  /** The methods of the requests whose connection the client closed before the response. */
  readonly closed: string[];
  /** How many requests have this method. */
  count(method: string): number;
}

const TOOLS = [{ name: 'do', inputSchema: { type: 'object' } }];
const CAPABILITIES = { tools: { listChanged: true }, resources: { subscribe: true } };

/** Writes a JSON response. */
export function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Writes the result of a request. */
export function complete(response: ServerResponse, { id }: ScriptedRequest, result: object): void {
  json(response, { jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } });
}

/** Begins an event stream; returns a function that writes a message to it. */
export function stream(response: ServerResponse): (message: object) => void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  return (message) => void response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
}

/** Acknowledges a `subscriptions/listen`; returns a function that writes a message to its stream. */
export function acknowledge(response: ServerResponse, { id }: ScriptedRequest): (message: object) => void {
  const send = stream(response);
  const params = { _meta: { 'io.modelcontextprotocol/subscriptionId': id }, notifications: { toolsListChanged: true } };
  send({ method: 'notifications/subscriptions/acknowledged', params });
  return send;
}

/** Listens on a free port, or on `port`. `pages` answers requests to other paths than that of MCP. */
export async function serveScripted(
  scripts: Readonly<Record<string, Script>>,
  {
    port = 0,
    tools = TOOLS,
    pages = () => undefined,
  }: { port?: number; tools?: object[]; pages?: (url: URL) => object | undefined } = {},
): Promise<ScriptedServer> {
  const requests: ScriptedRequest[] = [];
  const closed: string[] = [];
  const all: Record<string, Script> = {
    'server/discover': (request, response) =>
      complete(response, request, { supportedVersions: ['2026-07-28'], capabilities: CAPABILITIES, ttlMs: 0 }),
    'tools/list': (request, response) => complete(response, request, { tools, ttlMs: 0, cacheScope: 'private' }),
    ...scripts,
  };
  const server = createServer((incoming, response) => {
    const page = pages(new URL(incoming.url ?? '/', `http://${incoming.headers.host}`));
    if (page) return json(response, page);
    if (incoming.method !== 'POST') return void response.writeHead(405).end();
    let body = '';
    incoming.on('data', (chunk: Buffer) => (body += chunk.toString()));
    incoming.on('end', () => {
      const message = JSON.parse(body) as Omit<ScriptedRequest, 'headers'>;
      const request = { ...message, headers: incoming.headers };
      requests.push(request);
      response.on('close', () => !response.writableFinished && closed.push(request.method));
      const script = all[request.method];
      if (script) script(request, response);
      else json(response, { jsonrpc: '2.0', id: request.id, error: { code: -32601, message: 'none' } }, 404);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const { port: used } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${used}/mcp`,
    port: used,
    requests,
    closed,
    count: (method) => requests.filter((request) => request.method === method).length,
    [Symbol.asyncDispose]: async () => {
      const ended = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await ended;
    },
  };
}
