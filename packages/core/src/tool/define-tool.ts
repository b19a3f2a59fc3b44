// defineTool(): creates a tool from a checked definition.

import { ToolError } from '../contract/errors.js';
import type { SchemaInput, SchemaOutput, ToolSchema } from './infer-schema.js';
import { frozenCopy } from '../contract/json-copy.js';
import { isJsonObject, type JsonObject, type JsonSchema } from '../contract/json.js';
import { optionFaults, optionTypeFaults, shownValue, type OptionNames } from '../contract/options.js';
import type { Logger } from '../contract/logger.js';
import { CompiledSchema } from './schema.js';
import type { ContentBlock, ToolOutput } from '../contract/result.js';
import type { CallOptions, Progress } from '../contract/tool-provider.js';
import type { PermissionClaim } from '../contract/claims.js';
import type { ToolAnnotations, ToolDefinition, ToolIcon } from '../contract/tool-definition.js';

/** The second argument of a tool's function. Annotate it as `ToolContext<State>` to type `state`. */
export interface ToolContext<State = unknown> {
  /** Aborted when the call is cancelled, times out or its provider disconnects. */
  readonly signal: AbortSignal;
  /** Reports progress to the caller and renews the deadline. Ignored once the call has settled. */
  progress(progress: Progress): void;
  /** The provider's logger; entries also go to the caller's `onLog`. */
  readonly logger: Logger;
  /** Identifies the call in logs and events. */
  readonly callId: string;
  /** The session of the call, if the caller set one. */
  readonly sessionId: string | undefined;
  /** The name of the provider that runs the tool. */
  readonly provider: string;
  /** The caller's `meta`; a copy. */
  readonly meta: JsonObject | undefined;
  /**
   * Whether the policy permits access to something below the claims of the call, such as a file of a claimed directory. A tool
   * that walks a directory calls it for each entry, and leaves out or refuses what is denied. Always true without a policy.
   */
  readonly permits: (pattern: string) => boolean;
  /**
   * Options for a call that the tool makes on its caller's behalf: `hub.callTool(name, args, ctx.nested)`. The nested call ends
   * with this one, its approvals and server requests go to the same caller, and this call's deadline is paused while an
   * approval is pending.
   */
  readonly nested: CallOptions;
  /** The object that the server's `start` returned. */
  readonly state: State;
}

/**
 * The return value of a tool: text, a JSON object, content blocks, nothing, or the full form. A number, a boolean or any other
 * array becomes `{ result }`.
 */
export type ToolReturn<Structured = JsonObject> =
  string | Structured | ContentBlock[] | ToolOutput<Structured> | number | boolean | readonly unknown[] | void;

/** Options of {@link defineTool}. */
export interface ToolOptions<Input extends ToolSchema, Output extends ToolSchema | undefined, State> {
  /** `^[A-Za-z0-9_-]{1,64}$`, unique in its server. */
  name: string;
  /** A name for people. */
  title?: string;
  /** Tells the model what the tool does and when to use it. */
  description: string;
  /** The schema of the arguments. Default: no arguments. */
  input?: Input;
  /** The schema of the result's `structuredContent`; a result that does not match is `OUTPUT_INVALID`. Default: none. */
  output?: Output;
  /** Hints for callers. Default of each: MCP's pessimistic default. */
  annotations?: ToolAnnotations;
  /** The deadline of calls that set none, in milliseconds. Default: the provider's. */
  timeoutMs?: number;
  /** Icons for user interfaces. Default: none. */
  icons?: readonly ToolIcon[];
  /** Listed unchanged. */
  _meta?: JsonObject;
  /** Short form of {@link permission}: the text that rules are matched against. Default: the tool's name. */
  permissionPattern?: (args: SchemaOutput<Input>) => string;
  /** Returns the claims of a call: its effects, for a policy. When it throws, the call is refused. */
  permission?: (args: SchemaOutput<Input>, ctx: ToolContext<State>) => PermissionClaim[] | Promise<PermissionClaim[]>;
  /** Runs the tool. An error that it throws becomes an `isError` result. */
  execute: (
    args: SchemaOutput<Input>,
    ctx: ToolContext<State>,
  ) => ToolReturn<OutputOf<Output>> | Promise<ToolReturn<OutputOf<Output>>>;
}

