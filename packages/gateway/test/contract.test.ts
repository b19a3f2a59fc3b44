// The contract suite of ToolProvider, run against an in-process provider through the gateway.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { InProcessToolProvider } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { contractServer, toolProviderContract } from '@toolwright/core/testing';
import { createGateway } from '@toolwright/gateway';
import { contractServerFile } from '@toolwright/gateway/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { bundleFixture } from '../../core/test/mcp/bundle.js';
import { soaking } from '../../core/test/soak.js';

let program: Awaited<ReturnType<typeof bundleFixture>> | undefined;
beforeAll(async () => {
  if (soaking) program = await bundleFixture(basename(contractServerFile()), dirname(contractServerFile()));
}, 60_000);
afterAll(() => program?.[Symbol.asyncDispose]());

/** The tools under the names that they have at their server: the client adds the prefix. */
function serve(): { gateway: ReturnType<typeof createGateway>; end: () => Promise<void> } {
  const provider = new InProcessToolProvider({ name: 'contract', servers: [contractServer()] });
  const gateway = createGateway(provider, { naming: (name) => name.slice('contract.'.length) });
  return {
    gateway,
    end: async () => {
      await gateway.close();
      await provider.disconnect();
    },
  };
}

// A program is started for each case: in the default run the same bytes go through streams of this process.
if (soaking) {
  toolProviderContract(
    'a gateway over the stdio of a program',
    () => ({
      provider: new MCPToolProvider({ name: 'contract', command: process.execPath, args: [program!.file] }),
      dispose() {},
    }),
    { describe, it },
  );
}

toolProviderContract(
  'a gateway over stdio',
  () => {
    const { gateway, end } = serve();
    const transport = async (): Promise<StdioServerTransport> => {
      const [stdin, stdout] = [new PassThrough(), new PassThrough()];
      await gateway.serveStdio({ stdin, stdout });
      const client = new StdioServerTransport(stdout, stdin); // the same bytes, from the other side
      const close = client.close.bind(client);
      client.close = () => (stdin.end(), close());
      return client;
    };
    return { provider: new MCPToolProvider({ name: 'contract', transport }), dispose: end };
  },
  { describe, it },
);

toolProviderContract(
  'a gateway over a socket',
  async () => {
    const { gateway, end } = serve();
    const directory = await mkdtemp(join(tmpdir(), 'toolwright-gateway-'));
    const socketPath = join(directory, 's');
    await gateway.serveSocket({ path: socketPath });
    return {
      provider: new MCPToolProvider({ name: 'contract', socketPath }),
      dispose: async () => {
        await end();
        await rm(directory, { recursive: true, force: true });
      },
    };
  },
  { describe, it },
);

toolProviderContract(
  'a gateway over HTTP',
  async () => {
    const { gateway, end } = serve();
    const { url, token } = await gateway.serveHttp();
    const headers = { authorization: `Bearer ${token}` };
    return { provider: new MCPToolProvider({ name: 'contract', url, headers }), dispose: end };
  },
  { describe, it },
);
