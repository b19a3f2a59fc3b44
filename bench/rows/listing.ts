// listTools() of a hub with 500 tools, warm, against reading an array.

import { defineServer, defineTool, InProcessToolProvider, ToolHub } from '@toolwright/core';
import { compare, reach, type Row } from '../method.js';

const PROVIDERS = 10;
const TOOLS_EACH = 50;

export async function listingRows(): Promise<Row[]> {
  const providers = Array.from({ length: PROVIDERS }, (_unused, provider) => {
    const tools = Array.from({ length: TOOLS_EACH }, (_also, tool) =>
      defineTool({
        name: `tool_${tool}`,
        description: `Tool ${tool}.`,
        input: { type: 'object', properties: { a: { type: 'string' } } },
        execute: () => 'x',
      }),
    );
    return new InProcessToolProvider({
      servers: [defineServer({ name: `server_${provider}`, version: '1.0.0', tools })],
    });
  });
  const hub = new ToolHub({ providers });
  await hub.connect();
  const tools = await hub.listTools();
  if (tools.length !== PROVIDERS * TOOLS_EACH) throw new Error(`listed ${tools.length} tools`);
  const row = await compare(
    'list 500 tools, warm',
    { name: 'ToolHub.listTools', run: () => hub.listTools() },
    { name: 'await an array', run: async () => tools },
  );
  await hub.disconnect();
  return [reach(row, row.subjectUs / 1_000, '<=', 1, 'ms')];
}
