// The example of @toolwright/core/adapters/anthropic in the API reference.

import { provider } from './sums.js';
import { anthropicTools } from '@toolwright/core/adapters/anthropic';

const kit = await anthropicTools(provider, { sessionId: 'chat-1' });
const call = { type: 'tool_use', id: 'toolu_1', name: 'sums__add', input: { a: 1, b: 2 } };
const turn = await kit.answer({ role: 'assistant', content: [call] });
console.log(turn.messages.length); // 2: the model's message, and one with every result
