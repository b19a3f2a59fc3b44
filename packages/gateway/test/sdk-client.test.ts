// The SDK's own client is served: names, pages, errors, progress, logs, cancellation, list changes, approvals.

import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ResultSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolHub,
  type Policy,
  type ToolDefinition,
  type ToolProvider,
} from '@toolwright/core';
import { fromWireResult } from '@toolwright/core/mcp';
import { contractServer, expectNoLeaks } from '@toolwright/core/testing';
import { createGateway, type GatewayOptions } from '@toolwright/gateway';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { bundleFixture } from '../../core/test/mcp/bundle.js';
import { echoTools } from './fixtures/echo-tools.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Connect = (client: Client) => Promise<void>;

/** A hub behind a gateway, at which clients arrive over streams or HTTP. */
async function serve(
  transport: 'stdio' | 'http',
  options: GatewayOptions & { policy?: Policy; onAborted?: () => void } = {},
): Promise<{ connect: Connect; hub: ToolHub }> {
  const { policy, onAborted, ...rest } = options;
  const tools = new InProcessToolProvider({ servers: [contractServer(), echoTools(onAborted)] });
  const hub = new ToolHub({ providers: [tools], ...(policy && { policy }) });
  const gateway = createGateway(hub, rest);
  ends.push(
    () => hub.disconnect(),
    () => gateway.close(),
  );
  const http = transport === 'http' ? await gateway.serveHttp() : undefined;
  return {
    hub,
    connect: async (client) => {
      ends.push(() => client.close());
      if (http) {
        const headers = { authorization: `Bearer ${http.token}` };
        return client.connect(new StreamableHTTPClientTransport(new URL(http.url), { requestInit: { headers } }));
      }
      const [stdin, stdout] = [new PassThrough(), new PassThrough()];
      await gateway.serveStdio({ stdin, stdout });
      await client.connect(new StdioServerTransport(stdout, stdin)); // the same bytes, from the other side
    },
  };
}

const newClient = (capabilities: object = {}): Client => new Client({ name: 'peer', version: '1' }, { capabilities });

describe.each(['stdio', 'http'] as const)("createGateway() serves the SDK's client over %s", (transport) => {
  it('with sorted aliases, in pages, and with unchanged schemas', async () => {
    const { connect, hub } = await serve(transport, { limits: { pageSize: 4 } });
    const client = newClient();
    await connect(client);
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.listTools(cursor === undefined ? {} : { cursor });
      expect(page.tools.length).toBeLessThanOrEqual(4);
      names.push(...page.tools.map(({ name }) => name));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    const tools = await hub.listTools();
    expect(names).toEqual(tools.map(({ name }) => name.replace('.', '__')).sort());
    const { tools: first } = await client.listTools();
    for (const { name, inputSchema } of first) {
      expect(inputSchema).toEqual(tools.find((tool) => tool.name.replace('.', '__') === name)!.inputSchema);
    }
    await expect(client.listTools({ cursor: 'mine' })).rejects.toMatchObject({ code: -32602 });
  });

  it('with -32602 for an unknown tool, and a result for every other failure', async () => {
    const { connect } = await serve(transport);
    const client = newClient();
    await connect(client);
    await expect(client.callTool({ name: 'contract__nothing' })).rejects.toMatchObject({ code: -32602 });
    await expect(client.callTool({ name: 'contract.echo' })).rejects.toMatchObject({ code: -32602 });
    const refused = fromWireResult(await client.callTool({ name: 'contract__echo', arguments: {} }));
    expect([refused.isError, refused.error?.code]).toEqual([true, 'INVALID_ARGUMENT']);
    const directive = fromWireResult(await client.callTool({ name: 'contract__directive' }));
    expect(directive.directives.length).toBeGreaterThan(0);
    await expect(client.request({ method: 'no/such' }, {} as never)).rejects.toMatchObject({ code: -32601 });
    expect(await client.ping()).toEqual({});
  });

  it('with an error when the answer is not serializable as JSON', async () => {
    const { connect } = await serve(transport);
    const client = newClient();
    await connect(client);
    await expect(client.callTool({ name: 'echo__unsayable' })).rejects.toMatchObject({ code: -32603 });
  });

  it("with progress, and with log messages from the client's log level up", async () => {
    const { connect } = await serve(transport);
    const [client, other] = [newClient(), newClient()];
    await connect(client);
    await connect(other);
    const said: unknown[] = [];
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void said.push(params));
    other.setNotificationHandler(LoggingMessageNotificationSchema, () => void said.push('another client hears it'));
    const seen: number[] = [];
    await client.callTool({ name: 'contract__wait', arguments: { ms: 50 } }, undefined, {
      onprogress: ({ progress }) => void seen.push(progress),
    });
    expect(seen.length).toBeGreaterThan(1);
    await client.callTool({ name: 'echo__log' });
    const logger = 'echo__log';
    const lines = [
      { level: 'debug', logger, data: { message: 'fine', n: 1 } },
      { level: 'info', logger, data: 'info' },
      { level: 'warning', logger, data: 'warned' },
      { level: 'error', logger, data: { message: 'failed', why: 'x' } },
    ];
    expect(said).toEqual(lines);
    await client.setLoggingLevel('warning');
    await client.callTool({ name: 'echo__log' });
    expect(said).toEqual([...lines, ...lines.slice(2)]);
    await expect(client.setLoggingLevel('loud' as never)).rejects.toMatchObject({ code: -32602 });
  });

  it('with cancellation, which reaches the tool, as does a disconnect', async () => {
    let count = 0;
    let onAbort: () => void = () => undefined;
    const { connect } = await serve(transport, { onAborted: () => (count++, onAbort()) });
    const aborted = (): Promise<void> => new Promise((resolve) => (onAbort = resolve));
    const client = newClient();
    await connect(client);
    const controller = new AbortController();
    const first = aborted();
    const started = { onprogress: () => controller.abort() };
    await expect(
      client.callTool({ name: 'echo__until_aborted' }, undefined, { signal: controller.signal, ...started }),
    ).rejects.toThrow();
    await first;
    expect(count).toBe(1);
    if (transport === 'http') return; // a client that goes may come back: only DELETE ends its calls
    const second = aborted();
    const left = client.callTool({ name: 'echo__until_aborted' }, undefined, { onprogress: () => void client.close() });
    await expect(left).rejects.toThrow();
    await ends.splice(-2, 1)[0]!(); // the gateway: nothing of the call stays
    await second;
  });

  it('with list_changed, after which a new tool is listed and called', async () => {
    const { connect, hub } = await serve(transport);
    const client = newClient();
    await connect(client);
    const changed = new Promise<void>((resolve) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
    );
    await client.listTools();
    const hello = defineTool({ name: 'hello', description: 'H.', input: { type: 'object' }, execute: () => 'hello' });
    const added = defineServer({ name: 'added', version: '1.0.0', tools: [hello] });
    await hub.add(new InProcessToolProvider({ servers: [added] }));
    await changed;
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('added__hello');
    expect((await client.callTool({ name: 'added__hello' })).content).toEqual([{ type: 'text', text: 'hello' }]);
  });

  it('with a different id for each session', async () => {
    const { connect } = await serve(transport);
    const ids = new Set<string>();
    for (let index = 0; index < 2; index++) {
      const client = newClient();
      await connect(client);
      const call = async (): Promise<string> =>
        ((await client.callTool({ name: 'echo__session' })).content as never)[0]['text'];
      const id = await call();
      expect(await call()).toBe(id);
      expect(id.length).toBeGreaterThan(20);
      ids.add(id);
    }
    expect(ids.size).toBe(2);
  });
});

