// The text of a configuration file as a value, with the place of each part in the text.

import { extname } from 'node:path';
import { ToolError } from '@toolwright/core';
import { findNodeAtLocation, getNodeValue, parseTree, printParseErrorCode, type ParseError } from 'jsonc-parser';
import { parse as parseToml, TomlError } from 'smol-toml';
import { isMap, isScalar, LineCounter, parseDocument, type Document } from 'yaml';

/** Keys and indexes that lead to a part of a configuration. */
export type ConfigPath = readonly (string | number)[];

/** A parsed file. */
export interface ConfigSource {
  /** The file's path, for messages. */
  readonly file: string;
  /** Its content. */
  readonly value: unknown;
  /** The line of a part of it, from 1; undefined where the format does not tell. */
  lineOf(path: ConfigPath): number | undefined;
}

/** The longest file that is read. A configuration of 1,000 servers is a tenth of it. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
const MAX_YAML_ALIASES = 100;
/** A configuration nests a dozen levels. */
const MAX_DEPTH = 200;

/**
 * Parses the text of a file by its extension: `.yaml` and `.yml`, `.toml`, and JSON with comments for any other.
 *
 * @throws {ToolError} INVALID_ARGUMENT with the file and the line of the first fault
 */
export function parseConfigText(text: string, file: string): ConfigSource {
  if (text.length > MAX_CHARACTERS)
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${file} is too large for a configuration: over ${MAX_CHARACTERS} characters.`,
    );
  if (isNestedTooDeeply(text)) throw syntaxError(file, undefined, `it is nested deeper than ${MAX_DEPTH} levels`);
  switch (extname(file).toLowerCase()) {
    case '.yaml':
    case '.yml':
      return yamlSource(text, file);
    case '.toml':
      return tomlSource(text, file);
    default:
      return jsonSource(text, file);
  }
}

/** Whether brackets or indentation are deeper than a configuration needs: the parsers would overflow the stack. */
function isNestedTooDeeply(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === '[' || character === '{') depth++;
    else if (character === ']' || character === '}') depth = Math.max(0, depth - 1);
    if (depth > MAX_DEPTH) return true;
  }
  return new RegExp(`^[ \\t]{${2 * MAX_DEPTH},}\\S`, 'm').test(text);
}

function jsonSource(text: string, file: string): ConfigSource {
  const errors: ParseError[] = [];
  const root = parseTree(text.replace(/^\uFEFF/, ' '), errors, { allowTrailingComma: true });
  const lineAt = (offset: number): number => text.slice(0, offset).split('\n').length;
  const [first] = errors;
  if (first) throw syntaxError(file, lineAt(first.offset), wordsOf(printParseErrorCode(first.error)));
  if (!root) throw new ToolError('INVALID_ARGUMENT', `${file} is empty; the smallest configuration is {}.`);
  return {
    file,
    value: getNodeValue(root) as unknown,
    lineOf: (path) => {
      const node = findNodeAtLocation(root, [...path]);
      const place = node?.parent?.type === 'property' ? node.parent : node;
      return place && lineAt(place.offset);
    },
  };
}

/** `PropertyNameExpected` → `property name expected`. */
function wordsOf(code: string): string {
  return code.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}

function yamlSource(text: string, file: string): ConfigSource {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, version: '1.2', prettyErrors: false });
  const [first] = document.errors;
  if (first) throw syntaxError(file, lines.linePos(first.pos[0]).line, first.message);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MAX_YAML_ALIASES });
  } catch (thrown) {
    throw syntaxError(file, undefined, (thrown as Error).message);
  }
  if (value === null || value === undefined)
    throw new ToolError('INVALID_ARGUMENT', `${file} is empty; the smallest configuration is {}.`);
  return {
    file,
    value,
    lineOf: (path) => {
      const offset = offsetIn(document, path);
      return offset === undefined ? undefined : lines.linePos(offset).line;
    },
  };
}

/** The offset of the key of a part, or of the part where it has no key. */
function offsetIn(document: Document, path: ConfigPath): number | undefined {
  const parent = path.length > 1 ? document.getIn(path.slice(0, -1), true) : document.contents;
  const last = path.at(-1);
  if (isMap(parent)) {
    const pair = parent.items.find(({ key }) => isScalar(key) && key.value === last);
    if (pair && isScalar(pair.key)) return pair.key.range?.[0];
  }
  const node = document.getIn(path, true) as { range?: readonly [number, number, number] } | undefined;
  return node?.range?.[0];
}

function tomlSource(text: string, file: string): ConfigSource {
  try {
    return { file, value: parseToml(text), lineOf: () => undefined };
  } catch (thrown) {
    if (!(thrown instanceof TomlError)) throw thrown;
    throw syntaxError(file, thrown.line, thrown.message.split('\n', 1)[0] ?? '');
  }
}

function syntaxError(file: string, line: number | undefined, message: string): ToolError {
  const place = line === undefined ? file : `${file}:${line}`;
  return new ToolError('INVALID_ARGUMENT', `${place}: the file cannot be parsed: ${message.replace(/\.$/, '')}.`, {
    details: { file, ...(line !== undefined && { line }) },
  });
}
