// ToolHub: many providers as one. The composition of routing, policy, middleware, deadline and output limit.

import { BRAND, isMadeBy } from '../contract/brand.js';
import { CallScope, MAX_TOTAL_TIMEOUT_MS } from '../call/call-scope.js';
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
import type { ToolDefinition } from '../contract/tool-definition.js';
import { PolicyGate, type EarlierAnswer, type PolicyEvents } from './policy/policy-gate.js';
import { CallPipeline, type EarlierCall } from './call-pipeline.js';
import { prepareMemberCall } from './prepare-call.js';
import { HUB_LIMITS, type EffectiveLimits, type HubLimits } from './hub-limits.js';
import { explainCall, type Explanation } from './explain.js';
import { settledWithin } from '../call/waiting.js';
import { nameFault } from '../tool/define-tool.js';
import { HubMember, type MemberHost, type ProviderEntry, type ProviderStatus } from './member.js';
import type { Middleware } from './middleware.js';
import type { Policy } from './policy/policy.js';
import { Routing, type Route } from './routing.js';
import { matchesTool } from './policy/rule-match.js';

/** What a {@link ToolHub} is made of. */
export interface HubOptions extends PolicyEvents {
  /** The hub owns them: its `disconnect` ends them all. */
  providers?: readonly (ToolProvider | ProviderEntry)[];
  /** Default: none, and every call runs; its engine approves. */
  policy?: Policy;
  /** Wrapped around every call that policy let pass, the first outermost. */
  middleware?: readonly Middleware[];
  limits?: HubLimits;
  /** Default: `process.emitWarning` for warnings and errors, each text once. Arguments and results are never logged. */
  logger?: Logger;
  /** Default: a name that is unique in this process. */
  name?: string;
}

/** What {@link ToolHub.listTools} may be given. Globs are over qualified names; without a dot they name servers. */
export interface ListOptions {
  signal?: AbortSignal;
  /** Only tools that one of these matches. Default: all. */
  include?: readonly string[];
  /** No tool that one of these matches. */
  exclude?: readonly string[];
}

const DEFAULT_LIMITS = { connectTimeoutMs: 10_000, maxTotalTimeoutMs: MAX_TOTAL_TIMEOUT_MS, maxTextBytes: 256 * 1024 };
const HUB_OPTIONS: OptionNames<HubOptions> = {
  providers: true,
  policy: true,
  middleware: true,
  limits: true,
  logger: true,
  name: true,
  onRuleAdded: true,
  onDecision: true,
};
const POLICY_OPTIONS: OptionNames<Policy> = { rules: true, default: true, approve: true };
const ENTRY_OPTIONS: OptionNames<ProviderEntry> = { provider: true, trustDirectives: true, permission: true };
const LIST_OPTIONS: OptionNames<ListOptions> = { include: true, exclude: true, signal: true };
const REMOVE_OPTIONS = { drainMs: true } as const;
const DEFAULT_DRAIN_MS = 5_000;
/** How long a provider may take to end before the hub goes on without it. */
const DISCONNECT_TIMEOUT_MS = 10_000;

let unnamed = 0;

