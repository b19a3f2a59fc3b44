// Results on the wire: what a call's result looks like in MCP, and what MCP's looks like as ours. Errors and directives,
// which MCP has no place for, ride in _meta.

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

/** Marks a result whose structured form was no object: its `structuredContent` is `{ result: value }`. */
const WRAPPED_META = 'toolwright/wrapped';

const MAX_MESSAGE = 16_384;

/** A `tools/call` result as MCP has it. */
export interface WireResult extends Record<string, unknown> {
  content: ContentBlock[];
  structuredContent?: JsonObject;
  isError: boolean;
  _meta?: JsonObject;
}

/** A result as it is sent over MCP, by a gateway: the code of a failure and the directives go into `_meta`. */
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
 * A result as an MCP server sent it. A block of an unknown type is passed on as it is; one that lacks what its type needs
 * is replaced by words, as it would break whoever reads it. A `structuredContent` that is no object becomes
 * `{ result: value }`, and `_meta["toolwright/wrapped"]` says so; null counts as none.
 *
 * @param warn told of what was left out
 * @throws {ToolError} PROTOCOL_VIOLATION when it is no result at all
 */
export function fromWireResult(wire: JsonObject, warn: (message: string) => void = () => undefined): UntimedResult {
  const { content: given = [], structuredContent, isError, _meta } = wire;
  if (!Array.isArray(given)) throw new ToolError('PROTOCOL_VIOLATION', 'The content of its result is no array.');
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
    const { [ERROR_META]: taken, [DIRECTIVES_META]: directives, ...rest } = _meta;
    error = taken;
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
  const words = known && typeof message === 'string' ? message : textOf(result);
  return new ToolError(
    known ? code : 'EXECUTION_FAILED',
    words.slice(0, MAX_MESSAGE) || 'The tool reported a failure and said nothing more.',
    {
      ...(known && typeof retryable === 'boolean' && { retryable }),
      ...(known && isJsonObject(details) && { details }),
    },
  ).toInfo();
}

function blockOf(block: unknown, warn: (message: string) => void): ContentBlock {
  if (isContentBlock(block)) return block;
  const type = isJsonObject(block) && typeof block.type === 'string' ? `"${block.type.slice(0, 40)}"` : 'no';
  warn(`a content block of ${type} type is not what that type has`);
  return { type: 'text', text: `[A malformed content block of ${type} type was left out.]` };
}
