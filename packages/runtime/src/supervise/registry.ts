// createRegistryServer: a hub's providers and tools as tools, for operators and models.

import {
  defineServer,
  defineTool,
  ToolError,
  type ToolDefinition,
  type ToolHub,
  type ToolProvider,
  type ToolServer,
} from '@toolwright/core';

const PREFIX = 'registry';
const LOOKING = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const PROVIDER = { type: 'string', description: 'The name of a provider, as listed by `list`.' } as const;
const TOOL = {
  type: 'string',
  description: 'The qualified name of a tool, as listed by `tools`: server.tool.',
} as const;

/**
 * A tool server `registry` over a hub, to be put into that hub or used beside it: `list`, `start`, `stop`, `tools`,
 * `details`, `health`, and `invoke`, which goes through `hub.callTool` with its policy, deadline and middleware. `invoke`
 * runs only tools that the hub lists, and none of the registry itself.
 *
 * @example
 * ```ts
 * await hub.add(new InProcessToolProvider({ servers: [createRegistryServer(hub)] }));
 * ```
 */
export function createRegistryServer(hub: ToolHub): ToolServer {
  if (typeof (hub as Partial<ToolHub> | undefined)?.providerNamed !== 'function')
    throw new ToolError('INVALID_ARGUMENT', 'createRegistryServer() takes a ToolHub.');
  return defineServer({
    name: PREFIX,
    version: '1.0.0',
    tools: [
      defineTool({
        name: 'list',
        description: 'Lists the providers with their state, prefixes, and number of tools.',
        annotations: LOOKING,
        execute: () => ({
          providers: hub.status().map((row) => {
            const { kind, servers } = providerOf(hub, row.name);
            return { ...row, kind, servers: [...servers] };
          }),
        }),
      }),
      defineTool({
        name: 'start',
        description: 'Starts a provider, regardless of earlier failures. Does nothing if it is running.',
        input: { type: 'object', properties: { provider: PROVIDER }, required: ['provider'] },
        annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
        execute: async ({ provider }, { signal }) => {
          await providerOf(hub, provider).connect({ signal });
          return { provider, state: stateOf(hub, provider) };
        },
      }),
      defineTool({
        name: 'stop',
        description:
          'Stops a provider. Its running calls are cancelled, and further calls are refused until it is started.',
        input: { type: 'object', properties: { provider: PROVIDER }, required: ['provider'] },
        annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
        execute: async ({ provider: name }) => {
          const provider = providerOf(hub, name);
          if (provider.servers.includes(PREFIX))
            throw new ToolError('INVALID_ARGUMENT', `"${name}" contains the registry, which cannot stop itself.`);
          await provider.disconnect();
          return { provider: name, state: stateOf(hub, name) };
        },
      }),
      defineTool({
        name: 'tools',
        description: 'Lists the tools, of all providers or of one, by name and description.',
        input: { type: 'object', properties: { provider: PROVIDER } },
        annotations: LOOKING,
        execute: async ({ provider }, { signal }) => {
          const servers = provider === undefined ? undefined : providerOf(hub, provider).servers;
          const tools = (await hub.listTools({ signal })).filter(
            ({ name }) => servers === undefined || servers.includes(serverOf(name)),
          );
          return { tools: tools.map(({ name, description }) => ({ name, description })) };
        },
      }),
      defineTool({
        name: 'details',
        description: 'Returns a tool with its schemas, annotations and provider, and what the policy decides for it.',
        input: { type: 'object', properties: { tool: TOOL }, required: ['tool'] },
        annotations: LOOKING,
        execute: async ({ tool }, { signal }) => {
          const definition = await listed(hub, tool, signal);
          return { tool: { ...definition }, explanation: { ...(await hub.explain(tool)) } };
        },
      }),
      defineTool({
        name: 'health',
        description: 'Returns the counters of all providers or of one: calls, failures, restarts, the last error.',
        input: { type: 'object', properties: { provider: PROVIDER } },
        annotations: LOOKING,
        execute: ({ provider }) => {
          const names = provider === undefined ? hub.status().map(({ name }) => name) : [provider];
          return { providers: names.map((name) => ({ name, ...providerOf(hub, name).health?.() })) };
        },
      }),
      defineTool({
        name: 'invoke',
        description: 'Calls a tool by its qualified name. Policy, limits and records apply as in a direct call.',
        input: {
          type: 'object',
          properties: {
            tool: TOOL,
            arguments: { type: 'object', description: 'Its arguments. Default: none.', additionalProperties: true },
          },
          required: ['tool'],
        },
        annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
        permissionPattern: ({ tool }) => `invoke:${tool}`,
        execute: async ({ tool, arguments: args = {} }, ctx) => {
          const { name } = await listed(hub, tool, ctx.signal);
          if (serverOf(name) === PREFIX)
            throw new ToolError('INVALID_ARGUMENT', `"${name}" is a tool of the registry: call it directly.`, {
              tool: name,
            });
          const { content, structuredContent, isError, error, directives, _meta } = await hub.callTool(
            name,
            args,
            ctx.nested,
          );
          return {
            content,
            isError,
            directives,
            ...(structuredContent && { structuredContent }),
            ...(error && { error: new ToolError(error) }),
            ...(_meta && { _meta }),
          };
        },
      }),
    ],
  });
}

/** @throws {ToolError} NOT_FOUND */
function providerOf(hub: ToolHub, name: string): ToolProvider {
  const provider = hub.providerNamed(name);
  if (provider) return provider;
  const names = hub.status().map((row) => row.name);
  throw new ToolError('NOT_FOUND', `Unknown provider "${name}"; known providers: ${names.join(', ')}.`);
}

function stateOf(hub: ToolHub, name: string): string {
  return hub.status().find((row) => row.name === name)?.state ?? 'COLD';
}

/**
 * The listed tool of a qualified name. Bare names are not accepted, because one could mean a tool of the registry.
 *
 * @throws {ToolError} TOOL_NOT_FOUND; PERMISSION_DENIED for a tool that the policy hides
 */
async function listed(hub: ToolHub, name: string, signal: AbortSignal): Promise<ToolDefinition> {
  const tool = (await hub.listTools({ signal })).find((each) => each.name === name);
  if (tool) return tool;
  const { hidden, name: explained, reason } = await hub.explain(name);
  if (hidden && explained === name) throw new ToolError('PERMISSION_DENIED', reason, { tool: name });
  throw new ToolError('TOOL_NOT_FOUND', `The hub lists no tool "${name}"; registry.tools gives their names.`, {
    tool: name,
  });
}

function serverOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf('.')));
}
