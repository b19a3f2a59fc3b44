// What the protocol's suite runs as a client, with an address as its last argument: MCPToolProvider calls every tool that
// it finds there.

import type { JsonObject } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';

/** Called with numbers where a tool wants numbers: the suite's is an addition. */
function argumentsFor({ properties = {} }: JsonObject): JsonObject {
  return Object.fromEntries(Object.keys(properties as JsonObject).map((name, index) => [name, index + 1]));
}

await using provider = new MCPToolProvider({
  name: 'suite',
  url: process.argv.at(-1)!,
  // A form that is sent off as it was shown.
  elicitation: async ({ requestedSchema }) => {
    const { properties } = requestedSchema as { properties: Record<string, { default?: unknown }> };
    return {
      action: 'accept',
      content: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, field.default])),
    };
  },
});
await provider.connect();
for (const { name, inputSchema } of await provider.listTools()) {
  const { isError, error } = await provider.callTool(name, argumentsFor(inputSchema));
  if (isError) throw new Error(`${name}: ${error?.message}`);
}
