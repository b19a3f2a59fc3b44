// The calculator in JavaScript, with a plain JSON Schema.

import { createProvider, defineTool, startProvider } from '@toolwright/runtime/provider';

const numbers = { a: { type: 'number' }, b: { type: 'number' } };
const add = defineTool({
  name: 'add',
  description: 'Add two numbers.',
  input: { type: 'object', properties: numbers, required: ['a', 'b'] },
  annotations: { readOnlyHint: true, openWorldHint: false },
  execute: ({ a, b }) => ({ sum: a + b }),
});

const provider = createProvider({ name: 'calculator', version: '1.0.0', description: 'Arithmetic.', tools: [add] });

export default provider;
startProvider(provider);