type OutputOf<Output> = Output extends ToolSchema ? SchemaInput<Output> : JsonObject;

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- stands for the types of any tool
type Any = any;

/** A defined tool. `Args` and `Output` are the types of {@link callTyped}; `State` is the type of its server's state. */
export interface Tool<Args = Any, Output = Any, State = Any> {
  /** The bare name, without its server. */
  readonly name: string;
  /** A name for people. */
  readonly title?: string;
  /** Tells the model what the tool does and when to use it. */
  readonly description: string;
  /** The four hints, with MCP's defaults filled in. */
  readonly annotations: Required<ToolAnnotations>;
  /** The deadline of calls that set none, in milliseconds. */
  readonly timeoutMs?: number;
  /** Icons for user interfaces. */
  readonly icons?: readonly ToolIcon[];
  /** Listed unchanged. */
  readonly _meta?: JsonObject;
  /** The compiled input schema, with the JSON Schema that is listed. */
  readonly input: CompiledSchema;
  /** The compiled output schema. Absent when the tool declares none. */
  readonly output?: CompiledSchema;
  /** Listed in place of the schema of {@link input}, which is still what arguments are validated with. Default: none. */
  readonly listedInput?: JsonSchema;
  /** Returns the claims of a call. Undefined: the claim is the tool's bare name. */
  readonly permission?: (args: never, ctx: ToolContext<never>) => PermissionClaim[] | Promise<PermissionClaim[]>;
  /** Runs the tool, with parsed arguments. */
  readonly execute: (args: never, ctx: ToolContext<never>) => unknown;
  /** Only carries types; absent at run time. */
  readonly '~types'?: {
    /** The type of the arguments. */
    args: Args;
    /** The type of the output. */
    output: Output;
    /** The type of the server's state. */
    state: (state: State) => void;
  };
}

/** The `ctx.permits` of a call that no policy restricts; a walker can compare with it to skip the checks. */
export const permitsAll = (): boolean => true;

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const HINTS: ReadonlySet<string> = new Set(['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']);
const TOOL_OPTIONS: OptionNames<ToolOptions<ToolSchema, undefined, unknown>> = {
  name: true,
  title: 'text',
  description: true,
  input: true,
  output: true,
  annotations: 'object',
  timeoutMs: true,
  icons: 'array',
  _meta: 'object',
  permissionPattern: 'function',
  permission: 'function',
  execute: true,
};
const NO_INPUT = { type: 'object', properties: {} };

/** The fault of a name of a tool, server or provider; undefined for a valid name. */
export function nameFault(what: string, name: unknown): string | undefined {
  if (typeof name === 'string' && NAME.test(name)) return undefined;
  return `${what} must be 1 to 64 of A-Z a-z 0-9 _ -, not ${JSON.stringify(name) ?? 'absent'}`;
}

/**
 * Defines a tool. The types of arguments and output are inferred from the schemas.
 *
 * @throws {ToolError} INVALID_ARGUMENT listing all faults of the definition. Faults that only zod 3 or Ajv can detect are
 * reported by the provider's `connect`.
 * @example
 * ```ts
 * const add = defineTool({
 *   name: 'add',
 *   description: 'Add two numbers.',
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   output: z.object({ sum: z.number() }),
 *   annotations: { readOnlyHint: true },
 *   execute: ({ a, b }) => ({ sum: a + b }),
 * });
 * ```
 */
export function defineTool<
  const Input extends ToolSchema = Record<never, never>,
  const Output extends ToolSchema | undefined = undefined,
  State = unknown,
