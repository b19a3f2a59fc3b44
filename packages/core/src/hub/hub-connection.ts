// When a hub is connected: its providers are opened together, each may fail or come late, and all end together.

import type { CallScope } from '../call/call-scope.js';
import { settledWithin } from '../call/waiting.js';
import { ToolError } from '../contract/errors.js';
import type { HubMember } from './member.js';
import type { Routing } from './routing.js';

/** How long a provider may take to disconnect before the hub stops waiting for it. */
const DISCONNECT_TIMEOUT_MS = 10_000;

/** What a connection needs of its hub. */
export interface ConnectionHost {
  readonly name: string;
  readonly routing: Routing;
  readonly connectTimeoutMs: number;
  warn(message: string): void;
  /** Called when all providers have connected, failed or run late. */
  onConnected(): void;
}

export class HubConnection {
  /** True from the end of the first `connect` to the end of `disconnect`. */
  isConnected = false;
  /** True from the start of `disconnect` to the next `connect`. */
  isDisconnected = false;
  /** The number of disconnects so far: a prepared call is valid only for the connection that prepared it. */
  disconnects = 0;
  /** Removed providers that are still disconnecting; `disconnect` waits for them too. */
  readonly #leaving = new Set<Promise<void>>();
  /** Members that are being connected. */
  readonly #opening = new Set<Promise<void>>();
  #connecting: Promise<void> | undefined;
  /** The value of {@link disconnects} when {@link #connecting} began. */
  #connectingSince = 0;
  #disconnecting: Promise<void> | undefined;
  readonly #host: ConnectionHost;

  constructor(host: ConnectionHost) {
    this.#host = host;
  }

  /** True from the start of `connect` until `disconnect`. */
  get isOpen(): boolean {
    return (this.isConnected || this.#connecting !== undefined) && !this.isDisconnected;
  }

  /** True before the first `connect` and after `disconnect`. */
  get isCold(): boolean {
    return !this.isConnected && !this.#connecting;
  }

  /**
   * Opens all members. Concurrent callers share one attempt, unless it is from before a disconnect.
   *
   * @param again whether a connected hub tries failed providers again
   * @throws {ToolError} NOT_CONNECTED when the hub is disconnected meanwhile
   */
  open(onDemand: boolean, again = false): Promise<void> {
    if (this.isConnected && !again) return Promise.resolve();
    if (this.#connecting && this.#connectingSince === this.disconnects) return this.#connecting;
    this.#connectingSince = this.disconnects;
    const connecting = this.#openAll(onDemand).finally(() => {
      if (this.#connecting === connecting) this.#connecting = undefined;
    });
    return (this.#connecting = connecting);
  }

  async #openAll(onDemand: boolean): Promise<void> {
    const { disconnects } = this;
    await this.#disconnecting;
    if (this.isDisconnected) throw this.notConnected();
    const { routing, connectTimeoutMs } = this.#host;
    for (const member of routing.members) void this.openMember(member, onDemand);
    await settledWithin([this.#opened()], connectTimeoutMs);
    if (this.disconnects !== disconnects) throw this.notConnected();
    for (const member of routing.members) if (!member.settled) member.markLate(connectTimeoutMs);
    this.isConnected = true;
    this.#host.onConnected();
  }

  /** Waits for all members that are connecting, including those added meanwhile. */
  async #opened(): Promise<void> {
    while (this.#opening.size > 0) await Promise.all(this.#opening);
  }

  /** Connects one member. Never rejects. */
  openMember(member: HubMember, onDemand = true): Promise<void> {
    const opening = member
      .open(onDemand)
      .catch((error: unknown) => {
        if (this.isDisconnected) return;
        this.#host.warn(`The provider "${member.name}" did not connect: ${ToolError.from(error).message}`);
      })
      .finally(() => this.#opening.delete(opening));
    this.#opening.add(opening);
    return opening;
  }

  /** Lets the running calls of a removed member finish within `drainMs`, and disconnects it. */
  async closeMember(member: HubMember, drainMs: number): Promise<void> {
    const closed = new ToolError('CONNECTION_CLOSED', `The provider "${member.name}" was removed during the call.`);
    const leaving = drained(member.inFlight, drainMs).then(async () => {
      for (const scope of [...member.inFlight]) scope.end(closed);
      await member.close(DISCONNECT_TIMEOUT_MS, true);
    });
    this.#leaving.add(leaving);
    await leaving;
    this.#leaving.delete(leaving);
  }

  /** Ends all calls and disconnects all members. Concurrent callers share it. Never rejects. */
  close(): Promise<void> {
    this.isDisconnected = true;
    this.disconnects++;
    return (this.#disconnecting ??= this.#close().finally(() => (this.#disconnecting = undefined)));
  }

  async #close(): Promise<void> {
    const { name, routing } = this.#host;
    const closed = new ToolError('CONNECTION_CLOSED', `The hub "${name}" was disconnected during the call.`);
    const { members } = routing;
    const connecting = this.#connecting; // a later one waits for this disconnect
    for (const { inFlight } of members) for (const scope of [...inFlight]) scope.end(closed);
    await Promise.all([...members.map((member) => member.close(DISCONNECT_TIMEOUT_MS)), ...this.#leaving]);
    await connecting?.catch(() => undefined); // its callers receive the error
    this.isConnected = false;
  }

  notConnected(): ToolError {
    const { name } = this.#host;
    return new ToolError('NOT_CONNECTED', `The hub "${name}" was disconnected; call connect() to use it again.`);
  }
}

/** Waits until the set is empty, but no longer than `ms`. */
async function drained(inFlight: ReadonlySet<CallScope>, ms: number): Promise<void> {
  const until = performance.now() + ms;
  while (inFlight.size > 0 && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(20, ms)));
  }
}