describe.each(['stdio', 'http'] as const)('requestApproval() over %s', (transport) => {
  const policy: Policy = { default: 'ask', rules: [] };
  const echo = { name: 'contract__echo', arguments: { text: 'hi' } };

  it('asks the calling client, which allows once, always, or denies', async () => {
    const { connect } = await serve(transport, { policy });
    const client = newClient({ elicitation: {} });
    const messages: string[] = [];
    let answer: object = { action: 'accept', content: { decision: 'once' } };
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      messages.push(params.message);
      return answer;
    });
    await connect(client);
    expect((await client.callTool(echo)).isError).toBe(false);
    expect(messages[0]).toContain('contract.echo');
    expect(messages[0]).toContain('{"text":"hi"}');
    for (const no of [
      { action: 'decline' },
      { action: 'cancel' },
      { action: 'accept', content: { decision: 'deny' } },
    ]) {
      answer = no;
      expect(fromWireResult((await client.callTool(echo)) as never).error?.code).toBe('PERMISSION_DENIED');
    }
    answer = { action: 'accept', content: { decision: 'always' } };
    expect((await client.callTool(echo)).isError).toBe(false);
    expect(messages.length).toBe(5);
    expect((await client.callTool(echo)).isError).toBe(false);
    expect(messages.length).toBe(5);
  });

  it('fails with APPROVAL_REQUIRED and the rule to add when the client does not show forms', async () => {
    const { connect } = await serve(transport, { policy });
    const client = newClient();
    await connect(client);
    const { error } = fromWireResult(await client.callTool(echo));
    expect(error?.code).toBe('APPROVAL_REQUIRED');
    expect(error?.message).toContain('{"tool":"contract.echo"');
    expect(error?.message).toMatch(/^contract__echo needs an approval/);
  });

  it('is not used when the policy has `approve`, which is asked instead', async () => {
    const { connect } = await serve(transport, { policy: { ...policy, approve: () => ({ decision: 'deny' }) } });
    const client = newClient({ elicitation: {} });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { decision: 'always' } }));
    await connect(client);
    expect(fromWireResult((await client.callTool(echo)) as never).error?.code).toBe('PERMISSION_DENIED');
  });
});

