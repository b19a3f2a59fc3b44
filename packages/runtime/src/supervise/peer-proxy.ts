// The McpPeer of a supervised MCP provider: one peer for its users, whichever process is current.

import type { CallOptions, JsonObject, LogEntry, McpPeer } from '@toolwright/core';
import { callSafely } from '@toolwright/core/internal';

type RequestHandler = Parameters<McpPeer['setRequestHandler']>;
type Notified = Parameters<McpPeer['onNotification']>[0];

/** What a {@link PeerProxy} needs from the supervisor. */
export interface PeerProxyOptions {
  /** Runs a request on the peer of the ready provider; starts the provider first if none is ready. */
  withPeer: (ask: (peer: McpPeer) => Promise<JsonObject>, options: Pick<CallOptions, 'signal'>) => Promise<JsonObject>;
  onLog: (entry: LogEntry) => void;
}

export class PeerProxy implements McpPeer {
  readonly #options: PeerProxyOptions;
  readonly #listeners = new Set<Notified>();
  #peer: McpPeer | undefined;
  #unsubscribe: (() => void) | undefined;
  #capabilities: JsonObject = {};
  #handler: RequestHandler | undefined;
  /** The offered capabilities, each with the function that withdraws it from the current peer. */
  readonly #offers = new Map<JsonObject, (() => void) | undefined>();

  constructor(options: PeerProxyOptions) {
    this.#options = options;
  }

  /** The capabilities of the last peer; they remain while no provider runs. */
  get capabilities(): JsonObject {
    const now = this.#peer?.capabilities;
    if (now && Object.keys(now).length > 0) this.#capabilities = now;
    return this.#capabilities;
  }

  request: McpPeer['request'] = (method, params, options = {}) =>
    this.#options.withPeer((peer) => peer.request(method, params, options), options);

  onNotification(listener: Notified): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  setRequestHandler(...handler: RequestHandler): void {
    this.#handler = handler;
    this.#peer?.setRequestHandler(...handler);
  }

  offer(capabilities: JsonObject): () => void {
    const own = { ...capabilities };
    this.#offers.set(own, this.#peer?.offer?.(own));
    return () => {
      this.#offers.get(own)?.();
      this.#offers.delete(own);
    };
  }

  /** Switches to another peer. Call it before that peer connects, because capabilities are offered when connecting. */
  adopt(peer: McpPeer | undefined): void {
    void this.capabilities; // keeps those of the previous peer until the new one has some
    this.#unsubscribe?.();
    this.#peer = peer;
    if (!peer) return;
    if (this.#handler) peer.setRequestHandler(...this.#handler);
    for (const offered of this.#offers.keys()) this.#offers.set(offered, peer.offer?.(offered));
    this.#unsubscribe = peer.onNotification((method, params, call) => {
      if (method === 'notifications/message') this.#options.onLog(logEntryOf(params));
      for (const listener of [...this.#listeners]) callSafely(() => listener(method, params, call));
    });
  }
}

/** https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging#log-levels */
const LEVELS: ReadonlyMap<unknown, LogEntry['level']> = new Map([
  ['debug', 'debug'],
  ['warning', 'warn'],
  ['error', 'error'],
  ['critical', 'error'],
  ['alert', 'error'],
  ['emergency', 'error'],
]);

function logEntryOf({ level, logger, data }: JsonObject): LogEntry {
  const ours = LEVELS.get(level) ?? 'info';
  const fields = typeof data === 'object' && data !== null ? (data as JsonObject) : {};
  const message =
    typeof data === 'string'
      ? data
      : typeof fields.message === 'string'
        ? fields.message
        : JSON.stringify(data ?? null);
  return { level: ours, message, fields: { ...fields, ...(typeof logger === 'string' && { logger }) } };
}
