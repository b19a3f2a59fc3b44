// The path of a request. A value of an argument stays one segment of it: it cannot add segments, leave them, or be empty.

import { ToolError } from '../../contract/errors.js';
import type { JsonObject } from '../../contract/json.js';
import { quoteWord } from '../../contract/shell-words.js';
import type { ApiOperation, ApiParameter } from '../operations/operation.js';
import { encodeStrictly, writeInPath } from './parameter-styles.js';

/** How often a value is decoded to find `.` and `..`: servers and proxies may decode more than once. */
const MAX_DECODINGS = 4;

/**
 * Fills the path of an operation.
 *
 * @param valueOf returns the argument of a path parameter
 * @throws {ToolError} INVALID_ARGUMENT for a value that is empty, or that has `.` or `..` between slashes
 */
export function fillPath(operation: ApiOperation, tool: string, valueOf: (parameter: ApiParameter) => unknown): string {
  const parameters = new Map(
    operation.parameters.filter(({ place }) => place === 'path').map((parameter) => [parameter.name, parameter]),
  );
  const path = operation.path.replace(/\{([^{}]+)\}|[^{}]+|[{}]/g, (part, name: string | undefined) => {
    const parameter = name === undefined ? undefined : parameters.get(name);
    if (!parameter) return encodeTemplate(part);
    const value = valueOf(parameter);
    const written = value === undefined || value === null ? '' : writeInPath(parameter, value);
    const fault = faultOf(written.replace(/^[.;]/, parameter.style === 'simple' ? '$&' : ''));
    if (fault === undefined) return written;
    throw new ToolError('INVALID_ARGUMENT', `Wrong arguments for "${tool}": "${parameter.name}" ${fault}.`, { tool });
  });
  // Several parameters in one segment may form one together.
  if (path.split('/').some(isDots))
    throw new ToolError(
      'INVALID_ARGUMENT',
      `Wrong arguments for "${tool}": they make a segment of the path "." or "..".`,
      {
        tool,
      },
    );
  return path;
}

function faultOf(written: string): string | undefined {
  if (written === '') return 'must not be empty, as it is part of the path';
  let text = written;
  for (let decodings = 0; decodings <= MAX_DECODINGS; decodings++) {
    if (text.split(/[/\\]/).some(isDots)) return 'must not have "." or ".." between slashes, as it is part of the path';
    text = decode(text);
  }
  return undefined;
}

/** Some servers ignore what follows a semicolon. */
function isDots(segment: string): boolean {
  return /^\.{1,2}(;|$)/.test(segment);
}

/** Decodes what is valid, byte by byte, as lenient servers do. */
function decode(text: string): string {
  return text.replace(/%([0-7][0-9a-f])/gi, (_code, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** A pattern of rules for the path with any values of its parameters. */
export function pathPattern({ path }: ApiOperation): string {
  const parts = path.split(/\{[^{}]+\}/);
  return parts.map((part) => (part === '' ? '' : quoteWord(encodeTemplate(part)))).join('*');
}

/** Encodes the characters of a template that a path must not have; keeps those that are encoded. */
function encodeTemplate(text: string): string {
  return text.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]+/g, encodeStrictly);
}

/** The arguments that are sent as path parameters. */
export function pathValues(
  args: JsonObject,
  targets: ReadonlyMap<string, { readonly kind: string; readonly parameter?: ApiParameter }>,
): (parameter: ApiParameter) => unknown {
  const values = new Map<ApiParameter, unknown>();
  for (const [name, target] of targets)
    if (target.parameter && Object.hasOwn(args, name)) values.set(target.parameter, args[name]);
  return (parameter) => values.get(parameter);
}
