// record() and chaos() over an MCP server: what wrappers pass on beyond calls.

import type { ToolProvider } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import {
  chaos,
  createTestProject,
  record,
  ReplayToolProvider,
  runContractCase,
  contractCases,
  toolProviderContract,
} from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';
import { serveInMemory, serveSocket } from '../mcp/serve.js';
import { soaking } from '../soak.js';

/** A third of the cases, unless it soaks. */
let registered = 0;
const sampled = (title: string, body: () => Promise<void>): void => {
  if (soaking || registered++ % 3 === 0) it(title, body);
};

type Wrap = (inner: ToolProvider, file: string) => ToolProvider;
const WRAPPERS: Record<string, Wrap> = {
  'record()': (inner, file) => record(inner, file),
  'chaos() without faults': (inner) => chaos(inner, {}),
};

for (const [title, wrap] of Object.entries(WRAPPERS)) {
  toolProviderContract(
    `${title} over an MCP server`,
    async () => {
      const [project, { connect, close }] = await Promise.all([createTestProject(), serveInMemory()]);
      const inner = new MCPToolProvider({ name: 'contract', transport: connect });
      return {
        provider: wrap(inner, project.resolve('calls.ndjson')),
        dispose: async () => {
          await close();
          await project[Symbol.asyncDispose]();
        },
      };
    },
    { describe, it: sampled },
  );

  describe(title, () => {
    it('passes on the MCP peer, ping, the state, the loss and the source of the wrapped provider', async () => {
      await using project = await createTestProject();
      const { path, close } = await serveSocket();
      const inner = new MCPToolProvider({ name: 'contract', socketPath: path });
      await using provider = wrap(inner, project.resolve('calls.ndjson'));
      expect([provider.name, provider.kind, provider.servers]).toEqual(['contract', 'mcp', ['contract']]);
      expect(provider.mcp).toBe(inner.mcp);
      expect(provider.sourceHash).toBe(inner.sourceHash);
      expect(provider.callTimeoutMs).toBe(inner.callTimeoutMs);
      const lost = new Promise((resolve) => provider.onLost?.(resolve));
      await provider.connect();
      await provider.ping?.();
      expect(provider.health?.().state).toBe('READY');
      expect(await provider.mcp?.request('ping')).toEqual({});
      await close();
      expect(await lost).toMatchObject({ code: 'CONNECTION_CLOSED' });
    });
  });
}

// The suite runs completely over a provider in this process: replay-contract.test.ts.
describe('ReplayToolProvider of an MCP server', () => {
  for (const contractCase of contractCases) {
    sampled(contractCase.title, async () => {
      await using project = await createTestProject();
      const { connect, close } = await serveInMemory();
      const file = project.resolve('calls.ndjson');
      const recorded = record(new MCPToolProvider({ name: 'contract', transport: connect }), file);
      await recorded.connect();
      await runContractCase(contractCase, () => ({ provider: recorded, dispose: close }));
      const replay = new ReplayToolProvider(file, { timing: 'recorded' });
      expect(replay.kind).toBe('mcp');
      await runContractCase(contractCase, () => ({ provider: replay, dispose() {} }));
      expect(replay.unused).toEqual([]);
    });
  }
});
