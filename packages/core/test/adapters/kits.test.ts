// The kits with each vendor's own package, against a local endpoint that holds the vendor's rules: the loops of five lines.

import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { AIMessage } from '@langchain/core/messages';
import { convertToOpenAITool } from '@langchain/core/utils/function_calling';
import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import OpenAI from 'openai';
import { defineServer, defineTool, InProcessToolProvider, ToolHub, type Directive } from '@toolwright/core';
import { anthropicTools } from '@toolwright/core/adapters/anthropic';
import { aiSdkTools } from '@toolwright/core/adapters/ai-sdk';
import { geminiTools } from '@toolwright/core/adapters/gemini';
import { langchainTools } from '@toolwright/core/adapters/langchain';
import { openaiTools } from '@toolwright/core/adapters/openai';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { allKinds, PNG } from './fixtures/all-kinds.js';
import { fakeApi } from './fixtures/fake-api.js';
import { chatFaults, contentFaults, messagesFaults, responsesFaults } from './fixtures/vendor-rules.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function tools() {
  const made = await allKinds();
  ends.push(
    async () => made.project[Symbol.asyncDispose](),
    () => made.hub.disconnect(),
  );
  return made;
}

/** What a model calls in the first turn, by the names that it knows. */
const CALLS: [name: string, args: string][] = [
  ['filesystem__read_file', '{"path":"a.txt"}'],
  ['kinds__blocks', '{}'],
  ['kinds__fail', '{}'],
  ['kinds__nothing', '{}'],
  ['kinds__optional', '{"name":"n","count":null,"note":null,"inner":{"deep":null},"list":[{"x":null},{"x":1}]}'],
  ['no__such', '{}'],
];
const RESTORED = { name: 'n', count: 3, note: null, inner: {}, list: [{}, { x: 1 }] }; // with the default of count

describe('openaiTools()', () => {
  it('runs a loop of Chat Completions', async () => {
    const { hub, received } = await tools();
    const calls = [...CALLS, ['kinds__fail', '{not json'] as const].map(([name, args], index) => ({
      id: `call_${index}`,
      type: 'function',
      function: { name, arguments: args },
    }));
    const say = (message: object) => ({ id: 'x', object: 'chat.completion', choices: [{ index: 0, message }] });
    await using api = await fakeApi(chatFaults, [
      say({ role: 'assistant', content: null, tool_calls: calls }),
      say({ role: 'assistant', content: 'Done.' }),
    ]);
    const client = new OpenAI({ apiKey: 'k', baseURL: api.url, maxRetries: 0 });
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Go.' }];
    const kit = await openaiTools(hub, { sessionId: 's' });
    for (let turn; !turn?.done; messages.push(...turn.messages)) {
      const { choices } = await client.chat.completions.create({ model: 'm', messages, tools: kit.tools });
      turn = await kit.answer(choices[0]!.message);
    }
    const [, second] = api.requests;
    const texts = second.messages.slice(2).map(({ content }: { content: unknown }) => content);
    expect(texts[0]).toContain('hello');
    expect(texts[1]).toContain('words');
    expect(texts[1]).toContain('image of type image/tiff');
    expect(texts[1]).toContain('audio of type audio/wav');
    expect(texts[1]).toContain('inside y');
    expect(texts[2]).toContain('it broke');
    expect(texts[3]).not.toBe('');
    expect(texts[5]).toContain('no tool "no__such"');
    expect(texts[6]).toContain('kinds__fail are not JSON');
    expect(texts[7]).toMatchObject([{ type: 'text' }, { image_url: { url: `data:image/png;base64,${PNG}` } }]);
    expect(received).toEqual([RESTORED]);
    expect(messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Done.' });
    expect(kit.resolve('kinds__fail')).toBe('kinds.fail');
  });

  it('runs a loop of Responses', async () => {
    const { hub, received } = await tools();
    const calls = CALLS.map(([name, args], index) => ({
      type: 'function_call',
      id: `fc_${index}`,
      call_id: `call_${index}`,
      name,
      arguments: args,
    }));
    const text = { type: 'message', id: 'm1', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] };
    await using api = await fakeApi(responsesFaults, [{ output: calls }, { output: [text] }]);
    const client = new OpenAI({ apiKey: 'k', baseURL: api.url, maxRetries: 0 });
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'Go.' }];
    const { responses: kit } = await openaiTools(hub);
    for (let turn; !turn?.done; input.push(...(turn.messages as typeof input))) {
      const response = await client.responses.create({ model: 'm', input, tools: kit.tools });
      turn = await kit.answer(response);
    }
    const outputs = api.requests[1].input.filter(({ type }: { type: string }) => type === 'function_call_output');
    expect(outputs[1].output).toMatchObject([{ type: 'input_text' }, { type: 'input_image' }]);
    expect(outputs[2].output).toContain('it broke');
    expect(received).toEqual([RESTORED]);
  });

  it('offers every built-in tool, most of them strict, and says why others are not', async () => {
    const { hub } = await tools();
    const kit = await openaiTools(hub);
    const listed = await hub.listTools();
    expect(kit.tools).toHaveLength(listed.length);
    const lenient = kit.tools.filter(({ function: { strict } }) => !strict).map(({ function: { name } }) => name);
    const explained = kit.losses.filter(({ message }) => message.startsWith('The schema is not strict'));
    expect(explained.map(({ tool }) => tool.replace('.', '__')).sort()).toEqual(lenient.sort());
    expect(lenient.length).toBeLessThan(kit.tools.length / 4);
    const plain = await openaiTools(hub, { form: 'plain' });
    expect(plain.tools.some(({ function: { strict } }) => strict)).toBe(false);
    expect(chatFaults({ tools: kit.tools, messages: [] })).toEqual([]);
    expect(chatFaults({ tools: plain.tools, messages: [] })).toEqual([]);
  });
});

