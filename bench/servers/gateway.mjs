// The tool of echo.mjs behind a gateway, over stdio or on the socket in the first argument.

import { defineServer, defineTool, InProcessToolProvider } from '@toolwright/core';
import { createGateway } from '@toolwright/gateway';

const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
const echo = defineTool({
  name: 'echo',
  description: 'Gives the text back.',
  input: schema,
  output: schema,
  execute: (args) => args,
});
const provider = new InProcessToolProvider({
  servers: [defineServer({ name: 'bench', version: '1.0.0', tools: [echo] })],
});
const gateway = createGateway(provider, { naming: (name) => name.slice('bench.'.length) });
const path = process.argv[2];
if (path === undefined) {
  await (
    await gateway.serveStdio()
  ).closed;
  await provider.disconnect();
} else {
  await gateway.serveSocket({ path });
  console.log('listening');
}
