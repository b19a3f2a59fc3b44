// The four servers of the protocol's authors connect, list and answer as they do to the SDK's own client. They are
// installed with tools/peers; without them these tests are skipped.

import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { textOf, ToolHub, type JsonObject } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { spawnChild } from '@toolwright/core/process';
import { createTestProject, expectNoLeaks } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';

const PEERS = fileURLToPath(new URL('../../../../tools/peers/node_modules/@modelcontextprotocol/', import.meta.url));
const serverOf = (name: string): string => join(PEERS, `server-${name}`, 'dist', 'index.js');
const missing = ['filesystem', 'memory', 'everything', 'sequential-thinking'].filter(
  (name) => !existsSync(serverOf(name)),
);
const skipped = missing.length === 0 ? '' : ` (skipped: server-${missing.join(', server-')} not in tools/peers)`;

const CALLS: [server: string, args: (directory: string) => string[], tool: string, call: JsonObject][] = [
  ['filesystem', (directory) => [directory], 'list_allowed_directories', {}],
  ['memory', () => [], 'create_entities', { entities: [{ name: 'a', entityType: 'b', observations: ['c'] }] }],
  ['everything', () => ['stdio'], 'echo', { message: 'hello' }],
  [
    'sequential-thinking',
    () => [],
    'sequentialthinking',
    { thought: 't', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
  ],
];

describe.skipIf(missing.length > 0)(`MCPToolProvider of real servers over stdio${skipped}`, () => {
  it.each(CALLS)('lists and calls server-%s as the SDK does', async (name, args, tool, call) => {
    await using project = await createTestProject({ 'a.txt': 'A\n' });
    const { projectDir } = project;
    const server = { command: process.execPath, args: [serverOf(name), ...args(projectDir)] };
    const memory = (file: string): Record<string, string> => ({ MEMORY_FILE_PATH: join(projectDir, file) });
    const client = new Client({ name: 'peer', version: '1' });
    await client.connect(
      new StdioClientTransport({
        ...server,
        env: { ...process.env, ...memory('1') } as Record<string, string>,
        stderr: 'ignore',
      }),
    );
    const theirs = await client.listTools();
    const theirAnswer = await client.callTool({ name: tool, arguments: call });
    await client.close();

    await using _ = expectNoLeaks();
    await using provider = new MCPToolProvider({ name: 'real', ...server, env: memory('2'), cwd: projectDir });
    const ours = await provider.listTools();
    expect(ours.map((each) => each.name)).toEqual(theirs.tools.map((each) => `real.${each.name}`));
    for (const [index, { inputSchema, outputSchema, description, title }] of theirs.tools.entries()) {
      expect(ours[index]).toMatchObject({
        inputSchema,
        description,
        ...(outputSchema && { outputSchema }),
        ...(title && { title }),
      });
    }
    const answer = await provider.callTool(`real.${tool}`, call);
    expect([answer.isError, answer.content, answer.structuredContent]).toEqual([
      false,
      theirAnswer.content,
      theirAnswer.structuredContent,
    ]);
  });

  it('keeps servers and their failures apart in a hub', async () => {
    await using project = await createTestProject({ 'a.txt': 'A\n' });
    const { projectDir } = project;
    const files = new MCPToolProvider({
      name: 'files',
      command: process.execPath,
      args: [serverOf('filesystem'), projectDir],
      projectDir,
    });
    const everything = new MCPToolProvider({
      name: 'everything',
      command: process.execPath,
      args: [serverOf('everything'), 'stdio'],
    });
    await using hub = new ToolHub({
      providers: [files, everything, new MCPToolProvider({ name: 'gone', command: '/nowhere' })],
    });
    await hub.connect();
    expect(textOf(await hub.callTool('files.read_text_file', { path: join(projectDir, 'a.txt') }))).toBe('A\n');
    expect((await hub.callTool('files.read_text_file', {})).error?.code).toBe('INVALID_ARGUMENT'); // by its schema
    expect((await hub.callTool('files.read_text_file', { path: '/etc/passwd' })).error?.code).toBe('EXECUTION_FAILED');
    expect(hub.status().map(({ name, state }) => [name, state])).toEqual([
      ['files', 'READY'],
      ['everything', 'READY'],
      ['gone', 'DEAD'],
    ]);
    expect([...hub.peers().keys()]).toEqual(['files', 'everything', 'gone']);
    const resources = await hub.peers().get('everything')!.request('resources/list');
    expect((resources.resources as unknown[]).length).toBeGreaterThan(0);
  });

  it('reports the progress of server-everything', async () => {
    await using provider = new MCPToolProvider({
      name: 'e',
      command: process.execPath,
      args: [serverOf('everything'), 'stdio'],
    });
    const seen: number[] = [];
    const result = await provider.callTool(
      'e.trigger-long-running-operation',
      // It takes longer than its deadline, which each step renews.
      { duration: 8, steps: 4 },
      { idleTimeoutMs: 6_000, onProgress: ({ progress }) => seen.push(progress) },
    );
    expect([result.error?.message, seen]).toEqual([undefined, [1, 2, 3, 4]]);
  });
});

describe.skipIf(missing.length > 0)(`MCPToolProvider of server-everything over Streamable HTTP${skipped}`, () => {
  it('returns the same tools, resources, prompts and results as the SDK', async () => {
    const port = await freePort();
    await using child = spawnChild({
      command: process.execPath,
      args: [serverOf('everything'), 'streamableHttp'],
      cwd: PEERS,
      extraEnv: { PORT: String(port) },
    });
    child.stdout.resume();
    await new Promise<void>((resolve) => {
      child.stderr.on('data', () => /listening/.test(child.stderrTail()) && resolve());
    });
    const url = `http://127.0.0.1:${port}/mcp`;
    const client = new Client({ name: 'peer', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    await using provider = new MCPToolProvider({ name: 'e', url });
    const theirs = (await client.listTools()).tools;
    expect((await provider.listTools()).map(({ name, inputSchema }) => ({ name, inputSchema }))).toEqual(
      theirs.map(({ name, inputSchema }) => ({ name: `e.${name}`, inputSchema })),
    );
    for (const [tool, args] of [
      ['echo', { message: 'x' }],
      ['get-sum', { a: 1, b: 2 }],
      ['get-structured-content', { location: 'New York' }],
    ] as const) {
      const answer = await client.callTool({ name: tool, arguments: args });
      const { content, structuredContent } = await provider.callTool(`e.${tool}`, args);
      expect([tool, content, structuredContent]).toEqual([tool, answer.content, answer.structuredContent]);
    }
    expect(await provider.mcp.request('prompts/list')).toEqual(await client.listPrompts());
    expect(await provider.mcp.request('resources/list')).toEqual(await client.listResources());
    await client.close();
  });
});

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
