// The example of @toolwright/core/servers in the API reference.

import assert from 'node:assert/strict';

import { InProcessToolProvider } from '@toolwright/core';
import { createBuiltinServers } from '@toolwright/core/servers';

const servers = createBuiltinServers({ projectDir: process.cwd(), bash: false, agent: {} });
await using provider = new InProcessToolProvider({ servers });
const tools = await provider.listTools(); // filesystem.read_file, git.status, agent.todo_write, …

assert.ok(tools.some(({ name }) => name === 'agent.todo_write'));