describe('anthropicTools()', () => {
  it('runs a loop of Messages', async () => {
    const { hub } = await tools();
    const content = CALLS.map(([name, args], index) => ({
      type: 'tool_use',
      id: `toolu_${index}`,
      name,
      input: JSON.parse(
        args.replaceAll('null', '1').replace('"note":1', '"note":null').replace('"deep":1', '"deep":true'),
      ) as object,
    }));
    const say = (blocks: object[], stop_reason: string) => ({
      id: 'msg',
      type: 'message',
      role: 'assistant',
      content: blocks,
      stop_reason,
      usage: {},
    });
    await using api = await fakeApi(messagesFaults, [
      say(content, 'tool_use'),
      say([{ type: 'text', text: 'Done.' }], 'end_turn'),
    ]);
    const client = new Anthropic({ apiKey: 'k', baseURL: api.url, maxRetries: 0 });
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Go.' }];
    const kit = await anthropicTools(hub, { sessionId: 's' });
    for (let turn; !turn?.done; messages.push(...turn.messages)) {
      const message = await client.messages.create({ model: 'm', max_tokens: 100, messages, tools: kit.tools });
      turn = await kit.answer(message);
    }
    const results = api.requests[1].messages[2].content;
    expect(results.map(({ is_error = false }) => is_error)).toEqual([false, false, true, false, false, true]);
    expect(results[1].content).toMatchObject([{ type: 'text' }, { source: { media_type: 'image/png', data: PNG } }]);
    expect(results[3].content[0].text).not.toBe('');
  });

  it('goes on after a pause, and ends after a directive to stop', async () => {
    const { hub } = await tools();
    const seen: (readonly Directive[])[] = [];
    const kit = await anthropicTools(hub, { onDirectives: (directives) => seen.push(directives) });
    const paused = await kit.answer({ role: 'assistant', content: [{ type: 'text' }], stop_reason: 'pause_turn' });
    expect(paused).toMatchObject({ done: false, outputs: [] });
    const call = { type: 'tool_use', id: '1', name: 'kinds__stop', input: {} };
    const stopped = await kit.answer({ role: 'assistant', content: [call] });
    expect(stopped).toMatchObject({ done: true, outputs: [{ tool_use_id: '1' }] });
    expect(seen).toEqual([[{ type: 'stop_processing', params: {} }]]);
  });
});

