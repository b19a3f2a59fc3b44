// Values as a recording has them: JSON, with secrets redacted by name and by shape. Recording a value and looking it up use
// the same functions, so that a call with a secret is found again.

import { ToolError } from '../contract/errors.js';
import type { JsonObject } from '../contract/json.js';
import { redacted } from '../contract/redact.js';
import { redactedText } from '../contract/redacted-text.js';
import {
  errorResult,
  hasBrokenOutput,
  isContentBlock,
  isOwnFailure,
  type ContentBlock,
  type ToolResult,
} from '../contract/result.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import type { RecordedCall, RecordedResult } from './recording-format.js';

/** In place of arguments that JSON cannot express. */
const NOT_JSON = '[not JSON]';
const MAX_DEPTH = 256;

/** A call with the arguments as JSON, secrets redacted. Callers in JavaScript may pass any name and any arguments. */
export function recordedCall(name: unknown, args: unknown): RecordedCall {
  return { name: typeof name === 'string' ? redactedText(name) : null, args: recordedArguments(args) };
}

function recordedArguments(args: unknown): unknown {
  if (args === undefined) return {};
  try {
    return redacted(JSON.parse(JSON.stringify(args)) as unknown);
  } catch {
    return NOT_JSON; // cyclic, a bigint or a function: the call fails, and its result says why
  }
}

/** A result with secrets redacted; binary data is kept as it is. What is not a result is recorded as the error that a hub makes of it. */
export function recordedResult(given: unknown): RecordedResult {
  try {
    return copyOf(isResult(given) ? given : notAResult());
  } catch {
    return copyOf(notAResult()); // an accessor that throws
  }
}

function copyOf(result: ToolResult): RecordedResult {
  const { content, durationMs: _measuredAgain, ...rest } = result;
  return {
    content: content.map(recordedBlock),
    ...redacted(rest),
    ...(isOwnFailure(result) && { own: true }),
    ...(hasBrokenOutput(result) && { brokenOutput: true }),
  };
}

function isResult(value: unknown): value is ToolResult {
  const { content, isError } = Object(value) as Partial<ToolResult>;
  return Array.isArray(content) && content.every(isContentBlock) && typeof isError === 'boolean';
}

function notAResult(): ToolResult {
  const error = new ToolError('INTERNAL', 'The provider returned something that is not a ToolResult.');
  return errorResult(error, performance.now());
}

/** Binary data is left out of the search: base64 has no secret's shape, and searching megabytes of it would be slow. */
function recordedBlock(block: ContentBlock): ContentBlock {
  if (block.type === 'image' || block.type === 'audio')
    return { ...redacted({ ...block, data: '' }), data: block.data };
  if (block.type !== 'resource' || block.resource.blob === undefined) return redacted(block);
  const { blob } = block.resource;
  const clean = redacted({ ...block, resource: { ...block.resource, blob: '' } });
  return { ...clean, resource: { ...clean.resource, blob } };
}

/**
 * A tool's definition, in which texts that look like a secret are redacted. Names of secrets are not: in a schema they name
 * arguments.
 */
export function recordedTool(tool: ToolDefinition): ToolDefinition {
  return { ...(redactedTexts(tool, 0) as ToolDefinition), name: tool.name };
}

function redactedTexts(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactedText(value);
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => redactedTexts(item, depth + 1));
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    const clean = redactedTexts(item, depth + 1);
    Object.defineProperty(copy, key, { value: clean, enumerable: true, configurable: true, writable: true });
  }
  return copy;
}
