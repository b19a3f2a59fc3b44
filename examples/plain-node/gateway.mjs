// A hub served to MCP clients over HTTP.

import { InProcessToolProvider, ToolHub } from '@toolwright/core';
import { createGateway } from '@toolwright/gateway';

const hub = new ToolHub({
  providers: [InProcessToolProvider.forProject(process.cwd())],
  policy: { default: 'ask', rules: [{ tool: 'filesystem.read_*', action: 'allow' }] },
});
const gateway = createGateway(hub);
try {
  const { url, token } = await gateway.serveHttp({ port: 0 }); // on 127.0.0.1; clients send the token
  console.log(`An MCP client connects to ${url} with the header "Authorization: Bearer ${token}".`);
} finally {
  await gateway.close();
  await hub.disconnect();
}
