// @toolwright/gateway/testing: the contract's tools as an MCP server, for those who test what connects to MCP servers.

export { contractServerFile } from './contract-server-file.js';
