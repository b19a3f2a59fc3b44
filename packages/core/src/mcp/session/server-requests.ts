// What a server asks of the host: its roots, a person's answer, a model's words. Each only where the host offers it.

import { pathToFileURL } from 'node:url';
import type { CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import type { CallOptions, PeerRequestHandler } from '../../contract/tool-provider.js';

/**
 * Answers one kind of request of a server's.
 *
 * @param params as the server sent them: they are a stranger's
 * @param options `signal` is aborted when the server withdraws its request or the connection ends
 */
export type ServerRequestHandler = (params: JsonObject, options: { signal: AbortSignal }) => Promise<JsonObject>;

/** What a host offers to a server beyond calling its tools. Nothing of it is offered by default. */
export interface HostOffers {
  /** Answers `elicitation/create` with `{ action, content? }`. */
  elicitation?: ServerRequestHandler;
  /** Answers `sampling/createMessage` with `{ role, content, model, stopReason? }`. */
  sampling?: ServerRequestHandler;
}

const INVALID_REQUEST = -32_600;
const METHOD_NOT_FOUND = -32_601;
const INTERNAL_ERROR = -32_603;
/** A server that asks more at once is refused: each is a question to a person or a model. */
const MAX_AT_ONCE = 32;
const PEER_OFFERS: JsonObject = { elicitation: { form: {} }, sampling: {}, roots: {} };
/** A server may go on with a call that was given up: for so long a question can belong to it. */
const ABANDONED_MS = 60_000;
const MAX_ABANDONED = 1_000;

/** Whose call it is. */
type Caller = Pick<CallOptions, 'callId' | 'sessionId' | 'onRequest'>;

export class ServerRequests {
  readonly #roots: readonly string[] | undefined;
  readonly #host: HostOffers;
  readonly #inFlight: Iterable<CallScope>;
  /** Calls that ended before the server answered them, the oldest first. */
  #abandoned: { caller: Caller; until: number }[] = [];
  #handler: PeerRequestHandler | undefined;
  #handlerOffers: JsonObject = {};
  /** What callers that answer for themselves offer. */
  readonly #offers = new Set<JsonObject>();
  #atOnce = 0;

  /**
   * @param roots absolute directories; undefined where no roots are offered
   * @param inFlight the calls whose clocks are paused while a question is answered: which of them asks is not known
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

  /** Adds capabilities; returns what withdraws them. */
  offer(capabilities: JsonObject): () => void {
    const own = { ...capabilities };
    this.#offers.add(own);
    return () => void this.#offers.delete(own);
  }

  /** What the next session offers. */
  get capabilities(): JsonObject {
    return {
      ...(Object.assign({}, ...this.#offers) as JsonObject),
      ...this.#handlerOffers,
      ...(this.#roots && { roots: {} }),
      ...(this.#host.elicitation && { elicitation: { form: {} } }),
      ...(this.#host.sampling && { sampling: {} }),
    };
  }

  /** True where a session that was opened with `capabilities` lacks some of those offered now. */
  isMissingFrom(capabilities: JsonObject): boolean {
    return Object.keys(this.capabilities).some((name) => !(name in capabilities));
  }

  /** The latest call in flight, where all of them are one caller's; undefined where there is none. @throws where they are not */
  caller(): Caller | undefined {
    let latest: Caller | undefined;
    for (const caller of this.#callers()) {
      if (latest && !isOneCaller(latest, caller)) {
        throw rpcError(
          INVALID_REQUEST,
          'Declined: several callers have calls in flight, and the request names none of them.',
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

  /** A call ended that the server has not answered. */
  abandon({ callId, sessionId, onRequest }: CallScope): void {
    const now = performance.now();
    this.#abandoned = this.#abandoned.filter(({ until }) => until > now).slice(-MAX_ABANDONED);
    this.#abandoned.push({ caller: { callId, sessionId, onRequest }, until: now + ABANDONED_MS });
  }

  /** Another session: its server knows nothing of the calls before it. */
  startSession(): void {
    this.#abandoned = [];
  }

  /** The answer. What it throws has a JSON-RPC code, and words that tell the server nothing of the host. */
  async answer(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    if (method === 'roots/list' && this.#roots) {
      return { roots: this.#roots.map((path) => ({ uri: pathToFileURL(path).href })) };
    }
    const handle = this.#handlerOf(method, params, signal);
    if (this.#atOnce >= MAX_AT_ONCE) throw rpcError(INTERNAL_ERROR, 'Too many requests at once.');
    this.#atOnce++;
    const releases = Array.from(this.#inFlight, (scope) => scope.hold());
    try {
      const answer: unknown = await handle();
      if (isJsonObject(answer)) return answer;
    } catch (thrown) {
      const { code, message } = thrown as { code?: unknown; message?: unknown };
      if (ToolError.isInstance(thrown)) throw rpcError(INTERNAL_ERROR, thrown.message);
      if (Number.isSafeInteger(code) && typeof message === 'string') throw thrown; // meant for the server
    } finally {
      for (const release of releases) release();
      this.#atOnce--;
    }
    throw rpcError(INTERNAL_ERROR, 'The host could not answer.');
  }

  /** The caller answers for itself. The host's handlers answer during its own calls, and while there is none. */
  #handlerOf(method: string, params: JsonObject, signal: AbortSignal): () => Promise<JsonObject> {
    const onRequest = this.caller()?.onRequest;
    if (onRequest) return () => onRequest(method, params, { signal });
    const { elicitation, sampling } = this.#host;
    if (method === 'elicitation/create' && elicitation) return () => elicitation(params, { signal });
    if (method === 'sampling/createMessage' && sampling) return () => sampling(params, { signal });
    const handler = this.#handler;
    if (handler) return () => handler(method, params, { signal });
    if (this.#offers.size > 0)
      throw rpcError(INVALID_REQUEST, `Declined: no call is in flight whose caller answers ${method}.`);
    throw rpcError(METHOD_NOT_FOUND, `The host does not offer ${method}.`);
  }
}

/** A caller without an `onRequest` is the host. */
function isOneCaller(a: Caller, b: Caller): boolean {
  if (a.onRequest === b.onRequest) return true;
  return (
    a.onRequest !== undefined && b.onRequest !== undefined && a.sessionId !== undefined && a.sessionId === b.sessionId
  );
}

function rpcError(code: number, message: string): Error {
  return Object.assign(new Error(message), { code });
}