describe('geminiTools()', () => {
  it('runs a loop of generateContent', async () => {
    const { hub } = await tools();
    const parts = CALLS.slice(0, 4).map(([name, args]) => ({
      functionCall: { name, args: JSON.parse(args) as object },
    }));
    const say = (given: object[]) => ({ candidates: [{ content: { role: 'model', parts: given } }] });
    await using api = await fakeApi(contentFaults, [say(parts), say([{ text: 'Done.' }])]);
    const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: api.url } });
    const contents: object[] = [{ role: 'user', parts: [{ text: 'Go.' }] }];
    const kit = await geminiTools(hub);
    for (let turn; !turn?.done; contents.push(...turn.messages)) {
      const response = await client.models.generateContent({ model: 'm', contents, config: { tools: kit.tools } });
      turn = await kit.answer(response);
    }
    const sent = api.requests[1].contents[2].parts;
    expect(sent[0].functionResponse.response.output).toContain('hello');
    expect(sent[2].functionResponse.response.error).toContain('it broke');
    expect(sent[4]).toEqual({ inlineData: { mimeType: 'image/png', data: PNG } });
  });
});

/** A hub whose policy asks before `sh.run`. */
function askingHub(): { hub: ToolHub; ran: string[] } {
  const ran: string[] = [];
  const run = defineTool({
    name: 'run',
    description: 'Runs it.',
    input: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
    execute: ({ command }) => {
      ran.push(command);
      return 'ran';
    },
  });
  const hub = new ToolHub({
    providers: [new InProcessToolProvider({ servers: [defineServer({ name: 'sh', version: '1.0.0', tools: [run] })] })],
    policy: { default: 'ask', rules: [] },
  });
  ends.push(() => hub.disconnect());
  return { hub, ran };
}

describe('aiSdkTools()', () => {
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const model = (...turns: object[][]): MockLanguageModelV3 =>
    new MockLanguageModelV3({
      doGenerate: turns.map((content) => ({
        content,
        finishReason: { unified: content.some((part) => 'toolName' in part) ? 'tool-calls' : 'stop', raw: undefined },
        usage,
        warnings: [],
      })) as never,
    });
  const call = (toolCallId: string, toolName: string, input: string) => ({
    type: 'tool-call',
    toolCallId,
    toolName,
    input,
  });

  it('runs tools, and gives the model their texts, images and errors', async () => {
    const { hub } = await tools();
    const mock = model(
      CALLS.slice(0, 4).map(([name, args], index) => call(`c${index}`, name, args)),
      [{ type: 'text', text: 'Done.' }],
    );
    const { text } = await generateText({
      model: mock,
      prompt: 'Go.',
      tools: await aiSdkTools(hub, { sessionId: 's' }),
      stopWhen: stepCountIs(3),
    });
    expect(text).toBe('Done.');
    const message = mock.doGenerateCalls[1]?.prompt.at(-1) as unknown as { content: { output: { type: string } }[] };
    expect(message.content.map(({ output }) => output.type)).toEqual(['text', 'content', 'error-text', 'text']);
  });

  it("lets the SDK ask where the hub's policy asks, and runs what it approved", async () => {
    const { hub, ran } = askingHub();
    const own = await aiSdkTools(hub);
    const first = await generateText({
      model: model([call('c1', 'sh__run', '{"command":"make"}')]),
      prompt: 'Go.',
      tools: own,
    });
    const request = first.content.find(({ type }) => type === 'tool-approval-request') as { approvalId: string };
    expect([ran, typeof request.approvalId]).toEqual([[], 'string']);
    const approval = { type: 'tool-approval-response' as const, approvalId: request.approvalId, approved: true };
    await generateText({
      model: model([{ type: 'text', text: 'Done.' }]),
      messages: [{ role: 'user', content: 'Go.' }, ...first.response.messages, { role: 'tool', content: [approval] }],
      tools: own,
    });
    expect(ran).toEqual(['make']);
  });
});

