// Runs one tool without a provider: parses and coerces arguments, runs the function, checks its output.

import { coerceArguments } from './coercion.js';
import type { CallScope } from '../call/call-scope.js';
import { ToolError, messageOf } from '../contract/errors.js';
import { isJsonObject, type JsonObject } from '../contract/json.js';
import type { SchemaIssue, SchemaOutcome } from './json-schema-validator.js';
import { teeLogger, type Logger } from '../contract/logger.js';
import { copyArguments, copyJson } from '../contract/json-copy.js';
import { likelyName } from '../contract/nearest-names.js';
import { resultFromOutput, structuredResult, type UntimedResult } from '../contract/result.js';
import { describeIssues, normaliseIssues } from './schema.js';
import { permitsAll, type Tool, type ToolContext } from './define-tool.js';
import type { CallOptions, Progress } from '../contract/tool-provider.js';
import type { PermissionClaim } from '../contract/claims.js';
import type { ToolDefinition } from '../contract/tool-definition.js';

/** Parsed arguments: the value for the tool's function, and the JSON for policies and approvals. */
export interface ParsedArguments {
  /** The value that the tool's function receives. */
  readonly value: unknown;
  /** The JSON that policies and approvals see. */
  readonly args: JsonObject;
}

/** A tool with this argument ends by itself after that many milliseconds; the call's deadline is a little later. */
const SELF_TIMEOUT_ARGUMENT = 'timeout_ms';
const SELF_TIMEOUT_GRACE_MS = 5_000;
/** The number of unknown arguments that an error names. */
const MAX_UNKNOWN = 10;

/**
 * Parses arguments: validates them, and on failure coerces strings that should be numbers or booleans and validates once
 * more. Synchronous unless the schema is asynchronous.
 *
 * @throws {ToolError} INVALID_ARGUMENT
 */
export function parseArguments(tool: Tool, args: unknown): ParsedArguments | Promise<ParsedArguments> {
  const own = copyArguments(tool.name, args);
  refuseUnknown(tool, own);
  const outcome = tool.input.parse(own);
  if (outcome instanceof Promise) return outcome.then((settled) => acceptOrCoerce(tool, own, settled));
  return acceptOrCoerce(tool, own, outcome);
}

function acceptOrCoerce(
  tool: Tool,
  args: JsonObject,
  outcome: SchemaOutcome,
): ParsedArguments | Promise<ParsedArguments> {
  if (!outcome.issues) return { value: outcome.value, args };
  const issues = normaliseIssues(outcome.issues);
  const coerced = coerceArguments(args, issues, tool.input.jsonSchema ?? {});
  if (!coerced) throw invalidArguments(tool, issues);
  const accept = (second: SchemaOutcome): ParsedArguments => {
    if (second.issues) throw invalidArguments(tool, normaliseIssues(second.issues));
    return { value: second.value, args: coerced };
  };
  const second = tool.input.parse(coerced);
  return second instanceof Promise ? second.then(accept) : accept(second);
}

function refuseUnknown(tool: Tool, args: object): void {
  const { knownKeys } = tool.input;
  if (!knownKeys) return;
  let unknown: string[] | undefined;
  for (const key in args) if (!knownKeys.has(key) && Object.hasOwn(args, key)) (unknown ??= []).push(key);
  if (!unknown) return;
  const nearest = unknown.slice(0, MAX_UNKNOWN).map((key) => ({ key, known: likelyName(key, knownKeys) }));
  const names = nearest.map(({ key, known }) =>
    known === undefined ? JSON.stringify(key) : `${JSON.stringify(key)} (did you mean "${known}"?)`,
  );
  const hint = nearest.every(({ known }) => known !== undefined)
    ? ''
    : ` Valid arguments: ${[...knownKeys].join(', ') || 'none'}.`;
  const missing = missingArguments(tool, args).filter((key) => !nearest.some(({ known }) => known === key));
  const need = missing.length > 0 ? ` Missing: ${missing.join(', ')}.` : '';
  throw new ToolError('INVALID_ARGUMENT', `"${tool.name}" has no argument ${names.join(', ')}.${hint}${need}`, {
    tool: tool.name,
    details: { unknown: unknown[0], known: [...knownKeys] },
  });
}

/** The required arguments that are absent: one of them is often what an unknown one means, as `cmd` for `command`. */
function missingArguments({ input }: Tool, args: object): string[] {
  const { required } = input.jsonSchema ?? {};
  if (!Array.isArray(required)) return [];
  return required.filter((key): key is string => typeof key === 'string' && !Object.hasOwn(args, key));
}

function invalidArguments(tool: Tool, issues: readonly SchemaIssue[]): ToolError {
  return new ToolError('INVALID_ARGUMENT', `Wrong arguments for "${tool.name}": ${describeIssues(issues)}.`, {
    tool: tool.name,
    details: { issues: issues.slice(0, 20).map(({ path, message }) => ({ path: path.map(String), message })) },
  });
}

/** The tool's deadline for a call: its `timeout_ms` argument plus time to end by itself, else its `timeoutMs`. */
export function ownTimeoutMs(tool: Tool, parsed: unknown): number | undefined {
  if (tool.input.knownKeys?.has(SELF_TIMEOUT_ARGUMENT)) {
    const own = (parsed as JsonObject)[SELF_TIMEOUT_ARGUMENT];
    if (typeof own === 'number') return own + SELF_TIMEOUT_GRACE_MS;
  }
  return tool.timeoutMs;
}

/** The key of `_meta` for the deadline of a tool that another process lists, in milliseconds. */
export const TIMEOUT_META = 'toolwright/timeoutMs';

