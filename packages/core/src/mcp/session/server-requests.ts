// Answers a server's requests to the client (roots, elicitation, sampling), as far as the host declared the capability.

import { pathToFileURL } from 'node:url';
import type { CallScope } from '../../call/call-scope.js';
import { untilAborted } from '../../call/waiting.js';
import { ToolError } from '../../contract/errors.js';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import type { CallOptions, PeerRequestHandler } from '../../contract/tool-provider.js';

/**
 * Answers one kind of request of a server.
 *
 * @param params the server's parameters, unchecked
 * @param options `signal` is aborted when the server withdraws its request or the connection ends
 */
export type ServerRequestHandler = (params: JsonObject, options: { signal: AbortSignal }) => Promise<JsonObject>;

/** Client capabilities that a host can offer to a server. Default: none. */
export interface HostOffers {
  /** Answers `elicitation/create` with `{ action, content? }`. */
  elicitation?: ServerRequestHandler;
  /** Answers `sampling/createMessage` with `{ role, content, model, stopReason? }`. */
  sampling?: ServerRequestHandler;
}

const INVALID_REQUEST = -32_600;
const METHOD_NOT_FOUND = -32_601;
const INTERNAL_ERROR = -32_603;
/** The limit of concurrent requests of a server: each is a question to a person or a model. */
const MAX_CONCURRENT = 32;
const PEER_OFFERS: JsonObject = { elicitation: { form: {} }, sampling: {}, roots: {} };
/** How long requests may belong to an abandoned call, which the server may continue to process. */
const ABANDONED_MS = 60_000;
const MAX_ABANDONED = 1_000;

/** The caller of a call. */
type Caller = Pick<CallOptions, 'callId' | 'sessionId' | 'onRequest'>;

export class ServerRequests {
  readonly #roots: readonly string[] | undefined;
  readonly #host: HostOffers;
  readonly #inFlight: Iterable<CallScope>;
  /** Calls that ended before the server responded, oldest first. */
  #abandoned: { caller: Caller; until: number }[] = [];
  #handler: PeerRequestHandler | undefined;
  #handlerOffers: JsonObject = {};
  /** The capabilities of callers with their own handlers. */
  readonly #offers = new Set<JsonObject>();
  #concurrent = 0;

  /**
   * @param roots absolute directories; undefined to offer no roots
   * @param inFlight the calls whose deadlines are paused during a request, as it may belong to any of them
   */
  constructor(roots: readonly string[] | undefined, host: HostOffers, inFlight: Iterable<CallScope>) {
    this.#roots = roots;
    this.#host = host;
    this.#inFlight = inFlight;
  }

  setHandler(handler: PeerRequestHandler | undefined, offers: JsonObject = PEER_OFFERS): void {
    this.#handler = handler;
    this.#handlerOffers = handler ? offers : {};
  }

  /** Adds capabilities; returns a function that withdraws them. */
  offer(capabilities: JsonObject): () => void {
    const offer = { ...capabilities };
    this.#offers.add(offer);
    return () => void this.#offers.delete(offer);
  }

