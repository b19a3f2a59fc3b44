// Defines a provider: its tools, its state and the state's lifetime, independent of any process. serving.ts runs it in
// its own process, providerFromModule() in the host's process.

import type { JsonObject, Logger, Tool } from '@toolwright/core';
import { assertOptions, BRAND, isMadeBy, ToolError, ToolServer, type OptionNames } from '@toolwright/core/internal';
import type { InitializeReason, ProviderCapabilities, ProviderSettings } from '../wire/protocol.js';

/** What `initialize` receives in addition to the settings. */
export interface InitializeContext {
  /** Writes to the host's logger. */
  readonly logger: Logger;
  /** Aborted when the host disconnects. */
  readonly signal: AbortSignal;
  /** Why it is initialized: a start, a takeover from an older process, or a changed config. */
  readonly reason: InitializeReason;
  /** True when a previous state exists. */
  readonly isReinitialization: boolean;
}

/** What `dispose` receives. */
export interface DisposeContext<State> {
  /** The provider's state. */
  readonly state: State;
  /** Writes to the host's logger. */
  readonly logger: Logger;
  /** Aborted when the time limit has passed. */
  readonly signal: AbortSignal;
}

/** What `endSession` receives. */
export interface SessionContext<State> extends DisposeContext<State> {
  /** The `ctx.sessionId` of the calls that have ended. */
  readonly sessionId: string;
}

/** Options of {@link createProvider}. */
export interface ProviderOptions<State> {
  /** `^[A-Za-z0-9_-]{1,64}$`; the prefix of its tools' names. The host starts it under the same name. */
  name: string;
  /** The provider's version. */
  version: string;
  /** What the provider does. Default: none. */
  description: string;
  /** The tools. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- of any arguments and output
  tools: readonly Tool<any, any, State>[];
  /**
   * Creates the state, which every tool receives as `ctx.state`: the same object that this returns. `previous` is the
   * JSON part of the state of the process that this one replaces; with the reason `'config'` it is the state itself. If
   * this throws, the provider does not start, or keeps the old state.
   */
  initialize?: (
    current: ProviderSettings,
    previous: JsonObject | null,
    ctx: InitializeContext,
  ) => State | Promise<State>;
  /** Whether a changed config needs a new process. Default: the host decides. */
  shouldRestart?: (old: ProviderSettings, next: ProviderSettings) => boolean | Promise<boolean>;
  /** Whether a changed config needs `initialize`, where it needs no new process. Default: the host decides. */
  shouldReinitialize?: (old: ProviderSettings, next: ProviderSettings) => boolean | Promise<boolean>;
  /** Releases what the state holds for one session. May run for a session that made no call; limited to two seconds. */
  endSession?: (ctx: SessionContext<State>) => void | Promise<void>;
  /** Releases the state. Runs once, after the last call; limited to two seconds. */
  dispose?: (ctx: DisposeContext<State>) => void | Promise<void>;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- of any state
const PROVIDER_OPTIONS: OptionNames<ProviderOptions<any>> = {
  name: true,
  version: true,
  description: true,
  tools: true,
  initialize: true,
  shouldRestart: true,
  shouldReinitialize: true,
  endSession: true,
  dispose: true,
};

/** A provider. Each host that runs it initializes its own state. */
export class Provider<State = unknown> {
  /** @internal */
  readonly [BRAND] = 'Provider';
  /** The provider's name, which is the prefix of its tools' names. */
  readonly name: string;
  /** The provider's version. */
  readonly version: string;
  /** What the provider does. */
  readonly description: string;
  /** @internal */
  readonly options: ProviderOptions<State>;
  readonly #server: ToolServer<State>;

  /** Use {@link createProvider}. */
  constructor(options: ProviderOptions<State>) {
    assertOptions('createProvider()', options, PROVIDER_OPTIONS);
    const { name, version, description, tools } = options;
    const faults: string[] = [];
    if (typeof description !== 'string') faults.push('description must be a string');
    if (!Array.isArray(tools)) faults.push('tools must be an array of tools from defineTool()');
    for (const key of ['initialize', 'shouldRestart', 'shouldReinitialize', 'endSession', 'dispose'] as const) {
      if (options[key] !== undefined && typeof options[key] !== 'function') faults.push(`${key} must be a function`);
    }
    if (faults.length > 0) {
      const words = `The provider "${String(name)}" cannot be created: ${faults.join('; ')}.`;
      throw new ToolError('INVALID_ARGUMENT', words, { details: { faults } });
    }
    this.#server = new ToolServer<State>({ name, version, tools });
    this.name = name;
    this.version = version;
    this.description = description;
    this.options = options;
  }

  /** The current tools, in the order in which they were added. */
  get tools(): readonly Tool[] {
    return this.#server.tools;
  }

  /** Adds a tool while the provider runs and notifies its host. @throws {ToolError} NAME_CONFLICT */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- of any arguments and output
  addTool(tool: Tool<any, any, State>): void {
    this.#server.addTool(tool);
  }

  /** Removes a tool. Its running calls continue. False when no tool has that name. */
  removeTool(name: string): boolean {
    return this.#server.removeTool(name);
  }

  /** Calls the listener when tools are added or removed. Returns the unsubscribe function. */
  onToolsChanged(listener: () => void): () => void {
    return this.#server.onToolsChanged(listener);
  }

  /** @internal The optional functions that it has. */
  get capabilities(): ProviderCapabilities {
    const { initialize, shouldRestart, shouldReinitialize, endSession, dispose } = this.options;
    return {
      ...(initialize && { initialize: true, state: true }),
      ...((shouldRestart ?? shouldReinitialize) && { decide: true }),
      ...(endSession && { endSession: true }),
      ...(dispose && { dispose: true }),
    };
  }
}

/** True for a provider from any copy of the package. */
export function isProvider(value: unknown): value is AnyProvider {
  return isMadeBy('Provider', value);
}

/** A provider with any type of state. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the one type that stands for every state
export type AnyProvider = Provider<any>;

/**
 * Defines a provider. The file that does so exports it as its default and ends with {@link startProvider}; it can be run
 * as a process, loaded into the host's own, and imported by a unit test.
 *
 * @throws {ToolError} INVALID_ARGUMENT naming what is wrong, NAME_CONFLICT for two tools of one name
 * @example
 * ```ts
 * const provider = createProvider({ name: 'calculator', version: '1.0.0', description: 'Adds.', tools: [add] });
 * export default provider;
 * startProvider(provider);
 * ```
 */
export function createProvider<State = unknown>(options: ProviderOptions<State>): Provider<State> {
  return new Provider(options);
}
