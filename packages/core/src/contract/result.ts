// The result of a call, and its construction from a tool's return value or from an error.

import { sharedSet } from './brand.js';
import { isDirective, type Directive } from './directives.js';
import { ToolError, type ToolErrorInfo } from './errors.js';
import { copyAsJson } from './json-copy.js';
import { isJsonObject, type JsonObject } from './json.js';

/**
 * The result of one call. `callTool` always resolves to it: a failure has `isError: true`, its text in `content` for the
 * model, and `error` with the code for the program.
 */
export interface ToolResult {
  /** What the model sees. */
  content: ContentBlock[];
  /** The result as data; it matches the tool's `outputSchema` if there is one. */
  structuredContent?: JsonObject;
  /** True when the call failed; `error` then has the code. */
  isError: boolean;
  /** The error, for the program. Present when the call failed. */
  error?: ToolErrorInfo;
  /** Instructions from the tool to the engine. Usually empty. */
  directives: readonly Directive[];
  /** The duration of the call in milliseconds, with fractions. */
  durationMs: number;
  /** MCP's `_meta`: data for programs, not shown to the model. */
  _meta?: JsonObject;
}

/** A text block. */
export interface TextContent {
  /** Tells the kinds of {@link ContentBlock} apart. */
  type: 'text';
  /** The text. */
  text: string;
  /** MCP's annotations, such as `audience` and `priority`. */
  annotations?: JsonObject;
  /** MCP's `_meta`: data for programs, not shown to the model. */
  _meta?: JsonObject;
}

/** An image or audio, in base64. */
export interface MediaContent {
  /** Tells the kinds of {@link ContentBlock} apart. */
  type: 'image' | 'audio';
  /** The bytes, in base64. */
  data: string;
  /** The media type, such as `image/png`. */
  mimeType: string;
  /** MCP's annotations, such as `audience` and `priority`. */
  annotations?: JsonObject;
  /** MCP's `_meta`: data for programs, not shown to the model. */
  _meta?: JsonObject;
}

/** A link to a resource, which is not fetched automatically. */
export interface ResourceLink {
  /** Tells the kinds of {@link ContentBlock} apart. */
  type: 'resource_link';
  /** The address of the resource. */
  uri: string;
  /** A name for programs. */
  name: string;
  /** A name for people. */
  title?: string;
  /** What the resource is, for the model. */
  description?: string;
  /** Its media type, if known. */
  mimeType?: string;
  /** Its size in bytes, if known. */
  size?: number;
  /** MCP's annotations, such as `audience` and `priority`. */
  annotations?: JsonObject;
  /** MCP's `_meta`: data for programs, not shown to the model. */
  _meta?: JsonObject;
}

/** The content of a resource: `text`, or `blob`. */
export interface ResourceContents {
  /** The address of the resource. */
  uri: string;
  /** Its media type, if known. */
  mimeType?: string;
  /** The content of a text. */
  text?: string;
  /** Any other content, in base64. */
  blob?: string;
  /** MCP's `_meta`: data for programs, not shown to the model. */
  _meta?: JsonObject;
}

/** A resource with its content. */
export interface EmbeddedResource {
  /** Tells the kinds of {@link ContentBlock} apart. */
  type: 'resource';
  /** The resource: its content is `text`, or `blob` in base64. */
  resource: ResourceContents;
  /** MCP's annotations, such as `audience` and `priority`. */
  annotations?: JsonObject;
  /** MCP's `_meta`: data for programs, not shown to the model. */
  _meta?: JsonObject;
}

/** MCP's content blocks. https://modelcontextprotocol.io/specification/2025-11-25/schema#contentblock */
export type ContentBlock = TextContent | MediaContent | ResourceLink | EmbeddedResource;

