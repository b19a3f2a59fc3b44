// Authoring one tool: its definition, checked when it is made, and what its function is given.

import { ToolError } from '../contract/errors.js';
import type { SchemaInput, SchemaOutput, ToolSchema } from './infer-schema.js';
import { frozenCopy } from '../contract/json-copy.js';
import { isJsonObject, type JsonObject } from '../contract/json.js';
import { optionFaults, type OptionNames } from '../contract/options.js';
import type { Logger } from '../contract/logger.js';
import { CompiledSchema } from './schema.js';
import type { ContentBlock, ToolOutput } from '../contract/result.js';
import type { CallOptions, Progress } from '../contract/tool-provider.js';
import type { PermissionClaim } from '../contract/claims.js';
import type { ToolAnnotations, ToolDefinition, ToolIcon } from '../contract/tool-definition.js';

/** What a tool's function is given beside its arguments. Annotate it as `ToolContext<State>` to type `state`. */
export interface ToolContext<State = unknown> {
  /** Aborted when the call is cancelled, times out or its provider disconnects. Made on the first look. */
  readonly signal: AbortSignal;
  /** Reports progress to the caller and renews the deadline. Ignored once the call has settled. */
  progress(progress: Progress): void;
  readonly logger: Logger;
  readonly callId: string;
  readonly sessionId: string | undefined;
  /** The name of the provider that runs the tool. */
  readonly provider: string;
  /** What the caller passed as `meta`. */
  readonly meta: JsonObject | undefined;
  /**
   * Whether the policy lets the call touch what its claims cover without naming it, such as one file below a claimed
   * directory. A tool that walks asks this for each entry, and leaves out or refuses what is denied. True without a policy.
   */
  readonly permits: (pattern: string) => boolean;
  /**
   * The options of a call that the tool makes on its caller's behalf: `hub.callTool(name, args, ctx.nested)`. Such a call
   * ends with this one, questions of its policy and its server go to the same person, and while one is asked this call's
   * deadline stands still.
   */
  readonly nested: CallOptions;
  /** The very object that the server's `start` returned. */
  readonly state: State;
}

/**
 * What a tool may return: text, a JSON object, content blocks, nothing, or the full form. A number, a boolean and any other
 * array become `{ result }`.
 */
export type ToolReturn<Structured = JsonObject> =
  string | Structured | ContentBlock[] | ToolOutput<Structured> | number | boolean | readonly unknown[] | void;

/** A tool as its author writes it. */
export interface ToolOptions<Input extends ToolSchema, Output extends ToolSchema | undefined, State> {
  /** `^[A-Za-z0-9_-]{1,64}$`, unique in its server. */
  name: string;
  /** A name for people. */
  title?: string;
  /** For the model: what the tool does and when to use it. */
  description: string;
  /** The arguments. Default: none. */
  input?: Input;
  /** The result's `structuredContent`; a result that breaks it is `OUTPUT_INVALID`. */
  output?: Output;
  /** Hints for callers. MCP's pessimistic defaults stand for those left out. */
  annotations?: ToolAnnotations;
  /** The deadline of a call that names none, in milliseconds. Default: none in process. */
  timeoutMs?: number;
  icons?: readonly ToolIcon[];
  /** Passed on in the listing as it is. */
  _meta?: JsonObject;
  /** Short form of {@link permission}: one text that rules are compared with. Default: the tool's name. */
  permissionPattern?: (args: SchemaOutput<Input>) => string;
  /** Everything that the call would do, for a policy. A throw refuses the call. */
  permission?: (args: SchemaOutput<Input>, ctx: ToolContext<State>) => PermissionClaim[] | Promise<PermissionClaim[]>;
  /** Runs the tool. Whatever it throws becomes an `isError` result. */
  execute: (
    args: SchemaOutput<Input>,
    ctx: ToolContext<State>,
  ) => ToolReturn<OutputOf<Output>> | Promise<ToolReturn<OutputOf<Output>>>;
}

type OutputOf<Output> = Output extends ToolSchema ? SchemaInput<Output> : JsonObject;

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- "any" is the one type that stands for every tool's
type Any = any;

