// server-everything over Streamable HTTP gives the same to a client of the SDK that is connected to it, and to one behind
// MCPToolProvider and a gateway. It is installed with tools/peers; without it this test is skipped.

import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ResourceListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { spawnChild } from '@toolwright/core/process';
import { expectNoLeaks } from '@toolwright/core/testing';
import { createGateway } from '@toolwright/gateway';
import { describe, expect, it } from 'vitest';

const PEERS = fileURLToPath(new URL('../../../tools/peers/node_modules/@modelcontextprotocol/', import.meta.url));
const SERVER = join(PEERS, 'server-everything', 'dist', 'index.js');
const skipped = existsSync(SERVER) ? '' : ' (skipped: server-everything is not in tools/peers)';

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The server as a program that listens for HTTP. */
async function startEverything(): Promise<{ url: string } & AsyncDisposable> {
  const port = await freePort();
  const child = spawnChild({
    command: process.execPath,
    args: [SERVER, 'streamableHttp'],
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    extraEnv: { PORT: String(port) },
    stdin: 'ignore',
  });
  child.stdout.resume();
  const listening = new Promise<void>((resolve) => {
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      if ((said += chunk.toString()).includes('listening')) resolve();
    });
  });
  await Promise.race([listening, child.exited]);
  return { url: `http://localhost:${port}/mcp`, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
}

/** Everything that a client can see of the server, in one order. */
async function tour(url: URL, token: string | undefined, prefix: string): Promise<Record<string, unknown>> {
  const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
  const client = new Client({ name: 'peer', version: '1' }, { capabilities });
  const questions: unknown[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    questions.push(params);
    return { action: 'accept', content: { name: 'Ada', check: true, integer: 7, petType: 'pet-1' } };
  });
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    questions.push(params);
    return { role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } };
  });
  const requestInit = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  const seen: Record<string, unknown> = {};
  const call = async (name: string, args: Record<string, unknown> = {}): Promise<void> => {
    const progress: unknown[] = [];
    const onprogress = (step: object): number => progress.push(step);
    const result = await client.callTool({ name: prefix + name, arguments: args }, undefined, { onprogress });
    const { 'toolwright/error': code, ...meta } = result._meta ?? {}; // the gateway's, and of failures only
    expect(code === undefined || result.isError).toBe(true);
    seen[`call ${name} ${JSON.stringify(args)}`] = { isError: false, ...result, _meta: meta, progress };
  };
  const { tools } = await client.listTools();
  seen['tools'] = tools
    // Whether a tool runs as a task is for the gateway to say, and it offers none.
    .map(({ execution: _, ...tool }) => ({ ...tool, name: tool.name.slice(prefix.length) }))
    .filter(({ name }) => name !== 'get-roots-list') // listed once the server has received the roots: a race
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  await call('echo', { message: 'hello' });
  await call('get-sum', { a: 1, b: 2 });
  await call('get-sum', { a: 'one' }); // rejected by the server, with its message
  await call('get-tiny-image');
  await call('get-annotated-message', { messageType: 'error', includeImage: true });
  await call('get-structured-content', { location: 'Chicago' });
  await call('get-resource-links', { count: 3 });
  await call('get-resource-reference', { resourceType: 'Text', resourceId: 2 });
  await call('trigger-long-running-operation', { duration: 0.3, steps: 3 });
  await call('trigger-elicitation-request');
  await call('trigger-sampling-request', { prompt: 'p', maxTokens: 9 });
  seen['questions'] = questions;

  const changed = new Promise<void>((resolve) =>
    client.setNotificationHandler(ResourceListChangedNotificationSchema, () => resolve()),
  );
  const before = (await client.listResources()).resources;
  await call('gzip-file-as-resource', { name: 'a.gz', data: 'data:text/plain,hello' });
  await changed;
  const { resources } = await client.listResources();
  expect(resources.length).toBe(before.length + 1);
  const byUri = (a: { uri: string }, b: { uri: string }): number => (a.uri < b.uri ? -1 : 1);
  seen['resources'] = [...resources].sort(byUri);
  for (const { uri } of resources) seen[`read ${uri}`] = await client.readResource({ uri });
  seen['templates'] = (await client.listResourceTemplates()).resourceTemplates.sort((a, b) =>
    a.uriTemplate < b.uriTemplate ? -1 : 1,
  );
  seen['read 3'] = await client.readResource({ uri: 'demo://resource/dynamic/text/3' });
  await client.subscribeResource({ uri: resources[0]!.uri });
  await client.unsubscribeResource({ uri: resources[0]!.uri });

  const { prompts } = await client.listPrompts();
  seen['prompts'] = prompts
    .map((prompt) => ({ ...prompt, name: prompt.name.slice(prefix.length) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const prompt = (name: string, args: Record<string, string> = {}): Promise<unknown> =>
    client.getPrompt({ name: prefix + name, arguments: args });
  seen['prompt 1'] = await prompt('simple-prompt');
  seen['prompt 2'] = await prompt('args-prompt', { city: 'Bern', state: 'BE' });
  seen['prompt 3'] = await prompt('resource-prompt', { resourceType: 'Text', resourceId: '1' });
  seen['completion'] = await client.complete({
    ref: { type: 'ref/prompt', name: `${prefix}completable-prompt` },
    argument: { name: 'name', value: '' },
    context: { arguments: { department: 'Engineering' } },
  });
  const uri = 'demo://resource/dynamic/text/{resourceId}';
  seen['completion of a template'] = await client.complete({
    ref: { type: 'ref/resource', uri },
    argument: { name: 'resourceId', value: '4' },
  });
  await client.close();
  return seen;
}

/** Without the moment at which the server made a text. */
function timeless(seen: object): unknown {
  return JSON.parse(JSON.stringify(seen).replace(/\d{1,2}:\d{2}:\d{2}( [AP]M)?/g, 'TIME'));
}

describe.skipIf(skipped !== '')(`createGateway() for server-everything over HTTP${skipped}`, () => {
  it('answers a client behind a gateway as it answers a direct one', async () => {
    await using _ = expectNoLeaks();
    // One for each: the server keeps resources of sessions by their URI, so a second session's removes the first's.
    await using alone = await startEverything();
    await using server = await startEverything();
    await using provider = new MCPToolProvider({ name: 'everything', url: server.url });
    await using gateway = createGateway(provider, { forward: true });
    const { url, token } = await gateway.serveHttp();
    const [direct, through] = await Promise.all([
      tour(new URL(alone.url), undefined, ''),
      tour(new URL(url), token, 'everything__'),
    ]);
    expect(Object.keys(direct).length).toBeGreaterThan(25);
    expect(timeless(through)).toEqual(timeless(direct));
  });
});
