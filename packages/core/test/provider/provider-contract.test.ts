import { InProcessToolProvider, ToolHub, type ToolProvider } from '@toolwright/core';
import { contractServer, toolProviderContract } from '@toolwright/core/testing';
import { describe, it } from 'vitest';

const inProcess = () => new InProcessToolProvider({ servers: [contractServer()] });

toolProviderContract('InProcessToolProvider', () => ({ provider: inProcess(), dispose() {} }), { describe, it });
toolProviderContract('ToolHub', () => ({ provider: new ToolHub({ providers: [inProcess()] }), dispose() {} }), {
  describe,
  it,
});
toolProviderContract(
  'ToolHub with policy, middleware and limits',
  () => ({
    provider: new ToolHub({
      providers: [inProcess()],
      policy: { default: 'deny', rules: [{ tool: 'contract.*', action: 'allow' }] },
      middleware: [(_call, next) => next()],
      limits: { callTimeoutMs: 60_000 },
    }),
    dispose() {},
  }),
  { describe, it },
);
toolProviderContract(
  'ToolHub of a ToolHub',
  () => ({ provider: new ToolHub({ providers: [new ToolHub({ providers: [inProcess()] })] }), dispose() {} }),
  {
    describe,
    it,
  },
);

/** As a stranger would wrap a provider: without prepareCall, so that the hub prepares in its place. */
function withoutPrepare(): ToolProvider {
  const inner = inProcess();
  return {
    name: inner.name,
    kind: 'other',
    servers: inner.servers,
    connect: (options) => inner.connect(options),
    listTools: (options) => inner.listTools(options),
    callTool: (name, args, options) => inner.callTool(name, args, options),
    disconnect: () => inner.disconnect(),
    onToolsChanged: (listener) => inner.onToolsChanged(listener),
    [Symbol.asyncDispose]: () => inner.disconnect(),
  };
}

toolProviderContract(
  'ToolHub of a provider without prepareCall',
  () => ({
    provider: new ToolHub({ providers: [{ provider: withoutPrepare(), trustDirectives: true }] }),
    dispose() {},
  }),
  { describe, it },
);
