// Turns a response into a result: JSON as structured content, texts as text, images and audio as blocks, other bytes as an
// embedded resource; a status that is not a success as an error.

import { STATUS_CODES } from 'node:http';
import { ToolError, type ToolErrorCode } from '../../contract/errors.js';
import { isDeeperThan, isJsonObject, type JsonObject } from '../../contract/json.js';
import { structuredResult, type ContentBlock, type UntimedResult } from '../../contract/result.js';
import { plainText, withoutSecrets, withoutSecretsInside } from '../../contract/sanitize.js';
import { bareType, isJsonType, isTextType } from '../operations/read-body.js';
import type { HttpResponse } from '../request/http-client.js';

/** Where a response comes from. */
export interface ResponseSource {
  /** The qualified name of the tool. */
  readonly tool: string;
  readonly provider: string;
  readonly method: string;
  /** The path as the document has it. */
  readonly path: string;
  /** The address without the query, which may have credentials. */
  readonly address: string;
  /** The texts to redact. */
  readonly secrets: readonly string[];
  /** True when the provider has an `auth` function. */
  readonly hasAuth: boolean;
}

/** Deeper JSON is returned as text. */
const MAX_DEPTH = 200;
const MAX_ERROR_TEXT = 16_384;
const MAX_HEADER = 1_000;
/** The longest time that a `Retry-After` may ask for, in milliseconds. */
const MAX_RETRY_MS = 24 * 60 * 60_000;
/** Headers that programs need to page, to cache and to wait. */
const SHOWN_HEADERS = ['content-type', 'etag', 'last-modified', 'link', 'location', 'retry-after'] as const;
const HTTP_META = 'toolwright/http';

/** The result of a call. */
export function resultOf(response: HttpResponse, source: ResponseSource): UntimedResult {
  const { status } = response;
  const isSuccess = status >= 200 && status < 300;
  const result = isSuccess ? successOf(response, source) : failureOf(response, source);
  result._meta = { [HTTP_META]: { status, headers: shownHeaders(response, source) } };
  return result;
}

function successOf(response: HttpResponse, source: ResponseSource): UntimedResult {
  const { body, headers } = response;
  if (body.length === 0) return textResult(emptyText(response, source));
  const type = bareType(headers['content-type'] ?? '');
  if (type !== undefined && isJsonType(type)) {
    const value = jsonOf(body);
    if (value !== undefined) return jsonResult(value.json, body, source);
  }
  if (type === undefined || isJsonType(type) || isTextType(type) || type === 'image/svg+xml') {
    const text = decoded(body, headers['content-type']);
    if (text !== undefined) return textResult(withoutSecrets(text, source.secrets));
  }
  if (source.secrets.some((secret) => secret.length > 5 && body.includes(secret)))
    return textResult('[The response has credentials of the request in binary data, so it was left out.]');
  return blockResult(binaryBlock(body, type ?? 'application/octet-stream', source));
}

/** The JSON value, if it is valid and not too deep for programs that walk it. */
function jsonOf(body: Buffer): { json: unknown } | undefined {
  try {
    const json: unknown = JSON.parse(body.toString());
    return isDeeperThan(json, MAX_DEPTH) ? undefined : { json };
  } catch {
    return undefined; // it is returned as text
  }
}

function jsonResult(json: unknown, body: Buffer, { secrets }: ResponseSource): UntimedResult {
  const raw = body.toString();
  // Both: the response may escape the characters of a secret, and a long number was rounded.
  const isClean = !hasSecrets(JSON.stringify(json), secrets) && !hasSecrets(raw, secrets);
  const shown = isClean ? json : withoutSecretsInside(json, secrets);
  const text = isClean ? raw : withoutSecrets(JSON.stringify(shown), secrets);
  return structuredResult(isJsonObject(shown) ? shown : { result: shown }, typeof shown === 'string' ? shown : text);
}

function hasSecrets(text: string, secrets: readonly string[]): boolean {
  return withoutSecrets(text, secrets) !== text;
}

/** The text; undefined for bytes that are not text. */
function decoded(body: Buffer, contentType: string | undefined): string | undefined {
  const [, charset = 'utf-8'] = /charset="?([\w.:-]+)/i.exec(contentType ?? '') ?? [];
  const isDeclared = contentType !== undefined;
  try {
    const text = decoderOf(charset, !isDeclared).decode(body);
    return isDeclared || !text.includes('\0') ? text : undefined;
  } catch {
    return undefined;
  }
}

function decoderOf(charset: string, fatal: boolean): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(charset, { fatal });
  } catch {
    return new TextDecoder('utf-8', { fatal }); // an unknown charset
  }
}

