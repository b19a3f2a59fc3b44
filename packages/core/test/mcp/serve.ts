// Servers of the contract's tools in this process, on the SDK: at a socket, over HTTP in its forms, in memory.

import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { InProcessToolProvider, type ToolProvider } from '@toolwright/core';
import { contractServer } from '@toolwright/core/testing';
import { sdkServerOf } from './fixtures/sdk-server.js';

const contractProvider = (): ToolProvider => new InProcessToolProvider({ servers: [contractServer()] });

/** Listens where the system likes; `close` ends every connection too. */
async function listen(server: NetServer, where: string | number): Promise<() => Promise<void>> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) =>
    typeof where === 'number' ? server.listen(where, '127.0.0.1', resolve) : server.listen(where, resolve),
  );
  return async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
}

export async function serveSocket(
  provider = contractProvider(),
): Promise<{ path: string; sockets: ReadonlySet<Socket>; close: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const directory = await mkdtemp(join(tmpdir(), 'toolwright-mcp-'));
  const path = join(directory, 's');
  const close = await listen(
    createServer((socket) => {
      const server = sdkServerOf(provider, { pageSize: 3 });
      sockets.add(socket);
      socket.on('error', () => undefined); // its close is what counts
      socket.on('close', () => {
        sockets.delete(socket);
        void server.close();
      });
      void server.connect(new StdioServerTransport(socket, socket));
    }),
    path,
  );
  return {
    path,
    sockets,
    close: async () => {
      await close();
      await provider.disconnect();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** `events` and `json` are the two forms of Streamable HTTP; `sse` is the protocol before it. */
export async function serveHttp(
  form: 'events' | 'json' | 'sse',
  provider = contractProvider(),
  port = 0,
): Promise<{ url: string; sessions: Map<string, { close(): Promise<void> }>; close: () => Promise<void> }> {
  const sessions = new Map<string, StreamableHTTPServerTransport & SSEServerTransport>();
  const handle = form === 'sse' ? handleSse : handleStreamable;
  const server = createHttpServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  async function handleStreamable(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id'];
    let transport = typeof id === 'string' ? sessions.get(id) : undefined;
    if (id !== undefined && !transport) return void response.writeHead(404).end();
    if (!transport) {
      const made = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: form === 'json',
        onsessioninitialized: (session) => void sessions.set(session, made as never),
        onsessionclosed: (session) => void sessions.delete(session),
      });
      transport = made as never;
      await sdkServerOf(provider, { pageSize: 4 }).connect(made);
    }
    await transport.handleRequest(request, response);
  }
  async function handleSse(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (request.method === 'GET' && url.pathname === '/mcp') {
      const transport = new SSEServerTransport('/message', response);
      sessions.set(transport.sessionId, transport as never);
      return sdkServerOf(provider).connect(transport);
    }
    const transport = sessions.get(url.searchParams.get('sessionId') ?? '');
    if (!transport || url.pathname !== '/message') return void response.writeHead(405).end();
    await transport.handlePostMessage(request, response);
  }
  const close = await listen(server, port);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    sessions,
    close: async () => {
      await Promise.all([...sessions.values()].map((transport) => transport.close()));
      await close();
      await provider.disconnect();
    },
  };
}

export async function serveInMemory(
  provider = contractProvider(),
): Promise<{ connect: () => Promise<InMemoryTransport>; close: () => Promise<void> }> {
  return {
    connect: async () => {
      const [here, there] = InMemoryTransport.createLinkedPair();
      await sdkServerOf(provider).connect(there);
      return here;
    },
    close: () => provider.disconnect(),
  };
}
