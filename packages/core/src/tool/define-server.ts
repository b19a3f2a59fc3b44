// defineServer(): creates a tool server, a named group of tools with shared state and a lifecycle. Providers run it.

import { BRAND, isMadeBy } from '../contract/brand.js';
import { ToolError } from '../contract/errors.js';
import type { Logger } from '../contract/logger.js';
import { assertOptionsObject, optionFaults, optionTypeFaults, type OptionNames } from '../contract/options.js';
import { nameFault, type Tool } from './define-tool.js';

/** The argument of a server's `start`. */
export interface ServerContext {
  /** The provider's logger. */
  readonly logger: Logger;
  /** The name of the provider that runs the server. */
  readonly provider: string;
  /** Aborted when the provider disconnects while the server is still starting. */
  readonly signal: AbortSignal;
}

/** A tool with any arguments that uses that state. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- of any arguments and output
type ToolNeeding<State> = Tool<any, any, State>;

/** Options of {@link defineServer}. */
export interface ToolServerOptions<State> {
  /** `^[A-Za-z0-9_-]{1,64}$`; the prefix of its tools' names. */
  name: string;
  /** The server's version, such as `1.0.0`. */
  version: string;
  /** The tools; more can be added at run time. */
  tools: readonly ToolNeeding<State>[];
  /** Creates the state that tools receive as `ctx.state`; called once per connection. Default: none. */
  start?: (ctx: ServerContext) => State | Promise<State>;
  /** Ends what the state holds for one `ctx.sessionId`. */
  endSession?: (state: State, sessionId: string) => void | Promise<void>;
  /**
   * True when a call depends on earlier calls with the same `ctx.sessionId`; replicas of a gateway do not serve it. Default:
   * true with `endSession`, else false.
   */
  keepsSessionState?: boolean;
  /** Ends the state. Called after the last call has settled, and when another server of the provider failed to start. */
  stop?: (state: State) => void | Promise<void>;
}

const SERVER_OPTIONS: OptionNames<ToolServerOptions<unknown>> = {
  name: true,
  version: true,
  tools: true,
  start: 'function',
  endSession: 'function',
  keepsSessionState: 'boolean',
  stop: 'function',
};

/**
 * A tool server. Each provider that runs it creates its own state, so one server can be used by several providers.
 */
export class ToolServer<State = unknown> {
  /** @internal */
  readonly [BRAND] = 'ToolServer';
  /** The prefix of its tools' names. */
  readonly name: string;
  /** The server's version. */
  readonly version: string;
  readonly #tools = new Map<string, Tool>();
  readonly #listeners = new Set<() => void>();
  readonly #options: ToolServerOptions<State>;

  /** Use {@link defineServer}. */
  constructor(options: ToolServerOptions<State>) {
    assertOptionsObject('defineServer()', options, SERVER_OPTIONS);
    const faults = [...optionFaults(options, SERVER_OPTIONS), ...optionTypeFaults(options, SERVER_OPTIONS)];
    const name = nameFault('name', options.name);
    if (name !== undefined) faults.push(name);
    if ((options.tools as unknown) !== undefined && !Array.isArray(options.tools))
      faults.push('tools must be an array of tools from defineTool()');
    if (typeof options.version !== 'string' || options.version === '')
      faults.push('version must be a string such as "1.0.0"');
    if (faults.length > 0) {
      throw new ToolError(
        'INVALID_ARGUMENT',
        `The server "${String(options.name)}" cannot be defined: ${faults.join('; ')}.`,
        { details: { faults } },
      );
    }
    this.name = options.name;
    this.version = options.version;
    this.#options = options;
    for (const tool of options.tools ?? []) this.#insert(tool);
  }

  /** The current tools, in the order in which they were added. */
  get tools(): readonly Tool[] {
    return [...this.#tools.values()];
  }

  /** Whether a call depends on earlier calls of its session. */
  get keepsSessionState(): boolean {
    return this.#options.keepsSessionState ?? this.#options.endSession !== undefined;
  }

  /** Adds a tool at run time. @throws {ToolError} NAME_CONFLICT when the server has a tool of that name */
  addTool(tool: ToolNeeding<State>): void {
    this.#insert(tool);
    this.#changed();
  }

  /** Removes a tool; its running calls continue. Returns false when there is no tool of that name. */
  removeTool(name: string): boolean {
    const removed = this.#tools.delete(name);
    if (removed) this.#changed();
    return removed;
  }

  /** Calls `listener` when tools were added or removed. Returns a function that unsubscribes. */
  onToolsChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Creates the state of one connection. For providers. */
  async start(ctx: ServerContext): Promise<State> {
    return (await this.#options.start?.(ctx)) as State;
  }

  /** Ends the state of one connection. For providers. */
  async stop(state: State): Promise<void> {
    await this.#options.stop?.(state);
  }

  /** Ends what a state holds for one session. For providers. */
  async endSession(state: State, sessionId: string): Promise<void> {
    await this.#options.endSession?.(state, sessionId);
  }

  #insert(tool: Tool): void {
    if (!isMadeBy('CompiledSchema', (tool as Partial<Tool> | null | undefined)?.input)) {
      throw new ToolError(
        'INVALID_ARGUMENT',
        `The tools of the server "${this.name}" must come from defineTool(), not ${JSON.stringify(tool)}.`,
      );
    }
    if (this.#tools.has(tool.name)) {
      throw new ToolError(
        'NAME_CONFLICT',
        `The server "${this.name}" already has a tool "${tool.name}"; remove or rename one.`,
      );
    }
    this.#tools.set(tool.name, tool);
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/**
 * Defines a tool server.
 *
 * @throws {ToolError} INVALID_ARGUMENT for an invalid name or version, NAME_CONFLICT for two tools of one name.
 * @example
 * ```ts
 * const math = defineServer({ name: 'math', version: '1.0.0', tools: [add] });
 * ```
 */
export function defineServer<State = unknown>(options: ToolServerOptions<State>): ToolServer<State> {
  return new ToolServer(options);
}
