import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolHub,
  type ApprovalRequest,
  type ToolDefinition,
  type ToolProvider,
} from '@toolwright/core';
import { describe, expect, it } from 'vitest';

interface State {
  number: number;
  isStopped: boolean;
}

/** A Standard Schema that says when it has answered. */
function slowSchema(until: Promise<unknown>) {
  const jsonSchema = () => ({ type: 'object', properties: {} });
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: async (value: unknown) => {
        await until;
        return { value: value as Record<string, never> };
      },
      jsonSchema: { input: jsonSchema, output: jsonSchema },
    },
  } as const;
}

/** Counts its connections in its state, and the runs of `s.run` with the state that each had. */
function counting(until?: Promise<unknown>) {
  const runs: State[] = [];
  let connections = 0;
  const provider = new InProcessToolProvider({
    name: 'p',
    servers: [
      defineServer<State>({
        name: 's',
        version: '1',
        start: () => ({ number: ++connections, isStopped: false }),
        stop: (state) => void (state.isStopped = true),
        tools: [
          defineTool({
            name: 'run',
            description: 'Runs.',
            ...(until && { input: slowSchema(until) as never }),
            execute: (_args, { state }: { state: State }) => {
              runs.push({ ...state });
              return `ran on ${state.number}`;
            },
          }),
        ],
      }),
    ],
  });
  return { provider, runs };
}

function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

describe('prepareCall() with an asynchronous schema', () => {
  for (const isHub of [false, true]) {
    const where = isHub ? 'through a hub' : 'in process';
    it(`counts towards the deadline ${where}`, async () => {
      const { opened, open } = gate();
      const { provider, runs } = counting(opened);
      await using callee = isHub ? new ToolHub({ providers: [provider] }) : provider;
      await callee.connect();
      expect((await callee.callTool('s.run', {}, { timeoutMs: 50 })).error?.code).toBe('TIMED_OUT');
      open();
      await new Promise(setImmediate);
      expect(runs).toEqual([]);
    });

    it(`ends with a disconnect ${where}, and runs nothing on stopped servers`, async () => {
      const { opened, open } = gate();
      const { provider, runs } = counting(opened);
      await using callee = isHub ? new ToolHub({ providers: [provider] }) : provider;
      await callee.connect();
      const calling = callee.callTool('s.run');
      const preparing = callee.prepareCall('s.run', {});
      await new Promise(setImmediate);
      await callee.disconnect();
      expect((await calling).error?.code).toBe('CONNECTION_CLOSED');
      expect((await preparing).refused?.error?.code).toBe('CONNECTION_CLOSED');
      open();
      await new Promise(setImmediate);
      expect(runs).toEqual([]);
    });
  }

  it("counts towards the tool's deadline", async () => {
    const schema = slowSchema(new Promise(() => undefined));
    const tool = defineTool({
      name: 'run',
      description: 'Runs.',
      input: schema as never,
      timeoutMs: 50,
      execute: () => 'ran',
    });
    await using provider = new InProcessToolProvider({
      servers: [defineServer({ name: 's', version: '1', tools: [tool] })],
    });
    await provider.connect();
    expect((await provider.callTool('s.run')).error?.code).toBe('TIMED_OUT');
  });
});

describe('PreparedCall', () => {
  for (const isHub of [false, true]) {
    it(`is valid only for the connection that prepared it ${isHub ? 'through a hub' : 'in process'}`, async () => {
      const { provider, runs } = counting();
      await using callee = isHub ? new ToolHub({ providers: [provider] }) : provider;
      const prepared = await callee.prepareCall('s.run', {});
      await callee.disconnect();
      expect((await prepared.execute()).error?.code).toBe('NOT_CONNECTED');
      await callee.connect();
      expect((await prepared.execute()).error).toMatchObject({
        code: 'NOT_CONNECTED',
        message: expect.stringContaining('prepare it again') as string,
      });
      expect(runs).toEqual([]);
      expect((await (await callee.prepareCall('s.run', {})).execute()).isError).toBe(false);
    });
  }

  it('is prepared again by the hub when the provider reconnected while its approval was pending', async () => {
    const { provider, runs } = counting();
    let questions = 0;
    await using hub = new ToolHub({
      providers: [provider],
      policy: {
        default: 'ask',
        rules: [],
        approve: async () => {
          questions++;
          await provider.disconnect();
          await provider.connect();
          return { decision: 'once' };
        },
      },
      middleware: [async (_call, next) => next()],
    });
    expect(await hub.callTool('s.run')).toMatchObject({ isError: false });
    expect(runs).toEqual([{ number: 2, isStopped: false }]);
    expect(questions).toBe(1);
  });

  it('is evaluated again when its claims differ on the new connection', async () => {
    let connections = 0;
    const provider = new InProcessToolProvider({
      servers: [
        defineServer<{ root: string }>({
          name: 's',
          version: '1',
          start: () => ({ root: `root-${++connections}` }),
          tools: [
            defineTool({
              name: 'run',
              description: 'Runs.',
              permission: (_args, { state }: { state: { root: string } }) => [
                { pattern: state.root, match: 'glob', understood: true },
              ],
              execute: (_args, { state }: { state: { root: string } }) => state.root,
            }),
          ],
        }),
      ],
    });
    const asked: string[] = [];
    const approve = async ({ claims }: ApprovalRequest) => {
      asked.push(...claims.map(({ pattern }) => pattern));
      if (asked.length > 1) return { decision: 'deny' as const };
      await provider.disconnect();
      await provider.connect();
      return { decision: 'once' as const };
    };
    await using hub = new ToolHub({ providers: [provider], policy: { default: 'ask', rules: [], approve } });
    expect((await hub.callTool('s.run')).error?.code).toBe('PERMISSION_DENIED');
    expect(asked).toEqual(['root-1', 'root-2']);
  });

  it('is evaluated again, for a foreign tool, when its name is listed for a different tool meanwhile', async () => {
    let description = 'Reads.';
    let tellChanged = (): void => undefined;
    let calls = 0;
    const provider: ToolProvider = {
      name: 'f',
      kind: 'mcp',
      servers: ['f'],
      connect: async () => undefined,
      listTools: async (): Promise<ToolDefinition[]> => [
        {
          name: 'f.run',
          description,
          inputSchema: { type: 'object' },
          annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: true },
        },
      ],
      callTool: async () => ({ content: [], isError: false, directives: [], durationMs: ++calls }),
      disconnect: async () => undefined,
      onToolsChanged: (listener) => {
        tellChanged = listener;
        return () => undefined;
      },
      [Symbol.asyncDispose]: async () => undefined,
    };
    let questions = 0;
    await using hub: ToolHub = new ToolHub({
      providers: [provider],
      policy: {
        default: 'ask',
        rules: [],
        approve: async () => {
          if (++questions > 1) return { decision: 'deny' };
          description = 'Deletes.';
          const told = new Promise<void>((resolve) => hub.onToolsChanged(resolve));
          tellChanged();
          await told;
          return { decision: 'once' };
        },
      },
    });
    await hub.connect();
    expect((await hub.callTool('f.run')).error?.code).toBe('PERMISSION_DENIED');
    expect([questions, calls]).toEqual([2, 0]);
  });
});
