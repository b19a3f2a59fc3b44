// MCPToolProvider: the tools of one MCP server. Owns the session and settles each call once.

import { CallCounters } from '../call/call-counters.js';
import { CallScope, TAKES_SCOPES } from '../call/call-scope.js';
import { ToolError } from '../contract/errors.js';
import { copyArguments, copyJson, snapshot } from '../contract/json-copy.js';
import { isJsonObject, type JsonObject } from '../contract/json.js';
import { Listeners, safeLogger } from '../call/host-callbacks.js';
import { WARNING_LOGGER, type Logger } from '../contract/logger.js';
import { ConnectionLifecycle } from '../provider/connection-lifecycle.js';
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
import type {
  CallOptions,
  McpPeer,
  PreparedCall,
  ProviderHealth,
  ProviderState,
  ToolProvider,
} from '../contract/tool-provider.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import { callFailure, type PendingCall } from './session/call-failure.js';
import { SessionLostError, RpcError, type McpSession } from './session/mcp-session.js';
import { ChangeSubscription, SUBSCRIPTION_META } from './session/change-subscription.js';
import { requestInRounds } from './session/input-rounds.js';
import { CANCEL_TIMEOUT_MS, followTask, TASKS_EXTENSION } from './session/tasks.js';
import { loadEngine } from './engines/load-engine.js';
import { EraMemory } from './session/era-memory.js';
import { openSession } from './session/open-session.js';
import { ToolListCache } from './tools/tool-list-cache.js';
import { createTransport } from './transport/open-transport.js';
import {
  fingerprintOf,
  resolveOptions,
  secretsOf,
  type MCPToolProviderOptions,
  type ResolvedOptions,
} from './mcp-provider-options.js';
import { ServerRequests } from './session/server-requests.js';
import { McpServerPeer, type WithSession } from './session/mcp-peer.js';
import { withoutSecrets } from './tools/sanitize.js';
import type { SessionTransport } from './transport/transport.js';
import { wasUnread } from './session/unread-request.js';
import { fromWireResult } from './tools/wire-result.js';

const HEADER_MISMATCH = -32_020;
const UNSUPPORTED_VERSION = -32_022;

/** Longer than the built-in transports take to close; a custom transport may never close. */
const CLOSE_TIMEOUT_MS = 8_000;

/** The tool and the session that a call was prepared for. */
interface PreparedFor {
  readonly tool: ToolDefinition;
  readonly sessions: number;
  readonly disconnects: number;
}

