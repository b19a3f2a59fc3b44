// The server side of MCP 2026-07-28, whose requests are stateless: what a request declares in `_meta`, and the requests in
// flight of one stream. It uses no SDK: docs/decisions.md says why.

import type { JsonObject } from '@toolwright/core';
import { isJsonObject } from '@toolwright/core/internal';
import { INTERNAL_ERROR, INVALID_PARAMS, messageOf, rejection, UNSUPPORTED_VERSION } from '../rpc-error.js';
import type { AnswerStream } from './port.js';

/** The first revision whose requests are stateless, and the only one served so far. Revisions compare as strings. */
export const MODERN_VERSION = '2026-07-28';
export const SUPPORTED_VERSIONS: readonly string[] = [MODERN_VERSION];

const PREFIX = 'io.modelcontextprotocol/';
const VERSION_KEY = `${PREFIX}protocolVersion`;
const CAPABILITIES_KEY = `${PREFIX}clientCapabilities`;
const CLIENT_KEY = `${PREFIX}clientInfo`;
const LEVEL_KEY = `${PREFIX}logLevel`;
const SERVER_KEY = `${PREFIX}serverInfo`;
/** The key of `_meta` that holds the id of the subscription to which a notification belongs. */
export const SUBSCRIPTION_KEY = `${PREFIX}subscriptionId`;

/** MCP's log levels, those of RFC 5424, from the least severe to the most. */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
/** The longest `requestState`, in characters. */
export const MAX_STATE_LENGTH = 64 * 1024;

/** A request of MCP 2026-07-28, with everything that it declares. */
export interface ModernRequest {
  readonly id: string | number;
  readonly method: string;
  /** Without `_meta`, `inputResponses` and `requestState`. */
  readonly params: JsonObject;
  /** What the client supports, for this request only. */
  readonly capabilities: JsonObject;
  /** The least severe log messages to send; undefined for none. */
  readonly logLevel: string | undefined;
  readonly progressToken: string | number | undefined;
  /** The rest of `_meta`, such as `traceparent`: without the protocol's own keys. */
  readonly meta: JsonObject;
  /** The answers to an earlier `input_required`, unchecked. */
  readonly inputResponses: JsonObject | undefined;
  readonly requestState: string | undefined;
}

/** True for a request that belongs to MCP 2026-07-28: it names its protocol version in `_meta`. */
export function isModernRequest(message: unknown): boolean {
  const meta = metaOf(message);
  if (meta === undefined || !(VERSION_KEY in meta)) return false;
  // `initialize` starts a session unless the whole envelope is there; this revision has no such method.
  const { method, id } = message as JsonObject;
  if (method !== 'initialize' || id === undefined) return true;
  return isModernVersion(meta[VERSION_KEY]) && isJsonObject(meta[CAPABILITIES_KEY]);
}

/** True for a revision whose requests are stateless, served or not. */
export function isModernVersion(version: unknown): boolean {
  return typeof version === 'string' && /^\d{4}-\d\d-\d\d$/.test(version) && version >= MODERN_VERSION;
}

/** The protocol version that a message names in `_meta`; undefined for none. */
export function versionOf(message: unknown): unknown {
  return metaOf(message)?.[VERSION_KEY];
}

/** @throws a rejection: INVALID_PARAMS or UNSUPPORTED_VERSION */
export function parseModernRequest(message: JsonObject): ModernRequest {
  const { id, method, params = {} } = message;
  const { _meta, inputResponses, requestState, ...rest } = params as JsonObject;
  const invalid = (what: string): Error => rejection(400, INVALID_PARAMS, `Invalid request: ${what}.`);
  if (!isJsonObject(_meta)) throw invalid('params._meta must be an object with the protocol version and capabilities');
  const {
    [VERSION_KEY]: version,
    [CAPABILITIES_KEY]: capabilities,
    [CLIENT_KEY]: client,
    [LEVEL_KEY]: logLevel,
    progressToken,
    ...others
  } = _meta;
  if (typeof version !== 'string') throw invalid(`_meta["${VERSION_KEY}"] must be a string`);
  if (!SUPPORTED_VERSIONS.includes(version)) throw unsupportedVersion(version);
  if (!isJsonObject(capabilities)) throw invalid(`_meta["${CAPABILITIES_KEY}"] must be an object`);
  if (client !== undefined && !isImplementation(client))
    throw invalid(`_meta["${CLIENT_KEY}"] must have a name and a version`);
  if (logLevel !== undefined && !LOG_LEVELS.includes(logLevel as string))
    throw invalid(`_meta["${LEVEL_KEY}"] must be one of ${LOG_LEVELS.join(', ')}`);
  if (progressToken !== undefined && typeof progressToken !== 'string' && !Number.isSafeInteger(progressToken))
    throw invalid('progressToken must be a string or an integer');
  if (inputResponses !== undefined && !isJsonObject(inputResponses)) throw invalid('inputResponses must be an object');
  if (requestState !== undefined && !(typeof requestState === 'string' && requestState.length <= MAX_STATE_LENGTH))
    throw invalid(`requestState must be a string of at most ${MAX_STATE_LENGTH} characters`);
  for (const key of Object.keys(others)) if (key.startsWith(PREFIX)) delete others[key];
  return {
    id: id as string | number,
    method: method as string,
    params: rest,
    capabilities,
    logLevel: logLevel as string | undefined,
    progressToken: progressToken as string | number | undefined,
    meta: others,
    inputResponses,
    requestState,
  };
}

