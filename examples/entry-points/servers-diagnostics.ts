// The example of @toolwright/core/servers/diagnostics in the API reference.

import assert from 'node:assert/strict';

import { InProcessToolProvider, textOf } from '@toolwright/core';
import { createDiagnosticsServer } from '@toolwright/core/servers/diagnostics';

const server = createDiagnosticsServer({ projectDir: process.cwd() });
await using provider = new InProcessToolProvider({ servers: [server] });
const result = await provider.callTool('diagnostics.servers', {});
console.log(textOf(result)); // the language servers that are available

assert.equal(result.isError, false);
