// The client that MCP's conformance suites run, with a URL as its last argument and the scenario in the environment:
// MCPToolProvider calls every listed tool, and signs in where the server requires it.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '@toolwright/core';
import { MCPToolProvider, type OAuthOptions } from '@toolwright/core/mcp';

const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as {
  toolCalls?: { name: string; arguments: JsonObject }[];
  client_id?: string;
  client_secret?: string;
};

/** Calls a tool with numbers where its schema has numbers: the suite's tool is an addition. */
function argumentsFor({ properties = {} }: JsonObject): JsonObject {
  return Object.fromEntries(Object.keys(properties as JsonObject).map((name, index) => [name, index + 1]));
}

/** Signs in as a person would whom the authorization server knows already: follows its redirect. */
async function authorize(url: string): Promise<string> {
  const response = await fetch(url, { redirect: 'manual' });
  return response.headers.get('location') ?? '';
}

const directory = await mkdtemp(join(tmpdir(), 'toolwright-conformance-'));
const auth: OAuthOptions = {
  file: join(directory, 'auth.json'),
  redirectUrl: 'http://localhost:3000/callback',
  authorize,
  clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
  ...(context.client_id !== undefined && { clientId: context.client_id }),
  ...(context.client_secret !== undefined && { clientSecret: context.client_secret }),
};

try {
  await using provider = new MCPToolProvider({
    name: 'suite',
    url: process.argv.at(-1)!,
    ...(scenario.startsWith('auth/') && { auth }),
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
  const tools = await provider.listTools();
  const call = async (name: string, args: JsonObject): Promise<void> => {
    const { isError, error } = await provider.callTool(name, args);
    // The server of this scenario has no tools/call.
    if (isError && scenario !== 'json-schema-ref-no-deref') throw new Error(`${name}: ${error?.message}`);
  };
  if (context.toolCalls) {
    for (const { name, arguments: args } of context.toolCalls) await call(`suite.${name}`, args);
  } else if (scenario === 'json-schema-2020-12-preservation') {
    const focal = tools.find(({ name }) => name === 'suite.json_schema_2020_12_tool');
    await call('suite.json_schema_echo', { schema: focal?.inputSchema });
  } else {
    for (const { name, inputSchema } of tools) await call(name, argumentsFor(inputSchema));
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
