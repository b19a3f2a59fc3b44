// Clients are asked in every combination of eras: by a policy, by a server of the earlier revisions in the middle of its
// call, and by a server of MCP 2026-07-28 between two attempts.

import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Client } from '@modelcontextprotocol/client';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolHub,
  type PolicyRule,
  type ToolProvider,
} from '@toolwright/core';
import { fromWireResult } from '@toolwright/core/mcp';
import { createTestProject } from '@toolwright/core/testing';
import { createGateway, type Gateway, type GatewayOptions } from '@toolwright/gateway';
import { afterEach, describe, expect, it } from 'vitest';
import { connectClient } from '../fixtures/connect-client.js';
import { forwardedServer } from '../fixtures/forwarded-server.js';
import { listen, newModernClient, type AnyTransport, type ModernTransport } from '../fixtures/modern-client.js';
import { modernServer } from '../fixtures/modern-server.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const FORMS = { elicitation: { form: {} } };
const QUESTION = { method: 'elicitation/create', message: 'hm?', requestedSchema: { type: 'object', properties: {} } };
const textOf = (result: unknown): unknown => JSON.parse((result as { content: { text: string }[] }).content[0]!.text);

async function serve(
  kind: ModernTransport,
  provider: ToolProvider,
  options: GatewayOptions = {},
): Promise<{ gateway: Gateway; open: () => Promise<AnyTransport> }> {
  const project = await createTestProject({});
  const gateway = createGateway(provider, { forward: true, ...options });
  ends.push(
    async () => project[Symbol.asyncDispose](),
    () => provider.disconnect(),
    () => gateway.close(),
  );
  return { gateway, open: await listen(gateway, kind, project) };
}

/** A modern client that answers every form with this, and the messages that it was shown. */
async function modernClient(
  open: () => Promise<AnyTransport>,
  answer: object,
  capabilities: object = FORMS,
): Promise<{ client: Client; shown: string[] }> {
  const shown: string[] = [];
  const client = newModernClient(capabilities);
  if ('elicitation' in capabilities)
    client.setRequestHandler('elicitation/create', ({ params }) => {
      shown.push(params.message);
      return answer as never;
    });
  ends.push(() => client.close());
  await client.connect(await open());
  return { client, shown };
}

/** A hub whose policy asks before each run of `sh.run`, and what ran. */
function askingHub(): { hub: ToolHub; ran: string[]; added: PolicyRule[]; claim: (text: string) => void } {
  const ran: string[] = [];
  const added: PolicyRule[] = [];
  let suffix = '';
  const run = defineTool({
    name: 'run',
    description: 'Runs it.',
    input: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
    permission: (args: { command?: string }) => [
      { pattern: `${args.command}${suffix}`, match: 'tokens' as const, understood: true },
    ],
    execute: ({ command }: { command?: string }) => {
      ran.push(String(command));
      return 'ran';
    },
  });
  const hub = new ToolHub({
    providers: [new InProcessToolProvider({ servers: [defineServer({ name: 'sh', version: '1.0.0', tools: [run] })] })],
    policy: { default: 'ask', rules: [] },
    onRuleAdded: (rule) => added.push(rule),
  });
  return { hub, ran, added, claim: (text) => (suffix = text) };
}

