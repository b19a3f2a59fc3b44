// An uncaught error of the published code shows the line that threw it.

import { expect, it } from 'vitest';
import { runNode } from './run-node.js';

it.each([
  ['import { defineTool } from "@toolwright/core"; defineTool({ name: "a b" });', 'ToolError'],
  ['import { ToolHub } from "@toolwright/core"; throw Object.assign(new Error(ToolHub.name));', 'ToolHub'],
])('ToolError prints a few lines with the names of the sources when %s is not caught', async (source, name) => {
  const failure = await runNode(source).then(
    () => 'nothing was thrown',
    (thrown: unknown) => (thrown as Error).message,
  );
  expect(failure).toContain(name);
  expect(failure).not.toContain(`_${name}`);
  expect(failure.length).toBeLessThan(3_000);
});
