// The tool of echo.mjs as a provider file.

import { createProvider, createTool, startProvider } from '@toolwright/runtime/provider';

const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
const echo = createTool({
  name: 'echo',
  description: 'Gives the text back.',
  input: schema,
  output: schema,
  execute: (args) => args,
});
const provider = createProvider({ name: 'bench', version: '1.0.0', description: 'Echoes.', tools: [echo] });
export default provider;
startProvider(provider);
