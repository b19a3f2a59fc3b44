// Writes parameters in the styles of OpenAPI, with every character encoded that could change the meaning of a request.
// https://spec.openapis.org/oas/v3.1.1.html#style-examples

import { isJsonObject } from '../../contract/json.js';
import type { ApiParameter } from '../operations/operation.js';

/** Deeper objects in the style `deepObject` are written as JSON. */
const MAX_NESTING = 10;
type Encode = (text: string) => string;

/** Percent-encodes all but the unreserved characters. https://www.rfc-editor.org/rfc/rfc3986#section-2.3 */
export function encodeStrictly(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd')).replace(/[!'()*]/g, (char) => `%${hexOf(char)}`);
}

/** Percent-encodes as `allowReserved` asks, but not the characters that end a value: `&`, `=`, `+` and `#`. */
function encodeButReserved(text: string): string {
  return encodeStrictly(text).replace(/%(3A|2F|3F|5B|5D|40|21|24|27|28|29|2A|2C|3B)/g, (code) =>
    decodeURIComponent(code),
  );
}

function hexOf(char: string): string {
  return char.charCodeAt(0).toString(16).toUpperCase();
}

/** A path parameter. */
export function writeInPath(parameter: ApiParameter, value: unknown): string {
  const { name, style, explode } = parameter;
  if (parameter.isJson) return encodeStrictly(JSON.stringify(value));
  const key = encodeStrictly(name);
  const plain = (separator: string): string => joined(value, explode, separator, encodeStrictly);
  if (style === 'label') return `.${plain(explode ? '.' : ',')}`;
  if (style !== 'matrix') return plain(',');
  if (!explode || typeof value !== 'object' || value === null) return `;${key}=${plain(',')}`;
  const pairs = Array.isArray(value)
    ? value.map((item) => [key, textOf(item)] as const)
    : Object.entries(value).map(([name, item]) => [encodeStrictly(name), textOf(item)] as const);
  return pairs.map(([name, text]) => `;${name}=${encodeStrictly(text)}`).join('');
}

/** The pairs `name=value` of a query parameter, encoded; none for an empty list. */
export function writeInQuery(
  {
    name,
    style,
    explode,
    isJson,
    allowReserved,
  }: Pick<ApiParameter, 'name' | 'style' | 'explode' | 'isJson' | 'allowReserved'>,
  value: unknown,
  encode: Encode = allowReserved ? encodeButReserved : encodeStrictly,
): string[] {
  const key = encodeStrictly(name);
  if (isJson) return [`${key}=${encode(JSON.stringify(value))}`];
  if (typeof value !== 'object' || value === null) return [`${key}=${encode(textOf(value))}`];
  if (style === 'deepObject') return deepPairs(key, value, encode, 0);
  if (explode) {
    if (Array.isArray(value)) return value.map((item) => `${key}=${encode(textOf(item))}`);
    return Object.entries(value).map(([property, item]) => `${encodeStrictly(property)}=${encode(textOf(item))}`);
  }
  const separator = style === 'spaceDelimited' ? '%20' : style === 'pipeDelimited' ? '%7C' : ',';
  const text = joined(value, false, separator, encode);
  return text === '' ? [] : [`${key}=${text}`];
}

/** The value of a header, not encoded. */
export function writeInHeader({ explode, isJson }: ApiParameter, value: unknown): string {
  return isJson ? JSON.stringify(value) : joined(value, explode, ',', (text) => text);
}

function deepPairs(key: string, value: unknown, encode: Encode, nesting: number): string[] {
  if (typeof value !== 'object' || value === null) return [`${key}=${encode(textOf(value))}`];
  if (nesting === MAX_NESTING) return [`${key}=${encode(JSON.stringify(value))}`];
  if (Array.isArray(value)) return value.flatMap((item) => deepPairs(`${key}[]`, item, encode, nesting + 1));
  return Object.entries(value).flatMap(([property, item]) =>
    deepPairs(`${key}[${encodeStrictly(property)}]`, item, encode, nesting + 1),
  );
}

/** The members of a list, or the keys and values of an object, with a separator; `key=value` if it is exploded. */
function joined(value: unknown, explode: boolean, separator: string, encode: Encode): string {
  if (Array.isArray(value)) return value.map((item) => encode(textOf(item))).join(separator);
  if (!isJsonObject(value)) return encode(textOf(value));
  const pairs = Object.entries(value).map(([key, item]) => [encode(key), encode(textOf(item))] as const);
  return pairs.map((pair) => pair.join(explode ? '=' : separator)).join(separator);
}

/** A value within a parameter; objects and lists, for which no style has a form there, are JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