/** The full form of a tool's return value. */
export interface ToolOutput<Structured = JsonObject> {
  /** What the model sees. Default: the JSON of `structuredContent`. */
  content?: ContentBlock[];
  /** The result as data, validated against the tool's `output` schema. */
  structuredContent?: Structured;
  /** True to report a failure. Default false. */
  isError?: boolean;
  /** With `isError`: the error, for its code. Default: `EXECUTION_FAILED` with the text of `content`. */
  error?: ToolError;
  /** Instructions to the engine. Default: none. */
  directives?: readonly Directive[];
  /** MCP's `_meta`: data for programs, not shown to the model. Default: none. */
  _meta?: JsonObject;
}

/** The key of `_meta` for an error, over IPC and MCP: `{ code, message, retryable, details? }`. */
export const ERROR_META = 'toolwright/error';
/** The key of `_meta` for directives, over IPC and MCP. */
export const DIRECTIVES_META = 'toolwright/directives';

/**
 * Removes the keys of `_meta` that the next hop would trust, as they are set from the result itself. Undefined when nothing
 * remains.
 */
export function withoutTrustedMeta(meta: JsonObject | undefined): JsonObject | undefined {
  if (!meta || !(ERROR_META in meta || DIRECTIVES_META in meta)) return meta;
  const { [ERROR_META]: _error, [DIRECTIVES_META]: _directives, ...rest } = meta;
  return Object.keys(rest).length > 0 ? rest : undefined;
}

/** A result before its duration is known. */
export type UntimedResult = Omit<ToolResult, 'durationMs'>;

const NO_DIRECTIVES: readonly Directive[] = Object.freeze([]);
const MAX_ERROR_MESSAGE = 16_384;
const OUTPUT_KEYS: ReadonlySet<string> = new Set([
  'content',
  'structuredContent',
  'isError',
  'error',
  'directives',
  '_meta',
]);

/** The text blocks of a result, joined by newlines. */
export function textOf(result: Pick<ToolResult, 'content'>): string {
  let text = '';
  for (const block of result.content) {
    if (block.type === 'text') text = text === '' ? block.text : `${text}\n${block.text}`;
  }
  return text;
}

/** Errors that this process reports, as opposed to a peer's. */
const ownFailures = sharedSet('ownFailures');

/** True when the error comes from a provider in this process; false when it comes from its peer or from the tool there. */
export function isOwnFailure(result: ToolResult): boolean {
  return ownFailures.has(result);
}

/** Marks the error of a result as one that a provider in this process reports. */
export function noteOwnFailure(result: object): void {
  ownFailures.add(result);
}

/** Copies the marks of a result (own failure, broken output) to a copy of it. */
export function keepOrigin(from: object, copy: ToolResult): ToolResult {
  if (ownFailures.has(from)) ownFailures.add(copy);
  if (breaksSchema.has(from)) breaksSchema.add(copy);
  return copy;
}

/** Results whose structured content does not match the tool's output schema, as their provider found. */
const breaksSchema = sharedSet('brokenOutputs');

/** Marks a result whose structured content does not match the tool's output schema. */
export function noteBrokenOutput(result: object): void {
  breaksSchema.add(result);
}

/** True for a result marked by `noteBrokenOutput`; standard MCP clients reject such a result. */
export function hasBrokenOutput(result: object): boolean {
  return breaksSchema.has(result);
}

/** The result of a failed call: the message for the model, the code for the program. */
export function errorResult(error: ToolError, startedAt: number): ToolResult {
  const result: ToolResult = {
    content: [{ type: 'text', text: `[${error.code}] ${error.message}` }],
    isError: true,
    error: boundedInfo(error),
    directives: NO_DIRECTIVES,
    durationMs: performance.now() - startedAt,
  };
  ownFailures.add(result);
  return result;
}

/** Matches unless the name belongs to a rule: rules keep the qualified name. */
const IN_RULE = '(?<!(?:tool|pattern)"?: ?)';

/**
 * Replaces the tool's name in the texts of an own failure by the name that the caller used, as a model knows no other.
 *
 * @param name the qualified name
 */
