// Secrets of environments, headers and tokens are in no log, error, result, argument, event, span or metric, even when a
// server repeats them in its errors.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdir, readFile } from 'node:fs/promises';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { ToolHub, withTracing, type Logger } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { createGateway } from '@toolwright/gateway';
import { expect, it } from 'vitest';

const secret = (what: string): string => `canary-${what}-0123456789abcdef`;

/** A server that says the values of its environment wherever a server can say something, but in the answer of a tool. */
const TELLTALE = `
  const said = JSON.stringify(Object.keys(process.env).filter((name) => /^C\\d+$/.test(name)).map((name) => process.env[name]));
  console.error(said);
  console.log('no message: ' + said);
  let rest = '';
  process.stdin.on('data', (chunk) => {
    const lines = (rest += chunk).split('\\n');
    rest = lines.pop();
    for (const line of lines) {
      const { id, method, params } = JSON.parse(line);
      const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...message }));
      if (method === 'initialize') {
        if (process.argv[1] === 'refuses') say({ error: { code: -32000, message: said, data: { said } } });
        else say({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {}, resources: {} }, serverInfo: { name: 't', version: '1' } } });
      } else if (method === 'tools/list') say({ result: { tools: ['refuse', 'exit', process.env.C0].map((name) => ({ name, inputSchema: name === process.env.C0 ? 'none' : { type: 'object' } })) } });
      else if (params?.name === 'exit') process.exit(3);
      else if (id !== undefined) say({ error: { code: -32000, message: said, data: { said, list: [said] } } });
    }
  });
`;

/** An HTTP server that says the headers of each request again, in its refusals. */
async function serveEcho(): Promise<{ url: string } & AsyncDisposable> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const said = JSON.stringify(request.headers);
    const { id, method, params } = JSON.parse(body || '{}') as { id?: number; method?: string; params?: never };
    const json = (message: object): void =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, ...message }));
    if (request.method !== 'POST') return void response.writeHead(405).end();
    if (id === undefined) return void response.writeHead(202).end();
    if (method === 'initialize')
      return json({
        result: {
          protocolVersion: params!['protocolVersion'],
          capabilities: { tools: {} },
          serverInfo: { name: 'e', version: '1' },
        },
      });
    const tools = ['refuse', 'forbid'].map((name) => ({ name, inputSchema: { type: 'object' } }));
    if (method === 'tools/list') return json({ result: { tools } });
    if (params!['name'] === 'forbid') return void response.writeHead(403).end(said);
    json({ error: { code: -32_000, message: said, data: { said } } });
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The command lines of all processes that can be read. */
async function commandLines(): Promise<string> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const lines = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')); // it has ended
  return (await Promise.all(lines)).join('\n');
}

it('createGateway() discloses no secret of an environment, a header or a token', async () => {
  const everything: string[] = [];
  const log = (message: string, fields?: object): void => void everything.push(message, JSON.stringify(fields ?? {}));
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const env = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`C${index}`, secret(`env${index}`)]));
  const headers = { authorization: `Bearer ${secret('bearer')}`, 'x-api-key': secret('header') };
  await using web = await serveEcho();
  const child = (mode: string): object => ({ command: process.execPath, args: ['-e', TELLTALE, mode], env, logger });
  const tells = new MCPToolProvider({ name: 'tells', ...child('tells') } as never);
  const refuses = new MCPToolProvider({ name: 'refuses', ...child('refuses') } as never);
  const echo = new MCPToolProvider({ name: 'echo', url: web.url, headers, logger });
  const exporter = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer('canaries');
  await using hub = new ToolHub({ providers: [tells, refuses, echo], logger, middleware: [withTracing({ tracer })] });
  hub.onEvent((event) => everything.push(JSON.stringify(event)), { includeData: true });
  await using gateway = createGateway(hub, { forward: true, logger });
  const token = secret('gateway');
  const { url, port } = await gateway.serveHttp({ auth: { token } });
  const client = new MCPToolProvider({ name: 'c', url, headers: { authorization: `Bearer ${token}` }, logger });
  await using _ = client;

  everything.push(JSON.stringify(await client.listTools()));
  for (const [server, tool] of [
    ['tells', 'refuse'],
    ['tells', 'exit'],
    ['refuses', 'refuse'],
    ['echo', 'refuse'],
    ['echo', 'forbid'],
  ] as const) {
    const direct = await hub.callTool(`${server}.${tool}`);
    const through = await client.callTool(`c.${server}__${tool}`);
    expect([direct.isError, through.isError]).toEqual([true, true]);
    everything.push(JSON.stringify([direct, through]));
  }
  everything.push(await commandLines()); // the children run
  for (const provider of [tells, refuses]) {
    const thrown: unknown = await provider.mcp.request('resources/read', { uri: 'x' }).catch((error: unknown) => error);
    everything.push(String(thrown), JSON.stringify(thrown), JSON.stringify((thrown as { details?: object }).details));
    const connecting: unknown = await provider.connect().catch((error: unknown) => error);
    everything.push(String(connecting), JSON.stringify((connecting as { details?: object } | undefined)?.details));
  }
  everything.push(JSON.stringify([hub.status(), hub.health(), tells.health(), refuses.health(), echo.health()]));
  for (const path of ['metrics', 'healthz', 'mcp', 'nothing'])
    for (const authorization of [`Bearer ${token}`, `Bearer ${secret('wrong')}`]) {
      const response = await fetch(`http://127.0.0.1:${port}/${path}`, { headers: { authorization } });
      everything.push(JSON.stringify([...response.headers]), await response.text());
    }
  const spans = exporter.getFinishedSpans();
  expect(spans).toHaveLength(9); // the gateway does not pass on the call of a tool that no server lists
  for (const { name, attributes, status, events } of spans)
    everything.push(JSON.stringify([name, attributes, status, events]));

  const shown = everything.join('\n').split('\n');
  expect(shown.filter((line) => line.includes('canary'))).toEqual([]);
  expect(shown.filter((line) => line.includes('[hidden]')).length).toBeGreaterThan(5); // they were said again
});