describe.each(['http', 'socket'] as const)('createGateway() over %s asks a modern client', (kind) => {
  it("for the policy's approval, and runs the call once it is given", async () => {
    const { hub, ran, added } = askingHub();
    const { open } = await serve(kind, hub);
    const { client, shown } = await modernClient(open, { action: 'accept', content: { decision: 'once' } });
    const result = await client.callTool({ name: 'sh__run', arguments: { command: 'make' } });
    expect([result.isError, ran, added, shown.length]).toEqual([false, ['make'], [], 1]);
    expect(shown[0]).toContain('Claim: make');
  });

  it('and adds the rule of an "always"', async () => {
    const { hub, ran, added } = askingHub();
    const { open } = await serve(kind, hub);
    const { client, shown } = await modernClient(open, { action: 'accept', content: { decision: 'always' } });
    await client.callTool({ name: 'sh__run', arguments: { command: 'make' } });
    await client.callTool({ name: 'sh__run', arguments: { command: 'make' } });
    expect([ran.length, added.length, shown.length]).toEqual([2, 1, 1]);
  });

  it('and holds a tool that calls another one, which runs once', async () => {
    const ran: string[] = [];
    const input = { type: 'object' } as const;
    const hub: ToolHub = new ToolHub({
      providers: [
        new InProcessToolProvider({
          servers: [
            defineServer({
              name: 'sh',
              version: '1.0.0',
              tools: [
                defineTool({
                  name: 'outer',
                  description: 'Calls the inner tool.',
                  input,
                  execute: async (_, { nested }) => {
                    ran.push('outer');
                    return (await hub.callTool('sh.inner', {}, nested)).content;
                  },
                }),
                defineTool({ name: 'inner', description: 'Runs.', input, execute: () => void ran.push('inner') }),
              ],
            }),
          ],
        }),
      ],
      policy: { default: 'ask', rules: [{ tool: 'sh.outer', action: 'allow' }] },
    });
    const { open } = await serve(kind, hub);
    const { client, shown } = await modernClient(open, { action: 'accept', content: { decision: 'once' } });
    const result = await client.callTool({ name: 'sh__outer' });
    expect([result.isError, ran, shown.length]).toEqual([false, ['outer', 'inner'], 1]);
  });

  it('and holds a tool that calls a tool of a modern server, which runs once', async () => {
    const up = modernServer('up');
    ends.push(() => up.close());
    let runs = 0;
    const deploy = defineTool({
      name: 'deploy',
      description: 'Calls the tool of the server.',
      input: { type: 'object' },
      execute: async (_, { nested }) => {
        runs++;
        return (await hub.callTool('up.deploy', {}, nested)).content;
      },
    });
    const server = defineServer({ name: 'sh', version: '1.0.0', tools: [deploy] });
    const hub: ToolHub = new ToolHub({ providers: [up.provider, new InProcessToolProvider({ servers: [server] })] });
    const { open } = await serve(kind, hub);
    const { client, shown } = await modernClient(open, { action: 'accept', content: { yes: true } });
    const result = await client.callTool({ name: 'sh__deploy' });
    expect(textOf(result)).toEqual({ ok: { yes: true }, state: 'opaque: of the server' });
    expect([runs, up.deployed.length, shown]).toEqual([1, 1, ['Deploy?']]);
  });

  it('and denies for every other answer', async () => {
    const { hub, ran } = askingHub();
    const { open } = await serve(kind, hub);
    const { client } = await modernClient(open, { action: 'decline' });
    const result = fromWireResult(await client.callTool({ name: 'sh__run', arguments: { command: 'make' } }));
    expect([result.error?.code, ran]).toEqual(['PERMISSION_DENIED', []]);
  });

  it('and fails with APPROVAL_REQUIRED where it shows no forms', async () => {
    const { hub, ran } = askingHub();
    const { open } = await serve(kind, hub);
    const { client } = await modernClient(open, {}, {});
    const result = fromWireResult(await client.callTool({ name: 'sh__run', arguments: { command: 'make' } }));
    expect([result.error?.code, ran]).toEqual(['APPROVAL_REQUIRED', []]);
  });

  it('for a server of an earlier revision, whose call is held and runs once', async () => {
    const one = forwardedServer('one', []);
    let runs = 0;
    one.beforeAsking = async () => void runs++;
    const { open } = await serve(kind, new ToolHub({ providers: [one.provider] }));
    const { client, shown } = await modernClient(open, { action: 'accept', content: { by: 'me' } });
    const result = await client.callTool({ name: 'one__ask', arguments: QUESTION });
    expect([textOf(result), shown, runs]).toEqual([{ action: 'accept', content: { by: 'me' } }, ['hm?'], 1]);
  });

  it('for no input that the client does not support', async () => {
    const one = forwardedServer('one', []);
    const { open } = await serve(kind, new ToolHub({ providers: [one.provider] }));
    const { client } = await modernClient(open, {}, {});
    expect(textOf(await client.callTool({ name: 'one__ask', arguments: QUESTION }))).toMatchObject({ refused: -32601 });
  });

  it('for a modern server, whose state passes through unchanged', async () => {
    const up = modernServer('up');
    ends.push(() => up.close());
    const { open } = await serve(kind, new ToolHub({ providers: [up.provider] }));
    const { client, shown } = await modernClient(open, { action: 'accept', content: { yes: true } });
    const result = await client.callTool({ name: 'up__deploy' });
    expect(textOf(result)).toEqual({ ok: { yes: true }, state: 'opaque: of the server' });
    expect([shown, up.deployed.length]).toEqual([['Deploy?'], 1]);
    const { messages } = await client.getPrompt({ name: 'up__greet' });
    expect(messages[0]).toMatchObject({ content: { text: 'Hello undefined' } });
  });

  it('for an approval and then for a modern server, each once', async () => {
    const up = modernServer('up');
    ends.push(() => up.close());
    const { open } = await serve(
      kind,
      new ToolHub({ providers: [up.provider], policy: { default: 'ask', rules: [] } }),
    );
    const { client, shown } = await modernClient(open, { action: 'accept', content: { yes: true, decision: 'once' } });
    const result = await client.callTool({ name: 'up__deploy' });
    expect(textOf(result)).toMatchObject({ state: 'opaque: of the server' });
    expect([shown.length, shown[1], up.deployed.length]).toEqual([2, 'Deploy?', 1]);
  });
});

describe('createGateway() asks a client of an earlier revision', () => {
  it('by a request, for a modern server', async () => {
    const up = modernServer('up');
    ends.push(() => up.close());
    const { gateway } = await serve('stdio', new ToolHub({ providers: [up.provider] }));
    const shown: string[] = [];
    const client = await connectClient(gateway, { elicitation: {} }, (made) =>
      made.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        shown.push(params.message);
        return { action: 'accept', content: { yes: true } };
      }),
    );
    ends.push(() => client.close());
    expect(textOf(await client.callTool({ name: 'up__deploy' }))).toMatchObject({ ok: { yes: true } });
    expect([shown, up.deployed.length]).toEqual([['Deploy?'], 1]);
  });
});
