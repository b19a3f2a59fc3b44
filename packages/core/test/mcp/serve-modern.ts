// The server of MCP 2026-07-28 in this process: at a socket, and over HTTP.

import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { modernServer, ModernState } from './fixtures/modern-server.js';

/** A running server. */
export interface ModernListener extends AsyncDisposable {
  readonly state: ModernState;
  /** For `new MCPToolProvider()`. */
  readonly place: { socketPath: string } | { url: string };
  /** The headers of the requests over HTTP. */
  readonly headers: IncomingHttpHeaders[];
  /** Tells listening clients that the tools have changed. */
  changed(): void;
  /** Ends all connections, and serves new ones. */
  drop(): void;
}

/** Listens at a socket or over HTTP. `legacy`: also serves earlier revisions. */
export async function serveModern(
  place: 'socket' | 'http',
  { state = new ModernState(), legacy = false, port = 0 } = {},
): Promise<ModernListener> {
  return place === 'socket' ? serveSocket(state, legacy) : serveHttp(state, legacy, port);
}

async function serveSocket(state: ModernState, legacy: boolean): Promise<ModernListener> {
  const directory = await mkdtemp(join(tmpdir(), 'toolwright-modern-'));
  const path = join(directory, 's');
  const servers = new Set<ReturnType<typeof modernServer>>();
  const factory = (): ReturnType<typeof modernServer> => {
    const server = modernServer(state);
    servers.add(server);
    return server;
  };
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined); // its close is what counts
    const transport = new StdioServerTransport(socket, socket);
    serveStdio(factory, { transport, legacy: legacy ? 'serve' : 'reject', onerror: () => undefined });
  });
  await new Promise<void>((resolve) => listener.listen(path, resolve));
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    state,
    place: { socketPath: path },
    headers: [],
    changed: () => servers.forEach((server) => void server.sendToolListChanged().catch(() => undefined)),
    drop,
    [Symbol.asyncDispose]: async () => {
      drop();
      await closed(listener);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function serveHttp(state: ModernState, legacy: boolean, port: number): Promise<ModernListener> {
  const handler = createMcpHandler(() => modernServer(state), {
    legacy: legacy ? 'stateless' : 'reject',
    onerror: () => undefined,
  });
  const headers: IncomingHttpHeaders[] = [];
  const answer = toNodeHandler(handler);
  const listener = createHttpServer((request, response) => {
    headers.push(request.headers);
    void answer(request as never, response);
  });
  await new Promise<void>((resolve) => listener.listen(port, '127.0.0.1', resolve));
  return {
    state,
    place: { url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp` },
    headers,
    changed: () => handler.notify.toolsChanged(),
    drop: () => listener.closeAllConnections(),
    [Symbol.asyncDispose]: async () => {
      await handler.close();
      listener.closeAllConnections();
      await closed(listener);
    },
  };
}

function closed(listener: Server): Promise<void> {
  return new Promise((resolve) => listener.close(() => resolve()));
}