/** A defined tool. `Args` and `Output` are what {@link callTyped} takes and gives; `State` is what it needs. */
export interface Tool<Args = Any, Output = Any, State = Any> {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly annotations: Required<ToolAnnotations>;
  readonly timeoutMs?: number;
  readonly icons?: readonly ToolIcon[];
  readonly _meta?: JsonObject;
  /** The compiled input; its JSON Schema is what the listing shows. */
  readonly input: CompiledSchema;
  readonly output?: CompiledSchema;
  /** Claims for parsed arguments; undefined stands for the tool's bare name. */
  readonly permission?: (args: never, ctx: ToolContext<never>) => PermissionClaim[] | Promise<PermissionClaim[]>;
  readonly execute: (args: never, ctx: ToolContext<never>) => unknown;
  /** Carries the types; never present at run time. */
  readonly '~types'?: { args: Args; output: Output; state: (state: State) => void };
}

/** The answer of `ctx.permits` where no policy narrows the call: a walker that finds this one need not ask it. */
export const permitsAll = (): boolean => true;

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const HINTS: ReadonlySet<string> = new Set(['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']);
const TOOL_OPTIONS: OptionNames<ToolOptions<ToolSchema, undefined, unknown>> = {
  name: true,
  title: true,
  description: true,
  input: true,
  output: true,
  annotations: true,
  timeoutMs: true,
  icons: true,
  _meta: true,
  permissionPattern: true,
  permission: true,
  execute: true,
};
const NO_INPUT = { type: 'object', properties: {} };

/** Says what is wrong with a name of a tool, server or provider; undefined for a right one. */
export function nameFault(what: string, name: unknown): string | undefined {
  if (typeof name === 'string' && NAME.test(name)) return undefined;
  return `${what} must be 1 to 64 of A-Z a-z 0-9 _ -, not ${JSON.stringify(name) ?? 'absent'}`;
}

/**
 * Defines a tool. Arguments and output are inferred from the schemas.
 *
 * @throws {ToolError} INVALID_ARGUMENT naming every fault of the definition at once. What can only be seen with zod 3
 * or Ajv at hand is reported by the provider's `connect`.
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
  const faults = optionFaults(options, TOOL_OPTIONS);
  const name = nameFault('name', options.name);
  if (name) faults.push(name);
  if (typeof options.description !== 'string' || options.description.trim() === '')
    faults.push('description must say what the tool does');
  if (typeof options.execute !== 'function') faults.push('execute must be a function');
  if (options.permission && options.permissionPattern) faults.push('give permission or permissionPattern, not both');
  if (options.timeoutMs !== undefined && !(typeof options.timeoutMs === 'number' && options.timeoutMs > 0))
    faults.push(`timeoutMs must be more than 0, not ${options.timeoutMs}`);
  for (const [hint, value] of Object.entries(options.annotations ?? {})) {
    if (typeof value !== 'boolean' && (value as unknown) !== undefined)
      faults.push(`annotations.${hint} must be true or false`);
    if (!HINTS.has(hint)) faults.push(`annotations.${hint} is not a hint; known are ${[...HINTS].join(', ')}`);
  }
  const compile = (schema: ToolSchema, side: 'input' | 'output'): CompiledSchema | undefined => {
    try {
      return new CompiledSchema(schema, side);
    } catch (error) {
      faults.push(ToolError.from(error).message);
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

/** How a tool is listed by a server. The schemas must be at hand (see {@link prepareTool}). */
export function listingOf(server: string, tool: Tool): ToolDefinition {
  return Object.freeze({
    ...pick(tool, ['title', 'description', 'icons', '_meta', 'annotations']),
    name: `${server}.${tool.name}`,
    inputSchema: tool.input.jsonSchema ?? {},
    ...(tool.output && { outputSchema: tool.output.jsonSchema ?? {} }),
  }) as ToolDefinition;
}

/** Loads what a tool's schemas need. @throws {ToolError} INVALID_ARGUMENT naming the tool. */
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
