// The example of @toolwright/core/adapters/langchain in the API reference.

import { provider } from './sums.js';
import { langchainTools } from '@toolwright/core/adapters/langchain';

const tools = await langchainTools(provider, { sessionId: 'chat-1' });
console.log(tools.map(({ name }) => name)); // ['sums__add'], for model.bindTools(tools)
