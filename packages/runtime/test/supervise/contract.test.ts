// The contract of ToolProvider, kept under supervision: over a provider process, an MCP server, and one in this process.

import { InProcessToolProvider, type ToolProvider } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { contractServer, toolProviderContract } from '@toolwright/core/testing';
import { ProcessToolProvider, supervise } from '@toolwright/runtime';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { bundleFixture } from '../../../core/test/mcp/bundle.js';
import { bundleFixtures, type BundledFixtures } from '../bundle.js';
import { soaking } from '../soak.js';

let fixtures: BundledFixtures;
let stdio: Awaited<ReturnType<typeof bundleFixture>>;
beforeAll(async () => {
  [fixtures, stdio] = await Promise.all([bundleFixtures(), bundleFixture('contract-stdio')]);
}, 60_000);
afterAll(() => Promise.all([fixtures[Symbol.asyncDispose](), stdio[Symbol.asyncDispose]()]));

/** The suite has up to a thousand calls at once. */
const ROOMY = { maxConcurrent: 1_000, maxQueue: 10_000 };

const cases: Record<string, () => ToolProvider> = {
  'an in-process provider': () => new InProcessToolProvider({ name: 'contract', servers: [contractServer()] }),
  'an MCP server': () => new MCPToolProvider({ name: 'contract', command: process.execPath, args: [stdio.file] }),
  'a provider process': () => new ProcessToolProvider({ name: 'contract', path: fixtures.file('contract-provider') }),
};

/** Each case of a process starts one: an eighth of them, unless it soaks. */
let registered = 0;
const sampled = (title: string, body: () => Promise<void>): void => {
  if (soaking || registered++ % 8 === 0) it(title, body);
};

for (const [name, create] of Object.entries(cases)) {
  toolProviderContract(`supervise() over ${name}`, () => ({ provider: supervise(create, ROOMY), dispose() {} }), {
    describe,
    it: name === 'an in-process provider' ? it : sampled,
  });
}
