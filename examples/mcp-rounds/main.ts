// A server of MCP 2026-07-28 requires input during a call: a handler answers it, or a caller relays it to a client of its own.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { textOf, type InputRound } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';

const server = fileURLToPath(new URL('server.mjs', import.meta.url));

await using provider = new MCPToolProvider({
  name: 'deploy',
  command: process.execPath,
  args: [server],
  elicitation: async () => ({ action: 'accept', content: { sure: true } }),
});
assert.equal(textOf(await provider.callTool('deploy.run')), 'deployed');

const askClient = async (_requests: unknown) => ({ sure: { action: 'accept', content: { sure: false } } });

// #region relay
let round: InputRound | undefined;
const relay = {
  capabilities: { elicitation: { form: {} } },
  onRound: (required: InputRound) => void (round = required),
};
let result = await provider.callTool('deploy.run', {}, { relay });
while (round) {
  const answer = { inputResponses: await askClient(round.inputRequests), requestState: round.requestState };
  round = undefined;
  result = await provider.callTool('deploy.run', {}, { relay: { ...relay, answer } });
}
// #endregion

assert.equal(textOf(result), 'not deployed');
