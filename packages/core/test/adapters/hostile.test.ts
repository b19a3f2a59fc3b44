// Models and servers that do what they should not: the kits answer every call, stay bounded, and never reject.

import { defineServer, defineTool, InProcessToolProvider, ToolHub, type JsonObject } from '@toolwright/core';
import { anthropicTools } from '@toolwright/core/adapters/anthropic';
import { aiSdkTools } from '@toolwright/core/adapters/ai-sdk';
import { geminiTools } from '@toolwright/core/adapters/gemini';
import { langchainTools } from '@toolwright/core/adapters/langchain';
import { openaiTools } from '@toolwright/core/adapters/openai';
import { afterEach, describe, expect, it } from 'vitest';
import { COMMON_FORM } from '../../src/adapters/common-form.js';
import { GEMINI_FORM } from '../../src/adapters/gemini-form.js';
import { offeredTools } from '../../src/adapters/kit-tools.js';
import { OPENAI_FORMS } from '../../src/adapters/openai-form.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Tools = Parameters<typeof defineServer>[0]['tools'];

async function hubOf(tools: Tools): Promise<ToolHub> {
  const provider = new InProcessToolProvider({ servers: [defineServer({ name: 's', version: '1.0.0', tools })] });
  const hub = new ToolHub({ providers: [provider] });
  ends.push(() => hub.disconnect());
  await hub.connect();
  return hub;
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

const received: JsonObject[] = [];
const echo = defineTool({
  name: 'echo',
  description: 'Returns its text.',
  input: { type: 'object', properties: { text: { type: 'string' }, times: { type: 'integer' } }, required: ['text'] },
  execute: (args) => {
    received.push(args);
    return String((args as JsonObject).text).slice(0, 10);
  },
});

/** A call in the forms of the kits, and the text of its result. */
const VENDORS: [
  name: string,
  run: (hub: ToolHub, calls: [id: unknown, name: unknown, args: unknown][]) => Promise<string[]>,
][] = [
  [
    'openaiTools()',
    async (hub, calls) => {
      const kit = await openaiTools(hub);
      const toolCalls = calls.map(([id, name, args]) => ({
        id,
        type: 'function',
        function: { name, arguments: args },
      }));
      const { outputs } = await kit.answer({ role: 'assistant', tool_calls: toolCalls as never });
      return outputs.map(({ content }) => content);
    },
  ],
  [
    'openaiTools().responses',
    async (hub, calls) => {
      const { responses: kit } = await openaiTools(hub);
      const items = calls.map(([id, name, args]) => ({ type: 'function_call', call_id: id, name, arguments: args }));
      const { outputs } = await kit.answer({ output: items });
      return outputs.map(({ output }) => output as string);
    },
  ],
  [
    'anthropicTools()',
    async (hub, calls) => {
      const kit = await anthropicTools(hub);
      const content = calls.map(([id, name, input]) => ({ type: 'tool_use', id, name, input }));
      const { outputs } = await kit.answer({ role: 'assistant', content });
      return outputs.map((output) => (output.content[0] as { text: string }).text);
    },
  ],
  [
    'geminiTools()',
    async (hub, calls) => {
      const kit = await geminiTools(hub);
      const parts = calls.map(([id, name, args]) => ({ functionCall: { id, name, args } as never }));
      const { outputs } = await kit.answer({ role: 'model', parts });
      return outputs.map(({ response: { output, error } }) => output ?? error ?? '');
    },
  ],
];

describe.each(VENDORS)('%s', (_, run) => {
  it('answers calls with repeated and missing ids in their order', async () => {
    const hub = await hubOf([echo]);
    const ids = ['1', '1', undefined, ''];
    const texts = await run(
      hub,
      ids.map((id, index) => [id, 's__echo', JSON.stringify({ text: `t${index}` })]),
    );
    expect(texts).toEqual(['t0', 't1', 't2', 't3']);
  });

  it('answers calls of tools that do not exist with the nearest names', async () => {
    const hub = await hubOf([echo]);
    const names = ['s__ecko', '__proto__', 'constructor', 's.echo', 'x'.repeat(1_000_000), undefined, 7, {}];
    const texts = await run(
      hub,
      names.map((name) => ['1', name, '{}']),
    );
    expect(texts[0]).toContain('The nearest are s__echo');
    for (const text of texts) expect(text).toContain('TOOL_NOT_FOUND');
    expect(texts.join('').length).toBeLessThan(5_000);
  });

  it('answers arguments that are not a JSON object, and runs nothing', async () => {
    const hub = await hubOf([echo]);
    received.length = 0;
    const wrong = ['', '{', '[1]', '"x"', 'null', '7', '{"text":"x"} {"text":"y"}', [1], 7, null, '['.repeat(100_000)];
    const texts = await run(
      hub,
      wrong.map((args) => ['1', 's__echo', args]),
    );
    for (const text of texts) expect(text).toMatch(/s__echo are not (JSON|a JSON object)/);
    expect(received).toEqual([]);
  });

  it('passes arguments on as they are, or says what is wrong with them', async () => {
    const hub = await hubOf([echo]);
    received.length = 0;
    const deep = `${'{"text":'.repeat(5_000)}1${'}'.repeat(5_000)}`;
    const huge = JSON.stringify({ text: 'x'.repeat(5_000_000) });
    const sent = ['{"__proto__":{"polluted":1},"text":"x"}', '{"constructor":{"prototype":{"polluted":1}},"text":"y"}'];
    const texts = await run(
      hub,
      [...sent, deep, huge, '{"times":1}'].map((args) => ['1', 's__echo', args]),
    );
    expect(({} as JsonObject).polluted).toBeUndefined();
    expect(texts[2]).toContain('INVALID_ARGUMENT');
    expect(texts[3]).toBe('xxxxxxxxxx');
    expect(texts[4]).toContain('s__echo'); // the name that the model knows
    expect(received.every((args) => Object.getPrototypeOf(args) === Object.prototype)).toBe(true);
  });

  it('runs 3,000 calls of one message side by side', async () => {
    let [running, most] = [0, 0];
    const { promise, resolve } = deferred();
    const wait = defineTool({
      name: 'wait',
      description: 'Waits for another call.',
      input: { type: 'object', properties: { n: { type: 'integer' } } },
      execute: async ({ n }) => {
        most = Math.max(most, ++running);
        if (most > 1) resolve();
        await promise;
        running--;
        return `done ${n}`;
      },
    });
    const hub = await hubOf([wait]);
    const calls = Array.from({ length: 3_000 }, (_, n) => n);
    const texts = await run(
      hub,
      calls.map((n) => [`${n}`, 's__wait', JSON.stringify({ n })]),
    );
    expect(texts).toEqual(calls.map((n) => `done ${n}`));
  });

  it('answers calls in flight when the hub disconnects', async () => {
    const { promise, resolve } = deferred();
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      execute: (_args, { signal }) => {
        resolve();
        return new Promise<string>((_done, fail) => {
          signal.addEventListener('abort', () => fail(new Error('aborted')));
        });
      },
    });
    const hub = await hubOf([wait, echo]);
    const running = run(hub, [
      ['1', 's__wait', '{}'],
      ['2', 's__echo', '{"text":"x"}'],
    ]);
    await promise;
    await hub.disconnect();
    expect(await running).toEqual([expect.stringContaining('CONNECTION_CLOSED'), 'x']);
  });
});

