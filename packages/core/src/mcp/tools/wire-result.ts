// Converts results to and from MCP's format. Errors and directives, for which MCP has no field, are stored in _meta.

import { isDirective } from '../../contract/directives.js';
import { ToolError, type ToolErrorInfo } from '../../contract/errors.js';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import {
  DIRECTIVES_META,
  ERROR_META,
  isContentBlock,
  textOf,
  withoutTrustedMeta,
  type ContentBlock,
  type ToolResult,
  type UntimedResult,
} from '../../contract/result.js';

export { DIRECTIVES_META, ERROR_META };

/** The key of `_meta` that marks a result whose structured content is wrapped as `{ result: value }`. */
const WRAPPED_META = 'toolwright/wrapped';

const MAX_MESSAGE = 16_384;

/** A `tools/call` result in MCP's format. */
export interface WireResult extends Record<string, unknown> {
  /** What the model sees. */
  content: ContentBlock[];
  /** The result as data. */
  structuredContent?: JsonObject;
  /** True when the call failed. */
  isError: boolean;
  /** The error and the directives, besides the metadata of the tool. */
  _meta?: JsonObject;
}

/** Converts a result to MCP's format, with the error and the directives in `_meta`. */
export function toWireResult(result: ToolResult): WireResult {
  const { content, structuredContent, isError, error, directives } = result;
  const _meta = {
    ...withoutTrustedMeta(result._meta),
    ...(error && { [ERROR_META]: error }),
    ...(directives.length > 0 && { [DIRECTIVES_META]: directives }),
  };
  return {
    content,
    isError,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(Object.keys(_meta).length > 0 && { _meta }),
  };
}

/**
 * Converts a result from MCP's format. Keeps blocks of unknown types, and replaces a malformed block by a note, as it could break
 * readers. A `structuredContent` that is not an object becomes `{ result: value }`, marked by
 * `_meta["toolwright/wrapped"]`; null counts as absent.
 *
 * @param warn receives what was left out
 * @throws {ToolError} PROTOCOL_VIOLATION when `content` is not an array
 */
export function fromWireResult(wire: JsonObject, warn: (message: string) => void = () => undefined): UntimedResult {
  const { content: given = [], structuredContent, isError, _meta } = wire;
  if (!Array.isArray(given)) throw new ToolError('PROTOCOL_VIOLATION', 'The content of its result is not an array.');
  const content = given.map((block) => blockOf(block, warn));
  const result: UntimedResult = { content, isError: isError === true, directives: [] };
  const hasStructure = structuredContent !== undefined && structuredContent !== null;
  const wraps = hasStructure && !isJsonObject(structuredContent);
  if (hasStructure) {
    result.structuredContent = wraps ? { result: structuredContent } : structuredContent;
    if (content.length === 0) content.push({ type: 'text', text: JSON.stringify(structuredContent) });
  }
  let error: unknown;
  if (isJsonObject(_meta)) {
    const { [ERROR_META]: errorMeta, [DIRECTIVES_META]: directives, ...rest } = _meta;
    error = errorMeta;
    if (Array.isArray(directives)) result.directives = directives.filter(isDirective);
    if (Object.keys(rest).length > 0) result._meta = rest;
  }
  if (wraps) result._meta = { ...result._meta, [WRAPPED_META]: true };
  if (result.isError) result.error = errorOf(error, result);
  return result;
}

function errorOf(given: unknown, result: UntimedResult): ToolErrorInfo {
  const { code, message, retryable, details } = (isJsonObject(given) ? given : {}) as Partial<ToolErrorInfo>;
  const known = ToolError.isCode(code);
  const text = known && typeof message === 'string' ? message : textOf(result);
  return new ToolError(
    known ? code : 'EXECUTION_FAILED',
    text.slice(0, MAX_MESSAGE) || 'The tool failed and gave no message.',
    {
      ...(known && typeof retryable === 'boolean' && { retryable }),
      ...(known && isJsonObject(details) && { details }),
    },
  ).toInfo();
}

function blockOf(block: unknown, warn: (message: string) => void): ContentBlock {
  if (isContentBlock(block)) return block;
  const type = isJsonObject(block) && typeof block.type === 'string' ? `"${block.type.slice(0, 40)}"` : 'no';
  warn(`a content block of ${type} type is malformed`);
  return { type: 'text', text: `[A malformed content block of ${type} type was left out.]` };
}
