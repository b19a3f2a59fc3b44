// The options of an OpenApiToolProvider and their validation.

import { createHash } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assertTimeout } from '../call/call-scope.js';
import { ToolError } from '../contract/errors.js';
import { isJsonObject } from '../contract/json.js';
import type { Logger } from '../contract/logger.js';
import { assertOptions, shownValue, type OptionNames } from '../contract/options.js';
import { nameFault } from '../tool/define-tool.js';
import { copyDocument } from './document/parse-document.js';
import type { ApiDocument } from './document/api-document.js';
import { assertFilter, type OperationFilter } from './operations/operation-filter.js';
import type { OpenApiAuth } from './request/credentials.js';

/** Options of {@link OpenApiToolProvider}. */
export interface OpenApiToolProviderOptions {
  /** The name of the provider, and the prefix of its tools. */
  name: string;
  /**
   * The document, of OpenAPI 3.0 or 3.1: its URL, the absolute path or `file:` URL of a file, or the parsed document. JSON, or
   * YAML with the optional peer `js-yaml`.
   */
  document: string | URL | Readonly<Record<string, unknown>>;
  /**
   * The address that requests are sent to, such as `https://api.example.com/v1`. Required for a document from a file or an
   * object. Default: the first server of the document, if it has the origin of the document's URL.
   */
  server?: string | URL;
  /** Returns the credentials for each request. Default: none are sent. */
  auth?: OpenApiAuth;
  /** The operations that become tools. Default: all. */
  include?: OperationFilter;
  /** Operations that do not become tools, though `include` selects them. Default: none. */
  exclude?: OperationFilter;
  /**
   * How to treat a result that does not match the schema of the response: `'warn'` returns it and logs a warning, `'strict'`
   * fails the call with `OUTPUT_INVALID`, `'off'` does not check. Default `'warn'`, as the operation has already run.
   */
  validateOutput?: 'warn' | 'strict' | 'off';
  /**
   * Whether tools list the schemas of their results. Set false for a document whose schemas do not match its responses: MCP
   * clients of a gateway reject results that do not match. Default true, except for schemas of more than 64 KiB.
   */
  outputSchemas?: boolean;
  /** The time for reading the document, in milliseconds. Default 10,000. */
  connectTimeoutMs?: number;
  /**
   * The deadline of calls that set none, in milliseconds. Each part of a response renews it, up to 10 minutes in all. Default
   * 30,000.
   */
  callTimeoutMs?: number;
  /** The largest body of a response, in bytes after decompression. Default 16 MiB. */
  maxResponseBytes?: number;
  /** The largest document, in bytes. Default 32 MiB. */
  maxDocumentBytes?: number;
  /** Default: `process.emitWarning` for warnings and errors, each text once. Arguments and results are never logged. */
  logger?: Logger;
}

const KNOWN: OptionNames<OpenApiToolProviderOptions> = {
  name: true,
  document: true,
  server: true,
  auth: true,
  include: true,
  exclude: true,
  validateOutput: true,
  outputSchemas: true,
  connectTimeoutMs: true,
  callTimeoutMs: true,
  maxResponseBytes: true,
  maxDocumentBytes: true,
  logger: true,
};
const WHERE = 'new OpenApiToolProvider()';

/** Where the document is. */
export type DocumentPlace =
  | { readonly kind: 'url'; readonly url: URL }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'object'; readonly document: ApiDocument };

/** The options with their defaults. */
export interface ResolvedOptions {
  readonly name: string;
  readonly place: DocumentPlace;
  /** Where requests are sent; undefined for the document's own server. */
  readonly server: URL | undefined;
  readonly auth: OpenApiAuth | undefined;
  readonly include: OperationFilter | undefined;
  readonly exclude: OperationFilter | undefined;
  readonly validateOutput: 'warn' | 'strict' | 'off';
  readonly outputSchemas: boolean;
  readonly connectTimeoutMs: number;
  readonly callTimeoutMs: number;
  readonly maxResponseBytes: number;
  readonly maxDocumentBytes: number;
}