function binaryBlock(body: Buffer, mimeType: string, { address }: ResponseSource): ContentBlock {
  const data = body.toString('base64');
  if (mimeType.startsWith('image/')) return { type: 'image', data, mimeType };
  if (mimeType.startsWith('audio/')) return { type: 'audio', data, mimeType };
  return { type: 'resource', resource: { uri: address, mimeType, blob: data } };
}

/** What there is to say about a response without a body. */
function emptyText(response: HttpResponse, source: ResponseSource): string {
  const lines = Object.entries(shownHeaders(response, source)).map(([name, value]) => `${name}: ${String(value)}`);
  return [
    statusOf(response),
    ...(source.method === 'HEAD' ? lines : lines.filter((line) => /^location/.test(line))),
  ].join('\n');
}

function failureOf(response: HttpResponse, source: ResponseSource): UntimedResult {
  const { tool, provider, method, path, secrets } = source;
  const { status, headers, body } = response;
  const isRedirect = status >= 300 && status < 400;
  const retryAfterMs = retryAfter(headers['retry-after']);
  const text = isRedirect ? '' : errorText(body, headers['content-type'], secrets);
  const parts = [
    `${method} ${path} responded with ${statusOf(response)}`,
    isRedirect ? '. Redirects are not followed' : '',
    adviceOn(status, source.hasAuth),
    retryAfterMs === undefined ? '' : `. It asks to wait for ${Math.ceil(retryAfterMs / 1000)} s`,
    text === '' ? '.' : `: ${text}`,
  ];
  const [code, retryable] = meaningOf(status, method);
  const error = new ToolError(code, parts.join(''), {
    tool,
    provider,
    retryable,
    details: {
      status,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(code === 'OUTCOME_UNKNOWN' && { outcomeUnknown: true }),
    },
  });
  return { ...textResult(`[${code}] ${error.message}`), isError: true, error: error.toInfo() };
}

/** The code of a status, and whether the same call may be repeated. */
function meaningOf(status: number, method: string): [ToolErrorCode, boolean] {
  const changesNothing = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
  if (status === 401 || status === 403 || status === 407) return ['PERMISSION_DENIED', false];
  if (status === 413) return ['TOO_LARGE', false];
  if (status === 429) return ['UNAVAILABLE', true]; // it was refused before it ran
  if (status === 503) return ['UNAVAILABLE', true];
  // A proxy lost the server that may have run the operation.
  if (status === 502 || status === 504) return changesNothing ? ['UNAVAILABLE', true] : ['OUTCOME_UNKNOWN', false];
  return ['EXECUTION_FAILED', false];
}

function adviceOn(status: number, hasAuth: boolean): string {
  if (status === 401)
    return hasAuth
      ? '. The credentials that `auth` returned were not accepted'
      : '. It needs credentials: set `auth` of the provider';
  if (status !== 403) return '';
  return hasAuth
    ? '. The credentials that `auth` returned may not do this'
    : '. It may need credentials: set `auth` of the provider';
}

function errorText(body: Buffer, contentType: string | undefined, secrets: readonly string[]): string {
  const type = bareType(contentType ?? '');
  const isText = type === undefined || isJsonType(type) || isTextType(type);
  const json = isText ? jsonOf(body) : undefined; // written again, as it may escape the characters of a secret
  const text = json ? JSON.stringify(json.json) : isText ? decoded(body, contentType) : undefined;
  if (text !== undefined) return shownText(text, secrets, MAX_ERROR_TEXT);
  return body.length === 0 ? '' : `${body.length} bytes of ${type ?? 'binary data'}`;
}

/** Redacts before the text is cut, and again because characters without a glyph, which are removed, may part a secret. */
function shownText(text: string, secrets: readonly string[], maxLength: number): string {
  return withoutSecrets(plainText(withoutSecrets(text, secrets), maxLength), secrets);
}

/** https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3 */
function retryAfter(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d{1,10}$/.test(value.trim()) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_MS) : undefined;
}

function shownHeaders({ headers }: HttpResponse, { secrets }: ResponseSource): JsonObject {
  const shown = SHOWN_HEADERS.filter((name) => headers[name] !== undefined).map((name) => [
    name,
    shownText(headers[name] as string, secrets, MAX_HEADER),
  ]);
  return Object.fromEntries(shown) as JsonObject;
}

/** The status with the text of the standard, not the server's. */
function statusOf({ status }: HttpResponse): string {
  return `${status} ${STATUS_CODES[status] ?? ''}`.trim();
}

function textResult(text: string): UntimedResult {
  return blockResult({ type: 'text', text });
}

function blockResult(block: ContentBlock): UntimedResult {
  return { content: [block], isError: false, directives: [] };
}
