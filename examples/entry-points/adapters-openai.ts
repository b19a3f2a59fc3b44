// The example of @toolwright/core/adapters/openai in the API reference.

import { provider } from './sums.js';
import { openaiTools } from '@toolwright/core/adapters/openai';

const kit = await openaiTools(provider, { sessionId: 'chat-1' });
const call = { id: 'call_1', type: 'function', function: { name: 'sums__add', arguments: '{"a":1,"b":2}' } };
const turn = await kit.answer({ role: 'assistant', content: null, tool_calls: [call] });
console.log(turn.outputs); // [{ role: 'tool', tool_call_id: 'call_1', content: '{"sum":3}' }]