/** @throws nothing: returns the rejection of a version that is not served */
export function unsupportedVersion(requested: string): Error {
  return rejection(400, UNSUPPORTED_VERSION, `Unsupported protocol version: ${requested.slice(0, 100)}.`, {
    supported: [...SUPPORTED_VERSIONS],
    requested,
  });
}

/** The result of a request that is done. */
export function completeResult(result: JsonObject, version: string): JsonObject {
  return withServer({ ...result, resultType: 'complete' }, version);
}

/** The result that asks the client for input; it repeats its request with the answers and the state. */
export function inputRequiredResult(
  inputRequests: JsonObject | undefined,
  requestState: string,
  version: string,
): JsonObject {
  return withServer({ resultType: 'input_required', ...(inputRequests && { inputRequests }), requestState }, version);
}

/** How the gateway names itself. */
export function serverInfo(version: string): JsonObject {
  return { name: 'toolwright', title: 'Toolwright', version };
}

/** The JSON-RPC error of something thrown: with its own code and data where it has an integer code. */
export function errorOf(thrown: unknown): { code: number; message: string; data?: unknown } {
  const { code, data } = (thrown ?? {}) as { code?: unknown; data?: unknown };
  const hasCode = Number.isSafeInteger(code);
  return {
    code: hasCode ? (code as number) : INTERNAL_ERROR,
    message: messageOf(thrown),
    ...(hasCode && data !== undefined && { data }),
  };
}

/** The requests in flight of one client on a stream that all its messages share: stdin and stdout, or a socket. */
export class ModernStream {
  readonly #send: (message: JsonObject) => unknown;
  readonly #handle: (request: ModernRequest, stream: AnswerStream) => Promise<JsonObject>;
  readonly #release: (id: unknown) => void;
  readonly #cancelHeld: (id: unknown) => boolean;
  readonly #inFlight = new Map<unknown, AbortController>();

  /**
   * @param options `release` is called for a request that gets no answer, as it was cancelled; `cancelHeld` ends a call that
   *   waits for an answer, by the id of its latest attempt, and returns false if there is none
   */
  constructor(options: {
    send: (message: JsonObject) => unknown;
    handle: (request: ModernRequest, stream: AnswerStream) => Promise<JsonObject>;
    release: (id: unknown) => void;
    cancelHeld: (id: unknown) => boolean;
  }) {
    this.#send = options.send;
    this.#handle = options.handle;
    this.#release = options.release;
    this.#cancelHeld = options.cancelHeld;
  }

  /** Takes a message of this revision. Returns false for every other message. */
  receive(message: JsonObject): boolean {
    const { id, method, params } = message;
    if (method === 'notifications/cancelled' && this.#cancel(params)) return true;
    if (typeof method !== 'string' || !isModernRequest(message)) return false;
    if (id !== undefined) void this.#answer(message);
    return true;
  }

  /** Aborts the requests in flight. */
  close(): void {
    for (const abort of this.#inFlight.values()) abort.abort();
    this.#inFlight.clear();
  }

  #cancel(params: unknown): boolean {
    const id = isJsonObject(params) ? params.requestId : undefined;
    const abort = this.#inFlight.get(id);
    if (!abort) return this.#cancelHeld(id);
    this.#inFlight.delete(id);
    this.#release(id);
    abort.abort();
    return true;
  }

  async #answer(message: JsonObject): Promise<void> {
    const { id } = message;
    const abort = new AbortController();
    this.#inFlight.set(id, abort);
    const stream: AnswerStream = {
      signal: abort.signal,
      notify: (method, params) => {
        if (this.#inFlight.get(id) === abort) this.#send({ jsonrpc: '2.0', method, params });
      },
    };
    let answer: JsonObject;
    try {
      answer = { jsonrpc: '2.0', id, result: await this.#handle(parseModernRequest(message), stream) };
    } catch (thrown) {
      answer = { jsonrpc: '2.0', id, error: errorOf(thrown) };
    }
    if (this.#inFlight.get(id) !== abort) return; // cancelled: no further message may be sent
    this.#inFlight.delete(id);
    this.#send(answer);
  }
}

function metaOf(message: unknown): JsonObject | undefined {
  const params = isJsonObject(message) ? message.params : undefined;
  const meta = isJsonObject(params) ? params._meta : undefined;
  return isJsonObject(meta) ? meta : undefined;
}

function isImplementation(value: unknown): boolean {
  return isJsonObject(value) && typeof value.name === 'string' && typeof value.version === 'string';
}

function withServer(result: JsonObject, version: string): JsonObject {
  const { _meta } = result;
  return { ...result, _meta: { ...(isJsonObject(_meta) && _meta), [SERVER_KEY]: serverInfo(version) } };
}
