// The tools of contractServer() as a provider file in TypeScript. contract-provider.mjs is the same in JavaScript, and
// contract_provider.py in Python.

import { contractServer, type ContractState } from '@toolwright/core/testing';
import { createProvider, startProvider } from '@toolwright/runtime/provider';

const server = contractServer();
const provider = createProvider<ContractState>({
  name: 'contract',
  version: server.version,
  description: 'What the contract suite calls.',
  tools: server.tools,
  initialize: () => ({ executions: 0, aborts: 0 }),
});
server.onToolsChanged(() => {
  for (const tool of server.tools) if (!provider.tools.includes(tool)) provider.addTool(tool);
});

export default provider;
startProvider(provider);
