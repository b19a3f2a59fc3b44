// The example of @toolwright/core/adapters/ai-sdk in the API reference.

import { provider } from './sums.js';
import { aiSdkTools } from '@toolwright/core/adapters/ai-sdk';

const tools = await aiSdkTools(provider, { sessionId: 'chat-1' });
console.log(Object.keys(tools)); // ['sums__add'], for generateText({ model, tools, … })
