// The headers of an HTTP request of MCP 2026-07-28 repeat parts of its body, so that proxies can route it. A request whose
// headers contradict its body is rejected: a proxy would have admitted a different request than the one that runs.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { JsonObject, JsonSchema } from '@toolwright/core';
import { isJsonObject } from '@toolwright/core/internal';
import { isModernRequest, isModernVersion, versionOf } from '../engines/v2.js';
import { HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, rejection } from '../rpc-error.js';

/** The parameter that `Mcp-Name` repeats, by method. */
const NAMED_BY: Readonly<Record<string, 'name' | 'uri'>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};
const SENTINEL = /^=\?base64\?(.*)\?=$/s;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Visible ASCII, space and tab. */
const FIELD_VALUE = /^[\x20-\x7e\t]*$/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const DECIMAL = /^-?\d+(\.\d+)?$/;
const CHECKED = ['mcp-protocol-version', 'mcp-method', 'mcp-name'];
/** The deepest nesting of properties that is searched for header names. */
const MAX_SCHEMA_DEPTH = 32;

/** True when the headers alone show that the request is of this era: its session id, if any, is then ignored. */
export function hasModernHeader({ 'mcp-protocol-version': version }: IncomingHttpHeaders): boolean {
  return isModernVersion(typeof version === 'string' ? version.trim() : undefined);
}

/** True for a body of this era, or one that the headers say is. @throws a rejection of what belongs to no era */
export function isModernBody(headers: IncomingHttpHeaders, body: unknown): boolean {
  if (Array.isArray(body)) {
    if (hasModernHeader(headers) || body.some(isModernRequest))
      throw rejection(400, INVALID_REQUEST, 'A request of this protocol version cannot be in a batch.');
    return false;
  }
  if (isModernRequest(body)) return true;
  if (!hasModernHeader(headers)) return false;
  if (!isJsonObject(body) || typeof body.method !== 'string')
    throw rejection(400, INVALID_REQUEST, 'The body must be one request or notification.');
  if (body.id === undefined) return true;
  if (body.method === 'initialize') throw mismatch('MCP-Protocol-Version names a version without initialize.');
  throw rejection(400, INVALID_PARAMS, 'params._meta must name the protocol version that MCP-Protocol-Version names.');
}

/** Checks the standard headers against the body. @throws a rejection: HEADER_MISMATCH, or INVALID_REQUEST for the body */
export function assertHeaders({ headers, rawHeaders }: IncomingMessage, body: JsonObject): void {
  if (body.jsonrpc !== '2.0' || typeof body.method !== 'string')
    throw rejection(400, INVALID_REQUEST, 'The body is not a JSON-RPC 2.0 request.');
  // A header sent twice may be read differently by each program on the way.
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  for (const name of names)
    if ((CHECKED.includes(name) || name.startsWith('mcp-param-')) && names.indexOf(name) !== names.lastIndexOf(name))
      throw mismatch(`${name} is present more than once.`);
  const version = valueOf(headers, 'mcp-protocol-version');
  if (version !== versionOf(body)) throw mismatch('MCP-Protocol-Version is missing or differs from params._meta.');
  const { method } = body;
  if (valueOf(headers, 'mcp-method') !== method) throw mismatch('Mcp-Method is missing or differs from method.');
  const field = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  if (!field) return;
  const named = (body.params as JsonObject)[field];
  if (typeof named !== 'string') return; // the method itself rejects it
  if (decoded(valueOf(headers, 'mcp-name')) !== named)
    throw mismatch(`Mcp-Name is missing or differs from params.${field}.`);
}

/** Checks the headers that a tool's schema declares with `x-mcp-header`. @throws a rejection with HEADER_MISMATCH */
export function assertParameterHeaders(headers: IncomingHttpHeaders, inputSchema: JsonSchema, args: unknown): void {
  for (const { header, path, isNumber } of declaredHeaders(inputSchema)) {
    let value: unknown = args;
    for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    const name = `Mcp-Param-${header}`;
    const given = valueOf(headers, name.toLowerCase());
    if (value === undefined || value === null) continue; // the header is ignored then, as the official SDK does
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') continue; // not what the schema allows
    const text = decoded(given);
    const isSame =
      text === String(value) ||
      (isNumber && typeof value === 'number' && text !== undefined && DECIMAL.test(text) && Number(text) === value);
    if (!isSame) throw mismatch(`${name} is missing or differs from the argument ${path.join('.')}.`);
  }
}

interface DeclaredHeader {
  readonly header: string;
  readonly path: readonly string[];
  readonly isNumber: boolean;
}

const declarations = new WeakMap<object, readonly DeclaredHeader[]>();

/** The headers that a schema declares, on properties that are reached through `properties` only. */
function declaredHeaders(schema: JsonSchema): readonly DeclaredHeader[] {
  let known = declarations.get(schema);
  if (!known) declarations.set(schema, (known = [...findHeaders(schema, [])]));
  return known;
}

function* findHeaders(schema: unknown, path: readonly string[]): Iterable<DeclaredHeader> {
  if (!isJsonObject(schema) || path.length > MAX_SCHEMA_DEPTH) return;
  const { 'x-mcp-header': header, type, properties } = schema;
  if (path.length > 0 && typeof header === 'string' && TOKEN.test(header))
    yield { header, path, isNumber: type === 'integer' || type === 'number' };
  if (!isJsonObject(properties)) return;
  for (const [key, property] of Object.entries(properties)) yield* findHeaders(property, [...path, key]);
}

function valueOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined; // Node has removed the white space around it
}

/** A value without its Base64 sentinel; undefined when it is not valid. */
function decoded(value: string | undefined): string | undefined {
  if (value === undefined || !FIELD_VALUE.test(value)) return undefined;
  const encoded = SENTINEL.exec(value)?.[1];
  if (encoded === undefined) return value;
  if (!BASE64.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? text : undefined;
}

function mismatch(what: string): Error {
  return rejection(400, HEADER_MISMATCH, `The headers do not match the body: ${what}`);
}
