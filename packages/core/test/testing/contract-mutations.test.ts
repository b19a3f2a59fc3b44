// For each case of the contract suite a provider that is broken in just that way: the case must see it.

import {
  InProcessToolProvider,
  ToolError,
  type CallOptions,
  type JsonObject,
  type ToolProvider,
  type ToolResult,
} from '@toolwright/core';
import { contractCases, contractServer, runContractCase } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';

type Overrides = Partial<{ -readonly [Key in keyof ToolProvider]: ToolProvider[Key] }>;
type Mutation = (inner: InProcessToolProvider) => Overrides;
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- broken on purpose
type Broken = any;

/** A sound provider with some of its members replaced. */
function mutant(mutation: Mutation): ToolProvider {
  const inner = new InProcessToolProvider({ servers: [contractServer()] });
  const sound: ToolProvider = {
    name: inner.name,
    kind: inner.kind,
    servers: inner.servers,
    connect: (options) => inner.connect(options),
    listTools: (options) => inner.listTools(options),
    callTool: (name, args, options) => inner.callTool(name, args, options),
    prepareCall: (name, args, options) => inner.prepareCall(name, args, options),
    disconnect: () => inner.disconnect(),
    onToolsChanged: (listener) => inner.onToolsChanged(listener),
    health: () => inner.health(),
    [Symbol.asyncDispose]: () => inner.disconnect(),
  };
  return Object.assign(sound, mutation(inner));
}

const listing =
  (change: (tools: Broken[]) => Broken[]): Mutation =>
  (inner) => ({ listTools: async () => change(structuredClone([...(await inner.listTools())]) as Broken[]) });
const result =
  (change: (result: ToolResult, name: string, args: JsonObject | undefined) => unknown): Mutation =>
  (inner) => ({
    callTool: async (name, args, options) =>
      change(await inner.callTool(name, args, options), name, args) as ToolResult,
  });
const call =
  (
    change: (
      inner: InProcessToolProvider,
      name: string,
      args: JsonObject | undefined,
      options: CallOptions | undefined,
    ) => Promise<ToolResult>,
  ): Mutation =>
  (inner) => ({
    callTool: (name, args, options) => change(inner, name, args, options),
  });
const prepared =
  (change: (call: Broken) => unknown): Mutation =>
  (inner) => ({ prepareCall: async (name, args) => change(await inner.prepareCall(name, args)) as never });
const requiresConnect =
  (member: 'callTool' | 'listTools'): Mutation =>
  (inner) => {
    let connected = false;
    const refuse = new ToolError('NOT_CONNECTED', 'connect first');
    return {
      connect: async () => {
        await inner.connect();
        connected = true;
      },
      ...(member === 'listTools' && {
        listTools: async () => (connected ? inner.listTools() : Promise.reject(refuse)),
      }),
      ...(member === 'callTool' && {
        callTool: async (name: string, args?: JsonObject) => (connected ? inner.callTool(name, args) : failure(refuse)),
      }),
    };
  };
const swallowed = (code: string): Mutation =>
  result((given) => (given.error?.code === code ? { ...given, isError: false, error: undefined } : given));
const recoded = (from: string): Mutation =>
  result((given) => (given.error?.code === from ? { ...given, error: { ...given.error, code: 'INTERNAL' } } : given));
const withoutOptions = (...left: (keyof CallOptions)[]): Mutation =>
  call((inner, name, args, options) =>
    inner.callTool(
      name,
      args,
      Object.fromEntries(Object.entries(options ?? {}).filter(([key]) => !left.includes(key as keyof CallOptions))),
    ),
  );

function failure(error: ToolError): ToolResult {
  return {
    content: [{ type: 'text', text: error.message }],
    isError: true,
    error: error.toInfo(),
    directives: [],
    durationMs: 0,
  };
}

const twice: Mutation = call(async (inner, name, args, options) => {
  await inner.callTool(name, args, options);
  return inner.callTool(name, args, options);
});

