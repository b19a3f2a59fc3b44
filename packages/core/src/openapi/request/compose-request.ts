// Turns the arguments of a call into an HTTP request, without credentials.

import { ToolError } from '../../contract/errors.js';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import type { ArgumentTarget } from '../operations/flat-arguments.js';
import type { ApiBody, ApiOperation } from '../operations/operation.js';
import { writeMultipart, writeUrlEncoded, type FormFile, type FormValue } from './form-body.js';
import { encodeStrictly, writeInHeader, writeInQuery } from './parameter-styles.js';
import { fillPath, pathValues } from './request-path.js';

const HEADER_VALUE = /^[\t\x20-\x7e]*$/;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
const CONTENT_TYPE = /^[!#$&^_.+\w-]+\/[!#$&^_.+\w-]+(; ?[\w-]+=[\w.-]+)?$/;

/** A tool with what its calls need. */
export interface CallableOperation {
  /** The qualified name of the tool. */
  readonly tool: string;
  readonly operation: ApiOperation;
  readonly targets: ReadonlyMap<string, ArgumentTarget>;
}

/** A request before credentials are added. */
export interface ComposedRequest {
  readonly method: string;
  /** The path, with that of the server. */
  readonly path: string;
  /** Pairs `name=value`, encoded. */
  readonly query: readonly string[];
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Pairs `name=value`, encoded. */
  readonly cookies: readonly string[];
  readonly body: Uint8Array | undefined;
}

/** The path of a call, without that of the server, as its claim has it. @throws {ToolError} INVALID_ARGUMENT */
export function pathOf({ tool, operation, targets }: CallableOperation, args: JsonObject): string {
  return fillPath(operation, tool, pathValues(args, targets));
}

/** Composes the request of a call. @throws {ToolError} INVALID_ARGUMENT for an argument that cannot be sent */
export function composeRequest(callable: CallableOperation, args: JsonObject): ComposedRequest {
  const { operation, targets } = callable;
  const query: string[] = [];
  const cookies: string[] = [];
  const headers: [string, string][] = [['accept', acceptOf(operation)]];
  for (const [name, target] of targets) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if (value === undefined || value === null || target.kind !== 'parameter') continue;
    const { parameter } = target;
    if (parameter.place === 'query') for (const pair of writeInQuery(parameter, value)) query.push(pair);
    if (parameter.place === 'cookie') for (const pair of writeInQuery(parameter, value)) cookies.push(pair);
    if (parameter.place === 'header') {
      const text = writeInHeader(parameter, value);
      if (!HEADER_VALUE.test(text))
        throw wrong(callable, name, 'is sent as a header, so it must be printable ASCII on one line');
      headers.push([parameter.name.toLowerCase(), text.trim()]);
    }
  }
  const body = operation.body && writeBody(callable, operation.body, args);
  if (body) headers.push(['content-type', body.mediaType]);
  return {
    method: operation.method,
    path: `${operation.base.pathname.replace(/\/+$/, '')}${pathOf(callable, args)}`,
    query,
    headers: Object.fromEntries(headers),
    cookies,
    body: body?.bytes,
  };
}

function acceptOf({ accepts }: ApiOperation): string {
  return [...accepts, accepts.length > 0 ? '*/*;q=0.1' : '*/*'].join(', ');
}

interface WrittenBody {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
}

/** Undefined for an optional body without arguments. */
function writeBody(callable: CallableOperation, body: ApiBody, args: JsonObject): WrittenBody | undefined {
  const properties = new Map<string, FormValue>();
  for (const [name, target] of callable.targets) {
    if (!Object.hasOwn(args, name) || args[name] === undefined) continue;
    const value = args[name];
    if (target.kind === 'body') return writeWhole(callable, body, name, value);
    if (target.kind === 'property')
      properties.set(target.property, target.isBinary ? { files: filesOf(callable, name, value) } : { value });
  }
  return properties.size > 0 || body.required ? writeProperties(body, properties) : undefined;
}

function writeWhole(callable: CallableOperation, body: ApiBody, name: string, value: unknown): WrittenBody {
  const { mediaType, format } = body;
  if (format === 'json') return { bytes: Buffer.from(JSON.stringify(value)), mediaType };
  if (format === 'binary') return { bytes: bytesOf(callable, name, value), mediaType };
  if (format === 'text') return { bytes: Buffer.from(String(value)), mediaType: `${mediaType}; charset=utf-8` };
  const entries = Object.entries(isJsonObject(value) ? value : {});
  return writeProperties(body, new Map(entries.map(([key, item]) => [key, { value: item }])));
}

function writeProperties(body: ApiBody, properties: ReadonlyMap<string, FormValue>): WrittenBody {
  const { mediaType, format, encodings } = body;
  if (format === 'multipart') return writeMultipart(properties, encodings);
  const values = [...properties].map(([name, given]) => [name, 'value' in given ? given.value : undefined] as const);
  const text =
    format === 'json' ? JSON.stringify(Object.fromEntries(values)) : writeUrlEncoded(new Map(values), encodings);
  return { bytes: Buffer.from(text), mediaType };
}

function filesOf(callable: CallableOperation, name: string, value: unknown): FormFile[] {
  return [value].flat().map((file) => {
    const {
      data,
      filename = name,
      content_type: contentType,
    } = (isJsonObject(file) ? file : {}) as Record<string, unknown>;
    if (contentType !== undefined && !(typeof contentType === 'string' && CONTENT_TYPE.test(contentType)))
      throw wrong(callable, name, 'has a content_type that is not a media type');
    return { bytes: bytesOf(callable, name, data), filename: String(filename), contentType };
  });
}

function bytesOf(callable: CallableOperation, name: string, value: unknown): Buffer {
  const text = typeof value === 'string' ? value.replace(/\s+/g, '') : undefined;
  if (text === undefined || !BASE64.test(text) || text.replace(/=+$/, '').length % 4 === 1)
    throw wrong(callable, name, 'must be binary data in base64');
  return Buffer.from(text, 'base64');
}

function wrong({ tool }: CallableOperation, name: string, fault: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `Wrong arguments for "${tool}": "${name}" ${fault}.`, { tool });
}

/** Adds pairs to a query; those of `names` replace the pairs of arguments. */
export function withPairs(query: readonly string[], added: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(added).map(([name, value]) => [encodeStrictly(name), encodeStrictly(value)] as const);
  const replaced = new Set(pairs.map(([name]) => name));
  const kept = query.filter((pair) => !replaced.has(pair.split('=', 1)[0] ?? ''));
  return [...kept, ...pairs.map((pair) => pair.join('='))].join('&');
}
