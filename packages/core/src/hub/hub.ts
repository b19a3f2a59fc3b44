// ToolHub: many providers as one. Composes routing, policy, middleware, deadlines and the output limit.

import { BRAND, isMadeBy } from '../contract/brand.js';
import { CallScope } from '../call/call-scope.js';
import { ToolError } from '../contract/errors.js';
import { copyJson, snapshot } from '../contract/json-copy.js';
import type { JsonObject } from '../contract/json.js';
import { Listeners, safeLogger } from '../call/host-callbacks.js';
import { WARNING_LOGGER, type Logger } from '../contract/logger.js';
import { assertOptions, type OptionNames } from '../contract/options.js';
import { staleCallError, rejectedCall } from '../provider/prepared-call.js';
import { errorResult, nameAsCalled, type ToolResult } from '../contract/result.js';
import type { CallOptions, McpPeer, PreparedCall, ProviderHealth, ToolProvider } from '../contract/tool-provider.js';
import type { PermissionClaim } from '../contract/claims.js';
import { isForViewsOnly, type ToolDefinition } from '../contract/tool-definition.js';
import { PolicyGate, type EarlierAnswer } from './policy/policy-gate.js';
import { HubConnection } from './hub-connection.js';
import { CallPipeline, type EarlierCall } from './call-pipeline.js';
import { prepareMemberCall } from './prepare-call.js';
import { resolveHubOptions, type EffectiveLimits, type HubOptions } from './hub-options.js';
import { parseProviderEntry, type ProviderEntry } from './provider-entry.js';
import { assertDeclarationOptions, declarationsOf, type DeclarationOptions } from './declarations/declarations.js';
import { explainCall, type Explanation } from './explain.js';
import { reportQueued, reportSettled } from './call-events.js';
import { EventStream, type EventOptions, type HubEvent } from './events.js';
import { HubMember, type MemberHost, type ProviderStatus } from './member.js';
import { PinBoard, type PinApproval } from './pins.js';
import type { Policy } from './policy/policy.js';
import { Routing, type Route } from './routing.js';
import { SearchIndex, type SearchOptions } from './search/search.js';
import type { FoundTool } from './search/tool-search.js';
import { delegationOf } from '../provider/delegation.js';
import { assertSelection, selectTools, type ToolSelection } from '../provider/tool-selection.js';

/** Options of {@link ToolHub.listTools}. */
export interface ListOptions extends ToolSelection {
  /** Cancels the listing. */
  signal?: AbortSignal;
  /** Also lists the tools that only views of MCP Apps call, not models. Default: false. */
  includeViewTools?: boolean;
}

const LIST_OPTIONS: OptionNames<ListOptions> = { include: true, exclude: true, signal: true, includeViewTools: true };
const REMOVE_OPTIONS = { drainMs: true } as const;
const DEFAULT_DRAIN_MS = 5_000;
/**
 * Many providers as one provider: one list, one call path, one policy.
 *
 * A slow or broken provider affects only its own tools. `callTool` never rejects; `connect` and `listTools` do not
 * reject when a provider fails: {@link ToolHub.status} reports the failure.
 *
 * @example
 * ```ts
 * await using hub = new ToolHub({
 *   providers: [InProcessToolProvider.forProject(projectDir)],
 *   policy: { default: 'ask', rules: [{ tool: 'filesystem.read_*', action: 'allow' }], approve: askTheUser },
 * });
 * ```
 */
export class ToolHub implements ToolProvider {
  /** @internal */
  readonly [BRAND] = 'ToolHub';
  readonly name: string;
  readonly kind = 'hub';
  readonly #routing = new Routing();
  /** All listed tools, and those for models. */
  #listed: { all: readonly ToolDefinition[]; model: readonly ToolDefinition[] } | undefined;
  readonly #gate: PolicyGate | undefined;
  readonly #pins: PinBoard | undefined;
  readonly #calls: CallPipeline;
  readonly #limits: EffectiveLimits;
  readonly #logger: Logger;
  readonly #changed = new Listeners();
  readonly #search = new SearchIndex();
  readonly #events = new EventStream();
  readonly #connection: HubConnection;
  #announcing: NodeJS.Immediate | undefined;

