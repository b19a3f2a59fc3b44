// The diagnostics tools: the errors of a file, and whether the list is complete.

import assert from 'node:assert/strict';
import { InProcessToolProvider, textOf } from '@toolwright/core';
import { createDiagnosticsServer } from '@toolwright/core/servers';
import { createTestProject } from '@toolwright/core/testing';

await using project = await createTestProject({ 'src/main.ts': 'export const port: number = "80";\n', 'a.xyz': '' });
const { projectDir } = project;

const server = createDiagnosticsServer({ projectDir });
await using provider = new InProcessToolProvider({ servers: [server] });
const checked = await provider.callTool('diagnostics.diagnostics', { path: 'src/main.ts', wait_ms: 20_000 });
const complete = checked.structuredContent?.complete === true; // false without a language server for TypeScript
console.log(textOf(checked));
const yesOrNo = await provider.callTool('diagnostics.check_errors', { path: 'src/main.ts' });
if (complete) assert.equal(yesOrNo.structuredContent?.has_errors, true);
const unknown = await provider.callTool('diagnostics.check_errors', { path: 'a.xyz' });
assert.equal(unknown.structuredContent?.complete, false);
console.log(textOf(unknown));
