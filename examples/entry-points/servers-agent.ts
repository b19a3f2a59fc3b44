// The example of @toolwright/core/servers/agent in the API reference.

import assert from 'node:assert/strict';

import { InProcessToolProvider, textOf } from '@toolwright/core';
import { createAgentServer } from '@toolwright/core/servers/agent';

const server = createAgentServer();
await using provider = new InProcessToolProvider({ servers: [server] });
const result = await provider.callTool('agent.prune_context', { keep_recent: 4 });
console.log(textOf(result), result.directives); // the engine acts on the directives

assert.equal(result.directives[0]?.type, 'prune_messages');