  /** @throws {ToolError} NAME_CONFLICT for two providers of one name or prefix, INVALID_ARGUMENT for a wrong option */
  constructor(options: HubOptions = {}) {
    const { name, limits, middleware, logger, policy, pins } = resolveHubOptions(options);
    this.name = name;
    this.#logger = logger ? safeLogger(logger) : WARNING_LOGGER;
    this.#limits = limits;
    if (policy !== undefined)
      this.#gate = new PolicyGate(policy, options, this.#warn, () => this.#updateHidden(), this.#events);
    if (pins !== undefined) this.#pins = new PinBoard(pins, this.#warn);
    this.#connection = new HubConnection({
      name,
      routing: this.#routing,
      connectTimeoutMs: limits.connectTimeoutMs,
      warn: this.#warn,
      onConnected: () => {
        this.#routing.invalidate();
        this.#checkRules();
      },
    });
    this.#calls = new CallPipeline({ hub: this, gate: this.#gate, events: this.#events, middleware, limits });
    for (const entry of options.providers ?? []) this.#register(entry);
  }

  /** The prefixes of all its providers; changes with them. */
  get servers(): readonly string[] {
    return this.#routing.servers;
  }

  /** The servers of all its providers that keep state between the calls of a session. */
  get sessionServers(): readonly string[] {
    return this.#routing.members.flatMap(({ provider }) => provider.sessionServers ?? []);
  }

  /** The shortest time of its providers' lists. */
  get toolsTtlMs(): number | undefined {
    let shortest: number | undefined;
    for (const { provider } of this.#routing.members)
      if (provider.toolsTtlMs !== undefined) shortest = Math.min(shortest ?? Infinity, provider.toolsTtlMs);
    return shortest;
  }

  /**
   * Connects all providers in parallel, including those that failed before. Resolves once each has connected or failed, or
   * after `connectTimeoutMs`. A failed provider is retried in the background: after 1 s, then with increasing delays of up
   * to a minute.
   *
   * @param options `onDemand`: true when a call causes the connection, false when a person requests it (default)
   */
  async connect(options: { signal?: AbortSignal; onDemand?: boolean } = {}): Promise<void> {
    this.#connection.isDisconnected = false;
    const scope = new CallScope(options);
    try {
      await scope.race(this.#connection.open(options.onDemand === true, true));
    } finally {
      scope.close();
    }
  }

  /**
   * The tools of all providers that are listed, without those that the policy denies for all arguments. Waits for a
   * `connect` in progress, and for nothing else.
   */
  async listTools(options: ListOptions = {}): Promise<readonly ToolDefinition[]> {
    assertOptions('listTools()', options, LIST_OPTIONS);
    const { signal, includeViewTools = false } = options;
    assertSelection(options);
    if (this.#connection.isDisconnected) return [];
    if (!this.#connection.isConnected) await this.connect({ ...(signal && { signal }), onDemand: true });
    const definitions = includeViewTools ? this.#routing.definitions : this.#modelTools();
    return selectTools(definitions, options);
  }

  /**
   * Finds the listed tools that fit a description of what one should do, best first: by the words of their names, titles,
   * descriptions and arguments. Connects the hub if necessary; what the policy hides is not found.
   *
   * @param query what the tool should do, such as `create a GitHub issue`; at most 1,000 characters are read
   * @throws {ToolError} INVALID_ARGUMENT for an empty query or a wrong option, CANCELLED
   */
  search(query: string, options: SearchOptions = {}): Promise<FoundTool[]> {
    return this.#search.search(query, options, (listing) => this.listTools(listing));
  }

  /**
   * The listed tools as TypeScript declarations: a constant for each server, with a function for each tool, the types of its
   * arguments and its result, and descriptions as comments. For a prompt, or to check a program that a model wrote. A name that
   * is not an identifier, or is reserved, is changed for a server and quoted for a tool; a type that TypeScript cannot express is
   * wider. The result of a tool without an output schema is `unknown`.
   *
   * @throws {ToolError} INVALID_ARGUMENT for a wrong option
   */
  async declarations(options: DeclarationOptions = {}): Promise<string> {
    assertDeclarationOptions(options);
    return declarationsOf(await this.listTools(options));
  }

  /** The listed tools without those for views only; the same array while nothing has changed. */
  #modelTools(): readonly ToolDefinition[] {
    const { definitions } = this.#routing;
    if (this.#listed?.all !== definitions) {
      const model = definitions.some(isForViewsOnly)
        ? definitions.filter((tool) => !isForViewsOnly(tool))
        : definitions;
      this.#listed = { all: definitions, model };
    }
    return this.#listed.model;
  }

  callTool(name: string, args: JsonObject = {}, options?: CallOptions): Promise<ToolResult> {
    return this.#call(name, args, options);
  }

  /** @param before the prepared call, if it was prepared */
  async #call(name: string, args: JsonObject, options?: CallOptions, before?: EarlierCall): Promise<ToolResult> {
    const scope = new CallScope(options);
    let member: HubMember | undefined;
    let qualified = name;
    let result: ToolResult;
    const hasListeners = this.#events.hasListeners && reportQueued(this.#events, name, scope);
    // Every await is conditional: most calls await only the tool itself.
    try {
      if (scope.error) throw scope.error;
      member = this.#routeNow(name);
      const copied = member?.connected ? args : snapshot(args); // the caller may change them while the call waits
      if (!member) ({ member, name: qualified } = await this.#route(name, scope));
      member.inFlight.add(scope);
      result = await this.#calls.run(member, qualified, copied, scope, before);
    } catch (thrown) {
      result = errorResult(ToolError.from(thrown, 'INTERNAL'), scope.startedAt);
    }
    scope.close();
    const endedAt = performance.now();
    result.durationMs = endedAt - scope.startedAt;
    if (result.isError && scope.calledAs !== undefined) nameAsCalled(result, qualified, scope.calledAs);
    if (member) {
      member.inFlight.delete(scope);
      member.counters.record(result, endedAt);
    }
    if (hasListeners) reportSettled(this.#events, qualified, member?.name, scope, result);
    this.#calls.reportSettled(member, qualified, scope, result);
    return result;
  }

  /**
   * Resolves and validates a call and reports the policy's verdict on it as `verdict`. Runs nothing and requests no
   * approval; pass the answer to `verdict.request` to `execute({ approval })`.
   */
  async prepareCall(name: string, args: JsonObject, options?: CallOptions): Promise<PreparedCall> {
    const scope = new CallScope(options);
    let member: HubMember | undefined;
    let tool: ToolDefinition | undefined;
    try {
      scope.setDeadline();
      const copied = snapshot(args); // the caller may change them while the call waits
      const route = await this.#route(name, scope);
      member = route.member;
      member.inFlight.add(scope);
      this.#calls.startClock(member.provider, scope);
      await scope.race(member.ready());
      tool = member.tools.get(route.name);
      this.#calls.assertNotHidden(member, route.name, scope);
      const prepared = await scope.race(Promise.resolve(prepareMemberCall(member, route.name, copied, scope)));
      if (prepared.refused)
        return rejectedCall(route.name, tool, copied, this.#calls.refusal(prepared.refused, member, route.name));
      const checkedArgs = copyJson(prepared.args); // changing those of the prepared call does not change what runs
      const isDelegating = delegationOf(prepared.tool)?.hub === this;
      const evaluated = this.#gate?.verdictOf(prepared, isDelegating);
      const { disconnects } = this.#connection;
      const { verdict: _ofAnotherHub, ...call } = prepared;
      return {
        ...call,
        tool: member.tools.shown(prepared.tool),
        ...this.#calls.ownDeadline(member.provider, prepared),
        ...(evaluated && { verdict: evaluated.verdict }),
        execute: (inner) => {
          // It answers the verdict on the call that this one makes.
          if (isDelegating && inner?.approval && evaluated?.verdict === prepared.verdict)
            return prepared.execute(inner);
          // Prepared and evaluated again, as rules may have changed since.
          if (this.#connection.disconnects === disconnects && this.#routing.members.includes(route.member))
            return this.#call(route.name, checkedArgs, inner, { prepared, answer: answerOf(inner, evaluated?.shown) });
          return Promise.resolve(errorResult(staleCallError(this.name), performance.now()));
        },
      };
    } catch (thrown) {
      return rejectedCall(name, tool, args, errorResult(ToolError.from(thrown, 'INTERNAL'), scope.startedAt));
    } finally {
      member?.inFlight.delete(scope);
      scope.close();
    }
  }

  /**
   * Adds a provider, and connects it when the hub is connected. Resolves once it has connected or failed, which
   * {@link status} reports. Emits `onToolsChanged` once.
   *
   * @throws {ToolError} NAME_CONFLICT, synchronously and before anything is changed
   */
  add(entry: ToolProvider | ProviderEntry): Promise<void> {
    const member = this.#register(entry);
    this.#announce();
    return this.#connection.isOpen ? this.#connection.openMember(member) : Promise.resolve();
  }

  /**
   * Removes a provider: its tools disappear immediately, its running calls may finish within `drainMs` (default 5,000), then
   * it is disconnected. Resolves to false when there is no provider of that name.
   */
  async remove(name: string, options: { drainMs?: number } = {}): Promise<boolean> {
    assertOptions('remove()', options, REMOVE_OPTIONS);
    const { drainMs = DEFAULT_DRAIN_MS } = options;
    const member = this.#routing.remove(name);
    if (!member) return false;
    member.unsubscribe();
    this.#announce();
    await this.#connection.closeMember(member, drainMs);
    return true;
  }

  /** One row for each provider, in the order in which they were added. */
  status(): ProviderStatus[] {
    return this.#routing.members.map((member) => member.status());
  }

  /**
   * Approves tools of a pinned provider: those that are named, or all that it lists, together with its command or URL. Pass rows
   * of {@link ProviderStatus.quarantined} to approve exactly what a person was shown. A provider that was not connected
   * because its command or URL changed is connected.
   *
   * @throws {ToolError} INVALID_ARGUMENT for a provider that is unknown or not pinned, and for a row whose tool changed since;
   *   TOOL_NOT_FOUND for a tool that is not listed
   */
  async approvePins(providerName: string, tools?: readonly PinApproval[]): Promise<void> {
    const member = this.#routing.members.find(({ name }) => name === providerName);
    if (!member) throw new ToolError('INVALID_ARGUMENT', `approvePins(): the hub has no provider "${providerName}".`);
    await member.tools.approve(tools);
    this.#events.emit('pin.approved', {
      provider: providerName,
      ...(tools && { data: { tools: tools.map(nameOfPin) } }),
    });
    if (!member.connected && this.#connection.isOpen) await this.#connection.openMember(member);
    if (!member.tools.updateHidden()) return;
    this.#routing.invalidate();
    this.#announce();
  }

  /**
   * Replaces the rules and the default of the policy; calls that are already allowed continue. Rules that approvals added stay.
   *
   * @throws {ToolError} INVALID_ARGUMENT for an invalid rule or default, and for a hub without a policy; nothing changes then
   */
  setPolicy(policy: Pick<Policy, 'rules' | 'default'>): void {
    if (!this.#gate)
      throw new ToolError('INVALID_ARGUMENT', 'setPolicy(): the hub was created without a policy; create it with one.');
    assertOptions('setPolicy()', policy, { rules: true, default: true });
    this.#gate.replaceRules(policy);
    if (this.#connection.isConnected) this.#checkRules();
  }

  /** The provider of that name, for example to restart it. The hub still owns it. */
  providerNamed(name: string): ToolProvider | undefined {
    return this.#routing.members.find((member) => member.name === name)?.provider;
  }

  /**
   * Explains a call: which provider its tool is routed to, that provider's state, and the policy's verdict. With `args`,
   * the policy evaluates the claims of that call; without, only the tool's name. Runs nothing and requests no approval.
   */
  async explain(name: string, args?: JsonObject): Promise<Explanation> {
    const explanation = await explainCall(name, args, this.#lookUp(name), this, this.#gate, () =>
      this.#routing.notFound(name),
    );
    const warnings = this.#connection.isConnected ? this.#gate?.warnings(...this.#routing.known) : undefined;
    return warnings && warnings.length > 0 ? { ...explanation, warnings } : explanation;
  }

  /**
   * The MCP features of its providers beyond tools (resources, prompts, completion), by provider name. The policy does not
   * apply to requests to a peer. Includes the peers of inner hubs whose names are not taken.
   */
  peers(): ReadonlyMap<string, McpPeer> {
    const peers = new Map<string, McpPeer>();
    const { members } = this.#routing;
    for (const { name, provider } of members) if (provider.mcp) peers.set(name, provider.mcp);
    for (const { provider } of members) {
      if (!isMadeBy('ToolHub', provider)) continue;
      for (const [name, peer] of (provider as ToolHub).peers()) if (!peers.has(name)) peers.set(name, peer);
    }
    return peers;
  }

  async disconnect(): Promise<void> {
    await this.#connection.close();
  }

  /** Calls {@link disconnect}, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
  }

  async endSession(sessionId: string): Promise<void> {
    await Promise.all(this.#routing.members.map((member) => member.endSession(sessionId)));
  }

  onToolsChanged(listener: () => void): () => void {
    return this.#changed.add(listener);
  }

  /**
   * Calls `listener` with everything that happens in the hub: calls, verdicts, approvals, states and logs of providers, reloads,
   * pins, new rules. Errors of the listener are ignored. Returns a function that unsubscribes.
   *
   * @throws {ToolError} INVALID_ARGUMENT for a wrong option
   */
  onEvent(listener: (event: HubEvent) => void, options?: EventOptions): () => void {
    return this.#events.on(listener, options);
  }

  /** The combined health of its providers: READY when all are, DEGRADED when only some are; counters are added up. */
  health(): ProviderHealth {
    const rows = this.status();
    const states = new Set(rows.map(({ state }) => state));
    const worst = (['DEAD', 'DEGRADED', 'INITIALIZING', 'COLD'] as const).find((state) => states.has(state));
    return {
      state: this.#connection.isCold
        ? 'COLD'
        : worst === undefined
          ? 'READY'
          : states.has('READY')
            ? 'DEGRADED'
            : worst,
      consecutiveFailures: this.#routing.members.reduce(
        (most, { counters }) => Math.max(most, counters.consecutiveFailures),
        0,
      ),
      totalInvocations: rows.reduce((sum, { calls }) => sum + calls, 0),
      totalFailures: rows.reduce((sum, { failures }) => sum + failures, 0),
      restarts: 0,
    };
  }

  // Members.

  #register(given: ToolProvider | ProviderEntry): HubMember {
    const entry = parseProviderEntry(given, this.#pins !== undefined);
    const member = new HubMember(entry, this.#host);
    this.#routing.add(member);
    member.subscribe(() => void this.#membersToolsChanged(member));
    return member;
  }

  readonly #host: MemberHost = {
    pins: () => this.#pins,
    events: this.#events,
    isOpen: () => this.#connection.isOpen,
    isHidden: (name) => this.#gate?.deniedOutright(name) !== undefined,
    warn: (message) => this.#warn(message),
    adoptServers: (member) => this.#routing.adoptServers(member, this.#warn),
    onListed: (_member, isChanged) => {
      this.#routing.invalidate();
      // While the hub itself connects, its callers read the list afterwards anyway.
      if (isChanged && this.#connection.isConnected) this.#toolsChanged();
    },
  };

  async #membersToolsChanged(member: HubMember): Promise<void> {
    this.#routing.adoptServers(member, this.#warn);
    if (!member.connected) return; // its list is read once it connects
    await member.refresh();
    this.#toolsChanged();
  }

  #toolsChanged(): void {
    if (this.#connection.isConnected) this.#checkRules();
    this.#announce();
  }

  /** Added rules may hide or show tools, which changes the list. */
  #updateHidden(): void {
    const changed = this.#routing.members.filter((member) => member.tools.updateHidden());
    if (changed.length === 0) return;
    this.#routing.invalidate();
    this.#announce();
  }

  #checkRules(): void {
    this.#gate?.check(...this.#routing.known);
  }

  /** Emits one event for changes of the same turn of the event loop. */
  #announce(): void {
    if (this.#connection.isDisconnected) return;
    this.#announcing ??= setImmediate(() => {
      this.#announcing = undefined;
      if (!this.#connection.isDisconnected) this.#changed.emit(this.#logger);
    });
  }

  // Routing.

  /** The owner of a qualified name, if the hub is connected. */
  #routeNow(name: string): HubMember | undefined {
    const { isConnected, isDisconnected } = this.#connection;
    return isConnected && !isDisconnected && typeof name === 'string' ? this.#routing.ownerOf(name) : undefined;
  }

  /** @throws {ToolError} NOT_CONNECTED, TOOL_NOT_FOUND */
  async #route(name: string, scope: CallScope): Promise<Route> {
    if (this.#connection.isDisconnected) throw this.#connection.notConnected();
    const owner = typeof name === 'string' ? this.#routing.ownerOf(name) : undefined;
    if (owner) {
      this.#connectInBackground();
      return { member: owner, name };
    }
    scope.setDeadline(this.#limits.callTimeoutMs); // which provider it waits for is not known yet
    await scope.race(this.#connection.open(true));
    const route = this.#lookUp(name);
    if (!route) throw this.#routing.notFound(name);
    return route;
  }

  /** The route of a name, as far as the lists are known. */
  #lookUp(name: string): Route | undefined {
    if (typeof name !== 'string') return undefined;
    const member = this.#routing.ownerOf(name);
    return member ? { member, name } : (this.#routing.resolveBare(name) ?? this.#routing.resolveHidden(name));
  }

  /** A call needs one provider; the others connect in the background. */
  #connectInBackground(): void {
    this.#connection.open(true).catch(() => undefined); // only a disconnect rejects it, which ends the call as well
  }

  readonly #warn = (message: string): void => this.#logger.warn(message);
}

function nameOfPin(approval: PinApproval): string {
  return typeof approval === 'string' ? approval : approval.name;
}

/** The caller's answer to the verdict that it was shown. */
function answerOf(
  options: CallOptions | undefined,
  claims: readonly PermissionClaim[] | undefined,
): EarlierAnswer | undefined {
  const approval = options?.approval;
  return approval && claims && { approval, claims };
}
