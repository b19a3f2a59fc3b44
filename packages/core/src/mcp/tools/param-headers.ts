// The arguments that a tool mirrors into HTTP headers, by `x-mcp-header` in its inputSchema.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters

import { isJsonObject, type JsonObject } from '../../contract/json.js';

/** One argument that is mirrored. */
export interface ParamHeader {
  /** The keys that lead to it. */
  readonly path: readonly string[];
  readonly header: string;
}

const ANNOTATION = 'x-mcp-header';
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const MIRRORED_TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;
const ENCODED = /^=\?base64\?.*\?=$/;

/**
 * The mirrored arguments of a tool.
 *
 * @returns a text that says what is wrong, for a tool that must not be listed over HTTP
 */
export function paramHeadersOf(inputSchema: JsonObject): readonly ParamHeader[] | string {
  const headers: ParamHeader[] = [];
  const names = new Set<string>();
  const visit = (schema: unknown, path: readonly string[], isReachable: boolean): string | undefined => {
    if (Array.isArray(schema)) return firstFault(schema, (item) => visit(item, path, false));
    if (!isJsonObject(schema)) return undefined;
    if (Object.hasOwn(schema, ANNOTATION)) {
      const header = schema[ANNOTATION];
      if (typeof header !== 'string' || !TOKEN.test(header)) return `an ${ANNOTATION} is not the name of a header`;
      if (!isReachable || path.length === 0) return `${ANNOTATION} "${header}" is not on a property`;
      if (!MIRRORED_TYPES.has(schema.type))
        return `${ANNOTATION} "${header}" is on a type other than string, integer or boolean`;
      if (names.has(header.toLowerCase())) return `${ANNOTATION} "${header}" is used twice`;
      names.add(header.toLowerCase());
      headers.push({ path, header });
    }
    return firstFault(Object.entries(schema), ([keyword, value]) => {
      if (keyword !== 'properties' || !isJsonObject(value))
        return DATA.has(keyword) ? undefined : visit(value, path, false);
      return firstFault(Object.entries(value), ([key, property]) => visit(property, [...path, key], isReachable));
    });
  };
  return visit(inputSchema, [], true) ?? headers;
}

/** Keywords whose values are data, not schemas. */
const DATA: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples', ANNOTATION]);

function firstFault<T>(items: readonly T[], faultOf: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const fault = faultOf(item);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The headers of one call. Arguments that are absent or null have none. */
export function headersOf(params: readonly ParamHeader[], args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { path, header } of params) {
    let value: unknown = args;
    for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    if (typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value))
      headers[`Mcp-Param-${header}`] = encoded(String(value));
  }
  return headers;
}

function encoded(value: string): string {
  if (PLAIN.test(value) && !ENCODED.test(value)) return value;
  return `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
