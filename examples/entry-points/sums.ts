// The provider of the adapters' examples.

import { defineServer, defineTool, InProcessToolProvider } from '@toolwright/core';

const number = { type: 'number' } as const;
const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] },
  execute: ({ a, b }) => ({ sum: a + b }),
});

export const provider = new InProcessToolProvider({
  servers: [defineServer({ name: 'sums', version: '1.0.0', tools: [add] })],
});
