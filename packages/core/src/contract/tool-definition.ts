// The definition of a tool, as a provider lists it.

import type { JsonSchema, JsonObject } from './json.js';

/** A tool as a provider lists it, in MCP's format. */
export interface ToolDefinition {
  /** The qualified name, `server.tool`. */
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations: Required<ToolAnnotations>;
  readonly icons?: readonly ToolIcon[];
  readonly _meta?: JsonObject;
}

/**
 * MCP's hints about a tool's behaviour, with MCP's pessimistic defaults. They never relax a policy.
 * https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations
 */
export interface ToolAnnotations {
  /** The tool changes nothing. Default false. */
  readOnlyHint?: boolean;
  /** The tool may destroy or overwrite. Default true. */
  destructiveHint?: boolean;
  /** Repeating a call has no further effect. Default false. */
  idempotentHint?: boolean;
  /** The tool interacts with an open world, such as the network. Default true. */
  openWorldHint?: boolean;
}

/** An icon of a tool. https://modelcontextprotocol.io/specification/2025-11-25/schema#icon */
export interface ToolIcon {
  readonly src: string;
  readonly mimeType?: string;
  readonly sizes?: readonly string[];
}
