// Local endpoints in place of the vendors': each refuses what its vendor would refuse, and takes the part of a model that
// reads a file and answers.

import { fakeApi, type FakeApi } from '../../packages/core/test/adapters/fixtures/fake-api.js';
import {
  chatFaults,
  contentFaults,
  messagesFaults,
  responsesFaults,
} from '../../packages/core/test/adapters/fixtures/vendor-rules.js';

const name = 'filesystem__read_file';
const args = '{"path":"notes.md","offset":null,"limit":null,"line_numbers":null}';
const input = { path: 'notes.md' };
const text = 'On Fridays.';

const choice = (message: object): object => ({ choices: [{ index: 0, message: { role: 'assistant', ...message } }] });
const content = (part: object): object => ({ candidates: [{ content: { role: 'model', parts: [part] } }] });
const said = { type: 'message', id: 'm1', role: 'assistant', content: [{ type: 'output_text', text }] };

/** Chat Completions. */
export function chatEndpoint(): Promise<FakeApi> {
  const call = { id: 'call_1', type: 'function', function: { name, arguments: args } };
  return fakeApi(chatFaults, [choice({ content: null, tool_calls: [call] }), choice({ content: text })]);
}

/** Responses. */
export function responsesEndpoint(): Promise<FakeApi> {
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name, arguments: args };
  return fakeApi(responsesFaults, [{ output: [call] }, { output: [said] }]);
}

/** Messages. */
export function messagesEndpoint(): Promise<FakeApi> {
  const message = (block: object): object => ({ id: 'msg', type: 'message', role: 'assistant', content: [block] });
  return fakeApi(messagesFaults, [
    message({ type: 'tool_use', id: 'toolu_1', name, input }),
    message({ type: 'text', text }),
  ]);
}

/** Gemini's generateContent. */
export function contentEndpoint(): Promise<FakeApi> {
  return fakeApi(contentFaults, [content({ functionCall: { id: '1', name, args: input } }), content({ text })]);
}
