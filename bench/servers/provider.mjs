// The tool of echo.mjs as a provider file.

import { createProvider, defineTool, startProvider } from '@toolwright/runtime/provider';

const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
const echo = defineTool({
  name: 'echo',
  description: 'Gives the text back.',
  input: schema,
  output: schema,
  execute: (args) => args,
});
const big = defineTool({
  name: 'big',
  description: 'Gives a text of that many bytes.',
  input: { type: 'object', properties: { bytes: { type: 'number' } }, required: ['bytes'] },
  execute: ({ bytes }) => 'x'.repeat(bytes),
});
const provider = createProvider({ name: 'bench', version: '1.0.0', description: 'Echoes.', tools: [echo, big] });
export default provider;
startProvider(provider);
