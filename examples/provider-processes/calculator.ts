// A provider file: run as a separate process, or loaded into the host's.

import { createProvider, defineTool, startProvider } from '@toolwright/runtime/provider';
import { z } from 'zod';

const add = defineTool({
  name: 'add',
  description: 'Add two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  output: z.object({ sum: z.number() }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  execute: ({ a, b }) => ({ sum: a + b }),
});

const provider = createProvider({
  name: 'calculator',
  version: '1.0.0',
  description: 'Arithmetic.',
  tools: [add],
});

export default provider;
startProvider(provider); // serves the host that started this file; does nothing without one
