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
  'name and kind are valid before the provider connects': () => ({ name: 'has a blank' }),
  'servers contains the prefix of the tools before the provider connects': () => ({ servers: [] }),
  'listTools() connects first when the provider is not connected': requiresConnect('listTools'),
  'listTools() lists every tool under its qualified name': listing((tools) => tools.slice(1)),
  'listTools() lists no name twice': listing((tools) => [...tools, tools[0]]),
  'listTools() lists only names under its own prefixes': listing((tools) => [
    ...tools,
    { ...tools[0], name: 'other.echo' },
  ]),
  'listTools() lists in the same order each time': (inner) => {
    let asked = 0;
    return { listTools: async () => (asked++ % 2 === 0 ? inner.listTools() : (await inner.listTools()).toReversed()) };
  },
  'listTools() lists a description of each tool': listing((tools) =>
    tools.map((tool) => ({ ...tool, description: '' })),
  ),
  'listTools() lists all four hints of each tool': listing((tools) =>
    tools.map((tool) => ({ ...tool, annotations: { readOnlyHint: true } })),
  ),
  "listTools() lists the author's hints": listing((tools) =>
    tools.map((tool) => ({ ...tool, annotations: { ...tool.annotations, readOnlyHint: true } })),
  ),
  'listTools() lists an input schema with an object root': listing((tools) =>
    tools.map((tool) => ({ ...tool, inputSchema: {} })),
  ),
  'listTools() lists the output schema of a tool that has one': listing((tools) =>
    tools.map(({ outputSchema: _dropped, ...tool }) => tool),
  ),
  'listTools() returns a listing that cannot be changed': listing((tools) => structuredClone(tools)),
  'listTools() lists an added tool after onToolsChanged() has reported it': (inner) => {
    const first = inner.listTools();
    return { listTools: () => first };
  },
  'onToolsChanged() calls no listener that has unsubscribed': (inner) => ({
    onToolsChanged: (listener) => {
      inner.onToolsChanged(listener);
      return () => undefined;
    },
  }),
  'callTool() connects first when the provider is not connected': requiresConnect('callTool'),
  'callTool() returns structured content and its text': result((given) => ({ ...given, content: [] })),
  'callTool() accepts a bare name that is unique': call(async (inner, name, args) =>
    name.includes('.') ? inner.callTool(name, args) : failure(new ToolError('TOOL_NOT_FOUND', name)),
  ),
  'callTool() does not accept a bare name behind a foreign prefix': call((inner, name, args, options) =>
    inner.callTool(name.slice(name.lastIndexOf('.') + 1), args, options),
  ),
  'callTool() passes every character of an argument unchanged': call((inner, name, args) =>
    inner.callTool(name, JSON.parse(JSON.stringify(args).replaceAll('\\u0000', '')) as JsonObject),
  ),
  'callTool() measures durationMs': result((given) => ({ ...given, durationMs: 0 })),
  'callTool() always returns an array of directives': result((given) =>
    given.isError ? { ...given, directives: undefined } : given,
  ),
  'callTool() returns a directive with its type and params': result((given) => ({ ...given, directives: [] })),
  'callTool() returns 64 KiB of text completely': result((given) => ({
    ...given,
    content: given.content.map((block) => ('text' in block ? { ...block, text: block.text.slice(0, 65_000) } : block)),
  })),
  'callTool() returns 1 MiB of text completely, or truncated and marked so': result((given) => ({
    ...given,
    content: given.content.map((block) => ('text' in block ? { ...block, text: block.text.slice(0, 999_999) } : block)),
  })),
  'callTool() fails with TOOL_NOT_FOUND when the tool is unknown': recoded('TOOL_NOT_FOUND'),
  'callTool() fails with TOOL_NOT_FOUND when the server is unknown': call((inner, name, args) =>
    inner.callTool(name.replace('nowhere', 'contract'), args),
  ),
  'callTool() fails with TOOL_NOT_FOUND when the name is not a string': call((inner, name, args) =>
    inner.callTool(name.trim(), args),
  ),
  'callTool() suggests similar names when the tool is unknown': result((given) =>
    given.error ? { ...given, error: { ...given.error, message: 'no' } } : given,
  ),
  'callTool() fails with INVALID_ARGUMENT when an argument is missing': swallowed('INVALID_ARGUMENT'),
  'callTool() fails with INVALID_ARGUMENT when an argument has another type': recoded('INVALID_ARGUMENT'),
  'callTool() fails with INVALID_ARGUMENT when an argument is unknown': call((inner, name, args) =>
    inner.callTool(name, { text: args?.text }),
  ),
  'callTool() fails with INVALID_ARGUMENT when the arguments are null': call((inner, name, args) =>
    inner.callTool(name, args ?? { text: '' }),
  ),
  'callTool() coerces a number that was sent as a string': call(async (inner, name, args) =>
    Object.values(args ?? {}).some((value) => typeof value === 'string')
      ? failure(new ToolError('INVALID_ARGUMENT', 'a string'))
      : inner.callTool(name, args),
  ),
  'callTool() fails with EXECUTION_FAILED when the tool throws an Error': recoded('EXECUTION_FAILED'),
  'callTool() fails with EXECUTION_FAILED when the tool throws a string': swallowed('EXECUTION_FAILED'),
  'callTool() fails with EXECUTION_FAILED when the tool throws undefined': call(async (inner, name, args) => {
    const given = await inner.callTool(name, args);
    if (given.isError) throw new Error('it rejects');
    return given;
  }),
  'callTool() returns the message of a failure to the model and to the program': result((given) => ({
    ...given,
    content: [],
  })),
  'callTool() works after a failure': (inner) => {
    let broken = false;
    return {
      callTool: async (name, args) => {
        const given = broken ? failure(new ToolError('UNAVAILABLE', 'broken')) : await inner.callTool(name, args);
        broken ||= given.isError;
        return given;
      },
    };
  },
  'callTool() fails with OUTPUT_INVALID when the output does not match the schema': swallowed('OUTPUT_INVALID'),
  'callTool() sends the arguments as they were when it was called': call(async (inner, name, args) => {
    await Promise.resolve();
    return inner.callTool(name, args);
  }),
  'callTool() returns structured content that no other result shares': (inner) => {
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
  'callTool() runs the tool once per call': twice,
  'prepareCall() resolves the tool': (inner) => ({
    prepareCall: (_name, args) => inner.prepareCall('contract.fail', args),
  }),
  'prepareCall() returns the coerced arguments': prepared((given) => ({ ...given, args: { a: '1', b: 2 } })),
  'prepareCall() returns at least one claim': prepared((given) => ({ ...given, claims: [] })),
  'prepareCall() runs nothing before execute()': (inner) => ({
    prepareCall: async (name, args) => {
      await inner.callTool(name, args);
      return inner.prepareCall(name, args);
    },
  }),
  'prepareCall() returns a call that execute() runs': prepared((given) => ({
    ...given,
    execute: async () => failure(new ToolError('INTERNAL', 'no')),
  })),
  'prepareCall() returns a call that does not change with its arguments': (inner) => ({
    prepareCall: async (name, args) => {
      const given = await inner.prepareCall(name, args);
      return { ...given, execute: (options) => inner.callTool(name, given.args, options) };
    },
  }),
  'prepareCall() returns a call that fails with NOT_CONNECTED after disconnect()': (inner) => ({
    prepareCall: async (name, args) => {
      const given = await inner.prepareCall(name, args);
      const execute: typeof given.execute = async (options) => {
        await inner.connect();
        return inner.callTool(name, args, options);
      };
      return { ...given, execute };
    },
  }),
  'prepareCall() returns a call that no later connection runs': (inner) => ({
    prepareCall: async (name, args) => {
      const given = await inner.prepareCall(name, args);
      return { ...given, execute: (options) => inner.callTool(name, args, options) };
    },
  }),
  'prepareCall() refuses an unknown tool': prepared((given) => ({ ...given, refused: undefined })),
  'prepareCall() refuses wrong arguments': prepared((given) => ({ ...given, refused: undefined })),
  'callTool() fails with TIMED_OUT when the deadline passes': recoded('TIMED_OUT'),
  'callTool() reports an unknown outcome when a started call ends early': result((given) =>
    given.error ? { ...given, error: { ...given.error, details: {} } } : given,
  ),
  'callTool() does not renew timeoutMs with progress': call((inner, name, args, options) =>
    inner.callTool(name, args, { ...options, timeoutMs: undefined, idleTimeoutMs: options?.timeoutMs }),
  ),
  'callTool() renews idleTimeoutMs when progress increases': call((inner, name, args, options) =>
    inner.callTool(name, args, { ...options, timeoutMs: options?.idleTimeoutMs }),
  ),
  'callTool() fails with TIMED_OUT when there is no progress for idleTimeoutMs': withoutOptions('idleTimeoutMs'),
  'callTool() fails with INVALID_ARGUMENT when timeoutMs or idleTimeoutMs is not a time':
    withoutOptions('idleTimeoutMs'),
  'callTool() fails with CANCELLED when its signal is aborted before the call': withoutOptions('signal'),
  'callTool() runs nothing when its signal is aborted before the call': withoutOptions('signal'),
  'callTool() fails with CANCELLED when its signal is aborted during the call': recoded('CANCELLED'),
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
  'callTool() ignores an abort after it has settled': call(async (inner, name, args, options) => {
    const given = await inner.callTool(name, args, options);
    options?.signal?.addEventListener('abort', () => (given.isError = true));
    return given;
  }),
  'callTool() reports progress that increases up to its total': withoutOptions('onProgress'),
  'callTool() reports no progress after it has settled': call(async (inner, name, args, options) => {
    if (!options?.signal) return inner.callTool(name, args, options);
    const { onProgress, signal: _ignored, ...rest } = options;
    void inner.callTool(name, args, { ...rest, onProgress });
    return failure(new ToolError('CANCELLED', 'the progress goes on'));
  }),
  'callTool() succeeds when onProgress throws': call(async (inner, name, args, options) => {
    options?.onProgress?.({ progress: 1 });
    return inner.callTool(name, args, options);
  }),
  'callTool() returns to each of 200 concurrent calls its own result': (inner) => {
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
  'callTool() settles a fast call before a slow one that started earlier': (inner) => {
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
  'connect() does nothing when it is connected': (inner) => ({
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
  'disconnect() resolves when it is called twice, concurrently and again': (inner) => {
    let ended = false;
    return {
      disconnect: async () => {
        if (ended) throw new Error('ended already');
        ended = true;
        await inner.disconnect();
      },
    };
  },
  'callTool() fails with NOT_CONNECTED after disconnect()': call(async (inner, name, args) => {
    await inner.connect();
    return inner.callTool(name, args);
  }),
  'listTools() rejects with NOT_CONNECTED after disconnect(); a hub lists nothing': (inner) => ({
    listTools: async () => {
      await inner.connect();
      return inner.listTools();
    },
  }),
  'connect() connects again after disconnect()': (inner) => {
    let attempts = 0;
    return { connect: async () => (attempts++ === 0 ? inner.connect() : undefined) };
  },
  'disconnect() first settles every call in flight with CONNECTION_CLOSED': (inner) => ({
    disconnect: async () => void inner.disconnect().catch(() => undefined),
    callTool: async (name, args, options) => {
      const given = await inner.callTool(name, args, options);
      await new Promise((resolve) => setTimeout(resolve, 50));
      return given;
    },
  }),
  '[Symbol.asyncDispose]() disconnects': () => ({ [Symbol.asyncDispose]: async () => undefined }),
  'health() counts calls and failures, if the provider has it': (inner) => ({
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
