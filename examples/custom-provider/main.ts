// A custom provider, checked by the contract suite.

import assert from 'node:assert/strict';

// #region example
import { InProcessToolProvider, type ToolProvider } from '@toolwright/core';
import { contractCases, contractServer, runContractCase } from '@toolwright/core/testing';

/** Wraps any provider and counts its calls. A wrapper passes prepareCall and the options on unchanged. */
function counting(inner: ToolProvider, counts: Map<string, number>): ToolProvider {
  return {
    name: inner.name,
    kind: inner.kind,
    get servers() {
      return inner.servers;
    },
    connect: (options) => inner.connect(options),
    listTools: (options) => inner.listTools(options),
    callTool(name, args, options) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      return inner.callTool(name, args, options);
    },
    ...(inner.prepareCall && { prepareCall: inner.prepareCall.bind(inner) }),
    disconnect: () => inner.disconnect(),
    onToolsChanged: (listener) => inner.onToolsChanged(listener),
    [Symbol.asyncDispose]: () => inner.disconnect(),
  };
}

const counts = new Map<string, number>();
const factory = () => ({
  provider: counting(new InProcessToolProvider({ servers: [contractServer()] }), counts),
  dispose() {},
});
for (const contractCase of contractCases) await runContractCase(contractCase, factory); // or toolProviderContract() in vitest
// #endregion

assert.ok((counts.get('contract.echo') ?? 0) > 100);
console.log(`${contractCases.length} cases passed`);
