// MCPToolProvider at a socket: servers that are not there, that go, and that come again. The contract is in contract.test.ts.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { expectNoLeaks } from '@toolwright/core/testing';
import { expect, it } from 'vitest';
import { serveSocket } from '../serve.js';

async function place(): Promise<{ path: string } & AsyncDisposable> {
  const directory = await mkdtemp(join(tmpdir(), 'toolwright-socket-'));
  return { path: join(directory, 's'), [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}

it('MCPToolProvider returns UNAVAILABLE when no server listens', async () => {
  await using where = await place();
  await using provider = new MCPToolProvider({ name: 's', socketPath: where.path });
  const { error } = await provider.callTool('s.echo');
  expect(error).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
  expect(error?.message).toContain(where.path);
});

it('MCPToolProvider rejects a path that is not a socket', async () => {
  await using where = await place();
  await writeFile(where.path, '');
  await using provider = new MCPToolProvider({ name: 's', socketPath: where.path });
  expect((await provider.callTool('s.echo')).error?.message).toMatch(/did not start: .*(no socket|No server listens)/);
});

it('MCPToolProvider returns OUTCOME_UNKNOWN when the server exits during a call, and reconnects', async () => {
  await using _ = expectNoLeaks();
  const { path, close, sockets } = await serveSocket();
  const provider = new MCPToolProvider({ name: 'contract', socketPath: path });
  try {
    await provider.connect();
    const waiting = provider.callTool('contract.wait', { ms: 60_000 }, { onProgress: () => undefined });
    await provider.callTool('contract.echo', { text: 'the call before is at the server' });
    for (const socket of sockets) socket.destroy();
    expect((await waiting).error).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { cause: 'CONNECTION_CLOSED' } });
    expect((await provider.callTool('contract.echo', { text: 'x' })).structuredContent).toEqual({ text: 'x' });
    expect(provider.health()).toMatchObject({ state: 'READY', restarts: 1 });
  } finally {
    await provider.disconnect();
    await close();
  }
});

it('MCPToolProvider disconnects soon although the server ignores the end of the stream', async () => {
  await using where = await place();
  const held: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    held.push(socket);
    socket.on('error', () => undefined); // it is cut
    socket.on('data', (chunk) => {
      const { id, method } = JSON.parse(chunk.toString().split('\n')[0]!) as { id?: number; method: string };
      const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 's', version: '1' } };
      if (method === 'initialize') socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(where.path, resolve));
  const provider = new MCPToolProvider({ name: 's', socketPath: where.path });
  await provider.connect();
  const started = performance.now();
  await provider.disconnect();
  expect(performance.now() - started).toBeLessThan(5_000);
  for (const socket of held) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});