/** @throws {ToolError} INVALID_ARGUMENT for the first invalid option */
export function resolveOptions(options: OpenApiToolProviderOptions): ResolvedOptions {
  assertOptions(WHERE, options, KNOWN);
  const fault = nameFault('name', options.name);
  if (fault) throw wrong(fault);
  const { auth, include, exclude, validateOutput = 'warn', outputSchemas = true } = options;
  if (auth !== undefined && typeof auth !== 'function')
    throw wrong('auth must be a function that returns credentials, so that they can be renewed');
  assertFilter('include', include);
  assertFilter('exclude', exclude);
  if (!['warn', 'strict', 'off'].includes(validateOutput))
    throw wrong(`validateOutput must be 'warn', 'strict' or 'off'`);
  if (typeof outputSchemas !== 'boolean') throw wrong('outputSchemas must be true or false');
  const { connectTimeoutMs = 10_000, callTimeoutMs = 30_000 } = options;
  assertTimeout(connectTimeoutMs, 'connectTimeoutMs');
  assertTimeout(callTimeoutMs, 'callTimeoutMs');
  const place = placeOf(options.document);
  const server = options.server === undefined ? undefined : webAddress('server', options.server);
  if (!server && place.kind !== 'url')
    throw wrong(`server is required, as the document is ${place.kind === 'file' ? 'a file' : 'an object'}`);
  if (server && (server.search !== '' || server.hash !== '')) throw wrong('server must not have a query or a fragment');
  return {
    name: options.name,
    place,
    server,
    auth,
    include,
    exclude,
    validateOutput,
    outputSchemas,
    connectTimeoutMs,
    callTimeoutMs,
    maxResponseBytes: bytesOf('maxResponseBytes', options.maxResponseBytes, 16 * 1024 * 1024),
    maxDocumentBytes: bytesOf('maxDocumentBytes', options.maxDocumentBytes, 32 * 1024 * 1024),
  };
}

/** The hash of where the document comes from and where requests are sent. */
export function sourceHashOf({ place, server }: ResolvedOptions): string {
  const source = place.kind === 'url' ? place.url.href : place.kind === 'file' ? place.path : null;
  return createHash('sha256')
    .update(JSON.stringify(['openapi', place.kind, source, server?.href ?? null]))
    .digest('hex');
}

function placeOf(document: unknown): DocumentPlace {
  if (typeof document === 'string' && isAbsolute(document)) return { kind: 'file', path: document };
  if (typeof document === 'string' || document instanceof URL) {
    if (!URL.canParse(String(document)))
      throw wrong(`document must be a URL, an absolute path or an object, not ${shownValue(document)}`);
    const url = new URL(document);
    if (url.protocol === 'file:') return { kind: 'file', path: fileURLToPath(url) };
    return { kind: 'url', url: webAddress('document', url) };
  }
  if (!isJsonObject(document))
    throw wrong(`document must be a URL, an absolute path or an object, not ${shownValue(document)}`);
  return { kind: 'object', document: copyDocument(document) };
}

function webAddress(option: string, given: string | URL): URL {
  if (!URL.canParse(String(given))) throw wrong(`${option} must be a URL such as https://api.example.com`);
  const url = new URL(given);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw wrong(`${option} must begin with https: or http:, not ${url.protocol}`);
  if (url.username !== '' || url.password !== '')
    throw wrong(`${option} must not contain a user or password; set auth`);
  return url;
}

function bytesOf(option: string, given: unknown, otherwise: number): number {
  if (given === undefined) return otherwise;
  if (typeof given === 'number' && given > 0) return given;
  throw wrong(`${option} must be a number of bytes above 0, not ${shownValue(given)}`);
}

function wrong(what: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `${WHERE}: ${what}.`);
}