describe('createGateway() with a provider implemented elsewhere', () => {
  const definition = (name: string, schemas: object): ToolDefinition =>
    ({ name, description: 'D.', annotations: {}, ...schemas }) as unknown as ToolDefinition;

  /** Lists these tools and answers each call with what it was called by. */
  function foreign(tools: ToolDefinition[]): ToolProvider {
    return {
      name: 'foreign',
      kind: 'other',
      servers: ['foreign'],
      connect: () => Promise.resolve(),
      listTools: () => Promise.resolve(tools),
      callTool: (name) =>
        Promise.resolve({
          content: [{ type: 'text', text: name }, { type: 'of_tomorrow', x: 1 } as never],
          isError: false,
          directives: [],
          durationMs: 0,
        }),
      disconnect: () => Promise.resolve(),
      onToolsChanged: () => () => undefined,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }

  async function connected(tools: ToolDefinition[], options: GatewayOptions): Promise<Client> {
    const gateway = createGateway(foreign(tools), options);
    const client = newClient();
    ends.push(
      () => gateway.close(),
      () => client.close(),
    );
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    await gateway.serveStdio({ stdin, stdout });
    await client.connect(new StdioServerTransport(stdout, stdin));
    return client;
  }

  it('lists valid tools when others are invalid', async () => {
    const oneOf = [{ required: ['a'] }, { required: ['b'] }];
    const client = await connected(
      [
        definition('foreign.union', { inputSchema: { oneOf } }),
        definition('foreign.list', { inputSchema: { type: 'array' } }),
        definition('foreign.out', { inputSchema: { type: 'object' }, outputSchema: { type: 'array' } }),
        definition('foreign.same name', { inputSchema: { type: 'object' } }),
        definition('foreign.same name', { inputSchema: { type: 'object', title: 'the second' } }),
      ],
      { naming: 'qualified' },
    );
    const { tools } = await client.listTools();
    expect(tools.map(({ name, inputSchema, outputSchema }) => [name, inputSchema, outputSchema])).toEqual([
      ['foreign.out', { type: 'object' }, undefined],
      ['foreign.same name', { type: 'object' }, undefined],
      ['foreign.union', { type: 'object', oneOf }, undefined],
    ]);
  });

  it('returns content of unknown types, and omits tools that the naming function cannot name', async () => {
    const tools = ['one', 'two'].map((name) => definition(`foreign.${name}`, { inputSchema: { type: 'object' } }));
    const naming = (name: string): string => {
      if (name === 'foreign.two') throw new Error('no name');
      return 'first';
    };
    const client = await connected(tools, { naming });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['first']);
    const result = await client.request({ method: 'tools/call', params: { name: 'first' } }, ResultSchema);
    expect(result.content).toEqual([
      { type: 'text', text: 'foreign.one' },
      { type: 'of_tomorrow', x: 1 },
    ]);
  });
});

describe('serveStdio() in a program', () => {
  it('writes only the protocol to stdout, answers all requests, and ends cleanly when stdin ends', async () => {
    await using program = await bundleFixture('gateway-stdio', fileURLToPath(new URL('./fixtures', import.meta.url)));
    await using _ = expectNoLeaks({ graceMs: 6_000 }); // the SDK's client leaves timers of two seconds, twice
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [program.file, 'loud'],
      stderr: 'pipe',
    });
    let stderr = '';
    transport.stderr!.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const client = newClient();
    const faults: unknown[] = [];
    await client.connect(transport);
    client.onerror = (error) => void faults.push(error);
    expect((await client.callTool({ name: 'print' })).content).toEqual([{ type: 'text', text: 'printed' }]);
    const ended = new Promise((resolve) => transport.stderr!.once('end', resolve));
    await client.close();
    await ended;
    expect(stderr).toBe('not the protocol\nnor this\nended cleanly\n');
    expect(faults).toEqual([]);
  });

  it('rejects lines that are not messages, and continues', async () => {
    const gateway = createGateway(new InProcessToolProvider({ servers: [echoTools()] }));
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    const { closed } = await gateway.serveStdio({ stdin, stdout });
    const deep = `${'['.repeat(500)}${']'.repeat(500)}`;
    for (const line of [
      '{',
      '[]',
      '{"id":1,"method":"x"}',
      `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo__back","arguments":{"text":${deep}}}}`,
    ])
      stdin.write(`${line}\n`);
    stdin.end(
      '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo__back","arguments":{"text":"t"}}}\n',
    );
    await closed;
    const answers = String(stdout.read())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(
      answers
        .filter(({ method }) => !method)
        .map(({ id, error, result }) => [id, error?.code ?? result.content[0].text]),
    ).toEqual(
      expect.arrayContaining([
        [null, -32700],
        [null, -32600],
        [1, -32600],
        [2, -32600],
        [3, 't'],
      ]),
    );
    await gateway.close();
  });
});