/** The deadline of a tool that is known only from its listing: from its `timeout_ms` argument or {@link TIMEOUT_META}. */
export function listedTimeoutMs({ inputSchema, _meta }: ToolDefinition, args: unknown): number | undefined {
  const properties = Object(inputSchema.properties) as object;
  if (Object.hasOwn(properties, SELF_TIMEOUT_ARGUMENT)) {
    const own = (args as JsonObject | null)?.[SELF_TIMEOUT_ARGUMENT];
    if (typeof own === 'number' && own > 0) return own + SELF_TIMEOUT_GRACE_MS;
  }
  const timeoutMs = _meta?.[TIMEOUT_META];
  return typeof timeoutMs === 'number' && timeoutMs > 0 ? timeoutMs : undefined;
}

/** The claims of a call; undefined for a tool without a `permission` function. */
export function claimsOf(
  tool: Tool,
  parsed: unknown,
  context: ToolContext,
): PermissionClaim[] | Promise<PermissionClaim[]> | undefined {
  return tool.permission?.(parsed as never, context as ToolContext<never>);
}

/**
 * Runs the tool's function and checks its output. Synchronous if the function and the output schema are.
 *
 * @throws {ToolError} EXECUTION_FAILED when it threw, OUTPUT_INVALID when its output does not match its schema
 */
export function executeTool(tool: Tool, parsed: unknown, context: ToolContext): UntimedResult | Promise<UntimedResult> {
  const output = startTool(tool, parsed, context);
  if (!isThenable(output)) return finishTool(tool, output);
  return Promise.resolve(output).then(
    (settled) => finishTool(tool, settled),
    (thrown: unknown) => {
      throw executionFailed(tool, thrown);
    },
  );
}

/** The first half of {@link executeTool}: runs the function and returns its value or promise. */
export function startTool(tool: Tool, parsed: unknown, context: ToolContext): unknown {
  try {
    return tool.execute(parsed as never, context as ToolContext<never>);
  } catch (thrown) {
    throw executionFailed(tool, thrown);
  }
}

/** The error for what a tool's function threw or rejected with. */
export function executionFailed(tool: Tool, thrown: unknown): ToolError {
  if (ToolError.isInstance(thrown)) return ToolError.from(thrown);
  return new ToolError('EXECUTION_FAILED', messageOf(thrown), { tool: tool.name, cause: thrown });
}

/** True for a promise and anything else with a `then`. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

/** The second half of {@link executeTool}: checks a settled output. Asynchronous only if the output schema is. */
export function finishTool(tool: Tool, output: unknown): UntimedResult | Promise<UntimedResult> {
  const schema = tool.output;
  if (!schema) return resultFromOutput(output, asIs);
  const accept = (outcome: SchemaOutcome): JsonObject => {
    if (!outcome.issues) return outcome.value as JsonObject;
    const faults = describeIssues(normaliseIssues(outcome.issues));
    throw new ToolError('OUTPUT_INVALID', `"${tool.name}" ran, but its output does not match its schema: ${faults}.`, {
      tool: tool.name,
    });
  };
  let pending: { from: unknown; outcome: Promise<SchemaOutcome> } | undefined;
  const result = resultFromOutput(
    output,
    (value) => {
      const outcome = schema.parse(value);
      if (!(outcome instanceof Promise)) return accept(outcome);
      pending = { from: value, outcome };
      return value as JsonObject;
    },
    schema.wraps,
  );
  if (pending) {
    const { from, outcome } = pending;
    return outcome.then((settled) => {
      const parsed = accept(settled);
      const isFullForm = (output as { structuredContent?: unknown } | null)?.structuredContent === from;
      if (isFullForm) return resultFromOutput({ ...(output as object), structuredContent: parsed }, asIs);
      return structuredResult(parsed, isJsonObject(output) ? parsed : parsed.result);
    });
  }
  if (result.structuredContent === undefined && !result.isError) {
    throw new ToolError(
      'OUTPUT_INVALID',
      `"${tool.name}" ran, but returned no structuredContent although it has an output schema.`,
      { tool: tool.name },
    );
  }
  return result;
}

function asIs(value: unknown): JsonObject {
  return value as JsonObject;
}

/** The context that a tool's function receives. Its accessors create objects only when they are read. */
export class CallContext implements ToolContext {
  readonly provider: string;
  readonly state: unknown;
  readonly #scope: CallScope;
  readonly #logger: Logger;
  #meta: JsonObject | undefined;

  constructor(scope: CallScope, provider: string, state: unknown, logger: Logger) {
    this.#scope = scope;
    this.provider = provider;
    this.state = state;
    this.#logger = logger;
  }

  /** The provider's logger, which also writes to the caller's `onLog`. */
  get logger(): Logger {
    const { onLog } = this.#scope;
    return onLog ? teeLogger(this.#logger, onLog) : this.#logger;
  }

  /** Bound, so that `execute: (args, { progress }) => …` works. */
  get progress(): (progress: Progress) => void {
    const scope = this.#scope;
    return (progress) => scope.progress(progress);
  }

  get permits(): (pattern: string) => boolean {
    return this.#scope.permits ?? permitsAll;
  }

  /** Without a deadline, as this call has one; and without `relay`, which would end a call that this one continues from. */
  get nested(): CallOptions {
    const { callId: parentCallId, permits: _ofThisCall, relay: _ofTheCaller, ...inward } = this.#scope.inward;
    return { ...inward, parentCallId, timeoutMs: Infinity };
  }

  get signal(): AbortSignal {
    return this.#scope.signal;
  }

  get callId(): string {
    return this.#scope.callId;
  }

  get sessionId(): string | undefined {
    return this.#scope.sessionId;
  }

  /** A copy, made on first access. */
  get meta(): JsonObject | undefined {
    return (this.#meta ??= copyJson(this.#scope.meta));
  }
}
