// MCPToolProvider: one MCP server as a provider of tools. It owns the session and settles each call once.

import { CallCounters } from '../call/call-counters.js';
import { CallScope, TAKES_SCOPES } from '../call/call-scope.js';
import { ToolError } from '../contract/errors.js';
import { copyArguments, copyJson, snapshot } from '../contract/json-copy.js';
import type { JsonObject } from '../contract/json.js';
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
import { callFailure, type CallOnItsWay } from './session/call-failure.js';
import { LostSession, McpSession, RpcFailure } from './session/mcp-session.js';
import { ListedTools } from './tools/tool-list-cache.js';
import { createLink } from './transport/open-transport.js';
import {
  resolveOptions,
  secretsOf,
  type MCPToolProviderOptions,
  type ResolvedOptions,
} from './mcp-provider-options.js';
import { ServerRequests } from './session/server-requests.js';
import { ServerPeer, type SessionAsker } from './session/mcp-peer.js';
import { withoutSecrets } from './tools/sanitize.js';
import type { LinkTransport } from './transport/transport.js';
import { wasUnseen } from './session/unread-request.js';
import { fromWireResult } from './tools/wire-result.js';

/** Longer than any transport of ours takes to end; one that was given may take for ever. */
const ENDING_PATIENCE_MS = 8_000;

/** What a call was prepared for: the tool as it was listed, and in which session. */
interface PreparedFor {
  readonly tool: ToolDefinition;
  readonly sessions: number;
  readonly disconnects: number;
}

/** How a server sees us. The version is that of the packages; a test compares it with package.json. */
const CLIENT_INFO = { name: 'toolwright', version: '0.2.0' };

