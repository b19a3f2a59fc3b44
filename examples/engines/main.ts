// An agent loop with a vendor's own package, in the five lines of docs/engines.md. A local endpoint takes the part of the
// model: it reads a file, and answers.
/* eslint-disable no-restricted-syntax -- a turn has few messages */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI from 'openai';
import { InProcessToolProvider, ToolHub } from '@toolwright/core';
import { openaiTools } from '@toolwright/core/adapters/openai';
import { createTestProject } from '@toolwright/core/testing';

await using project = await createTestProject({ 'notes.md': 'The deploy runs on Fridays.\n' });
await using hub = new ToolHub({ providers: [InProcessToolProvider.forProject(project.projectDir)] });

const read = { name: 'filesystem__read_file', arguments: '{"path":"notes.md"}' };
const answers = [
  { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: read }] },
  { role: 'assistant', content: 'On Fridays.' },
];
const endpoint = createServer((_request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ choices: [{ index: 0, message: answers.shift() }] }));
});
await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
const baseURL = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`;
const client = new OpenAI({ apiKey: 'none', baseURL });
const model = 'any';
const sessionId = 'chat-1';
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'When does the deploy run?' }];

const kit = await openaiTools(hub, { sessionId });
for (let turn; !turn?.done; messages.push(...turn.messages)) {
  const { choices } = await client.chat.completions.create({ model, messages, tools: kit.tools });
  turn = await kit.answer(choices[0]!.message);
}

console.log(messages.at(-1)?.content); // On Fridays.
endpoint.close();

import assert from 'node:assert/strict';

assert.equal(messages.at(-1)?.content, 'On Fridays.');
assert.match(JSON.stringify(messages), /The deploy runs on Fridays/);
