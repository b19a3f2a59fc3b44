// Three replicas of a gateway behind haproxy, of which one is killed again and again: every call settles, runs at most once,
// and is answered to its own client. Without haproxy this test is skipped. A tenth of the calls, unless it soaks.

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { acceptedContent, createMcpHandler, inputRequired, Server } from '@modelcontextprotocol/server';
import { textOf } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { createTestProject } from '@toolwright/core/testing';
import { describe, expect, it, vi } from 'vitest';
import { bundleFixture } from '../../core/test/mcp/bundle.js';
import { soaking, tries } from '../../core/test/soak.js';

const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0;
const CLIENTS = 16;
const CALLS = tries(500);
const KILL_EVERY_MS = soaking ? 5_000 : 700;
const REPLICAS = 3;

/** A server that counts how often each call has run; `confirm` asks first. */
async function serveUpstream(): Promise<{ url: string; runs: Map<string, number> } & AsyncDisposable> {
  const runs = new Map<string, number>();
  const inputSchema = { type: 'object' as const, properties: { id: { type: 'string' } } };
  const handler = createMcpHandler(
    () => {
      const server = new Server({ name: 'up', version: '1' }, { capabilities: { tools: {} } });
      server.setRequestHandler('tools/list', () => ({
        tools: ['count', 'confirm'].map((name) => ({ name, inputSchema })),
        ttlMs: 60_000,
        cacheScope: 'private' as const,
      }));
      server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
        const id = String(params.arguments?.id);
        if (params.name === 'confirm' && !acceptedContent(mcpReq.inputResponses, 'sure')) {
          const requestedSchema = { type: 'object' as const, properties: { id: { type: 'string' as const } } };
          const sure = inputRequired.elicit({ message: id, requestedSchema });
          return inputRequired({ inputRequests: { sure }, requestState: `state of ${id}` });
        }
        runs.set(id, (runs.get(id) ?? 0) + 1);
        const answer = acceptedContent<{ id?: string }>(mcpReq.inputResponses, 'sure');
        return { content: [{ type: 'text' as const, text: `${id} ${answer?.id ?? id}` }] };
      });
      return server;
    },
    { legacy: 'reject' },
  );
  const answer = toNodeHandler(handler);
  const listener = createHttpServer((request, response) => void answer(request as never, response));
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`,
    runs,
    [Symbol.asyncDispose]: async () => {
      await handler.close();
      listener.closeAllConnections();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports: number[] = [];
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ports.push((server.address() as AddressInfo).port);
  }
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

describe.skipIf(!hasHaproxy)(
  `createGateway({ replicas })${hasHaproxy ? '' : ' (skipped: haproxy is not installed)'}`,
  () => {
    it('answer every call once, to its client, while one after the other is killed', async () => {
      await using upstream = await serveUpstream();
      await using project = await createTestProject();
      await using program = await bundleFixture('gateway-replica', fileURLToPath(new URL('fixtures', import.meta.url)));
      const [proxyPort, ...ports] = (await freePorts(REPLICAS + 1)) as [number, ...number[]];
      const tokens = Array.from({ length: CLIENTS }, () => randomBytes(24).toString('base64url'));
      const key = randomBytes(32).toString('base64');
      const replicas = new Map<number, ChildProcess>();
      const start = async (port: number): Promise<void> => {
        const args = [program.file, upstream.url, String(port), key, String(proxyPort), tokens.join(',')];
        const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
        replicas.set(port, child);
        await once(child.stdout, 'data');
      };
      await Promise.all(ports.map(start));
      const config = `
global
  maxconn 4096
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  option redispatch
frontend gateway
  bind 127.0.0.1:${proxyPort}
  default_backend replicas
backend replicas
  balance roundrobin
  option httpchk GET /healthz
  http-check send hdr Host 127.0.0.1:${proxyPort}
${ports.map((port) => `  server r${port} 127.0.0.1:${port} check inter 100ms rise 1 fall 1`).join('\n')}
`;
      await project.write('haproxy.cfg', config);
      const proxy = spawn('haproxy', ['-f', join(project.projectDir, 'haproxy.cfg')], { stdio: 'ignore' });
      await vi.waitUntil(
        () =>
          fetch(`http://127.0.0.1:${proxyPort}/healthz`).then(
            ({ ok }) => ok,
            () => false,
          ),
        10_000,
      );
      let killed = 0;
      const done = new AbortController();
      const killer = (async () => {
        for (let next = 0; ; next++) {
          await pause(KILL_EVERY_MS, undefined, { signal: done.signal }).catch(() => undefined);
          if (done.signal.aborted) return;
          const port = ports[next % REPLICAS]!;
          const child = replicas.get(port)!;
          child.kill('SIGKILL');
          await once(child, 'exit');
          killed++;
          await start(port);
        }
      })();
      const outcomes: { id: string; text: string; code: string | undefined }[] = [];
      try {
        await Promise.all(
          tokens.map(async (token, client) => {
            await using provider = new MCPToolProvider({
              name: 'p',
              url: `http://127.0.0.1:${proxyPort}/mcp`,
              headers: { authorization: `Bearer ${token}` },
              protocol: 'modern',
              elicitation: async ({ message }) => ({ action: 'accept', content: { id: message } }),
              logger: { debug() {}, info() {}, warn() {}, error() {} },
            });
            for (let call = 0; call < CALLS; call++) {
              const id = `${client}-${call}`;
              const result = await provider.callTool(
                `p.up__${call % 4 === 0 ? 'confirm' : 'count'}`,
                { id },
                { timeoutMs: 30_000 },
              );
              outcomes.push({ id, text: textOf(result), code: result.error?.code });
            }
          }),
        );
      } finally {
        done.abort();
        await killer;
        for (const child of [...replicas.values(), proxy]) {
          child.kill('SIGKILL');
          if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
        }
      }
      expect(outcomes).toHaveLength(CLIENTS * CALLS);
      const failed = outcomes.filter(({ code }) => code !== undefined);
      for (const { id, text } of outcomes.filter(({ code }) => code === undefined)) {
        expect(text).toBe(`${id} ${id}`);
        expect(upstream.runs.get(id)).toBe(1);
      }
      for (const runs of upstream.runs.values()) expect(runs).toBe(1);
      expect(killed).toBeGreaterThan(0);
      const codes = new Map<string, number>();
      for (const { code } of failed) codes.set(code!, (codes.get(code!) ?? 0) + 1);
      console.log(`${outcomes.length} calls, ${killed} replicas killed, failed: ${JSON.stringify([...codes])}`);
      expect(failed.length).toBeLessThan(outcomes.length / 10);
    }, 300_000);
  },
);
