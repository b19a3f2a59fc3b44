// @toolwright/gateway: any provider re-exposed as an MCP server. This release holds the package's name only.

/** The version that the three packages share. */
export const VERSION = '0.1.0';
