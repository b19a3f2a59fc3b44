// MCPToolProvider: the tools of one MCP server. Settles each call once; server-connection.ts opens and closes the session.

import { CallCounters } from '../call/call-counters.js';
import { CallScope, TAKES_SCOPES } from '../call/call-scope.js';
import { ToolError } from '../contract/errors.js';
import { copyArguments, copyJson, snapshot } from '../contract/json-copy.js';
import { isJsonObject, type JsonObject } from '../contract/json.js';
import { Listeners, safeLogger } from '../call/host-callbacks.js';
import { WARNING_LOGGER, type Logger } from '../contract/logger.js';
import {
  errorResult,
  nameAsCalled,
  noteBrokenOutput,
  type ToolResult,
  type UntimedResult,
} from '../contract/result.js';
import { describeIssues } from '../tool/schema.js';
import { isSameListing, staleCallError, prepareFromListing, rejectedCall } from '../provider/prepared-call.js';
import { START_OUTPUT, withStartOutput, type StartOutput } from '../provider/start-output.js';
import type { CallOptions, McpPeer, PreparedCall, ProviderHealth, ToolProvider } from '../contract/tool-provider.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import { callFailure, type PendingCall } from './session/call-failure.js';
import { SessionLostError, RpcError, type McpSession } from './session/mcp-session.js';
import { ChangeSubscription, SUBSCRIPTION_META } from './session/change-subscription.js';
import { requestInRounds } from './session/input-rounds.js';
import { CANCEL_TIMEOUT_MS, followTask } from './session/tasks.js';
import { ToolListCache } from './tools/tool-list-cache.js';
import {
  resolveOptions,
  secretsOf,
  sourceHashOf,
  type MCPToolProviderOptions,
  type ResolvedOptions,
} from './mcp-provider-options.js';
import { ServerConnection } from './server-connection.js';
import { ServerRequests } from './session/server-requests.js';
import { McpServerPeer } from './session/mcp-peer.js';
import { withoutSecrets } from '../contract/sanitize.js';
import { wasUnread } from './session/unread-request.js';
import { fromWireResult } from './tools/wire-result.js';

const HEADER_MISMATCH = -32_020;
const UNSUPPORTED_VERSION = -32_022;

/** The tool and the session that a call was prepared for. */
interface PreparedFor {
  readonly tool: ToolDefinition;
  readonly sessions: number;
  readonly disconnects: number;
}

/**
 * Provides the tools of one MCP server, with the prefix `name.`: over stdio, in a container, at a socket, over HTTP, or over a
 * custom transport. Needs the package `@modelcontextprotocol/client`, or `@modelcontextprotocol/sdk` for servers of earlier
 * revisions of MCP than 2026-07-28.
 *
 * A call reconnects to a server that was lost; a call that was in flight then is `OUTCOME_UNKNOWN`. Like every provider it has
 * no policy, and the server's directives are in `result.directives`: add it to a `ToolHub` to have calls evaluated,
 * arguments validated, and directives removed unless they are trusted.
 *
 * @example
 * ```ts
 * await using provider = new MCPToolProvider({ name: 'files', command: 'mcp-server-filesystem', args: [projectDir], projectDir });
 * const result = await provider.callTool('files.read_text_file', { path: 'README.md' });
 * ```
 */
export class MCPToolProvider implements ToolProvider {
  readonly name: string;
  readonly kind = 'mcp';
  /** @internal */
  readonly [TAKES_SCOPES] = true;
  readonly callTimeoutMs: number;
  readonly servers: readonly string[];
  readonly sourceHash: string | undefined;
  /** The server's features beyond tools: resources, prompts, completion, and its requests to the client. */
  readonly mcp: McpPeer;
  readonly #peer: McpServerPeer;
  readonly #options: ResolvedOptions;
  readonly #logger: Logger;
  readonly #requests: ServerRequests;
  readonly #tools: ToolListCache;
  readonly #connection: ServerConnection;
  readonly #subscription: ChangeSubscription;
  readonly #counters = new CallCounters();
  readonly #changed = new Listeners();
  readonly #inFlight = new Set<CallScope>();

