// One provider in a hub: its connection, the list it gave last, its calls in flight, and what is counted of it.

import { CallCounters } from '../call/call-counters.js';
import type { CallScope } from '../call/call-scope.js';
import { ToolError, type ToolErrorInfo } from '../contract/errors.js';
import { withStartOutput } from '../provider/start-output.js';
import { serverOf, ToolIndex } from '../provider/tool-index.js';
import { fillAnnotations } from '../tool/define-tool.js';
import { settledWithin, untilAborted } from '../call/waiting.js';
import { frozenCopy } from '../contract/json-copy.js';
import type { JsonObject } from '../contract/json.js';
import type { ProviderState, ToolProvider } from '../contract/tool-provider.js';
import type { PermissionClaim } from '../contract/claims.js';
import type { ToolDefinition } from '../contract/tool-definition.js';

/** A provider with what its operator says of it. */
export interface ProviderEntry {
  provider: ToolProvider;
  /** Take directives from it. Default: yes for providers of ours, no for MCP servers and unknown kinds. */
  trustDirectives?: boolean;
  /**
   * What a call of a tool of this provider touches, in place of the claim of its bare name, for a provider that makes no
   * claims itself. `undefined` leaves that claim.
   */
  permission?: (toolName: string, args: JsonObject) => readonly PermissionClaim[] | undefined;
}

/** One row of {@link ToolHub.status}. */
export interface ProviderStatus {
  name: string;
  state: ProviderState;
  /** True when the tools shown are from before a failure. */
  stale: boolean;
  toolCount: number;
  /** Why it is not ready, or its list not fresh. */
  error?: ToolErrorInfo;
  /** When it came into this state, in milliseconds since the epoch. */
  since: number;
  /** When it is tried again without a call, in milliseconds since the epoch. */
  retryAt?: number;
  calls: number;
  failures: number;
  /** The median duration of its latest calls, in milliseconds; 0 before the first. */
  p50Ms: number;
}

/** The hub, as its members need it. */
export interface MemberHost {
  /** True while the hub is connected, or connects: a provider that failed is then tried again. */
  isOpen(): boolean;
  /** True for a tool that the policy denies whatever its arguments. */
  isHidden(name: string): boolean;
  warn(message: string): void;
  /** Called before a list is taken: its prefixes may have grown. */
  adoptServers(member: HubMember): void;
  /** Called after each reading of the list. */
  onListed(member: HubMember, isChanged: boolean): void;
}

/** Between the tries of a provider that failed; each time twice as long. */
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;
/** A list that changes while it is read is read again at once so often. */
const MAX_READS = 5;
const FIRST_PAUSE_MS = 250;
/** A provider that was lost earlier than this after it was opened has not recovered: the row of tries goes on. */
const RECOVERED_AFTER_MS = 60_000;

export class HubMember {
  readonly provider: ToolProvider;
  /** Its name when it was registered; a provider that changes it later is still known by this. */
  readonly name: string;
  readonly trustsDirectives: boolean;
  readonly permission: ProviderEntry['permission'];
  readonly counters = new CallCounters();
  readonly inFlight = new Set<CallScope>();
  /** The prefixes that are routed here. */
  servers: readonly string[];
  /** Every tool that it lists: {@link visible} and {@link hidden} ones. */
  definitions: readonly ToolDefinition[] = [];
  /** The tools that the hub lists. */
  visible: readonly ToolDefinition[] = [];
  /** Those that the policy denies whatever their arguments. */
  hidden: readonly ToolDefinition[] = [];
  #index = new ToolIndex<ToolDefinition>([]);
  #listed = false;
  #stale = false;
  #state: ProviderState = 'COLD';
  #since = Date.now();
  #error: ToolError | undefined;
  #connecting: Promise<void> | undefined;
  #opening: Promise<void> | undefined;
  #refreshing: Promise<void> | undefined;
  #dirty = false;
  /** Set while the list, which changed at every reading, is left alone for a while. */
  #pause: NodeJS.Timeout | undefined;
  #pauses = 0;
  /** Removed from its hub: nothing opens it again. */
  #isRemoved = false;
  /** It told that its connection is gone. Calls go to it all the same, as they open it by themselves. */
  #isLost = false;
  #openedAt = -Infinity;
  #tries = 0;
  #retry: NodeJS.Timeout | undefined;
  #retryAt: number | undefined;
  #abort = new AbortController();
  readonly #host: MemberHost;
  readonly #unsubscribes: (() => void)[] = [];

