// The four servers of the protocol's authors, behind one gateway, answer as they do directly. They are installed with
// tools/peers; without them these tests are skipped.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ToolHub, type JsonObject } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { createTestProject, expectNoLeaks } from '@toolwright/core/testing';
import { createGateway } from '@toolwright/gateway';
import { describe, expect, it } from 'vitest';
import { serveModernEverything } from './fixtures/modern-everything.js';

const PEERS = fileURLToPath(new URL('../../../tools/peers/node_modules/@modelcontextprotocol/', import.meta.url));
const serverOf = (name: string): string => join(PEERS, `server-${name}`, 'dist', 'index.js');
const missing = ['filesystem', 'memory', 'everything', 'sequential-thinking'].filter(
  (name) => !existsSync(serverOf(name)),
);
const skipped = missing.length === 0 ? '' : ` (skipped: server-${missing.join(', server-')} not in tools/peers)`;

const entities = [{ name: 'a', entityType: 'b', observations: ['c'] }];
const thought = { thought: 't', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };

describe.skipIf(missing.length > 0)(`createGateway() for real servers${skipped}`, () => {
  it('serves the same tools, results, resources and prompts as the servers do', async () => {
    await using project = await createTestProject({ 'a.txt': 'A\n' });
    const { projectDir } = project;
    await using _ = expectNoLeaks();
    const servers: [name: string, args: string[], tool: string, call: JsonObject][] = [
      ['filesystem', [projectDir], 'list_allowed_directories', {}],
      ['memory', [], 'create_entities', { entities }],
      ['everything', ['stdio'], 'echo', { message: 'hello' }],
      ['sequential-thinking', [], 'sequentialthinking', thought],
    ];
    const command = process.execPath;
    const env = (side: string): Record<string, string> => ({ MEMORY_FILE_PATH: join(projectDir, side) });
    await using hub = new ToolHub({
      providers: servers.map(
        ([name, args]) => new MCPToolProvider({ name, command, args: [serverOf(name), ...args], env: env('ours') }),
      ),
    });
    await using gateway = createGateway(hub, { forward: true, limits: { pageSize: 1_000 } });
    const { url, token } = await gateway.serveHttp();
    const ours = new Client({ name: 'peer', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await ours.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    const { tools } = await ours.listTools();

    await Promise.all(
      servers.map(async ([name, args, tool, call]) => {
        // The gateway offers the servers what its clients may: everything lists more tools then.
        const offers = { elicitation: {}, sampling: {}, roots: {} };
        const theirs = new Client({ name: 'peer', version: '1' }, { capabilities: offers });
        const child = { command, args: [serverOf(name), ...args], stderr: 'ignore' as const };
        await theirs.connect(
          new StdioClientTransport({ ...child, env: { ...process.env, ...env('theirs') } as Record<string, string> }),
        );
        const listed = (await theirs.listTools()).tools;
        const through = tools.filter((each) => each.name.startsWith(`${name}__`));
        expect(through.length).toBe(listed.length);
        for (const direct of listed) {
          const found = through.find((each) => each.name === `${name}__${direct.name}`);
          const same = { ...found, execution: found?.execution };
          // Whether it runs as a task is the gateway's to say, and it offers none.
          expect(same).toMatchObject({ ...direct, name: `${name}__${direct.name}`, execution: undefined });
          expect(same?.inputSchema).toEqual(direct.inputSchema);
          expect(same?.outputSchema).toEqual(direct.outputSchema);
        }
        expect(await ours.callTool({ name: `${name}__${tool}`, arguments: call })).toEqual({
          isError: false,
          ...(await theirs.callTool({ name: tool, arguments: call })),
        });
        if (name === 'everything') {
          const direct = (await theirs.listResources()).resources;
          expect((await ours.listResources()).resources).toEqual(expect.arrayContaining(direct));
          const { uri } = direct[0]!;
          expect(await ours.readResource({ uri })).toEqual(await theirs.readResource({ uri }));
          const prompts = (await theirs.listPrompts()).prompts.map((prompt) => `${name}__${prompt.name}`);
          expect((await ours.listPrompts()).prompts.map((prompt) => prompt.name)).toEqual(
            expect.arrayContaining(prompts),
          );
        }
        await theirs.close();
      }),
    );
    await ours.close();
  });

  it('serves the same tools and answers to clients of both eras, with a server of 2026-07-28 among them', async () => {
    await using project = await createTestProject({ 'a.txt': 'A\n' });
    const { projectDir } = project;
    await using modern = await serveModernEverything();
    const command = process.execPath;
    const env = { MEMORY_FILE_PATH: join(projectDir, 'memory') };
    const stdio = (name: string, ...args: string[]): MCPToolProvider =>
      new MCPToolProvider({ name, command, args: [serverOf(name), ...args], env });
    await using hub = new ToolHub({
      providers: [
        stdio('filesystem', projectDir),
        stdio('memory'),
        stdio('everything', 'stdio'),
        stdio('sequential-thinking'),
        new MCPToolProvider({ name: 'modern', url: modern.url }),
      ],
    });
    await using gateway = createGateway(hub, { forward: true, limits: { pageSize: 1_000 } });
    const { url, token } = await gateway.serveHttp();
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const legacy = new Client({ name: 'v1', version: '1' });
    await legacy.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    const current = new ClientV2({ name: 'v2', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    await current.connect(new HttpV2(new URL(url), { requestInit }));
    expect(current.getProtocolEra()).toBe('modern');
    const [before, now] = [(await legacy.listTools()).tools, (await current.listTools()).tools];
    expect(now.map(({ name }) => name)).toEqual(before.map(({ name }) => name));
    for (const [index, tool] of before.entries()) expect(now[index]?.inputSchema).toEqual(tool.inputSchema);
    for (const [name, args] of [
      ['filesystem__list_allowed_directories', {}],
      ['memory__read_graph', {}],
      ['everything__echo', { message: 'hello' }],
      ['sequential-thinking__sequentialthinking', { ...thought, totalThoughts: 2 }],
      ['modern__test_multiple_content_types', {}],
      ['modern__test_structured', {}],
      ['modern__test_error_handling', {}],
    ] as const) {
      const one = await legacy.callTool({ name, arguments: args });
      const other = await current.callTool({ name, arguments: args });
      if (!name.startsWith('sequential')) expect(other.structuredContent).toEqual(one.structuredContent); // it counts its calls
      if (!name.startsWith('sequential')) expect(other.content).toEqual(one.content);
      expect(other.isError ?? false).toBe(one.isError ?? false);
    }
    const resources = async (client: Pick<Client, 'listResources'>): Promise<string[]> =>
      (await client.listResources()).resources.map(({ uri }) => uri).toSorted();
    expect(await resources(current as never)).toEqual(await resources(legacy));
    await legacy.close();
    await current.close();
  });
});
