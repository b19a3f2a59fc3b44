// The definition of a tool, as a provider lists it.

import type { JsonSchema, JsonObject } from './json.js';

/** A tool as a provider lists it, in MCP's format. */
export interface ToolDefinition {
  /** The qualified name, `server.tool`. */
  readonly name: string;
  /** A name for people. */
  readonly title?: string;
  /** Tells the model what the tool does and when to use it. */
  readonly description: string;
  /** The schema of the arguments. */
  readonly inputSchema: JsonSchema;
  /** The schema of the result's `structuredContent`. Absent when the tool declares none. */
  readonly outputSchema?: JsonSchema;
  /** Hints about the tool's behaviour. */
  readonly annotations: Required<ToolAnnotations>;
  /** Icons for user interfaces. */
  readonly icons?: readonly ToolIcon[];
  /** MCP's `_meta`: data for programs, not shown to the model. */
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
  /** An `https:` or `data:` URL. */
  readonly src: string;
  /** Its media type, such as `image/png`. */
  readonly mimeType?: string;
  /** Sizes as in HTML, such as `48x48` or `any`. */
  readonly sizes?: readonly string[];
}

/** True for a tool that only views of MCP Apps call, by `_meta.ui.visibility`. A model must not see it. */
export function isForViewsOnly({ _meta }: Pick<ToolDefinition, '_meta'>): boolean {
  const { visibility } = (_meta?.ui ?? {}) as { visibility?: unknown };
  return Array.isArray(visibility) && visibility.length > 0 && !visibility.includes('model');
}
