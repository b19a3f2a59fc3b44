// The example of @toolwright/core/adapters/gemini in the API reference.

import { provider } from './sums.js';
import { geminiTools } from '@toolwright/core/adapters/gemini';

const kit = await geminiTools(provider, { sessionId: 'chat-1' });
const call = { functionCall: { name: 'sums__add', args: { a: 1, b: 2 } } };
const turn = await kit.answer({ role: 'model', parts: [call] });
console.log(turn.outputs[0]?.response); // { output: '{"sum":3}' }
