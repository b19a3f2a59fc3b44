// The tools of contractServer() as an MCP server over stdio, under the names that they have at their server.

import { InProcessToolProvider } from '@toolwright/core';
import { contractServer } from '@toolwright/core/testing';
import { createGateway } from '@toolwright/gateway';

const provider = new InProcessToolProvider({ name: 'contract', servers: [contractServer()] });
const gateway = createGateway(provider, { naming: (name) => name.slice('contract.'.length) });
const { closed } = await gateway.serveStdio();
await closed;
await gateway.close();
await provider.disconnect();
