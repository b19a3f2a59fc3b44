// The contract suite of ToolProvider, run against MCPToolProvider over each transport, with a server built on the SDK.

import { MCPToolProvider } from '@toolwright/core/mcp';
import { toolProviderContract } from '@toolwright/core/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { bundleFixture } from './bundle.js';
import { soaking } from '../soak.js';
import { serveHttp, serveInMemory, serveSocket } from './serve.js';

let stdio: Awaited<ReturnType<typeof bundleFixture>>;
beforeAll(async () => {
  stdio = await bundleFixture('contract-stdio');
}, 60_000);
afterAll(() => stdio[Symbol.asyncDispose]());

/** Where each case starts a program, or the transport is an old one: a quarter of them, unless it soaks. */
let registered = 0;
const sampled = (title: string, body: () => Promise<void>): void => {
  if (soaking || registered++ % 4 === 0) it(title, body);
};

toolProviderContract(
  'MCPToolProvider over stdio',
  () => ({
    provider: new MCPToolProvider({ name: 'contract', command: process.execPath, args: [stdio.file] }),
    dispose() {},
  }),
  { describe, it: sampled },
);

toolProviderContract(
  'MCPToolProvider over a socket',
  async () => {
    const { path, close } = await serveSocket();
    return { provider: new MCPToolProvider({ name: 'contract', socketPath: path }), dispose: close };
  },
  { describe, it },
);

// Answers as plain JSON have no place for progress: http.test.ts has what they promise.
for (const form of ['events', 'sse'] as const) {
  toolProviderContract(
    `MCPToolProvider over HTTP, answers as ${form}`,
    async () => {
      const { url, close } = await serveHttp(form);
      return { provider: new MCPToolProvider({ name: 'contract', url }), dispose: close };
    },
    { describe, it: form === 'sse' ? sampled : it },
  );
}

toolProviderContract(
  'MCPToolProvider over a given transport',
  async () => {
    const { connect, close } = await serveInMemory();
    return { provider: new MCPToolProvider({ name: 'contract', transport: connect }), dispose: close };
  },
  { describe, it },
);
