// Contract: the listing, and the properties that are known before connecting.

import assert from 'node:assert/strict';
import type { ContractCase } from './contract-case.js';

const TOOLS = ['echo', 'add', 'fail', 'wait', 'big', 'bad_output', 'directive', 'count', 'grow'];
const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

export const listingCases: ContractCase[] = [
  {
    title: 'name and kind are valid before the provider connects',
    run: async ({ name, kind }) => {
      assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
      assert.ok(['in-process', 'process', 'mcp', 'hub', 'other'].includes(kind), `kind is ${kind}`);
    },
  },
  {
    title: 'servers contains the prefix of the tools before the provider connects',
    run: async ({ servers }) => assert.ok(servers.includes('contract'), `servers is ${JSON.stringify(servers)}`),
  },
  {
    title: 'listTools() connects first when the provider is not connected',
    run: async (provider) => assert.ok((await provider.listTools()).length > 0),
  },
  {
    title: 'listTools() lists every tool under its qualified name',
    run: async (provider) => {
      const names = (await provider.listTools()).map(({ name }) => name);
      for (const tool of TOOLS)
        assert.ok(names.includes(`contract.${tool}`), `contract.${tool} is missing in ${names.join(', ')}`);
    },
  },
  {
    title: 'listTools() lists no name twice',
    run: async (provider) => {
      const names = (await provider.listTools()).map(({ name }) => name);
      assert.equal(new Set(names).size, names.length);
    },
  },
  {
    title: 'listTools() lists only names under its own prefixes',
    run: async (provider) => {
      for (const { name } of await provider.listTools()) {
        assert.ok(
          provider.servers.includes(name.slice(0, name.indexOf('.'))),
          `${name} is outside ${provider.servers.join(', ')}`,
        );
      }
    },
  },
  {
    title: 'listTools() lists in the same order each time',
    run: async (provider) => {
      const first = (await provider.listTools()).map(({ name }) => name);
      assert.deepEqual(
        (await provider.listTools()).map(({ name }) => name),
        first,
      );
    },
  },
  {
    title: 'listTools() lists a description of each tool',
    run: async (provider) => {
      for (const { name, description } of await provider.listTools())
        assert.ok(description.length > 0, `${name} has no description`);
    },
  },
  {
    title: 'listTools() lists all four hints of each tool',
    run: async (provider) => {
      for (const { name, annotations } of await provider.listTools()) {
        for (const hint of HINTS) assert.equal(typeof annotations[hint], 'boolean', `${name} has no ${hint}`);
      }
    },
  },
  {
    title: "listTools() lists the author's hints",
    run: async (provider) => {
      const tools = await provider.listTools();
      assert.equal(tools.find(({ name }) => name === 'contract.echo')?.annotations.readOnlyHint, true);
      assert.equal(tools.find(({ name }) => name === 'contract.count')?.annotations.readOnlyHint, false);
    },
  },
  {
    title: 'listTools() lists an input schema with an object root',
    run: async (provider) => {
      for (const { name, inputSchema } of await provider.listTools()) assert.equal(inputSchema.type, 'object', name);
      const add = (await provider.listTools()).find(({ name }) => name === 'contract.add');
      assert.deepEqual(Object.keys(add?.inputSchema.properties as object), ['a', 'b']);
    },
  },
  {
    title: 'listTools() lists the output schema of a tool that has one',
    run: async (provider) => {
      const add = (await provider.listTools()).find(({ name }) => name === 'contract.add');
      assert.deepEqual(add?.outputSchema?.required, ['sum']);
    },
  },
  {
    title: 'listTools() returns a listing that cannot be changed',
    run: async (provider) => {
      const listed = await provider.listTools();
      assert.ok(isDeepFrozen(listed), 'the listing or a part of it is not frozen');
    },
  },
  {
    title: 'listTools() lists an added tool after onToolsChanged() has reported it',
    run: async (provider) => {
      await provider.connect();
      const change = nextChange(provider);
      const grown = await provider.callTool('contract.grow');
      const name = `contract.${String(grown.structuredContent?.name)}`;
      await change;
      const names = (await provider.listTools()).map((tool) => tool.name);
      assert.ok(names.includes(name), `${name} is missing in ${names.join(', ')}`);
      assert.equal((await provider.callTool(name)).isError, false);
    },
  },
  {
    title: 'onToolsChanged() calls no listener that has unsubscribed',
    run: async (provider) => {
      await provider.connect();
      let notifications = 0;
      provider.onToolsChanged(() => notifications++)();
      const change = nextChange(provider);
      await provider.callTool('contract.grow');
      await change;
      assert.equal(notifications, 0);
    },
  },
];

function isDeepFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeepFrozen);
}

const TIMEOUT_MS = 10_000;

/** Resolves with the next change of the tool list. */
async function nextChange(provider: { onToolsChanged(listener: () => void): () => void }): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let unsubscribe: (() => void) | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      unsubscribe = provider.onToolsChanged(resolve);
      timer = setTimeout(reject, TIMEOUT_MS, new Error(`onToolsChanged() reported no change within ${TIMEOUT_MS} ms`));
    });
  } finally {
    clearTimeout(timer);
    unsubscribe?.();
  }
}