  /** The capabilities that the next session declares. */
  get capabilities(): JsonObject {
    return { ...(Object.assign({}, ...this.#offers) as JsonObject), ...this.#hostCapabilities };
  }

  get #hostCapabilities(): JsonObject {
    return {
      ...this.#handlerOffers,
      ...(this.#roots && { roots: {} }),
      ...(this.#host.elicitation && { elicitation: { form: {} } }),
      ...(this.#host.sampling && { sampling: {} }),
    };
  }

  /** The client capabilities for one request: what its caller can answer, or else the host. */
  capabilitiesFor({ onRequest, relay }: Pick<CallOptions, 'onRequest' | 'relay'>): JsonObject {
    return relay?.capabilities ?? (onRequest ? this.capabilities : this.#hostCapabilities);
  }

  /** True when a session with these `capabilities` lacks some of the current ones. */
  isMissingFrom(capabilities: JsonObject): boolean {
    return Object.keys(this.capabilities).some((name) => !(name in capabilities));
  }

  /** The latest call in flight, if all belong to one caller; undefined if there is none. @throws when there are several callers */
  caller(): Caller | undefined {
    let latest: Caller | undefined;
    for (const caller of this.#callers()) {
      if (latest && !isOneCaller(latest, caller)) {
        throw rpcError(
          INVALID_REQUEST,
          'Declined: several callers have calls in flight, and the request does not name one.',
        );
      }
      latest = caller;
    }
    return latest;
  }

  *#callers(): Iterable<Caller> {
    const now = this.#abandoned.length > 0 ? performance.now() : 0;
    for (const { caller, until } of this.#abandoned) if (until > now) yield caller;
    yield* this.#inFlight;
  }

  /** Records a call that ended before the server responded. */
  abandon({ callId, sessionId, onRequest }: CallScope): void {
    const now = performance.now();
    this.#abandoned = this.#abandoned.filter(({ until }) => until > now).slice(-MAX_ABANDONED);
    this.#abandoned.push({ caller: { callId, sessionId, onRequest }, until: now + ABANDONED_MS });
  }

  /** Forgets abandoned calls: a new session does not know them. */
  startSession(): void {
    this.#abandoned = [];
  }

  /** Answers a request. Throws errors with a JSON-RPC code and a message that discloses nothing about the host. */
  async answer(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    if (method === 'roots/list' && this.#roots) return this.#rootsList(this.#roots);
    return this.#run(this.#handlerOf(this.caller(), method, params, signal), this.#inFlight, signal);
  }

  /**
   * Answers a request that a server makes in a round of one call: its caller answers, and only its deadline is paused.
   *
   * @param signal aborted when the request is withdrawn, at the latest with the end of the call
   */
  async answerFor(scope: CallScope, method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    if (method === 'roots/list' && this.#roots) return this.#rootsList(this.#roots);
    return scope.race(this.#run(this.#handlerOf(scope, method, params, signal), [scope], signal));
  }

  async #run(handle: () => Promise<JsonObject>, paused: Iterable<CallScope>, signal: AbortSignal): Promise<JsonObject> {
    if (this.#concurrent >= MAX_CONCURRENT) throw rpcError(INTERNAL_ERROR, 'Too many concurrent requests.');
    this.#concurrent++;
    const releases = Array.from(paused, (scope) => scope.hold());
    try {
      // A handler that does not react to the signal must not occupy a place for ever.
      const answer: unknown = await untilAborted(Promise.resolve(handle()), signal);
      if (isJsonObject(answer)) return answer;
    } catch (thrown) {
      const { code, message } = thrown as { code?: unknown; message?: unknown };
      if (ToolError.isInstance(thrown)) throw rpcError(INTERNAL_ERROR, thrown.message);
      if (Number.isSafeInteger(code) && typeof message === 'string') throw thrown; // meant for the server
    } finally {
      for (const release of releases) release();
      this.#concurrent--;
    }
    throw rpcError(INTERNAL_ERROR, 'The host could not answer.');
  }

  #rootsList(roots: readonly string[]): JsonObject {
    return { roots: roots.map((path) => ({ uri: pathToFileURL(path).href })) };
  }

  /** The caller's handler, else the host's, which also answers while no call is in flight. */
  #handlerOf(
    caller: Caller | undefined,
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): () => Promise<JsonObject> {
    const onRequest = caller?.onRequest;
    if (onRequest) return () => onRequest(method, params, { signal });
    const { elicitation, sampling } = this.#host;
    if (method === 'elicitation/create' && elicitation) return () => elicitation(params, { signal });
    if (method === 'sampling/createMessage' && sampling) return () => sampling(params, { signal });
    const handler = this.#handler;
    if (handler) return () => handler(method, params, { signal });
    if (this.#offers.size > 0)
      throw rpcError(INVALID_REQUEST, `Declined: no call in flight has a handler for ${method}.`);
    throw rpcError(METHOD_NOT_FOUND, `The host does not offer ${method}.`);
  }
}

/** Whether two calls have one caller; a call without `onRequest` is the host's. */
function isOneCaller(a: Caller, b: Caller): boolean {
  if (a.onRequest === b.onRequest) return true;
  return (
    a.onRequest !== undefined && b.onRequest !== undefined && a.sessionId !== undefined && a.sessionId === b.sessionId
  );
}

function rpcError(code: number, message: string): Error {
  return Object.assign(new Error(message), { code });
}
