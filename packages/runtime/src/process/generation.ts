// One process of a provider, from its spawn to its end: registration, initialization, calls, export of its state,
// drain, disposal, end. Two may exist while one replaces the other; this file handles one.

import { ToolError, type JsonObject, type Logger } from '@toolwright/core';
import {
  isJsonObject,
  settledWithin,
  ToolIndex,
  untilAborted,
  withoutSecrets,
  withoutSecretsInside,
} from '@toolwright/core/internal';
import type { ChildExit } from '@toolwright/core/process';
import { REGISTERED_ALREADY, unknownMethod, type ProviderListener } from '../wire/listener.js';
import type { Settle, WirePeer } from '../wire/peer.js';
import {
  CALL_META,
  type Decision,
  type ExportedState,
  type InitializeReason,
  type ProviderCapabilities,
  type ProviderSettings,
} from '../wire/protocol.js';
import { parseToolList, type ListedTool, type Registration } from '../wire/registration.js';
import { endError, howItEnded, type ProcessTrace } from './end-of-process.js';
import { logEntryOf, writeLog } from './provider-log.js';
import {
  assertFileExists,
  ENDS_WITHIN_MS,
  FOLLOWS_WITHIN_MS,
  spawnProvider,
  waitForRegistration,
  type ProviderProgram,
  type StartedProcess,
} from './start-process.js';

/** How a generation is started, and its callbacks. */
export interface GenerationOptions {
  /** The program to start. */
  program: ProviderProgram;
  /** The settings that the process receives. */
  settings: ProviderSettings;
  /** Accepts the connection of the process. */
  listener: ProviderListener;
  /** The time from spawn to registration, in milliseconds. */
  startTimeoutMs: number;
  /** Receives the process's log. */
  logger: Logger;
  /** Called when the list of tools has changed. */
  onToolsChanged: (generation: ProviderGeneration) => void;
  /** Called when the process or its connection ends without {@link ProviderGeneration.end}. */
  onLost: (generation: ProviderGeneration, error: ToolError) => void;
}

/** Options of a start. */
export interface Takeover {
  previousState?: JsonObject | null;
  signal?: AbortSignal | undefined;
  /** Receives the process as soon as it runs. */
  onSpawned?: (trace: ProcessTrace) => void;
}

/** The time limit of `dispose` and `endSession`. */
const DISPOSE_MS = 2_000;
/** How long a provider may take to exit after its socket was closed. */
const EXIT_MS = 1_000;
const GRACE_MS = 2_000;
/** The timeout for reading a changed list. */
const LIST_MS = 15_000;
/** The interval for reading a list that changes at every reading. */
const RELIST_PAUSE_MS = 50;

let generations = 0;

/** One process of a provider: a restart or reload creates the next generation. */
export class ProviderGeneration {
  /** The number of the generation, from 1. */
  readonly number = ++generations;
  /** The registered name, version and tools. */
  readonly registration: Registration;
  readonly #options: GenerationOptions;
  readonly #started: StartedProcess;
  readonly #peer: WirePeer;
  #tools: ToolIndex<ListedTool>;
  #listed: readonly ListedTool[];
  #initializing: Promise<unknown> | undefined;
  #relisting: Promise<void> | undefined;
  #listIsOld = false;
  #lost: ToolError | undefined;
  #exit: ChildExit | undefined;
  #ending: Promise<void> | undefined;
  #cutDrain: () => void = () => undefined;

  private constructor(options: GenerationOptions, started: StartedProcess, peer: WirePeer, registration: Registration) {
    this.registration = registration;
    this.#options = options;
    this.#started = started;
    this.#peer = peer;
    this.#listed = registration.tools;
    this.#tools = indexOf(registration.tools);
    peer.handlers = {
      onRequest: (method) => {
        if (method === 'provider/register') throw new ToolError('PROTOCOL_VIOLATION', REGISTERED_ALREADY);
        throw unknownMethod(method);
      },
      onNotification: (method, params) => this.#onNotification(method, params),
      onClose: (reason) => void this.#whenClosed(reason),
    };
    started.child.exited.then(
      (exit) => void this.#whenExited(exit),
      () => undefined, // a generation exists only for a started process
    );
    if (peer.isClosed) void this.#whenClosed(undefined);
  }

