// The agent loop with each vendor's own package, as docs/engines.md has it. Local endpoints, which refuse what the vendors
// would refuse, take the part of the model: it reads a file, and answers.

import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { AIMessage } from '@langchain/core/messages';
import { MockLanguageModelV3 } from 'ai/test';
import OpenAI from 'openai';
import { InProcessToolProvider, ToolHub } from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';
import { askAiSdk } from './ai-sdk.js';
import { askAnthropic } from './anthropic.js';
import { chatEndpoint, contentEndpoint, messagesEndpoint, responsesEndpoint } from './endpoints.js';
import { askGemini } from './gemini.js';
import { askLangchain } from './langchain.js';
import { askOpenai } from './openai.js';
import { askResponses } from './openai-responses.js';

const notes = 'The deploy runs on Fridays.';
await using project = await createTestProject({ 'notes.md': `${notes}\n` });
await using hub = new ToolHub({ providers: [InProcessToolProvider.forProject(project.projectDir)] });
const apiKey = 'none';

await using chat = await chatEndpoint();
const openai = await askOpenai(hub, new OpenAI({ apiKey, baseURL: chat.url }), 'any', 'chat-1');
await using responses = await responsesEndpoint();
const next = await askResponses(hub, new OpenAI({ apiKey, baseURL: responses.url }), 'any', 'chat-2');
await using messages = await messagesEndpoint();
const anthropic = await askAnthropic(hub, new Anthropic({ apiKey, baseURL: messages.url }), 'any', 'chat-3');
await using content = await contentEndpoint();
const google = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: content.url } });
const gemini = await askGemini(hub, google, 'any', 'chat-4');
for (const answer of [openai, next, anthropic, gemini]) assert.match(answer, /On Fridays/);
for (const { requests } of [chat, responses, messages, content])
  assert.match(JSON.stringify(requests[1]), RegExp(notes));

// The frameworks bring models of their own for tests.
const call = { name: 'filesystem__read_file', args: { path: 'notes.md' } };
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const turns = [
  [{ type: 'tool-call', toolCallId: '1', toolName: call.name, input: JSON.stringify(call.args) }],
  [{ type: 'text', text: 'On Fridays.' }],
];
let turn = 0;
const model = new MockLanguageModelV3({
  doGenerate: () => {
    const finishReason = { unified: turn === 0 ? 'tool-calls' : 'stop', raw: undefined };
    return Promise.resolve({ content: turns[turn++], finishReason, usage, warnings: [] }) as never;
  },
});
assert.equal(await askAiSdk(hub, model, 'chat-5'), 'On Fridays.');
assert.match(JSON.stringify(model.doGenerateCalls[1]?.prompt), RegExp(notes));

class ScriptedChatModel extends FakeListChatModel {
  readonly seen: unknown[] = [];

  override bindTools(): this {
    return this;
  }

  override invoke(input: unknown): ReturnType<FakeListChatModel['invoke']> {
    this.seen.push(structuredClone(JSON.stringify(input)));
    const calls = this.seen.length === 1 ? [{ ...call, id: '1', type: 'tool_call' as const }] : [];
    return Promise.resolve(
      new AIMessage({ content: calls.length > 0 ? '' : 'On Fridays.', tool_calls: calls }),
    ) as never;
  }
}
const chatModel = new ScriptedChatModel({ responses: [] });
assert.equal(await askLangchain(hub, chatModel, 'chat-6'), 'On Fridays.');
assert.match(String(chatModel.seen[1]), RegExp(notes));
console.log('Six loops read the notes, and answered: On Fridays.');
