// The tool of echo.mjs behind a gateway: over stdio, over HTTP if the first argument is `http`, or on the socket that it names.

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
} else if (path === 'http') {
  const { url, token } = await gateway.serveHttp({ port: 0 });
  console.log(`${url} ${token}`);
} else {
  await gateway.serveSocket({ path });
  console.log('listening');
}