describe('answer()', () => {
  it('ignores what is not a call', async () => {
    const hub = await hubOf([echo]);
    const [openai, anthropic, gemini] = await Promise.all([openaiTools(hub), anthropicTools(hub), geminiTools(hub)]);
    const turns = await Promise.all([
      openai.answer({ role: 'assistant', tool_calls: [null] as never }),
      openai.responses.answer({ output: [null, { type: 'custom_tool_call', name: 's__echo' }] as never }),
      anthropic.answer({ role: 'assistant', content: [null, { type: 'server_tool_use', name: 's__echo' }] as never }),
      gemini.answer({ role: 'model', parts: [null, { executableCode: {} }] as never }),
      gemini.answer({ candidates: [] }),
    ]);
    for (const { outputs, done } of turns) expect([outputs, done]).toEqual([[], true]);
  });

  it('returns every directive when the callback throws', async () => {
    const stop = { type: 'stop_processing' as const, params: {} };
    const ask = defineTool({ name: 'ask', description: 'Asks.', execute: () => ({ content: [], directives: [stop] }) });
    const hub = await hubOf([ask]);
    const seen: unknown[] = [];
    const kit = await anthropicTools(hub, {
      onDirectives: (directives) => {
        seen.push(...directives);
        throw new Error('a fault of the host');
      },
    });
    const call = { type: 'tool_use', id: '1', name: 's__ask', input: {} };
    const turn = await kit.answer({ role: 'assistant', content: [call, call] });
    expect([turn.directives, turn.done, seen]).toEqual([[stop, stop], true, [stop, stop]]);
  });

  it('ends when a server reports a change with every listing', async () => {
    const hub = await hubOf([echo]);
    let listings = 0;
    const listeners = new Set<() => void>();
    const restless = Object.assign(Object.create(hub) as ToolHub, {
      callTool: hub.callTool.bind(hub),
      onToolsChanged: (listener: () => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      listTools: async () => {
        listings++;
        for (const listener of listeners) listener();
        return hub.listTools();
      },
    });
    const kit = await openaiTools(restless);
    const before = listings;
    const turn = await kit.answer({ role: 'assistant', tool_calls: [] });
    expect(turn.done).toBe(true);
    expect(listings - before).toBeLessThan(5);
    kit.close();
  });

  it('offers the tools of the next turn, and answers a call of one that is gone', async () => {
    const hub = await hubOf([echo]);
    const late = new InProcessToolProvider({
      servers: [defineServer({ name: 'late', version: '1.0.0', tools: [echo] })],
    });
    const grow = defineTool({
      name: 'grow',
      description: 'Adds and removes tools.',
      execute: async () => {
        await hub.add(late);
        return 'grown';
      },
    });
    await hub.add(
      new InProcessToolProvider({ servers: [defineServer({ name: 'g', version: '1.0.0', tools: [grow] })] }),
    );
    const kit = await openaiTools(hub);
    const call = (name: string, args = '{}') => ({ id: name, type: 'function', function: { name, arguments: args } });
    await kit.answer({ role: 'assistant', tool_calls: [call('g__grow')] });
    expect(kit.tools.map((tool) => tool.function.name)).toContain('late__echo');
    expect(kit.resolve('late__echo')).toBe('late.echo');
    await hub.remove(late.name);
    const turn = await kit.answer({ role: 'assistant', tool_calls: [call('late__echo', '{"text":"x"}')] });
    expect(turn.outputs[0]?.content).toContain('TOOL_NOT_FOUND');
    expect(kit.tools.map((tool) => tool.function.name)).not.toContain('late__echo');
  });
});

describe('the signal of a kit', () => {
  it.each(['own', "the framework's"])('cancels calls of frameworks: %s', async (which) => {
    const started = deferred();
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      execute: (_args, { signal }) => {
        started.resolve();
        return new Promise<string>((_done, fail) => {
          signal.addEventListener('abort', () => fail(new Error('aborted')));
        });
      },
    });
    for (const framework of ['ai-sdk', 'langchain']) {
      const hub = await hubOf([wait]);
      const abort = new AbortController();
      const signal = which === 'own' ? undefined : abort.signal;
      const options = which === 'own' ? { signal: abort.signal } : {};
      const running =
        framework === 'ai-sdk'
          ? (await aiSdkTools(hub, options)).s__wait!.execute!(
              {},
              {
                toolCallId: '1',
                messages: [],
                ...(signal && { abortSignal: signal }),
              },
            )
          : (await langchainTools(hub, options))[0]!.invoke(
              { name: 's__wait', args: {}, id: '1', type: 'tool_call' },
              { ...(signal && { signal }) },
            );
      const settled = Promise.resolve(running as Promise<unknown>).then(
        (value) => JSON.stringify(value),
        (thrown: unknown) => String(thrown),
      );
      await started.promise;
      abort.abort();
      expect(await settled).toMatch(/CANCELLED|abort/i); // LangChain itself rejects what its signal cancels
    }
  });
});