describe('langchainTools()', () => {
  it('returns tools whose messages have the content, the result and the status', async () => {
    const { hub, received } = await tools();
    const list = await langchainTools(hub, { sessionId: 's' });
    const message = new AIMessage({
      content: '',
      tool_calls: [...CALLS.slice(0, 4), ['kinds__optional', '{"name":"n","count":"5"}'] as const].map(
        ([name, args], at) => ({
          id: `c${at}`,
          name,
          args: JSON.parse(args) as Record<string, unknown>,
          type: 'tool_call' as const,
        }),
      ),
    });
    const results = await Promise.all(
      message.tool_calls!.map((one) =>
        list.find(({ name }) => name === one.name)!.invoke({ ...one, type: 'tool_call' }),
      ),
    );
    expect(results.map(({ status, tool_call_id: id }) => [id, status] as unknown)).toEqual([
      ['c0', 'success'],
      ['c1', 'success'],
      ['c2', 'error'],
      ['c3', 'success'],
      ['c4', 'success'],
    ]);
    expect(results[1].content).toMatchObject([{ type: 'text' }, { type: 'image_url' }]);
    expect(results[2].artifact).toMatchObject({ isError: true, error: { code: 'EXECUTION_FAILED' } });
    expect(received).toEqual([{ name: 'n', count: 5 }]); // coerced before anything validates it
    expect(convertToOpenAITool(list[0]!).function.name).toBe(list[0]!.name);
  });
});

describe('ToolKit', () => {
  it('follows changes of the list, and selects tools', async () => {
    const { hub } = await tools();
    const kit = await openaiTools(hub, { include: ['kinds', 'late'], exclude: ['*.fail'] });
    const names = (): string[] => kit.tools.map(({ function: { name } }) => name);
    expect(names().sort()).toEqual(['kinds__blocks', 'kinds__nothing', 'kinds__optional', 'kinds__stop']);
    const before = kit.tools;
    const late = defineTool({ name: 'comer', description: 'Late.', execute: () => 'x' });
    await hub.add(
      new InProcessToolProvider({ servers: [defineServer({ name: 'late', version: '1.0.0', tools: [late] })] }),
    );
    await vi.waitUntil(() => names().includes('late__comer'));
    expect(kit.tools).not.toBe(before);
    kit.close();
    await hub.remove('kinds');
    expect(names()).toContain('kinds__stop');
  });

  it('cancels its calls with its signal', async () => {
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      execute: (_, { signal }) =>
        new Promise<string>((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
    });
    await using provider = new InProcessToolProvider({
      servers: [defineServer({ name: 's', version: '1.0.0', tools: [wait] })],
    });
    const abort = new AbortController();
    const kit = await anthropicTools(provider, { signal: abort.signal });
    const waiting = kit.dispatch({ type: 'tool_use', id: '1', name: 's__wait', input: {} });
    abort.abort();
    expect(await waiting).toMatchObject({
      is_error: true,
      content: [{ text: expect.stringContaining('CANCELLED') as string }],
    });
  });

  it('refuses wrong options', async () => {
    const { hub } = await tools();
    await expect(openaiTools(hub, { sesionId: 'x' } as never)).rejects.toThrow('did you mean `sessionId`?');
    await expect(openaiTools(hub, { form: 'loose' as never })).rejects.toThrow('form must be');
    await expect(anthropicTools({} as never)).rejects.toThrow('takes a ToolProvider');
    await expect(geminiTools(hub, { include: 'fs' as never })).rejects.toThrow('array of globs');
  });
});