export function nameAsCalled(result: ToolResult, name: string, calledAs: string): ToolResult {
  // The tool's own error texts are not changed.
  if (!ownFailures.has(result) || typeof name !== 'string' || result.error?.code === 'EXECUTION_FAILED') return result;
  const bare = name.slice(name.indexOf('.') + 1);
  const rename = (text: string): string =>
    text
      // Only the first occurrence: an argument or its value may equal the tool's name.
      .replace(new RegExp(`${IN_RULE}"${escapePattern(bare)}"`), () => `"${calledAs}"`)
      .replace(wholeName(name), () => calledAs);
  for (const block of result.content) if (block.type === 'text') block.text = rename(block.text);
  if (result.error) result.error = { ...result.error, message: rename(result.error.message) };
  return result;
}

function wholeName(name: string): RegExp {
  return new RegExp(`(?<![\\w.-]|(?:tool|pattern)"?: ?")${escapePattern(name)}(?![\\w-]|\\.\\w)`, 'g');
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** Limits the message in `error`; that in `content` is subject to the hub's output limit. */
function boundedInfo(error: ToolError): ToolErrorInfo {
  const info = error.toInfo();
  return info.message.length <= MAX_ERROR_MESSAGE
    ? info
    : { ...info, message: `${info.message.slice(0, MAX_ERROR_MESSAGE)}…` };
}

/**
 * Turns the return value of `execute` into a result. Accepts a string, content blocks, a JSON object, nothing, or the full
 * form. A number, a boolean or any other array becomes `{ result }`, with the value as text. Without `content`, the text is
 * the JSON of `structuredContent`. An object is the full form when all its keys are keys of {@link ToolOutput} and its
 * `content`, if present, consists of blocks.
 *
 * @param wraps whether the output schema is not an object's: any value but the full form then becomes `{ result }`
 * @throws {ToolError} OUTPUT_INVALID for any other value
 */
export function resultFromOutput(
  output: unknown,
  parseStructured: (value: unknown) => JsonObject,
  wraps = false,
): UntimedResult {
  if (wraps && !isJsonObject(output)) {
    const structured = parseStructured({ result: output });
    return structuredResult(structured, structured.result);
  }
  if (typeof output === 'string') return textResult(output);
  if (output === undefined || output === null) return { content: [], isError: false, directives: NO_DIRECTIVES };
  if (Array.isArray(output) && output.length > 0 && output.every(isKnownBlock))
    return { content: output, isError: false, directives: NO_DIRECTIVES };
  if (Array.isArray(output) || typeof output === 'number' || typeof output === 'boolean')
    return structuredResult(parseStructured({ result: output as unknown }), output);
  if (typeof output !== 'object') throw notAnOutput(`a ${typeof output}`);
  if (output instanceof Error) throw notAnOutput('an Error, which should be thrown instead');
  if (output instanceof Map || output instanceof Set) throw notAnOutput(`a ${output.constructor.name}`);
  if (hasOwnForm(output)) return resultFromOutput(jsonFormOf(output), parseStructured, wraps);
  if (isFullForm(output)) return resultFromFullForm(output, parseStructured);
  return structuredResult(parseStructured(output));
}

function resultFromFullForm(output: ToolOutput, parseStructured: (value: unknown) => JsonObject): UntimedResult {
  const isError = output.isError ?? false;
  const { directives = NO_DIRECTIVES } = output;
  if (!directives.every(isDirective)) throw notAnOutput('a directive without a type or params');
  const given = asObject(output.structuredContent);
  const structured = given === undefined || isError ? given : parseStructured(given);
  const result: UntimedResult =
    structured === undefined
      ? { content: output.content ?? [], isError, directives }
      : output.content === undefined || output.content.length === 0
        ? { ...structuredResult(structured), isError, directives }
        : { content: output.content, structuredContent: structured, isError, directives };
  if (output._meta !== undefined) result._meta = output._meta;
  if (isError) {
    const message = textOf(result) || 'The tool failed and gave no message.';
    result.error = boundedInfo(
      output.error ? ToolError.from(output.error) : new ToolError('EXECUTION_FAILED', message),
    );
  }
  return result;
}

/** Structured content must be an object: a value with another JSON form becomes `{ result }`. */
function asObject(value: JsonObject | undefined): JsonObject | undefined {
  if (value === undefined || !(Array.isArray(value) || hasOwnForm(value))) return value;
  const form = jsonFormOf(value);
  return isJsonObject(form) ? form : { result: form };
}

function hasOwnForm(value: object): boolean {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

/** @throws {ToolError} OUTPUT_INVALID for a value without a JSON form */
function jsonFormOf(value: object): unknown {
  let form: unknown;
  try {
    form = copyAsJson<unknown>(value);
  } catch (cause) {
    throw notJson(cause);
  }
  if (form === undefined) throw notAnOutput('an object that has no JSON form');
  return form;
}

function notJson(cause: unknown): ToolError {
  const why = messageOfJson(cause);
  return new ToolError('OUTPUT_INVALID', `The tool returned an object that cannot be serialised as JSON: ${why}`, {
    cause,
  });
}

function textResult(text: string): UntimedResult {
  return { content: [{ type: 'text', text }], isError: false, directives: NO_DIRECTIVES };
}

/** A result with structured content. @param shown the value whose JSON, or which itself if it is a string, is the text */
export function structuredResult(structuredContent: JsonObject, shown: unknown = structuredContent): UntimedResult {
  let text: string | undefined;
  try {
    text = typeof shown === 'string' ? shown : JSON.stringify(shown);
  } catch (cause) {
    throw notJson(cause);
  }
  if (text === undefined) throw notAnOutput('an object that has no JSON form');
  return { content: [{ type: 'text', text }], structuredContent, isError: false, directives: NO_DIRECTIVES };
}

function messageOfJson(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).split('\n', 1)[0] ?? '';
}

function isFullForm(output: object): output is ToolOutput {
  let known = false;
  for (const key of Object.keys(output)) {
    if (!OUTPUT_KEYS.has(key)) return false;
    known = true;
  }
  if (!known) return false;
  const { content, directives, structuredContent, isError, error } = output as Record<string, unknown>;
  if (error !== undefined && !(ToolError.isInstance(error) && isError === true)) return false;
  if (content !== undefined && !(Array.isArray(content) && content.every(isContentBlock))) return false;
  if (directives !== undefined && !Array.isArray(directives)) return false;
  if (structuredContent !== undefined && (typeof structuredContent !== 'object' || structuredContent === null))
    return false;
  return isError === undefined || typeof isError === 'boolean';
}

/** In a bare array only MCP's block types count as content: a tool's own rows may have a `type` too. */
function isKnownBlock(value: unknown): value is ContentBlock {
  return isContentBlock(value) && BLOCK_TYPES.has(value.type);
}

const BLOCK_TYPES: ReadonlySet<string> = new Set(['text', 'image', 'audio', 'resource_link', 'resource']);

/** True for a valid MCP content block, and for an object with an unknown `type`. */
export function isContentBlock(value: unknown): value is ContentBlock {
  if (typeof value !== 'object' || value === null) return false;
  const block = value as Record<string, unknown>;
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string';
    case 'image':
    case 'audio':
      return typeof block.data === 'string' && typeof block.mimeType === 'string';
    case 'resource_link':
      return typeof block.uri === 'string';
    case 'resource':
      return typeof block.resource === 'object' && block.resource !== null;
    default:
      return typeof block.type === 'string' && block.type !== '';
  }
}

function notAnOutput(what: string): ToolError {
  return new ToolError(
    'OUTPUT_INVALID',
    `The tool returned ${what}; a tool returns a string, a JSON object, content blocks, ` +
      'or { content, structuredContent, isError, directives, _meta }.',
  );
}