describe('answer() of a kit', () => {
  it('says which part of a response it takes when it gets another', async () => {
    const hub = await hubOf([echo]);
    const openai = await openaiTools(hub);
    const message = { role: 'assistant', content: 'Hello.' } as const;
    for (const wrong of [undefined, null, { choices: [{ message }] }, { ...message, tool_calls: 'x' }])
      await expect(openai.answer(wrong as never)).rejects.toThrow("answer() takes the model's message");
    await expect(openai.responses.answer(message as never)).rejects.toThrow('which has `output`');
    await expect((await anthropicTools(hub)).answer(message as never)).rejects.toThrow('whose `content` is an array');
    await expect((await geminiTools(hub)).answer(undefined as never)).rejects.toThrow('answer() takes a response');
    expect((await openai.answer(message)).done).toBe(true);
  });

  it('takes null as arguments from neither answer() nor dispatch() of Gemini, and none as an empty object', async () => {
    const kit = await geminiTools(await hubOf([defineTool({ name: 'now', description: 'x', execute: () => 'noon' })]));
    const wrong = { name: 's__now', args: null as never };
    const { outputs } = await kit.answer({ role: 'model', parts: [{ functionCall: wrong }] });
    for (const { response } of [outputs[0]!, await kit.dispatch(wrong)])
      expect(response.error).toContain('not a JSON object');
    expect((await kit.dispatch({ name: 's__now' })).response).toEqual({ output: 'noon' });
  });
});

