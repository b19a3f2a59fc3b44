// `subscriptions/listen` of MCP 2026-07-28: a request that stays open and receives only the changes that it asks for.
// Forwarding treats each as a separate client, so that its resource subscriptions are counted separately.

import type { JsonObject } from '@toolwright/core';
import { deferred, isJsonObject, settledWithin, type Deferred } from '@toolwright/core/internal';
import type { AnswerStream, Exchange } from '../engines/port.js';
import { SUBSCRIPTION_KEY, type ModernRequest } from '../engines/v2.js';
import type { ForwardingClient } from '../forwarding/forwarding-client.js';
import { INVALID_PARAMS, METHOD_NOT_FOUND, rpcError, SERVER_BUSY } from '../rpc-error.js';
import type { SessionHost } from './session-host.js';

const MAX_LISTENING = 64;
const MAX_URIS = 1_000;
/** The longest id of a request, in characters: each message of the subscription repeats it. */
const MAX_ID = 256;
/** How long the acknowledgment waits for servers. */
const SUBSCRIBE_TIMEOUT_MS = 3_000;
const RESOURCE_UPDATED = 'notifications/resources/updated';

/** The list changes that a client can ask for. */
const LISTS = {
  toolsListChanged: 'notifications/tools/list_changed',
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
} as const;
type ListFilter = keyof typeof LISTS;

/** What a client asks for, or gets. */
interface Filter extends Partial<Record<ListFilter, true>> {
  resourceSubscriptions?: string[];
}

/** The open subscriptions of one client. */
export class Listening {
  readonly #host: SessionHost;
  readonly #open = new Set<Deferred<void>>();
  #uris = 0;
  #closed = false;

  constructor(host: SessionHost) {
    this.#host = host;
  }

  /**
   * Sends changes until the client cancels or {@link close} is called; returns the result, which says that it has ended.
   *
   * @throws a JSON-RPC error for a filter or id that is not valid, or when the client listens too often
   */
  async listen({ id, params, capabilities }: ModernRequest, stream: AnswerStream): Promise<JsonObject> {
    if (typeof id === 'string' && id.length > MAX_ID)
      throw rpcError(INVALID_PARAMS, `The id of a subscription must have at most ${MAX_ID} characters.`);
    const wanted = parseFilter(params.notifications);
    const { resourceSubscriptions: uris = [] } = wanted;
    if (this.#open.size >= MAX_LISTENING || this.#uris + uris.length > MAX_URIS)
      throw rpcError(
        SERVER_BUSY,
        `A client can listen ${MAX_LISTENING} times, to ${MAX_URIS} resources in all. End a subscription first.`,
      );
    const { forwarding, listeners } = this.#host;
    const ended = deferred<void>();
    const methods = new Set<string>();
    let waiting: [string, JsonObject][] | undefined = []; // until the acknowledgment, which comes first
    const send = (method: string, given: JsonObject): void => {
      const _meta = { ...(isJsonObject(given._meta) && given._meta), [SUBSCRIPTION_KEY]: id };
      stream.notify(method, { ...given, _meta });
    };
    const listener: ForwardingClient = {
      id: `listen-${String(id)}`,
      clientCapabilities: capabilities,
      log: () => undefined,
      notify: (method, given = {}) => {
        if (!methods.has(method)) return;
        if (waiting) waiting.push([method, given]);
        else send(method, given);
      },
    };
    const leave = (): void => {
      if (this.#open.delete(ended)) this.#uris -= uris.length;
      ended.resolve();
    };
    this.#open.add(ended);
    this.#uris += uris.length;
    stream.signal.addEventListener('abort', leave); // at once: the client may listen again with its next message
    if (this.#closed || stream.signal.aborted) leave();
    try {
      const honored: Filter = {};
      for (const [key, method] of Object.entries(LISTS) as [ListFilter, string][]) {
        if (!wanted[key] || (key !== 'toolsListChanged' && !forwarding)) continue;
        methods.add(method);
        honored[key] = true;
      }
      listeners.add(listener);
      if (forwarding && uris.length > 0) {
        methods.add(RESOURCE_UPDATED);
        honored.resourceSubscriptions = await this.#subscribe(uris, listener, ended.promise);
      }
      send('notifications/subscriptions/acknowledged', { notifications: honored });
      for (const [method, given] of waiting) send(method, given);
      waiting = undefined;
      await ended.promise;
      return { _meta: { [SUBSCRIPTION_KEY]: id } };
    } finally {
      listeners.delete(listener);
      forwarding?.forget(listener);
      leave();
    }
  }

  /** Ends all subscriptions with their result. */
  close(): void {
    this.#closed = true;
    for (const { resolve } of this.#open) resolve();
  }

  /** Subscribes at the servers; returns the URIs for which that succeeded in time, before the subscription has ended. */
  async #subscribe(uris: readonly string[], listener: ForwardingClient, ended: Promise<void>): Promise<string[]> {
    const { forwarding } = this.#host;
    const abort = new AbortController();
    const exchange: Exchange = { signal: abort.signal, notify: () => undefined, request: declineRequest };
    const subscribed: string[] = [];
    const attempts = uris.map(async (uri) => {
      try {
        await forwarding?.handle('resources/subscribe', { uri }, listener, exchange);
        if (!abort.signal.aborted) subscribed.push(uri);
        else await forwarding?.handle('resources/unsubscribe', { uri }, listener, exchange); // too late to be acknowledged
      } catch {
        // No server has it, or its server refuses: the acknowledgment does not list it.
      }
    });
    await Promise.race([settledWithin(attempts, SUBSCRIBE_TIMEOUT_MS), ended]);
    abort.abort();
    return [...subscribed];
  }
}

/** @throws a JSON-RPC error */
function parseFilter(given: unknown): Filter {
  const invalid = (): Error =>
    rpcError(INVALID_PARAMS, 'notifications must say what to listen for, as booleans and URIs of resources.');
  if (!isJsonObject(given)) throw invalid();
  const filter: Filter = {};
  for (const key of Object.keys(LISTS) as ListFilter[]) {
    if (given[key] === true) filter[key] = true;
    else if (given[key] !== undefined && given[key] !== false) throw invalid();
  }
  const { resourceSubscriptions: uris } = given;
  if (uris === undefined) return filter;
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === 'string')) throw invalid();
  return { ...filter, resourceSubscriptions: [...new Set<string>(uris)] };
}

/** A subscription asks no client. */
function declineRequest(method: string): Promise<JsonObject> {
  return Promise.reject(rpcError(METHOD_NOT_FOUND, `Declined ${method}: it belongs to no call.`));
}
