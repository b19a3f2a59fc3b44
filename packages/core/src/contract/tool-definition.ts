// One tool as a provider lists it.

import type { JsonSchema, JsonObject } from './json.js';

/** One tool as it is listed. The shapes are MCP's, so nothing is converted on the way to a gateway. */
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
 * MCP's hints, with MCP's pessimistic defaults where an author gives none. They never loosen a policy.
 * https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations
 */
export interface ToolAnnotations {
  /** The tool changes nothing. Default false. */
  readOnlyHint?: boolean;
  /** The tool may destroy or overwrite. Default true. */
  destructiveHint?: boolean;
  /** Calling it twice does no more than calling it once. Default false. */
  idempotentHint?: boolean;
  /** The tool reaches beyond a closed domain, for example the network. Default true. */
  openWorldHint?: boolean;
}

/** An icon of a tool. https://modelcontextprotocol.io/specification/2025-11-25/schema#icon */
export interface ToolIcon {
  readonly src: string;
  readonly mimeType?: string;
  readonly sizes?: readonly string[];
}