/** The client info sent to servers. A test compares the version with package.json. */
const CLIENT_INFO = { name: 'toolwright', version: '0.2.0' };

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
  /** The server's features beyond tools: resources, prompts, completion, and its requests to the client. */
  readonly mcp: McpPeer;
  readonly #peer: McpServerPeer;
  readonly #options: ResolvedOptions;
  readonly #logger: Logger;
  readonly #requests: ServerRequests;
  readonly #tools: ToolListCache;
  readonly #eras: EraMemory;
  readonly #subscription: ChangeSubscription;
  readonly #counters = new CallCounters();
  readonly #changed = new Listeners();
  readonly #lifecycle: ConnectionLifecycle<McpSession>;
  readonly #inFlight = new Set<CallScope>();
  /** Set during a sign-in: functions that resume the deadlines of the waiting calls. */
  #signingIn: (() => void)[] | undefined;
  #session: McpSession | undefined;
  #attempt: CallScope | undefined;
  /** The transport of the attempt in progress. */
  #transport: SessionTransport | undefined;
  /** The capabilities of the latest session. */
  #serverOffers: JsonObject = {};
  /** Capabilities were added since the session was opened. */
  #isOutdated = false;
  #sessions = 0;
  #disconnects = 0;
  #lastFailure: ToolError | undefined;

  /** @throws {ToolError} INVALID_ARGUMENT naming the invalid option */
  constructor(options: MCPToolProviderOptions) {
    this.#options = resolveOptions(options);
    const { name, callTimeoutMs, listTimeoutMs, roots } = this.#options;
    this.name = name;
    this.#lifecycle = new ConnectionLifecycle(name);
    this.callTimeoutMs = callTimeoutMs;
    this.servers = Object.freeze([name]);
    this.#logger = options.logger ? safeLogger(options.logger) : WARNING_LOGGER;
    const { elicitation, sampling } = options;
    const offers = { ...(elicitation && { elicitation }), ...(sampling && { sampling }) };
    this.#requests = new ServerRequests(roots, offers, this.#inFlight);
    this.#eras = new EraMemory(fingerprintOf(this.#options.place), this.#options.eraStore);
    this.#tools = new ToolListCache({
      name,
      listTimeoutMs,
      withSession: this.#withSession,
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
    });
    this.mcp = this.#peer = new McpServerPeer({
      name,
      options: this.#options,
      requests: this.#requests,
      inFlight: this.#inFlight,
      withSession: this.#withSession,
      offers: () => this.#serverOffers,
      subscription: this.#subscription,
      onListening: () => this.#subscription.update(),
      onOffered: () => this.#renegotiate(),
      onSettled: () => {
        if (this.#isOutdated) this.#renegotiate();
      },
      logger: this.#logger,
    });
  }

  async connect(options: { signal?: AbortSignal } = {}): Promise<void> {
    this.#lifecycle.reopen();
    const scope = new CallScope(options);
    try {
      await scope.race(this.#open());
      // The first call needs the list. If reading it fails, the server is connected, and the call reads it again.
      await scope.race(this.#tools.read().catch(() => undefined));
      if (this.#lifecycle.isDisconnected) throw this.#lifecycle.notConnected();
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
      if (this.#lifecycle.isDisconnected) throw this.#lifecycle.notConnected();
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
    const isOpen = this.#session?.isOpen === true && !this.#lifecycle.isDisconnected;
    const tool = isOpen ? this.#tools.current?.get(name) : undefined;
    return tool ? this.#prepared(tool, args) : this.#prepareSlowly(name, args, options);
  }

  async disconnect(): Promise<void> {
    this.#disconnects++;
    return this.#lifecycle.disconnect(() => this.#close());
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
    return this.#lifecycle.onLost(listener);
  }

  /** Sends MCP's `ping`; an error response counts as a response. */
  async ping(options: { signal?: AbortSignal } = {}): Promise<void> {
    const scope = new CallScope(options);
    try {
      const session = this.#lifecycle.isOpening ? await scope.race(this.#open()) : this.#session;
      if (!session?.isOpen) throw this.#lastFailure ?? this.#lifecycle.notConnected();
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
    const health = this.#counters.health(this.#state());
    const lastError = health.lastError ?? this.#lastFailure?.message;
    return { ...health, restarts: Math.max(0, this.#sessions - 1), ...(lastError !== undefined && { lastError }) };
  }

  /** @internal */
  [START_OUTPUT](): StartOutput | undefined {
    const note = this.#transport?.stderrNote;
    return note === undefined ? undefined : { text: withoutSecrets(note, secretsOf(this.#options.place)) };
  }

  #state(): ProviderState {
    if (this.#session?.isOpen) return this.#tools.isStale ? 'DEGRADED' : 'READY';
    if (this.#lifecycle.isOpening) return 'INITIALIZING';
    if (this.#lifecycle.isDisconnected || !this.#lastFailure) return 'COLD';
    return this.#session ? 'DEGRADED' : 'DEAD'; // lost, so that the next call reconnects; or it never started
  }

  // The session.

  #open(): Promise<McpSession> {
    return this.#lifecycle.open(this.#session?.isOpen ? this.#session : undefined, () => this.#start());
  }

  /** Runs a request on the open session, and once more on a new one if the server provably did not read it. */
  readonly #withSession: WithSession = async (scope, run) => {
    try {
      return await run(await scope.race(this.#open()));
    } catch (thrown) {
      if (scope.error || !wasUnread(thrown)) throw thrown;
      return run(await scope.race(this.#open()));
    }
  };

  /** Capabilities are declared when a session is opened: a session with fewer is replaced while no call is in flight. */
  #renegotiate(): void {
    const session = this.#session;
    this.#isOutdated = session !== undefined && session.isOpen && this.#isMissingCapabilities(session);
    if (!session || !this.#isOutdated || this.#inFlight.size > 0 || this.#lifecycle.isDisconnected) return;
    this.#isOutdated = false;
    if (this.#options.isSingleUse) {
      this.#warn(
        `The MCP server "${this.name}" was connected before capabilities were added, and its transport cannot reconnect. Set transport to a function.`,
      );
      return;
    }
    this.#session = undefined;
    const closed = session.close(); // started now, so that a disconnect waits for it
    const replacing = this.#lifecycle.open(undefined, async () => {
      await closed;
      if (this.#lifecycle.isDisconnected) throw this.#lifecycle.notConnected();
      return this.#start();
    });
    replacing.catch(() => undefined); // the next call tries again
  }

  /** Requests of the modern era declare capabilities themselves. */
  #isMissingCapabilities({ era, offered }: McpSession): boolean {
    return era === 'legacy' && this.#requests.isMissingFrom(offered);
  }

  #receive(method: string, params: JsonObject): void {
    if (method === 'notifications/subscriptions/acknowledged') return this.#subscription.acknowledge(params);
    if (method === 'notifications/tools/list_changed') this.#tools.invalidate();
    this.#peer.emit(method, withoutSubscriptionId(params));
  }

  async #start(): Promise<McpSession> {
    const { name, connectTimeoutMs } = this.#options;
    const scope = (this.#attempt = new CallScope());
    scope.setDeadline(connectTimeoutMs, connectTimeoutMs);
    try {
      const { place, protocol, isSingleUse } = this.#options;
      const engine = await scope.race(loadEngine(this.#options.engine));
      const session = await openSession(
        {
          name,
          engine,
          protocol,
          eras: this.#eras,
          isSingleUse,
          isHttp: place.kind === 'http',
          createTransport: async () =>
            (this.#transport = await createTransport(this.#options, {
              warn: this.#warn,
              clock: this.#clockOf(scope),
              engine,
            })),
          connectTimeoutMs,
          secrets: secretsOf(this.#options.place),
          clientInfo: CLIENT_INFO,
          capabilities: this.#requests.capabilities,
          capabilitiesFor: (call) => withTasks(this.#requests.capabilitiesFor(call)),
          logLevel: () => this.#peer.logLevel,
          onNotification: (method, params) => this.#receive(method, params),
          onRequest: (method, params, signal) => this.#requests.answer(method, params, signal),
          onLost: (failure) => this.#lose(failure),
          onClosing: (closing) => this.#lifecycle.track(closing),
        },
        scope,
      );
      if (this.#isMissingCapabilities(session) && !this.#options.isSingleUse) {
        await session.close(); // capabilities were added meanwhile
        if (this.#lifecycle.isDisconnected) throw this.#lifecycle.notConnected();
        return await this.#start();
      }
      this.#sessions++;
      this.#session = session;
      this.#serverOffers = { ...session.capabilities };
      this.#lastFailure = undefined;
      this.#requests.startSession();
      this.#subscription.use(session);
      if (this.#sessions > 1) this.#tools.invalidate(); // another process may have different tools
      this.#peer.reportConnected();
      return session;
    } catch (thrown) {
      this.#session = undefined;
      this.#lastFailure = ToolError.from(thrown, 'UNAVAILABLE');
      throw this.#lastFailure;
    } finally {
      this.#transport = undefined;
      scope.close();
    }
  }

  /** The deadline of an attempt to connect and of the calls that wait for it, paused during a sign-in. */
  #clockOf(attempt: CallScope): { pause(): void; resume(): void } {
    return {
      pause: () => {
        attempt.pause();
        this.#signingIn = [...this.#inFlight].map((call) => call.hold());
      },
      resume: () => {
        attempt.resume();
        for (const resumeCall of this.#signingIn ?? []) resumeCall();
        this.#signingIn = undefined;
      },
    };
  }

  #lose(failure: ToolError): void {
    this.#lastFailure = failure;
    this.#serverOffers = { ...this.#serverOffers }; // a new object, as subscriptions have ended
    const message = `The MCP server "${this.name}" was lost; the next call reconnects: ${failure.message}`;
    // The call that finds the session expired opens a new one, so this is not a loss.
    if (wasUnread(failure)) return this.#logger.debug(withoutSecrets(message, secretsOf(this.#options.place)));
    this.#lifecycle.emitLost(failure, this.#warn);
    this.#warn(message);
  }

  async #close(): Promise<void> {
    this.#attempt?.end(this.#lifecycle.notConnected());
    await this.#lifecycle.openingSettled();
    const closed = this.#lifecycle.closedDuringCall();
    for (const scope of [...this.#inFlight]) scope.end(closed);
    this.#tools.clear();
    this.#subscription.use(undefined);
    void this.#session?.close();
    const timeoutMs = CLOSE_TIMEOUT_MS + this.#options.shutdownTimeoutMs;
    if (!(await this.#lifecycle.ended(timeoutMs))) {
      this.#warn(`The MCP server "${this.name}" did not exit within ${timeoutMs} ms and was abandoned.`);
    }
    this.#session = undefined;
    this.#serverOffers = {};
    this.#lastFailure = undefined;
  }

  // One call.

  async #prepareSlowly(name: string, args: JsonObject, options: CallOptions | undefined): Promise<PreparedCall> {
    const scope = new CallScope(options);
    this.#inFlight.add(scope);
    try {
      this.#startClock(scope);
      this.#signingIn?.push(scope.hold());
      const unchecked = snapshot(args); // the caller may change them while the call waits
      await scope.race(this.#open());
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
    const prepared: PreparedFor = { tool, sessions: this.#sessions, disconnects: this.#disconnects };
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
    if (this.#disconnects !== disconnects) throw staleCallError(this.name);
    if (this.#sessions !== sessions) await scope.race(this.#tools.read());
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
      this.#signingIn?.push(scope.hold());
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
    if (this.#isOutdated) this.#renegotiate();
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
    if (prepared && this.#disconnects !== prepared.disconnects) throw staleCallError(this.name);
    const unchecked = snapshot(callerArgs); // the caller may change them while the call waits
    const tool = (call.tool = this.#tools.current?.get(name) ?? (await this.#find(name, scope)));
    const args = copyArguments(tool.name, unchecked);
    const session =
      this.#session?.isOpen && !this.#lifecycle.isDisconnected ? this.#session : await scope.race(this.#open());
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
          target = await scope.race(this.#open());
          if (prepared) await this.#assertUnchanged(prepared, scope);
        }
      }
    };
    const requests = this.#requests;
    const result = await requestInRounds({ method: 'tools/call', params, scope, requests, send });
    if (result.resultType !== 'task') return result;
    return followTask(result, {
      scope,
      requests,
      send: (method, sent) => this.#withSession(scope, (current) => current.request(method, sent, scope)),
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
    await this.#eras.remember(undefined);
    await scope.race(session.close());
    return true;
  }

  #cancelTask(session: McpSession, taskId: string): void {
    const scope = new CallScope();
    scope.setDeadline(CANCEL_TIMEOUT_MS, CANCEL_TIMEOUT_MS);
    session
      .request('tasks/cancel', { taskId }, scope)
      .catch(() => undefined) // the server may have lost the task
      .finally(() => scope.close());
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
    if (this.#lifecycle.isDisconnected) throw this.#lifecycle.notConnected();
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

/** The client capabilities with the tasks extension: a call may be answered with a task. */
function withTasks(capabilities: JsonObject): JsonObject {
  const { extensions } = capabilities;
  return { ...capabilities, extensions: { ...(isJsonObject(extensions) && extensions), [TASKS_EXTENSION]: {} } };
}