/**
 * Many providers as one provider: one list, one call path, one policy.
 *
 * A provider that is slow or broken costs only its own tools. `callTool` never rejects; `connect` and `listTools` do
 * not reject for one provider's failure, which {@link ToolHub.status} tells instead.
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
  readonly #gate: PolicyGate | undefined;
  readonly #calls: CallPipeline;
  readonly #limits: EffectiveLimits;
  readonly #logger: Logger;
  readonly #changed = new Listeners();
  /** Providers that are on their way out; a disconnect waits for them too. */
  readonly #leaving = new Set<Promise<void>>();
  /** Members that are being opened by the hub. */
  readonly #opening = new Set<Promise<void>>();
  #connecting: Promise<void> | undefined;
  /** How many disconnects there were when {@link #connecting} began. */
  #connectingSince = 0;
  #connected = false;
  #disconnecting: Promise<void> | undefined;
  #disconnected = false;
  /** Counts disconnects: a prepared call belongs to the connection that prepared it. */
  #disconnects = 0;
  #announcing: NodeJS.Immediate | undefined;

  /** @throws {ToolError} NAME_CONFLICT for two providers of one name or prefix, INVALID_ARGUMENT for a wrong option */
  constructor(options: HubOptions = {}) {
    assertOptions('new ToolHub()', options, HUB_OPTIONS);
    if (options.limits !== undefined) assertOptions('new ToolHub()', options.limits, HUB_LIMITS, 'limits.');
    if (Object(options.policy) === options.policy)
      assertOptions('new ToolHub()', options.policy, POLICY_OPTIONS, 'policy.');
    const providers: unknown = options.providers;
    if (providers !== undefined && !Array.isArray(providers))
      throw new ToolError('INVALID_ARGUMENT', 'new ToolHub() takes `providers` as an array.');
    this.name = options.name ?? `hub-${++unnamed}`;
    const fault = nameFault('name', this.name);
    if (fault) throw new ToolError('INVALID_ARGUMENT', `new ToolHub(): ${fault}.`);
    for (const listener of ['onRuleAdded', 'onDecision'] as const) {
      if (options[listener] !== undefined && typeof options[listener] !== 'function')
        throw new ToolError('INVALID_ARGUMENT', `new ToolHub(): ${listener} must be a function.`);
    }
    this.#logger = options.logger ? safeLogger(options.logger) : WARNING_LOGGER;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    if (
      options.middleware !== undefined &&
      !(Array.isArray(options.middleware) && options.middleware.every((layer) => typeof layer === 'function'))
    ) {
      throw new ToolError('INVALID_ARGUMENT', 'middleware must be an array of functions.');
    }
    for (const [limit, value] of Object.entries(this.#limits)) {
      if (!(typeof value === 'number' && value > 0)) {
        throw new ToolError('INVALID_ARGUMENT', `limits.${limit} must be a number above 0, not ${String(value)}.`);
      }
    }
    if (options.policy !== undefined)
      this.#gate = new PolicyGate(options.policy, options, this.#warn, () => this.#updateHidden());
    this.#calls = new CallPipeline({
      gate: this.#gate,
      middleware: [...((options.middleware as readonly Middleware[] | undefined) ?? [])],
      limits: this.#limits,
    });
    for (const entry of options.providers ?? []) this.#register(entry);
  }

  /** The prefixes of all its providers. Grows and shrinks with them. */
  get servers(): readonly string[] {
    return this.#routing.servers;
  }

  /**
   * Connects every provider at once, those that failed before again. Resolves when each is connected or failed, or is later
   * than `connectTimeoutMs`. What failed is tried again meanwhile, after 1 s and then ever more seldom, at last each minute.
   *
   * @param options `onDemand`: a call asks for it, not a person
   */
  async connect(options: { signal?: AbortSignal; onDemand?: boolean } = {}): Promise<void> {
    this.#disconnected = false;
    const scope = new CallScope(options);
    try {
      await scope.race(this.#open(options.onDemand === true, true));
    } finally {
      scope.close();
    }
  }

  /**
   * The tools of every provider that has a list, but for those that the policy denies whatever their arguments. Waits for
   * a `connect` that is under way, and for nothing else.
   */
  async listTools(options: ListOptions = {}): Promise<readonly ToolDefinition[]> {
    assertOptions('listTools()', options, LIST_OPTIONS);
    const { include, exclude, signal } = options;
    assertGlobs('include', include);
    assertGlobs('exclude', exclude);
    if (this.#disconnected) return [];
    if (!this.#connected) await this.connect({ ...(signal && { signal }), onDemand: true });
    const { definitions } = this.#routing;
    if (!include && !exclude) return definitions;
    const matches = (globs: readonly string[], name: string): boolean => globs.some((glob) => matchesTool(glob, name));
    return definitions.filter(
      ({ name }) => (!include || matches(include, name)) && !(exclude && matches(exclude, name)),
    );
  }

  callTool(name: string, args: JsonObject = {}, options?: CallOptions): Promise<ToolResult> {
    return this.#call(name, args, options);
  }

  /** @param before the call as it was prepared, where it was */
  async #call(name: string, args: JsonObject, options?: CallOptions, before?: EarlierCall): Promise<ToolResult> {
    const scope = new CallScope(options);
    let member: HubMember | undefined;
    let qualified = name;
    let result: ToolResult;
    // It waits only where there is something to wait for: most calls await nothing but the tool itself.
    try {
      if (scope.error) throw scope.error;
      member = this.#routeNow(name);
      const own = member?.connected ? args : snapshot(args); // they may be changed while the call waits
      if (!member) ({ member, name: qualified } = await this.#route(name, scope));
      member.inFlight.add(scope);
      result = await this.#calls.run(member, qualified, own, scope, before);
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
    return result;
  }

  /**
   * Resolves and validates a call and says what the policy says of it, as `verdict`. Runs nothing and asks nobody; its
   * `execute({ approval })` takes the answer to `verdict.request`.
   */
  async prepareCall(name: string, args: JsonObject, options?: CallOptions): Promise<PreparedCall> {
    const scope = new CallScope(options);
    let member: HubMember | undefined;
    let tool: ToolDefinition | undefined;
    try {
      scope.setDeadline();
      const copied = snapshot(args); // they may be changed while the call waits
      const route = await this.#route(name, scope);
      member = route.member;
      member.inFlight.add(scope);
      this.#calls.startClock(member.provider, scope);
      await scope.race(member.ready());
      tool = member.listed(route.name);
      this.#calls.assertNotHidden(member, route.name, scope);
      const prepared = await scope.race(Promise.resolve(prepareMemberCall(member, route.name, copied, scope)));
      if (prepared.refused)
        return rejectedCall(route.name, tool, copied, this.#calls.refusal(prepared.refused, member, route.name));
      const own = copyJson(prepared.args); // whoever changes those of the prepared call does not change what runs
      const judged = this.#gate?.verdictOf(prepared);
      const disconnects = this.#disconnects;
      return {
        ...prepared,
        ...this.#calls.ownDeadline(member.provider, prepared),
        ...(judged && { verdict: judged.verdict }),
        execute: (inner) => {
          // Prepared and judged again: a hub around this one has its own policy, and rules may have changed meanwhile.
          if (this.#disconnects === disconnects && this.#routing.members.includes(route.member))
            return this.#call(route.name, own, inner, { prepared, answer: answerOf(inner, judged?.shown) });
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
   * Adds a provider. When the hub is connected the new one is connected too; resolves when that has succeeded or
   * failed, which {@link status} tells. Raises `onToolsChanged` once.
   *
   * @throws {ToolError} NAME_CONFLICT at once, before anything is changed
   */
  add(entry: ToolProvider | ProviderEntry): Promise<void> {
    const member = this.#register(entry);
    this.#announce();
    return this.#isOpen ? this.#openMember(member) : Promise.resolve();
  }

  /**
   * Removes a provider: its tools disappear at once, its calls may finish for `drainMs`, then it is disconnected.
   * False when there is none of that name.
   */
  async remove(name: string, options: { drainMs?: number } = {}): Promise<boolean> {
    assertOptions('remove()', options, REMOVE_OPTIONS);
    const { drainMs = DEFAULT_DRAIN_MS } = options;
    const member = this.#routing.remove(name);
    if (!member) return false;
    member.unsubscribe();
    this.#announce();
    const closed = new ToolError('CONNECTION_CLOSED', `The provider "${name}" was removed during the call.`);
    const leaving = drained(member.inFlight, drainMs).then(async () => {
      for (const scope of [...member.inFlight]) scope.end(closed);
      await member.close(DISCONNECT_TIMEOUT_MS, true);
    });
    this.#leaving.add(leaving);
    await leaving;
    this.#leaving.delete(leaving);
    return true;
  }

  /** One row a provider, in the order they were added. */
  status(): ProviderStatus[] {
    return this.#routing.members.map((member) => member.status());
  }

  /** The provider of that name, for whoever starts, ends or asks one; the hub goes on owning it. */
  providerNamed(name: string): ToolProvider | undefined {
    return this.#routing.members.find((member) => member.name === name)?.provider;
  }

  /**
   * Where a tool is routed, in what state its provider is, and what the policy says. With `args` the claims of that
   * very call are judged; without, the tool's name alone. Runs nothing and asks nobody.
   */
  async explain(name: string, args?: JsonObject): Promise<Explanation> {
    const explanation = await explainCall(name, args, this.#lookUp(name), this.#gate, () =>
      this.#routing.notFound(name),
    );
    const warnings = this.#connected ? this.#gate?.warnings(...this.#routing.known) : undefined;
    return warnings && warnings.length > 0 ? { ...explanation, warnings } : explanation;
  }

  /**
   * What its providers have beyond tools, by the names of the providers: resources, prompts, completion. No policy stands
   * before what is asked of a peer. Those of a hub within this one are among them where their name is free.
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
    this.#disconnected = true;
    this.#disconnects++;
    return (this.#disconnecting ??= this.#close().finally(() => (this.#disconnecting = undefined)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
  }

  async endSession(sessionId: string): Promise<void> {
    await Promise.all(this.#routing.members.map((member) => member.endSession(sessionId)));
  }

  onToolsChanged(listener: () => void): () => void {
    return this.#changed.add(listener);
  }

  /** The sum of its providers: READY when one is, counters added up. */
  health(): ProviderHealth {
    const rows = this.status();
    const states = new Set(rows.map(({ state }) => state));
    const worst = (['DEAD', 'DEGRADED', 'INITIALIZING', 'COLD'] as const).find((state) => states.has(state));
    return {
      state:
        !this.#connected && !this.#connecting
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
    const isEntry = Object(given) === given && 'provider' in given;
    if (isEntry) assertEntry(given);
    const entry = isEntry ? given : { provider: given as ToolProvider };
    assertProvider(entry.provider);
    const member = new HubMember(entry, this.#host);
    this.#routing.add(member);
    member.subscribe(() => void this.#membersToolsChanged(member));
    return member;
  }

  /** True from the first line of a connect to a disconnect. */
  get #isOpen(): boolean {
    return (this.#connected || this.#connecting !== undefined) && !this.#disconnected;
  }

  /** @param again also those that failed before, where the hub is connected */
  #open(onDemand: boolean, again = false): Promise<void> {
    if (this.#connected && !again) return Promise.resolve();
    // An attempt that a disconnect has ended is nobody's any more.
    if (this.#connecting && this.#connectingSince === this.#disconnects) return this.#connecting;
    this.#connectingSince = this.#disconnects;
    const connecting = this.#openAll(onDemand).finally(() => {
      if (this.#connecting === connecting) this.#connecting = undefined;
    });
    return (this.#connecting = connecting);
  }

  async #openAll(onDemand: boolean): Promise<void> {
    const disconnects = this.#disconnects;
    await this.#disconnecting;
    if (this.#disconnected) throw this.#notConnected();
    const { connectTimeoutMs } = this.#limits;
    for (const member of this.#routing.members) void this.#openMember(member, onDemand);
    await settledWithin([this.#opened()], connectTimeoutMs);
    if (this.#disconnects !== disconnects) throw this.#notConnected();
    for (const member of this.#routing.members) if (!member.settled) member.markLate(connectTimeoutMs);
    this.#routing.invalidate();
    this.#connected = true;
    this.#checkRules();
  }

  /** Waits for all that are being opened, those that are added meanwhile among them. */
  async #opened(): Promise<void> {
    while (this.#opening.size > 0) await Promise.all(this.#opening);
  }

  /** Connects one member. Never rejects. */
  #openMember(member: HubMember, onDemand = true): Promise<void> {
    const opening = member
      .open(onDemand)
      .catch((error: unknown) => {
        if (this.#disconnected) return;
        this.#warn(`The provider "${member.name}" did not connect: ${ToolError.from(error).message}`);
      })
      .finally(() => this.#opening.delete(opening));
    this.#opening.add(opening);
    return opening;
  }

  readonly #host: MemberHost = {
    isOpen: () => this.#isOpen,
    isHidden: (name) => this.#gate?.deniedOutright(name) !== undefined,
    warn: (message) => this.#warn(message),
    adoptServers: (member) => this.#routing.adoptServers(member, this.#warn),
    onListed: (_member, isChanged) => {
      this.#routing.invalidate();
      // Whoever opened it: while the hub connects, its callers are told by that.
      if (isChanged && this.#connected) this.#toolsChanged();
    },
  };

  async #membersToolsChanged(member: HubMember): Promise<void> {
    this.#routing.adoptServers(member, this.#warn);
    if (!member.connected) return; // its list is read when it is
    await member.refresh();
    this.#toolsChanged();
  }

  #toolsChanged(): void {
    if (this.#connected) this.#checkRules();
    this.#announce();
  }

  /** Rules were added: what they hide or show is a change of the list. */
  #updateHidden(): void {
    const changed = this.#routing.members.filter((member) => member.updateHidden());
    if (changed.length === 0) return;
    this.#routing.invalidate();
    this.#announce();
  }

  #checkRules(): void {
    this.#gate?.check(...this.#routing.known);
  }

  async #close(): Promise<void> {
    const closed = new ToolError('CONNECTION_CLOSED', `The hub "${this.name}" was disconnected during the call.`);
    const { members } = this.#routing;
    const connecting = this.#connecting; // one that begins from here on waits for this disconnect
    for (const { inFlight } of members) for (const scope of [...inFlight]) scope.end(closed);
    await Promise.all([...members.map((member) => member.close(DISCONNECT_TIMEOUT_MS)), ...this.#leaving]);
    await connecting?.catch(() => undefined); // whoever waits for it is told there
    this.#connected = false;
    if (this.#announcing) clearImmediate(this.#announcing);
    this.#announcing = undefined;
  }

  /** Changes that come together are told once. */
  #announce(): void {
    if (this.#disconnected) return;
    this.#announcing ??= setImmediate(() => {
      this.#announcing = undefined;
      this.#changed.emit(this.#logger);
    });
  }

  // Routing.

  /** The owner of a qualified name, when the hub is connected. */
  #routeNow(name: string): HubMember | undefined {
    return this.#connected && !this.#disconnected && typeof name === 'string' ? this.#routing.ownerOf(name) : undefined;
  }

  /** @throws {ToolError} NOT_CONNECTED, TOOL_NOT_FOUND */
  async #route(name: string, scope: CallScope): Promise<Route> {
    if (this.#disconnected) throw this.#notConnected();
    const owner = typeof name === 'string' ? this.#routing.ownerOf(name) : undefined;
    if (owner) {
      this.#connectInBackground();
      return { member: owner, name };
    }
    scope.setDeadline(this.#limits.callTimeoutMs); // of the provider that it waits for nothing is known
    await scope.race(this.#open(true));
    const route = this.#lookUp(name);
    if (!route) throw this.#routing.notFound(name);
    return route;
  }

  /** Where a name leads, as far as the lists are known. */
  #lookUp(name: string): Route | undefined {
    if (typeof name !== 'string') return undefined;
    const member = this.#routing.ownerOf(name);
    return member ? { member, name } : (this.#routing.resolveBare(name) ?? this.#routing.resolveHidden(name));
  }

  /** A call needs one provider; the others come along without being waited for. */
  #connectInBackground(): void {
    this.#open(true).catch(() => undefined); // only a disconnect rejects it, and the call is told of that itself
  }

  #notConnected(): ToolError {
    return new ToolError('NOT_CONNECTED', `The hub "${this.name}" was disconnected; call connect() to use it again.`);
  }

  readonly #warn = (message: string): void => this.#logger.warn(message);
}

/** @throws {ToolError} INVALID_ARGUMENT */
function assertGlobs(option: string, globs: readonly string[] | undefined): void {
  if (globs === undefined || (Array.isArray(globs) && globs.every((glob) => typeof glob === 'string'))) return;
  throw new ToolError('INVALID_ARGUMENT', `${option} must be an array of globs over tool names, such as ["files.*"].`);
}

/** The answer that a caller gives to the verdict that it was shown. */
function answerOf(
  options: CallOptions | undefined,
  claims: readonly PermissionClaim[] | undefined,
): EarlierAnswer | undefined {
  const approval = options?.approval;
  return approval && claims && { approval, claims };
}

/** @throws {ToolError} INVALID_ARGUMENT */
function assertEntry(entry: ProviderEntry): void {
  assertOptions('An entry of a hub', entry, ENTRY_OPTIONS);
  const { trustDirectives, permission } = entry;
  if (trustDirectives !== undefined && typeof trustDirectives !== 'boolean')
    throw new ToolError('INVALID_ARGUMENT', 'An entry of a hub: trustDirectives must be true or false.');
  if (permission !== undefined && typeof permission !== 'function')
    throw new ToolError('INVALID_ARGUMENT', 'An entry of a hub: permission must be a function.');
}

/** Waits until the set is empty, at most `ms`. */
async function drained(inFlight: ReadonlySet<CallScope>, ms: number): Promise<void> {
  const until = performance.now() + ms;
  while (inFlight.size > 0 && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(20, ms)));
  }
}

/** @throws {ToolError} INVALID_ARGUMENT for a server, a tool or anything else in the place of a provider */
function assertProvider(provider: unknown): void {
  const { callTool, tools } = Object(provider) as { callTool?: unknown; tools?: unknown };
  if (typeof callTool === 'function') return;
  const advice =
    tools === undefined
      ? 'such as new InProcessToolProvider({ servers }) or new MCPToolProvider({ … })'
      : 'put a tool server into one: new InProcessToolProvider({ servers: [server] })';
  throw new ToolError('INVALID_ARGUMENT', `A hub takes providers: ${advice}.`);
}
