// The example of @toolwright/gateway in the API reference.

import assert from 'node:assert/strict';

import { InProcessToolProvider } from '@toolwright/core';
import { createGateway } from '@toolwright/gateway';

await using provider = InProcessToolProvider.forProject(process.cwd(), { bash: false });
await using gateway = createGateway(provider);
const { url, token } = await gateway.serveHttp({ port: 0 }); // an MCP client connects with these

assert.ok(url && token);
