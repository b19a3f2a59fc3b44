// The client that MCP's conformance suite runs, with a URL as its last argument: MCPToolProvider calls every listed tool.

import type { JsonObject } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';

/** Calls a tool with numbers where its schema has numbers: the suite's tool is an addition. */
function argumentsFor({ properties = {} }: JsonObject): JsonObject {
  return Object.fromEntries(Object.keys(properties as JsonObject).map((name, index) => [name, index + 1]));
}

await using provider = new MCPToolProvider({
  name: 'suite',
  url: process.argv.at(-1)!,
  // Submits the form with its defaults.
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
