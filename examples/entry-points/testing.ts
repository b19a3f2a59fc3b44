// The example of @toolwright/core/testing in the API reference.

import assert from 'node:assert/strict';
import { defineTool } from '@toolwright/core';
import { createTestProject, expectNoLeaks, runTool } from '@toolwright/core/testing';

await using _ = expectNoLeaks();
await using project = await createTestProject({ 'a.txt': 'one' });
const read = defineTool({ name: 'read', description: 'Read a.txt.', execute: () => project.read('a.txt') });
const result = await runTool(read, {});
assert.deepEqual(result.content, [{ type: 'text', text: 'one' }]);