  constructor(entry: ProviderEntry, host: MemberHost) {
    this.provider = entry.provider;
    this.name = entry.provider.name;
    this.servers = [...entry.provider.servers];
    this.trustsDirectives = entry.trustDirectives ?? !['mcp', 'other'].includes(entry.provider.kind);
    this.permission = entry.permission;
    this.#host = host;
  }

  /** Hears what the provider tells of itself. @param onToolsChanged its list of tools is another one */
  subscribe(onToolsChanged: () => void): void {
    const { provider } = this;
    try {
      for (const unsubscribe of [provider.onToolsChanged(onToolsChanged), provider.onLost?.(() => this.#onLost())])
        if (typeof unsubscribe === 'function') this.#unsubscribes.push(unsubscribe);
    } catch (thrown) {
      this.#warn(`The provider "${this.name}" cannot tell of changes: ${ToolError.from(thrown).message}`);
    }
  }

  unsubscribe(): void {
    for (const unsubscribe of this.#unsubscribes.splice(0)) unsubscribe();
  }

  /** The prefixes that the provider claims now; those of before where it cannot say. */
  readServers(): readonly string[] {
    try {
      return [...this.provider.servers];
    } catch (thrown) {
      this.#warn(`The provider "${this.name}" cannot say its prefixes: ${ToolError.from(thrown).message}`);
      return this.servers;
    }
  }

  /** True when a call needs to wait for nothing. */
  get connected(): boolean {
    return this.#state === 'READY';
  }

  /** True when its tools are known, or were before it failed. */
  get isListed(): boolean {
    return this.#listed;
  }

  get settled(): boolean {
    return this.#opening === undefined;
  }

  /**
   * Connects and lists. Concurrent calls share one attempt. A failed one is tried again by the next call, by `connect`, and
   * after a while.
   *
   * @param onDemand false when a person asks for it
   */
  open(onDemand = true): Promise<void> {
    if (this.#isRemoved)
      return Promise.reject(new ToolError('NOT_CONNECTED', `The provider "${this.name}" was removed.`));
    // Somebody else may have disconnected it; a person who connects the hub wants it back.
    if (!onDemand && this.connected && ['COLD', 'DEAD'].includes(this.#readState())) this.#isLost = true;
    if (this.#isFresh) return Promise.resolve();
    return (this.#opening ??= this.#open(onDemand).finally(() => {
      this.#opening = undefined;
      this.#scheduleRetry();
    }));
  }

  /** True when there is nothing to be opened or read. */
  get #isFresh(): boolean {
    return this.connected && this.#listed && !this.#stale && !this.#isLost;
  }

  #onLost(): void {
    if (!this.connected || this.#isLost) return;
    this.#isLost = true;
    if (performance.now() - this.#openedAt > RECOVERED_AFTER_MS) this.#tries = 0;
    this.#scheduleRetry();
  }

  /** A provider that failed comes back although nobody calls it. One that is idle has not failed. */
  #scheduleRetry(): void {
    clearTimeout(this.#retry);
    this.#retryAt = undefined;
    if (this.#isRemoved || this.#isFresh || this.#opening || !this.#host.isOpen()) return;
    const ms = Math.min(FIRST_RETRY_MS * 2 ** this.#tries++, LAST_RETRY_MS) * (1 - Math.random() / 4);
    this.#retryAt = Date.now() + ms;
    this.#retry = setTimeout(() => void this.open().catch(() => undefined), ms); // its status tells why it failed
    this.#retry.unref();
  }

  /** Connects, without waiting for the list. @throws {ToolError} */
  async ready(): Promise<void> {
    if (this.connected) return;
    void this.open().catch(() => undefined); // the attempt is shared; its failure is told below
    await this.#connecting;
  }

  /** The tool of a name in the list as it was read last. */
  listed(name: string): ToolDefinition | undefined {
    return this.#index.get(name);
  }

  /** The tool of a name that it lists; only for one that is not in the list, its reading is awaited. @throws {ToolError} */
  async find(name: string): Promise<ToolDefinition> {
    const known = this.connected && this.#listed ? this.#index.get(name) : undefined;
    if (known) return known;
    await this.open();
    await this.#refreshing;
    const tool = this.#index.get(name);
    if (!tool) throw this.notFound(name);
    return tool;
  }

  /** Why it has no tool of a name, with the names that come near among those that are not hidden. */
  notFound(name: string): ToolError {
    const index = new ToolIndex(this.visible.map((tool) => [tool.name, tool] as const));
    return index.notFound(name, `The provider "${this.name}"`);
  }

  /** Reads anew which of its tools are hidden. True when that has changed. */
  updateHidden(): boolean {
    const before = this.hidden;
    const hidden = this.definitions.filter(({ name }) => this.#host.isHidden(name));
    this.hidden = hidden;
    this.visible = hidden.length === 0 ? this.definitions : this.definitions.filter((tool) => !hidden.includes(tool));
    return before.length !== hidden.length || before.some((tool, at) => tool !== hidden[at]);
  }

  /** Ends what its provider keeps for one conversation. Never rejects. */
  async endSession(sessionId: string): Promise<void> {
    try {
      await this.provider.endSession?.(sessionId);
    } catch (thrown) {
      this.#warn(`The provider "${this.name}" did not end a session cleanly: ${ToolError.from(thrown).message}`);
    }
  }

  /** Reads the list again, keeping the old one when that fails. Never rejects. */
  refresh(): Promise<void> {
    this.#dirty = true;
    if (this.#pause) return Promise.resolve(); // it is read when the pause is over
    // It begins later: a provider may tell of a change while it is asked for its list.
    return (this.#refreshing ??= Promise.resolve()
      .then(() => this.#refresh())
      .finally(() => {
        this.#refreshing = undefined;
        this.#scheduleRetry();
      }));
  }

  /** Says that connecting takes longer than anybody waits for; it goes on. */
  markLate(timeoutMs: number): void {
    const message = `The provider "${this.name}" has not connected within ${timeoutMs} ms; it is still tried.`;
    this.#error ??= withStartOutput(new ToolError('TIMED_OUT', message), this.provider);
  }

  /** Ends the provider; with `isRemoved` for good. Never rejects. */
  async close(patienceMs: number, isRemoved = false): Promise<void> {
    this.#isRemoved = isRemoved;
    const why = isRemoved ? `The provider "${this.name}" was removed.` : 'The hub was disconnected.';
    this.#abort.abort(new ToolError('NOT_CONNECTED', why));
    this.#abort = new AbortController(); // of the next connection
    this.#enter('COLD');
    this.#listed = false;
    this.#stale = false;
    this.#isLost = false;
    this.#tries = 0;
    clearTimeout(this.#retry);
    this.#retryAt = undefined;
    this.#endPause();
    const { name } = this;
    const ending = (async () => this.provider.disconnect())().catch((thrown: unknown) =>
      this.#warn(`The provider "${name}" failed to disconnect: ${ToolError.from(thrown).message}`),
    );
    if (await settledWithin([ending], patienceMs)) return;
    this.#warn(`The provider "${name}" did not disconnect within ${patienceMs} ms and was left.`);
  }

  status(): ProviderStatus {
    const { calls, failures, p50Ms } = this.counters;
    return {
      name: this.name,
      state: this.#readState(),
      stale: this.#stale,
      toolCount: this.visible.length,
      since: this.#since,
      calls,
      failures,
      p50Ms: p50Ms ?? 0,
      ...(this.#retryAt !== undefined && { retryAt: this.#retryAt }),
      ...(this.#error && { error: this.#error.toInfo() }),
    };
  }

  #readState(): ProviderState {
    try {
      return (this.connected ? this.provider.health?.().state : undefined) ?? this.#state;
    } catch {
      return 'DEGRADED'; // it cannot even say how it is
    }
  }

  async #open(onDemand: boolean): Promise<void> {
    if (!this.connected) this.#enter('INITIALIZING');
    if (!this.connected || this.#isLost) await (this.#connecting = this.#connect(onDemand));
    this.#endPause();
    await this.refresh();
  }

  async #connect(onDemand: boolean): Promise<void> {
    const { signal } = this.#abort;
    const connecting = (async () => this.provider.connect({ signal, onDemand }))();
    try {
      await untilAborted(connecting, signal);
    } catch (thrown) {
      // One that does not look at the signal is not waited for, and is ended when it comes late.
      if (signal.aborted) connecting.then(() => this.provider.disconnect()).catch(() => undefined); // it never came
      const error = ToolError.from(thrown, 'UNAVAILABLE');
      if (!signal.aborted) {
        this.#enter('DEAD', error);
        if (this.#listed) this.#stale = true;
      }
      throw error;
    }
    if (signal.aborted) throw ToolError.from(signal.reason);
    this.#isLost = false;
    this.#openedAt = performance.now();
    this.#enter('READY');
  }

  async #refresh(): Promise<void> {
    const { signal } = this.#abort;
    try {
      for (let reads = 0; this.#dirty; reads++) {
        if (reads === MAX_READS) return this.#pauseListing();
        this.#dirty = false;
        const listed = await untilAborted(this.provider.listTools({ signal }), signal);
        this.#host.adoptServers(this);
        const isChanged = this.#adopt(listed);
        this.#stale = false;
        this.#error = undefined;
        if (!this.#isLost) this.#tries = 0;
        this.#host.onListed(this, isChanged);
      }
      this.#pauses = 0;
    } catch (thrown) {
      if (signal.aborted) return;
      const error = ToolError.from(thrown, 'UNAVAILABLE');
      this.#error = error;
      this.#stale = this.#listed;
      this.#warn(`The provider "${this.name}" did not list its tools: ${error.message}`);
    }
  }

  /** A list that has changed again at each reading is left for a while, ever longer. */
  #pauseListing(): void {
    const ms = Math.min(FIRST_PAUSE_MS * 2 ** this.#pauses++, LAST_RETRY_MS);
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      void this.refresh();
    }, ms);
    this.#pause.unref();
  }

  #endPause(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
  }

  /** True when the list is another one than before. */
  #adopt(listed: readonly ToolDefinition[]): boolean {
    if (!Array.isArray(listed)) throw new ToolError('PROTOCOL_VIOLATION', 'its list is not an array');
    const names = new Set<string>();
    const own = (listed as readonly ToolDefinition[]).map(listedDefinition).filter((tool): tool is ToolDefinition => {
      if (!tool || names.has(tool.name)) {
        this.#warn(`A malformed or repeated tool of the provider "${this.name}" was left out.`);
        return false;
      }
      names.add(tool.name);
      const server = serverOf(tool.name);
      if (server !== undefined && this.servers.includes(server)) return true;
      this.#warn(
        `The tool "${tool.name}" is outside the prefixes of its provider "${this.name}" (${this.servers.join(', ')}) and was left out.`,
      );
      return false;
    });
    const before = this.#listed ? this.definitions : undefined;
    this.definitions = own;
    this.#listed = true;
    if (before && isSameList(before, this.definitions)) {
      this.definitions = before; // with what was compiled of it
      return false;
    }
    this.updateHidden();
    this.#index = new ToolIndex(this.definitions.map((tool) => [tool.name, tool] as const));
    return true;
  }

  readonly #warn = (message: string): void => this.#host.warn(message);

  #enter(state: ProviderState, error?: ToolError): void {
    if (state !== this.#state) this.#since = Date.now();
    this.#state = state;
    this.#error = error;
  }
}

function isSameList(before: readonly ToolDefinition[], after: readonly ToolDefinition[]): boolean {
  if (before.length !== after.length) return false;
  try {
    return before.every(
      (tool, index) => tool === after[index] || JSON.stringify(tool) === JSON.stringify(after[index]),
    );
  } catch {
    return false; // nested too deeply for that
  }
}

/**
 * A listed tool as the hub shows and enforces it: nobody can change it any more, and it has all four hints. Undefined for
 * one that cannot be shown and called at all; it never costs the others.
 */
function listedDefinition(given: ToolDefinition): ToolDefinition | undefined {
  try {
    const { name, inputSchema, annotations } = (given as ToolDefinition | null) ?? ({} as Partial<ToolDefinition>);
    if (typeof name !== 'string' || typeof inputSchema !== 'object' || (inputSchema as unknown) === null)
      return undefined;
    return frozenCopy(hasAllHints(annotations) ? given : { ...given, annotations: fillAnnotations(annotations) });
  } catch {
    return undefined; // an accessor that throws
  }
}

/** Where a provider left some out, MCP's defaults stand. */
function hasAllHints(annotations: ToolDefinition['annotations'] | undefined): boolean {
  if (annotations === undefined) return false;
  return ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'].every((hint) => hint in annotations);
}