describe('offeredTools()', () => {
  const annotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
  const listed = (name: string, inputSchema: JsonObject = { type: 'object' }, description = 'x') => ({
    name,
    description,
    inputSchema,
    annotations,
  });
  const STRICT = OPENAI_FORMS.get('strict')!;

  it('names the tools beyond the 128 that OpenAI accepts', () => {
    const many = Array.from({ length: 130 }, (_, index) => listed(`s.t${index}`));
    const { tools, losses } = offeredTools(many, STRICT);
    expect(tools.size).toBe(128);
    expect(losses.map(({ tool }) => tool)).toEqual(['s.t128', 's.t129']);
    expect(losses[0]?.message).toContain('accepts 128 tools; select tools with include or exclude');
    expect(offeredTools(many, OPENAI_FORMS.get('plain')!).tools.size).toBe(130);
  });

  it('offers none of two tools whose aliases were made to be the same', () => {
    const pair = ['s.aćæîîb', 's.aêśéłb']; // found among 1.4 million names
    const { tools, losses } = offeredTools(
      [...pair, 's.other'].map((name) => listed(name)),
      COMMON_FORM,
    );
    expect([...tools.keys()]).toEqual(['s__other']);
    expect(losses.map(({ tool }) => tool)).toEqual(pair);
  });

  it('leaves out a tool that it cannot express, and offers the others', () => {
    const deep = JSON.parse(`${'{"not":'.repeat(3_000)}{}${'}'.repeat(3_000)}`) as JsonObject;
    const wrong = { type: 'array' };
    for (const form of [STRICT, COMMON_FORM, GEMINI_FORM]) {
      const { tools, losses } = offeredTools([listed('s.deep', deep), listed('s.list', wrong), listed('s.ok')], form);
      expect([...tools.keys()]).toEqual(['s__ok']);
      expect(losses.map(({ tool, message }) => [tool, message])).toEqual([
        ['s.deep', 'The tool is not offered: its schema is nested too deeply.'],
        ['s.list', 'The tool is not offered: its arguments are not an object.'],
      ]);
    }
  });

  it('sends the end of a long description with the arguments', () => {
    const words = `${'word '.repeat(300)}end`;
    const tool = offeredTools([listed('s.t', {}, words)], STRICT).tools.get('s__t');
    expect(tool?.schema.description).toMatch(/^word .* end$/);
  });
});