  /** @throws {ToolError} INVALID_ARGUMENT naming the invalid option */
  constructor(options: MCPToolProviderOptions) {
    this.#options = resolveOptions(options);
    const { name, callTimeoutMs, listTimeoutMs, roots } = this.#options;
    this.name = name;
    this.callTimeoutMs = callTimeoutMs;
    this.servers = Object.freeze([name]);
    this.sourceHash = sourceHashOf(this.#options.place);
    this.#logger = options.logger ? safeLogger(options.logger) : WARNING_LOGGER;
    const { elicitation, sampling } = options;
    const offers = { ...(elicitation && { elicitation }), ...(sampling && { sampling }) };
    this.#requests = new ServerRequests(roots, offers, this.#inFlight);
    this.#connection = new ServerConnection({
      options: this.#options,
      requests: this.#requests,
      inFlight: this.#inFlight,
      logger: this.#logger,
      warn: this.#warn,
      logLevel: () => this.#peer.logLevel,
      onNotification: (method, params) => this.#receive(method, params),
      onOpened: (session) => {
        this.#subscription.use(session);
        if (this.#connection.sessions > 1) this.#tools.invalidate(); // another process may have different tools
        this.#peer.reportConnected();
      },
      onClosing: () => {
        this.#tools.clear();
        this.#subscription.use(undefined);
      },
    });
    const { withSession } = this.#connection;
    this.#tools = new ToolListCache({
      name,
      listTimeoutMs,
      withSession,
      warn: this.#warn,
      isWatched: () => this.#subscription.coversTools,
      onChanged: () => this.#changed.emit(this.#logger),
    });
    this.#subscription = new ChangeSubscription({
      filterFor: (capabilities) => this.#filterFor(capabilities),
      onReopened: () => {
        this.#tools.invalidate();
        this.#peer.reportConnected();
      },
      ...(this.#options.place.kind === 'http' && { reconnect: () => this.#connection.open() }),
    });
    this.mcp = this.#peer = new McpServerPeer({
      name,
      options: this.#options,
      requests: this.#requests,
      inFlight: this.#inFlight,
      withSession,
      offers: () => this.#connection.serverOffers,
      subscription: this.#subscription,
      onListening: () => this.#subscription.update(),
      onOffered: () => this.#connection.renegotiate(),
      onSettled: () => this.#connection.callSettled(),
      logger: this.#logger,
    });
  }

  async connect(options: { signal?: AbortSignal } = {}): Promise<void> {
    this.#connection.lifecycle.reopen();
    const scope = new CallScope(options);
    try {
      await scope.race(this.#connection.open());
      // The first call needs the list. If reading it fails, the server is connected, and the call reads it again.
      await scope.race(this.#tools.read().catch(() => undefined));
      if (this.#connection.lifecycle.isDisconnected) throw this.#connection.lifecycle.notConnected();
    } catch (thrown) {
      throw withStartOutput(ToolError.from(thrown), this);
    } finally {
      scope.close();
    }
  }

  get toolsTtlMs(): number | undefined {
    return this.#tools.ttlMs;
  }

  async listTools(options: { signal?: AbortSignal } = {}): Promise<readonly ToolDefinition[]> {
    const scope = new CallScope(options);
    try {
      if (this.#connection.lifecycle.isDisconnected) throw this.#connection.lifecycle.notConnected();
      return (await scope.race(this.#tools.read())).definitions;
    } finally {
      scope.close();
    }
  }

  callTool(name: string, args: JsonObject = {}, options?: CallOptions): Promise<ToolResult> {
    return this.#run(name, args, new CallScope(options));
  }

  prepareCall(name: string, args: JsonObject, options?: CallOptions): PreparedCall | Promise<PreparedCall> {
    // A lost server may come back with different tools.
    const tool = this.#connection.session ? this.#tools.current?.get(name) : undefined;
    return tool ? this.#prepared(tool, args) : this.#prepareSlowly(name, args, options);
  }

  async disconnect(): Promise<void> {
    return this.#connection.disconnect();
  }

  /** Calls {@link disconnect}, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
  }

  onToolsChanged(listener: () => void): () => void {
    const remove = this.#changed.add(listener);
    this.#subscription.update();
    return () => {
      remove();
      this.#subscription.update();
    };
  }

  onLost(listener: (failure: ToolError) => void): () => void {
    return this.#connection.lifecycle.onLost(listener);
  }

  /** Sends MCP's `ping`; an error response counts as a response. */
  async ping(options: { signal?: AbortSignal } = {}): Promise<void> {
    const scope = new CallScope(options);
    try {
      const { lifecycle, lastFailure } = this.#connection;
      const session = lifecycle.isOpening ? await scope.race(this.#connection.open()) : this.#connection.session;
      if (!session?.isOpen) throw lastFailure ?? lifecycle.notConnected();
      scope.setDeadline(this.callTimeoutMs);
      await session.request(session.era === 'modern' ? 'server/discover' : 'ping', {}, scope);
    } catch (thrown) {
      if (thrown instanceof RpcError) return;
      throw scope.error ?? (thrown instanceof SessionLostError ? thrown.failure : ToolError.from(thrown, 'INTERNAL'));
    } finally {
      scope.close();
    }
  }

  health(): ProviderHealth {
    const { sessions, lastFailure } = this.#connection;
    const health = this.#counters.health(this.#connection.stateOf(this.#tools.isStale));
    const lastError = health.lastError ?? lastFailure?.message;
    return { ...health, restarts: Math.max(0, sessions - 1), ...(lastError !== undefined && { lastError }) };
  }

  /** @internal */
  [START_OUTPUT](): StartOutput | undefined {
    return this.#connection.startOutput;
  }

  #receive(method: string, params: JsonObject): void {
    if (method === 'notifications/subscriptions/acknowledged') return this.#subscription.acknowledge(params);
    if (method === 'notifications/tools/list_changed') this.#tools.invalidate();
    this.#peer.emit(method, withoutSubscriptionId(params));
  }

  // One call.

  async #prepareSlowly(name: string, args: JsonObject, options: CallOptions | undefined): Promise<PreparedCall> {
    const scope = new CallScope(options);
    this.#inFlight.add(scope);
    try {
      this.#startClock(scope);
      this.#connection.holdDuringSignIn(scope);
      const unchecked = snapshot(args); // the caller may change them while the call waits
      await scope.race(this.#connection.open());
      return this.#prepared(await this.#find(name, scope), unchecked);
    } catch (thrown) {
      const failure = withStartOutput(
        callFailure(thrown, { scope, tool: undefined, wasSent: false }, this.name, false),
        this,
      );
      return rejectedCall(name, undefined, args, errorResult(failure, scope.startedAt));
    } finally {
      this.#inFlight.delete(scope);
      scope.close();
    }
  }

  #prepared(tool: ToolDefinition, args: JsonObject): PreparedCall {
    const prepared: PreparedFor = {
      tool,
      sessions: this.#connection.sessions,
      disconnects: this.#connection.disconnects,
    };
    const execute = (coerced: JsonObject, options?: CallOptions): Promise<ToolResult> =>
      this.#run(tool.name, coerced, new CallScope(options), prepared);
    try {
      return prepareFromListing({ tool, execute }, args);
    } catch (thrown) {
      return rejectedCall(
        tool.name,
        tool,
        args,
        errorResult(ToolError.from(thrown, 'INTERNAL', { provider: this.name }), performance.now()),
      );
    }
  }

  /** Checks that the tool is unchanged: a new session may be with another process. */
  async #assertUnchanged({ tool, sessions, disconnects }: PreparedFor, scope: CallScope): Promise<void> {
    if (this.#connection.disconnects !== disconnects) throw staleCallError(this.name);
    if (this.#connection.sessions !== sessions) await scope.race(this.#tools.read());
    if (this.#tools.isStale || !isSameListing(tool, this.#tools.current?.get(tool.name)))
      throw staleCallError(this.name, `The tool "${tool.name}" changed, or could not be listed again,`);
  }

  /** @param prepared what the call was prepared for: a different tool of that name does not run */
  async #run(name: string, args: JsonObject, scope: CallScope, prepared?: PreparedFor): Promise<ToolResult> {
    this.#inFlight.add(scope);
    const call: PendingCall = { scope, tool: undefined, wasSent: false };
    let result: ToolResult;
    try {
      this.#startClock(scope);
      this.#connection.holdDuringSignIn(scope);
      const untimed = await this.#call(call, name, args, prepared);
      result = Object.assign(untimed, { durationMs: performance.now() - scope.startedAt });
    } catch (thrown) {
      const isListed = call.tool !== undefined && this.#tools.current?.get(call.tool.name) !== undefined;
      const failure = callFailure(thrown, call, this.name, isListed);
      result = errorResult(call.wasSent ? failure : withStartOutput(failure, this), scope.startedAt);
    }
    if (result.isError && call.tool && scope.calledAs !== undefined)
      nameAsCalled(result, call.tool.name, scope.calledAs);
    if (scope.error && call.wasSent) this.#requests.abandon(scope);
    this.#inFlight.delete(scope);
    scope.close();
    this.#connection.callSettled();
    this.#counters.record(result, scope.startedAt + result.durationMs);
    return result;
  }

  #startClock(scope: CallScope): void {
    scope.setDeadline(this.callTimeoutMs, this.#options.maxTotalTimeoutMs, true);
    if (scope.error) throw scope.error;
  }

  async #call(
    call: PendingCall,
    name: string,
    callerArgs: JsonObject,
    prepared: PreparedFor | undefined,
  ): Promise<UntimedResult> {
    const { scope } = call;
    if (prepared && this.#connection.disconnects !== prepared.disconnects) throw staleCallError(this.name);
    const unchecked = snapshot(callerArgs); // the caller may change them while the call waits
    const tool = (call.tool = this.#tools.current?.get(name) ?? (await this.#find(name, scope)));
    const args = copyArguments(tool.name, unchecked);
    const session = this.#connection.session ?? (await scope.race(this.#connection.open()));
    if (scope.error) throw scope.error;
    if (prepared) await this.#assertUnchanged(prepared, scope);
    const { meta } = scope;
    const params: JsonObject = { name: tool.name.slice(this.name.length + 1), arguments: args };
    if (typeof meta === 'object') params._meta = copyJson(meta);
    const wire = await this.#request(call, tool, session, params, prepared);
    const result = fromWireResult(wire, (message) => this.#warn(`In the result of "${tool.name}" ${message}.`));
    if (tool.outputSchema && !result.isError && this.#options.validateOutput !== 'off') {
      const structured = tool.outputSchema.type === 'object' ? result.structuredContent : wire.structuredContent;
      if (!this.#matchesOutputSchema(tool, structured)) noteBrokenOutput(result);
    }
    return result;
  }

  /** Sends the call, answers what the server requires meanwhile, and returns its final result. */
  async #request(
    call: PendingCall,
    tool: ToolDefinition,
    session: McpSession,
    params: JsonObject,
    prepared: PreparedFor | undefined,
  ): Promise<JsonObject> {
    const { scope } = call;
    let target = session;
    let hasRetried = false;
    const send = async (sent: JsonObject): Promise<JsonObject> => {
      for (;;) {
        call.wasSent = true;
        try {
          const headers = target.usesHeaders
            ? this.#tools.current?.headersFor(tool, params.arguments as JsonObject)
            : undefined;
          return await target.request('tools/call', sent, scope, { onProgress: scope.onProgress, headers });
        } catch (thrown) {
          if (scope.error || hasRetried || !(await this.#canSendAgain(thrown, target, scope))) throw thrown;
          hasRetried = true;
          call.wasSent = false;
          target = await scope.race(this.#connection.open());
          if (prepared) await this.#assertUnchanged(prepared, scope);
        }
      }
    };
    const requests = this.#requests;
    const result = await requestInRounds({ params, scope, requests, send });
    if (result.resultType !== 'task') return result;
    return followTask(result, {
      scope,
      requests,
      send: (method, sent) => this.#connection.withSession(scope, (current) => current.request(method, sent, scope)),
      cancel: (taskId) => this.#cancelTask(target, taskId),
    });
  }

  /** True when the server provably did not read the call; prepares the next attempt. */
  async #canSendAgain(thrown: unknown, session: McpSession, scope: CallScope): Promise<boolean> {
    if (wasUnread(thrown)) return true;
    if (!(thrown instanceof RpcError) || session.era === 'legacy') return false;
    if (thrown.rpcCode === HEADER_MISMATCH) {
      this.#tools.invalidate();
      await scope.race(this.#tools.read()); // the tool may mirror other arguments now
      return true;
    }
    if (thrown.rpcCode !== UNSUPPORTED_VERSION) return false;
    await this.#connection.askAgain(session, scope);
    return true;
  }

  /** @param created the session on which the task was created; it may have been replaced by another one since */
  #cancelTask(created: McpSession, taskId: string): void {
    const session = created.isOpen ? created : this.#connection.session;
    if (!session) return; // no server is started for it
    const scope = new CallScope();
    scope.setDeadline(CANCEL_TIMEOUT_MS, CANCEL_TIMEOUT_MS);
    const cancelled = session
      .request('tasks/cancel', { taskId }, scope)
      .catch(() => undefined) // the server may have lost the task
      .finally(() => scope.close());
    this.#connection.closeAfter(cancelled);
  }

  /** The changes to listen to at a server of the modern era. */
  #filterFor(capabilities: JsonObject): JsonObject | undefined {
    const reports = (kind: string): boolean => {
      const capability = capabilities[kind];
      return isJsonObject(capability) && capability.listChanged === true;
    };
    const filter = {
      ...(this.#changed.size > 0 && reports('tools') && { toolsListChanged: true }),
      ...(this.#peer.isListening && reports('prompts') && { promptsListChanged: true }),
      ...(this.#peer.isListening && reports('resources') && { resourcesListChanged: true }),
    };
    return Object.keys(filter).length > 0 ? filter : undefined;
  }

  async #find(name: string, scope: CallScope): Promise<ToolDefinition> {
    if (this.#connection.lifecycle.isDisconnected) throw this.#connection.lifecycle.notConnected();
    const catalog = await scope.race(this.#tools.read());
    const tool = catalog.get(name);
    if (!tool) throw catalog.notFound(name, `The MCP server "${this.name}"`);
    return tool;
  }

  /** True when the output matches the tool's schema. @throws {ToolError} OUTPUT_INVALID instead, with validateOutput 'strict' */
  #matchesOutputSchema(tool: ToolDefinition, structured: unknown): boolean {
    const validate = this.#tools.current?.outputValidator(tool);
    const isAbsent = structured === undefined || structured === null;
    const issues = isAbsent ? undefined : validate?.(structured).issues;
    if (!isAbsent && !issues) return true;
    const why = issues ? describeIssues(issues) : 'it returned no structuredContent';
    const message = `"${tool.name}" ran, but its output does not match its schema: ${why}.`;
    if (this.#options.validateOutput === 'strict') throw new ToolError('OUTPUT_INVALID', message, { tool: tool.name });
    this.#warn(message);
    return false;
  }

  readonly #warn = (message: string): void =>
    this.#logger.warn(withoutSecrets(message, secretsOf(this.#options.place)));
}

/** The parameters of a notification without the id of its stream, which only this client knows. */
function withoutSubscriptionId(params: JsonObject): JsonObject {
  const { _meta, ...rest } = params;
  if (!isJsonObject(_meta) || !(SUBSCRIPTION_META in _meta)) return params;
  const { [SUBSCRIPTION_META]: _id, ...meta } = _meta;
  return Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest;
}
