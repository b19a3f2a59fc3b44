// One call through a supervisor that is ready, against the provider that it wraps, which answers synchronously, so that only
// the supervisor is measured.

import type { CallOptions, ToolDefinition, ToolProvider, ToolResult } from '@toolwright/core';
import { CallScope, TAKES_SCOPES } from '@toolwright/core/internal';
import { supervise } from '@toolwright/runtime';
import { compare, reach, type Row } from '../method.js';

const args = { text: 'hello world' };
const echo: ToolDefinition = {
  name: 'bench.echo',
  description: 'Echoes.',
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
};

/** Creates a scope for each call, as the external providers do, and answers synchronously. */
function external(): ToolProvider & { [TAKES_SCOPES]: true } {
  return {
    name: 'bench',
    kind: 'process',
    [TAKES_SCOPES]: true,
    servers: ['bench'],
    connect: async () => undefined,
    listTools: async () => [echo],
    async callTool(_name: string, given: typeof args, options?: CallOptions): Promise<ToolResult> {
      const scope = new CallScope(options);
      const result = { content: [{ type: 'text' as const, text: given.text }], isError: false, directives: [] };
      scope.close();
      return { ...result, durationMs: performance.now() - scope.startedAt };
    },
    disconnect: async () => undefined,
    onToolsChanged: () => () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

export async function supervisionRows(): Promise<Row[]> {
  const bare = external();
  await using provider = supervise(external);
  await provider.connect();
  const row = await compare(
    'call through a supervisor',
    { name: 'supervise().callTool', run: () => provider.callTool('bench.echo', args) },
    { name: 'the provider it wraps', run: () => bare.callTool('bench.echo', args) },
  );
  return [reach(row, row.differenceUs.median, '<=', 5, 'us more')];
}