  /**
   * Starts the process and waits until it has registered. It is not initialized yet: see {@link initialize}.
   *
   * @throws {ToolError} SPAWN_FAILED when there is no such file or program, PROCESS_EXITED when it ended before it
   * registered, TIMED_OUT when it did not register, PROTOCOL_VIOLATION when it registered wrongly. What would fail again
   * has `details.permanent: true`. CANCELLED with the signal.
   */
  static async start(options: GenerationOptions, takeover: Takeover = {}): Promise<ProviderGeneration> {
    const { program, settings, listener } = options;
    assertFileExists(program);
    const { previousState = null, signal, onSpawned } = takeover;
    const expectation = await listener.expect(program.name, { ...settings, previousState });
    const started = spawnProvider(program, settings, expectation);
    onSpawned?.(started.trace);
    try {
      const wait = waitForRegistration(started, expectation, options.startTimeoutMs);
      const { peer, registration } = await (signal ? untilAborted(wait, signal) : wait);
      return new ProviderGeneration(options, started, peer, registration);
    } catch (thrown) {
      await started.child.end({ graceMs: GRACE_MS });
      await expectation.release();
      throw ToolError.from(thrown, 'SPAWN_FAILED', { provider: program.name });
    }
  }

  /** The process id. */
  get pid(): number | undefined {
    return this.#started.child.pid;
  }

  /** What the process supports. */
  get capabilities(): ProviderCapabilities {
    return this.registration.capabilities;
  }

  /** The current tools, in the provider's order. */
  get listed(): readonly ListedTool[] {
    return this.#listed;
  }

  /** The definitions of its tools. */
  get tools(): ToolIndex<ListedTool> {
    return this.#tools;
  }

  /** Set while the list is read again. */
  get relisting(): Promise<void> | undefined {
    return this.#relisting;
  }

  /** False once the process or its connection has ended, or {@link end} was called. */
  get isAlive(): boolean {
    return this.#lost === undefined && this.#ending === undefined;
  }

  /** Why it was lost, if it was. */
  get lost(): ToolError | undefined {
    return this.#lost;
  }

  /** The number of pending calls and other requests. */
  get inFlight(): number {
    return this.#peer.open;
  }

  /** Waits while the send queue is full; for requests that are not urgent. */
  get peer(): WirePeer {
    return this.#peer;
  }

