// The contract suite of ToolProvider, run against OpenApiToolProvider with an HTTP API of the contract's tools.

import { InProcessToolProvider, ToolHub, textOf, type JsonObject } from '@toolwright/core';
import { OpenApiToolProvider } from '@toolwright/core/openapi';
import { contractServer, toolProviderContract } from '@toolwright/core/testing';
import { describe, it } from 'vitest';
import { documentOf, serve, type Answer, type TestServer } from './serve.js';

/** What HTTP has no place for: directives, and notifications that the list of tools has changed. */
const ABSENT: ReadonlySet<string> = new Set([
  'callTool() returns a directive with its type and params',
  'listTools() lists an added tool after onToolsChanged() has reported it',
  'onToolsChanged() calls no listener that has unsubscribed',
]);
const applicable = (title: string, body: () => Promise<void>): void => {
  if (!ABSENT.has(title)) it(title, body);
};

/** Serves the contract's tools: read-only ones by GET with query parameters, the others by POST. */
async function serveContract(): Promise<Pick<TestServer, 'origin' | 'close'>> {
  const tools = new InProcessToolProvider({ servers: [contractServer()] });
  const definitions = await tools.listTools();
  const paths = definitions.map(({ name, description, inputSchema, outputSchema, annotations }) => {
    const bare = name.slice('contract.'.length);
    const { properties, required = [] } = inputSchema as { properties?: JsonObject; required?: string[] };
    const parameters = Object.entries(properties ?? {}).map(([key, schema]) => ({
      name: key,
      in: 'query',
      required: required.includes(key),
      schema,
    }));
    const content = outputSchema ? { 'application/json': { schema: outputSchema } } : { 'text/plain': {} };
    const operation = { operationId: bare, description, parameters, responses: { 200: { content } } };
    return [`/${bare}`, { [annotations.readOnlyHint ? 'get' : 'post']: operation }];
  });
  const document = documentOf(Object.fromEntries(paths) as JsonObject);
  const answer: Answer = async ({ url }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    if (pathname === '/openapi.json') return document;
    const name = `contract${pathname.replace('/', '.')}`;
    const { inputSchema } = definitions.find((tool) => tool.name === name)!;
    const types = inputSchema.properties as Record<string, { type?: string }> | undefined;
    const args = [...searchParams].map(([key, text]) => [key, types?.[key]?.type === 'string' ? text : asJson(text)]);
    if (name === 'contract.bad_output') return { n: 'not a number' };
    const controller = new AbortController();
    response.on('close', () => controller.abort());
    // Ten bytes, one for each step of `wait`: its progress is the response.
    const isSlow = name === 'contract.wait';
    if (isSlow) response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '10' }).flushHeaders();
    const onProgress = (): void => void (isSlow && response.write('.'));
    const result = await tools.callTool(name, Object.fromEntries(args) as JsonObject, {
      signal: controller.signal,
      onProgress,
    });
    if (isSlow) return void response.end();
    response.statusCode = result.isError ? 500 : 200;
    if (result.structuredContent) return result.structuredContent;
    response.setHeader('content-type', 'text/plain');
    response.end(textOf(result));
  };
  const api = await serve(answer);
  const close = async (): Promise<void> => {
    await api.close();
    await tools.disconnect();
  };
  return { origin: api.origin, close };
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const contractProvider = ({ origin }: Pick<TestServer, 'origin'>): OpenApiToolProvider =>
  new OpenApiToolProvider({ name: 'contract', document: `${origin}/openapi.json`, validateOutput: 'strict' });

toolProviderContract(
  'OpenApiToolProvider',
  async () => {
    const api = await serveContract();
    return { provider: contractProvider(api), dispose: () => api.close() };
  },
  { describe, it: applicable },
);

toolProviderContract(
  'ToolHub of an OpenApiToolProvider',
  async () => {
    const api = await serveContract();
    return { provider: new ToolHub({ providers: [contractProvider(api)] }), dispose: () => api.close() };
  },
  { describe, it: applicable },
);