/**
 * The tools of one MCP server, under `name.`: over stdio, in a container, at a socket, over HTTP, or over a transport of
 * yours. Needs the package `@modelcontextprotocol/sdk`.
 *
 * A call to a server that has gone connects again; a call that was in flight when it went is `OUTCOME_UNKNOWN`. Like every
 * provider it has no policy of its own, and its server's directives are in `result.directives`: put it into a
 * `ToolHub` to have calls judged, arguments checked, and directives dropped unless they are trusted.
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
  /** The server beyond its tools: resources, prompts, completion, and its own requests. */
  readonly mcp: McpPeer;
  readonly #peer: ServerPeer;
  readonly #options: ResolvedOptions;
  readonly #logger: Logger;
  readonly #requests: ServerRequests;
  readonly #tools: ListedTools;
  readonly #counters = new CallCounters();
  readonly #changed = new Listeners();
  readonly #life: ConnectionLifecycle<McpSession>;
  readonly #inFlight = new Set<CallScope>();
  /** While a person signs in: resumes the clocks of the calls that wait for it. */
  #signingIn: (() => void)[] | undefined;
  #session: McpSession | undefined;
  #attempt: CallScope | undefined;
  /** Of the attempt that is under way. */
  #link: LinkTransport | undefined;
  /** What the server said last that it offers. */
  #serverOffers: JsonObject = {};
  /** More is offered to the server than its session was told. */
  #isOutdated = false;
  #sessions = 0;
  #disconnects = 0;
  #lastFailure: ToolError | undefined;

  /** @throws {ToolError} INVALID_ARGUMENT for a wrong option, named in the message */
  constructor(options: MCPToolProviderOptions) {
    this.#options = resolveOptions(options);
    const { name, callTimeoutMs, listTimeoutMs, roots } = this.#options;
    this.name = name;
    this.#life = new ConnectionLifecycle(name);
    this.callTimeoutMs = callTimeoutMs;
    this.servers = Object.freeze([name]);
    this.#logger = options.logger ? safeLogger(options.logger) : WARNING_LOGGER;
    const { elicitation, sampling } = options;
    const offers = { ...(elicitation && { elicitation }), ...(sampling && { sampling }) };
    this.#requests = new ServerRequests(roots, offers, this.#inFlight);
    this.#tools = new ListedTools({
      name,
      listTimeoutMs,
      ask: this.#ask,
      warn: this.#warn,
      onChanged: () => this.#changed.emit(this.#logger),
    });
    this.mcp = this.#peer = new ServerPeer({
      name,
      options: this.#options,
      requests: this.#requests,
      inFlight: this.#inFlight,
      ask: this.#ask,
      offers: () => this.#serverOffers,
      onOffered: () => this.#renegotiate(),
      onSettled: () => {
        if (this.#isOutdated) this.#renegotiate();
      },
      logger: this.#logger,
    });
  }

  async connect(options: { signal?: AbortSignal } = {}): Promise<void> {
    this.#life.reopen();
    const scope = new CallScope(options);
    try {
      await scope.race(this.#open());
      // The first call needs the list. A server that does not give it is connected all the same, and asked again then.
      await scope.race(this.#tools.read().catch(() => undefined));
      if (this.#life.isDisconnected) throw this.#life.notConnected();
    } catch (thrown) {
      throw withStartOutput(ToolError.from(thrown), this);
    } finally {
      scope.close();
    }
  }

  async listTools(options: { signal?: AbortSignal } = {}): Promise<readonly ToolDefinition[]> {
    const scope = new CallScope(options);
    try {
      if (this.#life.isDisconnected) throw this.#life.notConnected();
      return (await scope.race(this.#tools.read())).definitions;
    } finally {
      scope.close();
    }
  }

  callTool(name: string, args: JsonObject = {}, options?: CallOptions): Promise<ToolResult> {
    return this.#run(name, args, new CallScope(options));
  }

  prepareCall(name: string, args: JsonObject, options?: CallOptions): PreparedCall | Promise<PreparedCall> {
    // A server that has gone may come back with other tools.
    const isOpen = this.#session?.isOpen === true && !this.#life.isDisconnected;
    const tool = isOpen ? this.#tools.current?.get(name) : undefined;
    return tool ? this.#prepared(tool, args) : this.#prepareSlowly(name, args, options);
  }
  async disconnect(): Promise<void> {
    this.#disconnects++;
    return this.#life.disconnect(() => this.#close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
  }

  onToolsChanged(listener: () => void): () => void {
    return this.#changed.add(listener);
  }

  onLost(listener: (failure: ToolError) => void): () => void {
    return this.#life.onLost(listener);
  }

  /** MCP's `ping`. A server that does not know it has answered too. */
  async ping(options: { signal?: AbortSignal } = {}): Promise<void> {
    const scope = new CallScope(options);
    try {
      const session = this.#life.isOpening ? await scope.race(this.#open()) : this.#session;
      if (!session?.isOpen) throw this.#lastFailure ?? this.#life.notConnected();
      scope.setDeadline(this.callTimeoutMs);
      await session.request('ping', {}, scope);
    } catch (thrown) {
      if (thrown instanceof RpcFailure) return;
      throw scope.error ?? (thrown instanceof LostSession ? thrown.failure : ToolError.from(thrown, 'INTERNAL'));
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
    const words = this.#link?.remarks;
    return words === undefined ? undefined : { words: withoutSecrets(words, secretsOf(this.#options.place)) };
  }

  #state(): ProviderState {
    if (this.#session?.isOpen) return this.#tools.isStale ? 'DEGRADED' : 'READY';
    if (this.#life.isOpening) return 'INITIALIZING';
    if (this.#life.isDisconnected || !this.#lastFailure) return 'COLD';
    return this.#session ? 'DEGRADED' : 'DEAD'; // lost, and the next call connects; or it did not even start
  }

  // The session.

  #open(): Promise<McpSession> {
    return this.#life.open(this.#session?.isOpen ? this.#session : undefined, () => this.#start());
  }

  /** A request that the server provably did not look at is sent once more: its session was over. */
  readonly #ask: SessionAsker = async (scope, ask) => {
    try {
      return await ask(await scope.race(this.#open()));
    } catch (thrown) {
      if (scope.error || !wasUnseen(thrown)) throw thrown;
      return ask(await scope.race(this.#open()));
    }
  };

  /** A session learns what it is offered when it is opened: one that was offered less is replaced between two calls. */
  #renegotiate(): void {
    const session = this.#session;
    this.#isOutdated = session !== undefined && session.isOpen && this.#requests.isMissingFrom(session.offered);
    if (!session || !this.#isOutdated || this.#inFlight.size > 0 || this.#life.isDisconnected) return;
    this.#isOutdated = false;
    if (this.#options.isSingleUse) {
      this.#warn(`"${this.name}" was connected before all was offered to it, and its transport connects only once.`);
      return;
    }
    this.#session = undefined;
    const closed = session.close(); // at once, so that a disconnect waits for it
    const replacing = this.#life.open(undefined, async () => {
      await closed;
      if (this.#life.isDisconnected) throw this.#life.notConnected();
      return this.#start();
    });
    replacing.catch(() => undefined); // the next call tries again
  }

  async #start(): Promise<McpSession> {
    const { name, connectTimeoutMs } = this.#options;
    const scope = (this.#attempt = new CallScope());
    scope.setDeadline(connectTimeoutMs, connectTimeoutMs);
    try {
      // A function that makes a transport is the host's, and may never do so.
      const link = await scope.race(createLink(this.#options, { warn: this.#warn, clock: this.#clockOf(scope) }));
      this.#link = link;
      const session = await McpSession.open(
        link,
        {
          name,
          connectTimeoutMs,
          secrets: secretsOf(this.#options.place),
          clientInfo: CLIENT_INFO,
          capabilities: this.#requests.capabilities,
          onNotification: (method, params) => {
            if (method === 'notifications/tools/list_changed') this.#tools.invalidate();
            this.#peer.tell(method, params);
          },
          onRequest: (method, params, signal) => this.#requests.answer(method, params, signal),
          onLost: (failure) => this.#lose(failure),
          onClosing: (closing) => this.#life.track(closing),
        },
        scope,
      );
      if (this.#requests.isMissingFrom(session.offered) && !this.#options.isSingleUse) {
        await session.close(); // more was offered meanwhile
        if (this.#life.isDisconnected) throw this.#life.notConnected();
        return await this.#start();
      }
      this.#sessions++;
      this.#session = session;
      this.#serverOffers = { ...session.capabilities };
      this.#lastFailure = undefined;
      this.#requests.startSession();
      if (this.#sessions > 1) this.#tools.invalidate(); // another process may have other tools
      this.#peer.reportConnected();
      return session;
    } catch (thrown) {
      this.#session = undefined;
      this.#lastFailure = ToolError.from(thrown, 'UNAVAILABLE');
      throw this.#lastFailure;
    } finally {
      this.#link = undefined;
      scope.close();
    }
  }

  /** The clock of an attempt to connect, and of the calls that wait for it: while a person is asked, both are paused. */
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
    this.#serverOffers = { ...this.#serverOffers }; // what was subscribed to is over
    const message = `The MCP server "${this.name}" was lost; the next call connects again: ${failure.message}`;
    // A session that the server no longer knows is opened anew by the very call that finds it out.
    if (wasUnseen(failure)) return this.#logger.debug(withoutSecrets(message, secretsOf(this.#options.place)));
    this.#life.emitLost(failure, this.#warn);
    this.#warn(message);
  }

  async #close(): Promise<void> {
    this.#attempt?.end(this.#life.notConnected());
    await this.#life.openingSettled();
    const closed = this.#life.closedDuringCall();
    for (const scope of [...this.#inFlight]) scope.end(closed);
    this.#tools.clear();
    void this.#session?.close();
    const patienceMs = ENDING_PATIENCE_MS + this.#options.shutdownTimeoutMs;
    if (!(await this.#life.ended(patienceMs))) {
      this.#warn(`The MCP server "${this.name}" had not ended after ${patienceMs} ms and was left.`);
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
      const asGiven = snapshot(args); // it may be changed while the call waits
      await scope.race(this.#open());
      return this.#prepared(await this.#find(name, scope), asGiven);
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
    const execute = (own: JsonObject, options?: CallOptions): Promise<ToolResult> =>
      this.#run(tool.name, own, new CallScope(options), prepared);
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

  /** Another session may be with another process, which may have another tool of that name. */
  async #assertUnchanged({ tool, sessions, disconnects }: PreparedFor, scope: CallScope): Promise<void> {
    if (this.#disconnects !== disconnects) throw staleCallError(this.name);
    if (this.#sessions !== sessions) await scope.race(this.#tools.read());
    if (this.#tools.isStale || !isSameListing(tool, this.#tools.current?.get(tool.name)))
      throw staleCallError(this.name, `The tool "${tool.name}" was changed, or could not be listed again,`);
  }

  /** @param prepared what the call was prepared for: another tool of that name does not run in its place */
  async #run(name: string, args: JsonObject, scope: CallScope, prepared?: PreparedFor): Promise<ToolResult> {
    this.#inFlight.add(scope);
    const call: CallOnItsWay = { scope, tool: undefined, wasSent: false };
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
    call: CallOnItsWay,
    name: string,
    given: JsonObject,
    prepared: PreparedFor | undefined,
  ): Promise<UntimedResult> {
    const { scope } = call;
    if (prepared && this.#disconnects !== prepared.disconnects) throw staleCallError(this.name);
    const asGiven = snapshot(given); // it may be changed while the call waits
    const tool = (call.tool = this.#tools.current?.get(name) ?? (await this.#find(name, scope)));
    const args = copyArguments(tool.name, asGiven);
    const session =
      this.#session?.isOpen && !this.#life.isDisconnected ? this.#session : await scope.race(this.#open());
    if (scope.error) throw scope.error;
    if (prepared) await this.#assertUnchanged(prepared, scope);
    const { meta } = scope;
    const params: JsonObject = { name: tool.name.slice(this.name.length + 1), arguments: args };
    if (typeof meta === 'object') params._meta = copyJson(meta);
    call.wasSent = true;
    const ask = (on: McpSession): Promise<JsonObject> =>
      on.request('tools/call', params, scope, (progress) => scope.progress(progress));
    let wire: JsonObject;
    try {
      wire = await ask(session);
    } catch (thrown) {
      if (scope.error || !wasUnseen(thrown)) throw thrown;
      call.wasSent = false;
      const next = await scope.race(this.#open());
      if (prepared) await this.#assertUnchanged(prepared, scope);
      call.wasSent = true;
      wire = await ask(next);
    }
    const result = fromWireResult(wire, (what) => this.#warn(`In the result of "${tool.name}" ${what}.`));
    if (tool.outputSchema && !result.isError && this.#options.validateOutput !== 'off') {
      const structured = tool.outputSchema.type === 'object' ? result.structuredContent : wire.structuredContent;
      if (!this.#isOutput(tool, structured)) noteBrokenOutput(result);
    }
    return result;
  }

  async #find(name: string, scope: CallScope): Promise<ToolDefinition> {
    if (this.#life.isDisconnected) throw this.#life.notConnected();
    const catalog = await scope.race(this.#tools.read());
    const tool = catalog.get(name);
    if (!tool) throw catalog.notFound(name, `The MCP server "${this.name}"`);
    return tool;
  }

  /** False for one that breaks the tool's schema. @throws {ToolError} OUTPUT_INVALID when that is asked for */
  #isOutput(tool: ToolDefinition, structured: unknown): boolean {
    const validate = this.#tools.current?.outputValidator(tool);
    const isAbsent = structured === undefined || structured === null;
    const issues = isAbsent ? undefined : validate?.(structured).issues;
    if (!isAbsent && !issues) return true;
    const why = issues ? describeIssues(issues) : 'it gave no structuredContent';
    const message = `"${tool.name}" ran, but its output does not match its schema: ${why}.`;
    if (this.#options.validateOutput === 'strict') throw new ToolError('OUTPUT_INVALID', message, { tool: tool.name });
    this.#warn(message);
    return false;
  }

  readonly #warn = (message: string): void =>
    this.#logger.warn(withoutSecrets(message, secretsOf(this.#options.place)));
}
