// What a server asks of the host: its roots, a person's answer, a model's words. Each only where the host offers it.

import { pathToFileURL } from 'node:url';
import type { CallScope } from '../call-scope.js';
import { ToolError } from '../errors.js';
import type { JsonObject } from '../json.js';

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

/** Answers every request that nothing else answers; see `McpPeer.setRequestHandler`. */
export type PeerRequestHandler = (
  method: string,
  params: JsonObject,
  options: { signal: AbortSignal },
) => Promise<JsonObject>;

const METHOD_NOT_FOUND = -32_601;
const INTERNAL_ERROR = -32_603;
/** A server that asks more at once is refused: each is a question to a person or a model. */
const MAX_AT_ONCE = 32;
const PEER_OFFERS: JsonObject = { elicitation: { form: {} }, sampling: {}, roots: {} };

export class ServerRequests {
  readonly #roots: readonly string[] | undefined;
  readonly #offers: HostOffers;
  readonly #inFlight: Iterable<CallScope>;
  #handler: PeerRequestHandler | undefined;
  #handlerOffers: JsonObject = {};
  #atOnce = 0;

  /**
   * @param roots absolute directories; undefined where no roots are offered
   * @param inFlight the calls whose clocks stand while a question is answered: which of them asks is not known
   */
  constructor(roots: readonly string[] | undefined, offers: HostOffers, inFlight: Iterable<CallScope>) {
    this.#roots = roots;
    this.#offers = offers;
    this.#inFlight = inFlight;
  }

  setHandler(handler: PeerRequestHandler | undefined, offers: JsonObject = PEER_OFFERS): void {
    this.#handler = handler;
    this.#handlerOffers = handler ? offers : {};
  }

  /** What the next session offers. */
  get capabilities(): JsonObject {
    return {
      ...this.#handlerOffers,
      ...(this.#roots && { roots: {} }),
      ...(this.#offers.elicitation && { elicitation: { form: {} } }),
      ...(this.#offers.sampling && { sampling: {} }),
    };
  }

  /** The answer. What it throws has a JSON-RPC code, and words that tell the server nothing of the host. */
  async answer(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    if (method === 'roots/list' && this.#roots) {
      return { roots: this.#roots.map((path) => ({ uri: pathToFileURL(path).href })) };
    }
    const handle = this.#handlerOf(method, params, signal);
    if (!handle) throw rpcError(METHOD_NOT_FOUND, `The host does not offer ${method}.`);
    if (this.#atOnce >= MAX_AT_ONCE) throw rpcError(INTERNAL_ERROR, 'Too many requests at once.');
    this.#atOnce++;
    const releases = Array.from(this.#inFlight, (scope) => scope.hold());
    try {
      const answer: unknown = await handle();
      if (typeof answer === 'object' && answer !== null && !Array.isArray(answer)) return answer as JsonObject;
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

  #handlerOf(method: string, params: JsonObject, signal: AbortSignal): (() => Promise<JsonObject>) | undefined {
    const { elicitation, sampling } = this.#offers;
    if (method === 'elicitation/create' && elicitation) return () => elicitation(params, { signal });
    if (method === 'sampling/createMessage' && sampling) return () => sampling(params, { signal });
    const handler = this.#handler;
    return handler && (() => handler(method, params, { signal }));
  }
}

function rpcError(code: number, message: string): Error {
  return Object.assign(new Error(message), { code });
}
