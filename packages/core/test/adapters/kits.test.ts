// The kits with each vendor's own package, against a local endpoint that holds the vendor's rules: the loops of five lines.

import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { AIMessage } from '@langchain/core/messages';
import { convertToOpenAITool } from '@langchain/core/utils/function_calling';
import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import OpenAI from 'openai';
import { defineServer, defineTool, InProcessToolProvider, type Directive } from '@toolwright/core';
import { anthropicTools } from '@toolwright/core/adapters/anthropic';
import { aiSdkTools } from '@toolwright/core/adapters/ai-sdk';
import { geminiTools } from '@toolwright/core/adapters/gemini';
import { langchainTools } from '@toolwright/core/adapters/langchain';
import { openaiTools } from '@toolwright/core/adapters/openai';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { allKinds, askingHub } from './fixtures/all-kinds.js';
import * as loops from './fixtures/loops.js';
import { chatFaults } from './fixtures/vendor-rules.js';

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

describe('openaiTools()', () => {
  it('runs a loop of Chat Completions', async () => {
    const { hub, received } = await tools();
    await loops.chatLoop(OpenAI, hub);
    expect(received).toEqual([loops.RESTORED]);
  });

  it('runs a loop of Responses', async () => {
    const { hub, received } = await tools();
    await loops.responsesLoop(OpenAI, hub);
    expect(received).toEqual([loops.RESTORED]);
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
    await loops.messagesLoop(Anthropic, (await tools()).hub);
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
    await loops.contentLoop(GoogleGenAI, (await tools()).hub);
  });
});

describe('aiSdkTools()', () => {
  const sdk: loops.AiSdk = { generateText, stepCountIs, MockModel: MockLanguageModelV3, aiSdkTools };

  it('runs tools, and gives the model their texts, images and errors', async () => {
    await loops.aiSdkLoop(sdk, (await tools()).hub);
  });

  it("lets the SDK ask where the hub's policy asks, and runs what it approved", async () => {
    const { hub, ran } = askingHub();
    ends.push(() => hub.disconnect());
    await loops.aiSdkApproval(sdk, hub, ran);
  });
});

describe('langchainTools()', () => {
  it('returns tools whose messages have the content, the result and the status', async () => {
    const { hub, received } = await tools();
    await loops.langchainLoop({ AIMessage, langchainTools }, hub, received);
    const [first] = await langchainTools(hub);
    expect(convertToOpenAITool(first!).function.name).toBe(first!.name);
  });
});

describe('ToolKit', () => {
  it('follows changes of the list, and selects tools', async () => {
    const { hub } = await tools();
    const kit = await openaiTools(hub, { include: ['kinds', 'late'], exclude: ['*.fail*', '*.odd'] });
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