  /** Runs the provider's `initialize`, after a running one. Rejects with what it threw; the process keeps running. */
  initialize(settings: ProviderSettings, previousState: JsonObject | null, reason: InitializeReason): Promise<void> {
    const isReinitialization = reason !== 'start';
    const { trace } = this.#started;
    const initialize = async (): Promise<void> => {
      trace.secrets = [...new Set([...trace.secrets, ...Object.values(settings.variables)])];
      try {
        await this.#peer.request('provider/initialize', { ...settings, previousState, reason, isReinitialization });
      } catch (thrown) {
        const { code, message, details, retryable, cause } = ToolError.from(thrown);
        throw new ToolError(code, withoutSecrets(message, trace.secrets), {
          retryable,
          cause,
          ...(details && { details: withoutSecretsInside(details, trace.secrets) as JsonObject }),
        });
      }
    };
    const initialized = this.#initializing?.then(initialize, initialize) ?? initialize();
    const settled = initialized.catch(() => undefined); // its caller receives the error
    this.#initializing = settled;
    void settled.then(() => {
      if (this.#initializing === settled) this.#initializing = undefined;
    });
    return initialized;
  }

  /** Ends the provider's state of one session. Never rejects; waits at most two seconds. */
  async endSession(sessionId: string): Promise<void> {
    if (this.capabilities.endSession !== true || !this.isAlive) return;
    const ended = this.#peer.request('provider/end_session', { sessionId }).catch((thrown: unknown) => {
      if (!this.isAlive) return; // and its state with it
      const { message } = ToolError.from(thrown);
      this.#options.logger.warn(
        `The provider "${this.#options.program.name}" did not end a session cleanly: ${message}`,
      );
    });
    await settledWithin([ended], DISPOSE_MS);
  }

  /** The provider's decision about a changed config; undefined if it leaves that to the host. */
  async decide(before: ProviderSettings, after: ProviderSettings): Promise<Decision | undefined> {
    if (this.capabilities.decide !== true) return undefined;
    const { restart, reinitialize } = await this.#peer.request('provider/decide', { old: before, new: after });
    return { restart: restart === true, reinitialize: reinitialize === true };
  }

  /** The part of the provider's state that JSON can represent, and the dotted paths of the rest. */
  async exportState(): Promise<ExportedState> {
    if (this.capabilities.state !== true) return { state: null, dropped: [] };
    const { state, dropped } = await this.#peer.request('provider/export_state');
    return {
      state: isJsonObject(state) ? state : null,
      dropped: Array.isArray(dropped) ? dropped.filter((path) => typeof path === 'string') : [],
    };
  }

  /** Checks that the provider responds, which does not wait for calls. Rejects after `timeoutMs`. */
  async ping(timeoutMs: number): Promise<void> {
    const answer = this.#peer.request('ping');
    if (await settledWithin([answer], timeoutMs)) return void (await answer);
    throw new ToolError(
      'TIMED_OUT',
      `The provider "${this.#options.program.name}" did not answer within ${timeoutMs} ms.`,
    );
  }

  /** Waits until no call is in flight; false if some still are at the deadline. */
  async drain(deadlineMs: number): Promise<boolean> {
    const answer = this.#peer.request('provider/drain', { deadlineMs });
    if (!(await settledWithin([answer], deadlineMs + FOLLOWS_WITHIN_MS))) return false;
    return (await answer.catch(() => ({ drained: false }))).drained === true;
  }

  /**
   * Sends one call, whose response is passed to `settle`. Returns the id to cancel it by.
   *
   * @throws {ToolError} when it was not sent: PROCESS_EXITED, FRAME_TOO_LARGE
   */
  call(bareName: string, args: JsonObject, meta: JsonObject, settle: Settle): number {
    if (this.#lost) throw this.#lost;
    const _meta = { ...meta, progressToken: this.#peer.nextId };
    return this.#peer.send('tools/call', { name: bareName, arguments: args, _meta }, settle);
  }

  /** Cancels a call; a later response is dropped. */
  cancel(id: number, reason: string): void {
    this.#peer.forget(id);
    this.#peer.notify('notifications/cancelled', { requestId: id, reason });
  }

  /**
   * Ends it: lets calls finish for `drainMs` (default 0), disposes of it, closes the connection, ends its whole process
   * group and waits for that. Idempotent, never rejects; a second call with nothing to wait for ends the wait of the first.
   */
  end({ drainMs = 0 }: { drainMs?: number } = {}): Promise<void> {
    if (drainMs === 0) this.#cutDrain();
    return (this.#ending ??= this.#end(drainMs));
  }

  async #end(drainMs: number): Promise<void> {
    const { child } = this.#started;
    if (!this.#lost && !this.#peer.isClosed) {
      // The process may exit by itself meanwhile.
      const gone = Promise.race([this.#peer.closed, child.exited.then(() => undefined)]).catch(() => undefined);
      if (drainMs > 0) {
        const cut = new Promise<void>((resolve) => (this.#cutDrain = resolve));
        await Promise.race([this.drain(drainMs), cut, gone]);
      }
      if (this.capabilities.dispose === true && !this.#exit && !this.#peer.isClosed) {
        const disposed = this.#peer.request('provider/dispose').catch((error: unknown) => {
          if (this.#exit || this.#peer.isClosed) return; // reported below
          const { message } = ToolError.from(error);
          this.#options.logger.warn(`The provider "${this.#options.program.name}" did not dispose cleanly: ${message}`);
        });
        await settledWithin([Promise.race([disposed, gone])], DISPOSE_MS);
      }
      this.#peer.close();
      // It exits by itself now; a SIGTERM during its exit would be reported as the cause.
      await settledWithin([child.exited], this.capabilities.dispose === true ? EXIT_MS : FOLLOWS_WITHIN_MS);
    }
    await child.end({ graceMs: GRACE_MS });
    this.#peer.destroy();
    this.#failOpen(
      this.#lost ?? new ToolError('CONNECTION_CLOSED', 'The provider was ended.', { details: { ended: true } }),
    );
    await this.#started.expectation.release();
  }

  // Being lost.

  async #whenExited(exit: ChildExit): Promise<void> {
    this.#exit = exit;
    if (this.#ending) return;
    await settledWithin([this.#peer.closed], FOLLOWS_WITHIN_MS); // responses in transit
    this.#lose(
      this.#breach(this.#peer.reason) ?? endError(this.#started.trace, 'PROCESS_EXITED', howItEnded(exit), exit),
    );
  }

  async #whenClosed(reason: ToolError | undefined): Promise<void> {
    if (this.#ending) return;
    const breach = this.#breach(reason);
    if (breach) return this.#lose(breach);
    if (!this.#exit) await settledWithin([this.#started.child.exited], ENDS_WITHIN_MS);
    if (this.#exit) return; // reported there, with how it ended
    const why = 'closed its connection but is still running';
    this.#lose(endError(this.#started.trace, 'CONNECTION_CLOSED', why, undefined));
  }

  /** True if the host closed the connection, so that the exit of the process is not the cause. */
  #breach(reason: ToolError | undefined): ToolError | undefined {
    if (!reason) return undefined;
    const why = `broke the protocol: ${reason.message.replace(/\.$/, '')}`;
    return endError(this.#started.trace, reason.code, why, undefined);
  }

  #lose(error: ToolError): void {
    if (this.#lost || this.#ending) return;
    this.#lost = error;
    this.#failOpen(error);
    void this.end(); // other processes of its group may still run
    this.#options.onLost(this, error);
  }

  /** Marks the error of a request that was sent: it may have been processed. */
  #failOpen(error: ToolError): void {
    const { code, message, details } = error;
    const unknown = new ToolError(
      'OUTCOME_UNKNOWN',
      `The provider exited before it answered, so the call may have been executed. ${message}`,
      { provider: this.#options.program.name, details: { ...details, cause: code, outcomeUnknown: true } },
    );
    this.#peer.failAll((settle) => (settle.callId === undefined ? error : unknown));
  }

  // Notifications of the provider.

  #onNotification(method: string, params: JsonObject): void {
    if (method === 'notifications/tools/list_changed') this.#relist();
    else if (method === 'notifications/message') this.#log(params);
  }

  #log(params: JsonObject): void {
    const call = isJsonObject(params._meta) ? params._meta[CALL_META] : undefined;
    const settle = isJsonObject(call) ? this.#peer.waiting({ callId: call.callId }) : undefined;
    const entry = logEntryOf(params, this.#started.trace.secrets);
    writeLog(this.#options.logger, entry);
    settle?.onLog?.(entry);
  }

  #relist(): void {
    this.#listIsOld = true;
    this.#relisting ??= this.#readList().finally(() => (this.#relisting = undefined));
  }

  async #readList(): Promise<void> {
    const { program, logger, onToolsChanged } = this.#options;
    for (let reading = 0; this.#listIsOld && this.isAlive; reading++) {
      if (reading > 1) await new Promise((resolve) => setTimeout(resolve, RELIST_PAUSE_MS).unref());
      this.#listIsOld = false;
      try {
        const answer = this.#peer.request('tools/list');
        if (!(await settledWithin([answer], LIST_MS)))
          throw new ToolError(
            'TIMED_OUT',
            `it did not list them within ${LIST_MS} ms. The list is read again when the provider next reports a change.`,
          );
        const tools = parseToolList(await answer, program.name);
        if (JSON.stringify(tools) === JSON.stringify(this.#listed)) continue;
        this.#listed = tools;
        this.#tools = indexOf(tools);
        onToolsChanged(this);
      } catch (thrown) {
        const { message } = ToolError.from(thrown);
        if (this.isAlive) logger.warn(`The tools of "${program.name}" could not be read again: ${message}`);
        return;
      }
    }
  }
}

function indexOf(tools: readonly ListedTool[]): ToolIndex<ListedTool> {
  return new ToolIndex(tools.map((tool) => [tool.definition.name, tool] as const));
}