>(
  options: ToolOptions<Input, Output, State>,
): Tool<SchemaInput<Input>, Output extends ToolSchema ? SchemaOutput<Output> : JsonObject | string, State> {
  if (!isJsonObject(options)) {
    throw new ToolError('INVALID_ARGUMENT', 'defineTool() takes { name, description, input, execute, … }.');
  }
  const faults = [...optionFaults(options, TOOL_OPTIONS), ...optionTypeFaults(options, TOOL_OPTIONS)];
  const name = nameFault('name', options.name);
  if (name) faults.push(name);
  if (typeof options.description !== 'string' || options.description.trim() === '')
    faults.push('description must be a non-empty string');
  if (typeof options.execute !== 'function') faults.push('execute must be a function');
  if (options.permission && options.permissionPattern) faults.push('set permission or permissionPattern, not both');
  if (options.timeoutMs !== undefined && !(typeof options.timeoutMs === 'number' && options.timeoutMs > 0))
    faults.push(`timeoutMs must be more than 0, not ${shownValue(options.timeoutMs)}`);
  for (const [hint, value] of Object.entries(Object(options.annotations) as object)) {
    if (typeof value !== 'boolean' && (value as unknown) !== undefined)
      faults.push(`annotations.${hint} must be true or false`);
    if (!HINTS.has(hint)) faults.push(`annotations.${hint} is not a hint; valid hints: ${[...HINTS].join(', ')}`);
  }
  const compile = (schema: ToolSchema, side: 'input' | 'output'): CompiledSchema | undefined => {
    try {
      return new CompiledSchema(schema, side);
    } catch (error) {
      faults.push(ToolError.from(error).message.replace(/\.$/, ''));
      return undefined;
    }
  };
  const input = compile(options.input === undefined ? NO_INPUT : options.input, 'input');
  const output = options.output === undefined ? undefined : compile(options.output, 'output');
  if (faults.length > 0 || !input) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `The tool "${String(options.name)}" cannot be defined: ${faults.join('; ')}.`,
      {
        details: { faults },
      },
    );
  }
  const { permissionPattern } = options;
  const permission = permissionPattern
    ? (args: SchemaOutput<Input>): PermissionClaim[] => [
        { pattern: permissionPattern(args), match: 'glob', understood: true },
      ]
    : options.permission;
  return Object.freeze({
    ...pick(options, ['name', 'title', 'description', 'timeoutMs']),
    ...frozenCopy(pick(options, ['icons', '_meta'])),
    annotations: Object.freeze(fillAnnotations(options.annotations)),
    input,
    ...(output && { output }),
    ...(permission && { permission }),
    execute: options.execute,
  }) as Tool<SchemaInput<Input>, Output extends ToolSchema ? SchemaOutput<Output> : JsonObject | string, State>;
}

/**
 * The four hints, with MCP's pessimistic defaults for those not given.
 * https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations
 */
export function fillAnnotations(annotations: ToolAnnotations = {}): Required<ToolAnnotations> {
  const { readOnlyHint = false, destructiveHint = true, idempotentHint = false, openWorldHint = true } = annotations;
  return { readOnlyHint, destructiveHint, idempotentHint, openWorldHint };
}

/** The definition of a tool in a server's list. Call {@link prepareTool} first. */
export function listingOf(server: string, tool: Tool): ToolDefinition {
  return Object.freeze({
    ...pick(tool, ['title', 'description', 'icons', '_meta', 'annotations']),
    name: `${server}.${tool.name}`,
    inputSchema: tool.listedInput ?? tool.input.jsonSchema ?? {},
    ...(tool.output && { outputSchema: tool.output.jsonSchema ?? {} }),
  }) as ToolDefinition;
}

/** The same tool with another description and another listed schema of its arguments. */
export function withListing(tool: Tool, description: string, listedInput: JsonSchema): Tool {
  return Object.freeze({ ...tool, description, listedInput: frozenCopy(listedInput) });
}

/** Compiles a tool's schemas, loading what they need. @throws {ToolError} INVALID_ARGUMENT naming the tool */
export async function prepareTool(tool: Tool): Promise<void> {
  for (const [side, schema] of [
    ['input', tool.input],
    ['output', tool.output],
  ] as const) {
    if (!schema || schema.ready) continue;
    try {
      await schema.prepare();
    } catch (cause) {
      const { message } = ToolError.from(cause);
      throw new ToolError(
        'INVALID_ARGUMENT',
        `The tool "${tool.name}" cannot be used: its ${side} schema: ${message}`,
        { tool: tool.name, cause },
      );
    }
  }
}

function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Partial<Pick<T, K>> {
  const picked: Partial<Pick<T, K>> = {};
  for (const key of keys) if (from[key] !== undefined) picked[key] = from[key];
  return picked;
}