/** Title of the case -> what breaks it. */
const MUTATIONS: Record<string, Mutation> = {
  'name and kind say what the provider is before it connects': () => ({ name: 'has a blank' }),
  'servers holds the prefix of its tools before it connects': () => ({ servers: [] }),
  'listTools() connects first when the provider is not connected': requiresConnect('listTools'),
  'listTools() lists every tool under its qualified name': listing((tools) => tools.slice(1)),
  'listTools() lists no name twice': listing((tools) => [...tools, tools[0]]),
  'listTools() lists only names under its own prefixes': listing((tools) => [
    ...tools,
    { ...tools[0], name: 'other.echo' },
  ]),
  'listTools() keeps its order': (inner) => {
    let asked = 0;
    return { listTools: async () => (asked++ % 2 === 0 ? inner.listTools() : (await inner.listTools()).toReversed()) };
  },
  'listTools() gives each tool a description': listing((tools) => tools.map((tool) => ({ ...tool, description: '' }))),
  'listTools() gives all four hints of each tool': listing((tools) =>
    tools.map((tool) => ({ ...tool, annotations: { readOnlyHint: true } })),
  ),
  "listTools() gives the author's hints": listing((tools) =>
    tools.map((tool) => ({ ...tool, annotations: { ...tool.annotations, readOnlyHint: true } })),
  ),
  'listTools() gives an input schema with an object root': listing((tools) =>
    tools.map((tool) => ({ ...tool, inputSchema: {} })),
  ),
  'listTools() gives the output schema of a tool that has one': listing((tools) =>
    tools.map(({ outputSchema: _dropped, ...tool }) => tool),
  ),
  'listTools() gives a listing that nobody can change': listing((tools) => structuredClone(tools)),
  'listTools() lists a tool that was added, after onToolsChanged() told of it': (inner) => {
    const first = inner.listTools();
    return { listTools: () => first };
  },
  'onToolsChanged() tells nothing more after its unsubscribe': (inner) => ({
    onToolsChanged: (listener) => {
      inner.onToolsChanged(listener);
      return () => undefined;
    },
  }),
  'callTool() connects first when the provider is not connected': requiresConnect('callTool'),
  'callTool() gives structured content and its text': result((given) => ({ ...given, content: [] })),
  'callTool() takes a bare name that is unique': call(async (inner, name, args) =>
    name.includes('.') ? inner.callTool(name, args) : failure(new ToolError('TOOL_NOT_FOUND', name)),
  ),
  'callTool() takes no name of another prefix for a bare one': call((inner, name, args, options) =>
    inner.callTool(name.slice(name.lastIndexOf('.') + 1), args, options),
  ),
  'callTool() carries every character of an argument': call((inner, name, args) =>
    inner.callTool(name, JSON.parse(JSON.stringify(args).replaceAll('\\u0000', '')) as JsonObject),
  ),
  'callTool() measures durationMs': result((given) => ({ ...given, durationMs: 0 })),
  'callTool() always gives an array of directives': result((given) =>
    given.isError ? { ...given, directives: undefined } : given,
  ),
  'callTool() carries a directive with its type and params': result((given) => ({ ...given, directives: [] })),
  'callTool() gives 64 KiB of text whole': result((given) => ({
    ...given,
    content: given.content.map((block) => ('text' in block ? { ...block, text: block.text.slice(0, 65_000) } : block)),
  })),
  'callTool() gives 1 MiB of text whole, or cut and marked as cut': result((given) => ({
    ...given,
    content: given.content.map((block) => ('text' in block ? { ...block, text: block.text.slice(0, 999_999) } : block)),
  })),
  'callTool() answers TOOL_NOT_FOUND when the tool is unknown': recoded('TOOL_NOT_FOUND'),
  'callTool() answers TOOL_NOT_FOUND when the server is unknown': call((inner, name, args) =>
    inner.callTool(name.replace('nowhere', 'contract'), args),
  ),
  'callTool() answers TOOL_NOT_FOUND when the name is not a text': call((inner, name, args) =>
    inner.callTool(name.trim(), args),
  ),
  'callTool() names the nearest tools when the name is unknown': result((given) =>
    given.error ? { ...given, error: { ...given.error, message: 'no' } } : given,
  ),
  'callTool() answers INVALID_ARGUMENT when an argument is missing': swallowed('INVALID_ARGUMENT'),
  'callTool() answers INVALID_ARGUMENT when an argument has another type': recoded('INVALID_ARGUMENT'),
  'callTool() answers INVALID_ARGUMENT when an argument is unknown': call((inner, name, args) =>
    inner.callTool(name, { text: args?.text }),
  ),
  'callTool() answers INVALID_ARGUMENT when the arguments are null': call((inner, name, args) =>
    inner.callTool(name, args ?? { text: '' }),
  ),
  'callTool() mends a number that was sent as a string': call(async (inner, name, args) =>
    Object.values(args ?? {}).some((value) => typeof value === 'string')
      ? failure(new ToolError('INVALID_ARGUMENT', 'a string'))
      : inner.callTool(name, args),
  ),
  'callTool() answers EXECUTION_FAILED when the tool throws an Error': recoded('EXECUTION_FAILED'),
  'callTool() answers EXECUTION_FAILED when the tool throws a string': swallowed('EXECUTION_FAILED'),
  'callTool() answers EXECUTION_FAILED when the tool throws undefined': call(async (inner, name, args) => {
    const given = await inner.callTool(name, args);
    if (given.isError) throw new Error('it rejects');
    return given;
  }),
  'callTool() gives the message of a failure to the model and to the program': result((given) => ({
    ...given,
    content: [],
  })),
  'callTool() goes on after a failure': (inner) => {
    let broken = false;
    return {
      callTool: async (name, args) => {
        const given = broken ? failure(new ToolError('UNAVAILABLE', 'broken')) : await inner.callTool(name, args);
        broken ||= given.isError;
        return given;
      },
    };
  },
  'callTool() answers OUTPUT_INVALID when the tool breaks its output schema': swallowed('OUTPUT_INVALID'),
  'callTool() sends the arguments as they were when it was called': call(async (inner, name, args) => {
    await Promise.resolve();
    return inner.callTool(name, args);
  }),
  'callTool() gives structured content that no other result shares': (inner) => {
    const known = new Map<unknown, Promise<ToolResult>>();
    return {
      callTool: (name, args, options) => {
        const key = JSON.stringify([name, args]);
        const answer = known.get(key) ?? inner.callTool(name, args, options);
        known.set(key, answer);
        return answer;
      },
    };
  },
  'callTool() runs the tool once a call': twice,
  'prepareCall() names the tool that it was asked for': (inner) => ({
    prepareCall: (_name, args) => inner.prepareCall('contract.fail', args),
  }),
  'prepareCall() gives the arguments as mended': prepared((given) => ({ ...given, args: { a: '1', b: 2 } })),
  'prepareCall() claims something': prepared((given) => ({ ...given, claims: [] })),
  'prepareCall() runs nothing before execute()': (inner) => ({
    prepareCall: async (name, args) => {
      await inner.callTool(name, args);
      return inner.prepareCall(name, args);
    },
  }),
  'prepareCall() gives a call that execute() runs': prepared((given) => ({
    ...given,
    execute: async () => failure(new ToolError('INTERNAL', 'no')),
  })),
  'prepareCall() gives a call that its arguments no longer change': (inner) => ({
    prepareCall: async (name, args) => {
      const given = await inner.prepareCall(name, args);
      return { ...given, execute: (options) => inner.callTool(name, given.args, options) };
    },
  }),
  'prepareCall() gives a call that is NOT_CONNECTED after disconnect()': (inner) => ({
    prepareCall: async (name, args) => {
      const given = await inner.prepareCall(name, args);
      const execute: typeof given.execute = async (options) => {
        await inner.connect();
        return inner.callTool(name, args, options);
      };
      return { ...given, execute };
    },
  }),
  'prepareCall() gives a call that no later connection runs': (inner) => ({
    prepareCall: async (name, args) => {
      const given = await inner.prepareCall(name, args);
      return { ...given, execute: (options) => inner.callTool(name, args, options) };
    },
  }),
  'prepareCall() refuses an unknown tool': prepared((given) => ({ ...given, refused: undefined })),
  'prepareCall() refuses wrong arguments': prepared((given) => ({ ...given, refused: undefined })),
  'callTool() answers TIMED_OUT when the deadline passes': recoded('TIMED_OUT'),
  'callTool() says that the outcome of a started call is unknown when it ends early': result((given) =>
    given.error ? { ...given, error: { ...given.error, details: {} } } : given,
  ),
  'callTool() takes timeoutMs as a bound that progress does not renew': call((inner, name, args, options) =>
    inner.callTool(name, args, { ...options, timeoutMs: undefined, idleTimeoutMs: options?.timeoutMs }),
  ),
  'callTool() renews idleTimeoutMs with growing progress': call((inner, name, args, options) =>
    inner.callTool(name, args, { ...options, timeoutMs: options?.idleTimeoutMs }),
  ),
  'callTool() answers TIMED_OUT when no progress comes for idleTimeoutMs': withoutOptions('idleTimeoutMs'),
  'callTool() answers INVALID_ARGUMENT when timeoutMs or idleTimeoutMs is not a time': withoutOptions('idleTimeoutMs'),
  'callTool() answers CANCELLED when its signal is aborted before the call': withoutOptions('signal'),
  'callTool() runs nothing when its signal is aborted before the call': withoutOptions('signal'),
  'callTool() answers CANCELLED when its signal is aborted during the call': recoded('CANCELLED'),
  "callTool() aborts the tool's own signal when the call is cancelled": call(async (inner, name, args, options) => {
    if (!options?.signal) return inner.callTool(name, args, options);
    void inner.callTool(name, args);
    return failure(new ToolError('CANCELLED', 'the tool runs on'));
  }),
  "callTool() aborts the tool's own signal when the deadline passes": call(async (inner, name, args, options) => {
    if (options?.timeoutMs === undefined) return inner.callTool(name, args, options);
    void inner.callTool(name, args);
    return failure(new ToolError('TIMED_OUT', 'the tool runs on'));
  }),
  'callTool() is not touched by an abort after it has settled': call(async (inner, name, args, options) => {
    const given = await inner.callTool(name, args, options);
    options?.signal?.addEventListener('abort', () => (given.isError = true));
    return given;
  }),
  'callTool() passes progress, growing up to its total': withoutOptions('onProgress'),
  'callTool() passes no progress after it has settled': call(async (inner, name, args, options) => {
    if (!options?.signal) return inner.callTool(name, args, options);
    const { onProgress, signal: _ignored, ...rest } = options;
    void inner.callTool(name, args, { ...rest, onProgress });
    return failure(new ToolError('CANCELLED', 'the progress goes on'));
  }),
  'callTool() is not broken by an onProgress that throws': call(async (inner, name, args, options) => {
    options?.onProgress?.({ progress: 1 });
    return inner.callTool(name, args, options);
  }),
  'callTool() gives each of 200 concurrent calls its own answer': (inner) => {
    let last: JsonObject | undefined;
    return {
      callTool: async (name, args, options) => {
        last = args;
        await Promise.resolve();
        return inner.callTool(name, last, options);
      },
    };
  },
  'callTool() runs each of 50 concurrent calls once': twice,
  'callTool() lets a fast call pass a slow one': (inner) => {
    let queue: Promise<unknown> = Promise.resolve();
    return {
      callTool: (name, args, options) => {
        const next = queue.then(() => inner.callTool(name, args, options));
        queue = next;
        return next;
      },
    };
  },
  'callTool() settles each of 1,000 mixed calls once': result((given) =>
    given.error?.code === 'CANCELLED' ? { ...given, error: undefined } : given,
  ),
  'connect() does nothing the second time': (inner) => ({
    connect: async () => {
      await inner.disconnect();
      await inner.connect();
    },
  }),
  'connect() shares one attempt among concurrent calls': () => {
    // Each attempt opens a connection of its own, and calls take them in turn.
    const connections: InProcessToolProvider[] = [];
    let calls = 0;
    return {
      connect: async () => {
        const connection = new InProcessToolProvider({ servers: [contractServer()] });
        await connection.connect();
        connections.push(connection);
      },
      callTool: (name, args) => connections[calls++ % connections.length]!.callTool(name, args),
    };
  },
  'connect() rejects with CANCELLED when its signal is aborted before': (inner) => ({ connect: () => inner.connect() }),
  'connect() succeeds after an attempt that failed, and so do a call and a listing': (inner) => {
    let attempt: Promise<void> | undefined;
    const connect = (options?: { signal?: AbortSignal }): Promise<void> => (attempt ??= inner.connect(options));
    return {
      connect,
      callTool: async (name, args, options) => {
        const refusal = await connect().then(() => undefined, ToolError.from);
        return refusal ? failure(refusal) : inner.callTool(name, args, options);
      },
    };
  },
  'disconnect() resolves when the provider was never connected': (inner) => {
    let connected = false;
    return {
      connect: async () => {
        await inner.connect();
        connected = true;
      },
      disconnect: async () => (connected ? inner.disconnect() : Promise.reject(new Error('never connected'))),
    };
  },
  'disconnect() resolves when it is called twice, at once and again': (inner) => {
    let ended = false;
    return {
      disconnect: async () => {
        if (ended) throw new Error('ended already');
        ended = true;
        await inner.disconnect();
      },
    };
  },
  'callTool() answers NOT_CONNECTED after disconnect()': call(async (inner, name, args) => {
    await inner.connect();
    return inner.callTool(name, args);
  }),
  'listTools() rejects with NOT_CONNECTED after disconnect(); a hub lists nothing': (inner) => ({
    listTools: async () => {
      await inner.connect();
      return inner.listTools();
    },
  }),
  'connect() opens the provider again after disconnect()': (inner) => {
    let attempts = 0;
    return { connect: async () => (attempts++ === 0 ? inner.connect() : undefined) };
  },
  'disconnect() settles every call in flight first, as CONNECTION_CLOSED': (inner) => ({
    disconnect: async () => void inner.disconnect().catch(() => undefined),
    callTool: async (name, args, options) => {
      const given = await inner.callTool(name, args, options);
      await new Promise((resolve) => setTimeout(resolve, 50));
      return given;
    },
  }),
  '[Symbol.asyncDispose]() disconnects': () => ({ [Symbol.asyncDispose]: async () => undefined }),
  'health() counts calls and failures, where the provider has it': (inner) => ({
    health: () => ({ ...inner.health(), totalFailures: 0 }),
  }),
};

describe('toolProviderContract()', () => {
  it('has at least 40 cases', () => expect(contractCases.length).toBeGreaterThanOrEqual(40));

  it('has one mutation for each case', () => {
    expect(Object.keys(MUTATIONS).toSorted()).toEqual(contractCases.map(({ title }) => title).toSorted());
  });

  for (const contractCase of contractCases) {
    it(`fails when this is broken: ${contractCase.title}`, async () => {
      const mutation = MUTATIONS[contractCase.title];
      if (!mutation) throw new Error('no mutation');
      const broken = mutant(mutation);
      await expect(runContractCase(contractCase, () => ({ provider: broken, dispose() {} }))).rejects.toThrow();
    });
  }

  it('passes with the same wrapper when nothing is broken', async () => {
    for (const contractCase of contractCases) {
      if (!/renews|mixed/.test(contractCase.title))
        await runContractCase(contractCase, () => ({ provider: mutant(() => ({})), dispose() {} }));
    }
  });
});
