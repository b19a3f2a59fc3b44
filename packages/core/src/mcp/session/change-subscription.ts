// The stream on which a server of MCP 2026-07-28 reports changes: `subscriptions/listen`, held while someone listens.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

import { setTimeout as pause } from 'node:timers/promises';
import { CallScope } from '../../call/call-scope.js';
import { deferred, type Deferred } from '../../call/waiting.js';
import { ToolError } from '../../contract/errors.js';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import { RpcError, type McpSession } from './mcp-session.js';

/** What the subscription reports. */
export interface ChangeSubscriptionOptions {
  /** What to listen to at this server; undefined for nothing. */
  filterFor: (capabilities: JsonObject) => JsonObject | undefined;
  /** Called when the stream was opened again: changes in between are unknown. */
  onReopened: () => void;
  /** Opens another session after a loss. Absent where only a call may do that, as it starts a process. */
  reconnect?: (() => Promise<unknown>) | undefined;
}

/** Names the stream that a notification belongs to. */
export const SUBSCRIPTION_META = 'io.modelcontextprotocol/subscriptionId';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** A stream that lasted this long was not refused, so that the next pause is the first one again. */
const STABLE_MS = 10_000;
const METHOD_NOT_FOUND = -32_601;

/** One stream at a time: changing the filter opens the next one. */
export class ChangeSubscription {
  readonly #options: ChangeSubscriptionOptions;
  readonly #resources = new Set<string>();
  #session: McpSession | undefined;
  #scope: CallScope | undefined;
  #filter = '';
  /** What the server agreed to report on the current stream. */
  #honored: JsonObject = {};
  /** Resolves with `#honored`; with undefined when the stream was replaced before that. */
  #acknowledged: Deferred<JsonObject | undefined> = deferred<JsonObject | undefined>();
  #isReopened = false;
  /** The id of the request that opened the stream. */
  #id: unknown;

  constructor(options: ChangeSubscriptionOptions) {
    this.#options = options;
  }

  /** True while the server reports changes of its tools. */
  get coversTools(): boolean {
    return this.#honored.toolsListChanged === true;
  }

  /** Listens on this session; undefined to stop. A legacy session reports changes without being asked. */
  use(session: McpSession | undefined): void {
    this.#stop();
    this.#session = session?.era === 'modern' ? session : undefined;
    this.#isReopened = false;
    if (!session) this.#resources.clear();
    this.update();
  }

  /** Opens, replaces or closes the stream, after what is listened to has changed. */
  update(): void {
    const session = this.#session;
    const filter = session && this.#filterOf(session);
    const text = filter ? JSON.stringify(filter) : '';
    if (text === this.#filter) return;
    this.#stop();
    this.#filter = text;
    if (session && filter) void this.#hold(session, filter, (this.#scope = new CallScope()));
  }

  /** Adds or removes a resource; resolves when the server has acknowledged it. @throws {ToolError} when it does not report it */
  async watchResource(uri: string, isWatched: boolean, scope: CallScope): Promise<void> {
    const wasWatched = this.#resources.has(uri);
    if (isWatched) this.#resources.add(uri);
    else this.#resources.delete(uri);
    this.update();
    if (!isWatched) return;
    let honored: JsonObject | undefined;
    try {
      while (!honored && this.#session?.isOpen) honored = await scope.race(this.#acknowledged.promise);
    } catch (thrown) {
      if (!wasWatched) this.#forget(uri);
      throw thrown;
    }
    const { resourceSubscriptions } = honored ?? {};
    if (Array.isArray(resourceSubscriptions) && resourceSubscriptions.includes(uri)) return;
    this.#forget(uri);
    throw new ToolError('EXECUTION_FAILED', 'The server does not report changes of this resource.');
  }

  #forget(uri: string): void {
    this.#resources.delete(uri);
    this.update();
  }

  /** Receives `notifications/subscriptions/acknowledged`. */
  acknowledge({ notifications, _meta }: JsonObject): void {
    const id = isJsonObject(_meta) ? _meta[SUBSCRIPTION_META] : undefined;
    if (id !== undefined && id !== this.#id) return; // of a stream that was replaced
    this.#honored = isJsonObject(notifications) ? notifications : {};
    this.#acknowledged.resolve(this.#honored);
    if (this.#isReopened) this.#options.onReopened();
  }

  #filterOf({ capabilities }: McpSession): JsonObject | undefined {
    const filter = this.#options.filterFor(capabilities);
    if (this.#resources.size === 0) return filter;
    return { ...filter, resourceSubscriptions: [...this.#resources] };
  }

  #stop(): void {
    this.#filter = '';
    this.#honored = {};
    this.#scope?.end(new ToolError('CANCELLED', 'The subscription was replaced.'));
    this.#scope = undefined;
    this.#id = undefined;
    this.#acknowledged.resolve(undefined);
    this.#acknowledged = deferred<JsonObject | undefined>();
  }

  async #hold(session: McpSession, notifications: JsonObject, scope: CallScope): Promise<void> {
    const { reconnect } = this.#options;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      const openedAt = performance.now();
      let failure: unknown;
      try {
        const onSent = (id: unknown): void => void (this.#id = id);
        if (session.isOpen) await session.request('subscriptions/listen', { notifications }, scope, { onSent });
        else await reconnect?.();
      } catch (thrown) {
        failure = thrown; // it is opened again, unless it was replaced, or would be refused again
      }
      if (scope.error) return;
      this.#honored = {};
      if (failure === undefined || failure instanceof RpcError || isFinal(failure)) this.#endOfStream();
      if (isFinal(failure) || !(session.isOpen || reconnect)) return;
      this.#isReopened = true;
      if (performance.now() - openedAt > STABLE_MS) pauseMs = FIRST_PAUSE_MS;
      await pause(pauseMs, undefined, { signal: scope.signal, ref: false }).catch(() => undefined);
      if (scope.error) return;
    }
  }

  /** Nothing is reported until the next stream is acknowledged. */
  #endOfStream(): void {
    this.#acknowledged.resolve({});
    this.#acknowledged = deferred<JsonObject | undefined>();
  }
}

/** True when the server has no such streams, or refuses this client: a person might be asked to sign in again and again. */
function isFinal(failure: unknown): boolean {
  if (failure instanceof RpcError) return failure.rpcCode === METHOD_NOT_FOUND;
  return ToolError.isInstance(failure) && failure.code === 'PERMISSION_DENIED';
}
