// The contract of ToolProvider, kept by a provider in process that is reached through the gateway.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InProcessToolProvider } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { contractServer, toolProviderContract } from '@toolwright/core/testing';
import { createGateway } from '@toolwright/gateway';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { bundleFixture } from '../../core/test/mcp/bundle.js';

let program: Awaited<ReturnType<typeof bundleFixture>>;
beforeAll(async () => {
  program = await bundleFixture('gateway-stdio', fileURLToPath(new URL('./fixtures', import.meta.url)));
}, 60_000);
afterAll(() => program[Symbol.asyncDispose]());

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

toolProviderContract(
  'a gateway over stdio',
  () => ({
    provider: new MCPToolProvider({ name: 'contract', command: process.execPath, args: [program.file] }),
    dispose() {},
  }),
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
