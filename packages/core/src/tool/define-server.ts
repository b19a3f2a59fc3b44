// Authoring a tool server: a named group of tools with shared state and a lifecycle. Providers run it.

import { BRAND, isMadeBy } from '../contract/brand.js';
import { ToolError } from '../contract/errors.js';
import type { Logger } from '../contract/logger.js';
import { assertOptionsObject, optionFaults, type OptionNames } from '../contract/options.js';
import { nameFault, type Tool } from './define-tool.js';

/** What a server's `start` is given. */
export interface ServerContext {
  readonly logger: Logger;
  /** The name of the provider that runs the server. */
  readonly provider: string;
  /** Aborted when the provider disconnects while the server is still starting. */
  readonly signal: AbortSignal;
}

/** A tool of any arguments that runs on that state. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- of any arguments and output
type ToolNeeding<State> = Tool<any, any, State>;

/** A tool server as its author writes it. */
export interface ToolServerOptions<State> {
  /** `^[A-Za-z0-9_-]{1,64}$`; the prefix of its tools' names. */
  name: string;
  version: string;
  tools: readonly ToolNeeding<State>[];
  /** Makes the state that every tool sees as `ctx.state`, once a connection. Default: none. */
  start?: (ctx: ServerContext) => State | Promise<State>;
  /** Ends what the state keeps for the calls of one `ctx.sessionId`: its conversation is over. */
  endSession?: (state: State, sessionId: string) => void | Promise<void>;
  /** Ends the state. Runs after the last call has settled, also when a sibling failed to start. */
  stop?: (state: State) => void | Promise<void>;
}

const SERVER_OPTIONS: OptionNames<ToolServerOptions<unknown>> = {
  name: true,
  version: true,
  tools: true,
  start: true,
  endSession: true,
  stop: true,
};

/**
 * A tool server. It holds no state of its own: each provider that runs it starts one, so that one server may be given
 * to several providers.
 */
export class ToolServer<State = unknown> {
  /** @internal */
  readonly [BRAND] = 'ToolServer';
  readonly name: string;
  readonly version: string;
  readonly #tools = new Map<string, Tool>();
  readonly #listeners = new Set<() => void>();
  readonly #options: ToolServerOptions<State>;

  /** Use {@link defineServer}. */
  constructor(options: ToolServerOptions<State>) {
    assertOptionsObject('defineServer()', options, SERVER_OPTIONS);
    const faults = [...optionFaults(options, SERVER_OPTIONS), nameFault('name', options.name)].filter(
      (fault) => fault !== undefined,
    );
    if ((options.tools as unknown) !== undefined && !Array.isArray(options.tools))
      faults.push('tools must be an array of tools made by defineTool()');
    if (typeof options.version !== 'string' || options.version === '')
      faults.push('version must be a text such as "1.0.0"');
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

  /** The tools as they are now, in the order they were added. */
  get tools(): readonly Tool[] {
    return [...this.#tools.values()];
  }

  /** Adds a tool while the server runs. @throws {ToolError} NAME_CONFLICT when it has one of that name. */
  addTool(tool: ToolNeeding<State>): void {
    this.#insert(tool);
    this.#changed();
  }

  /** Removes a tool; calls of it that run go on. False when there was none of that name. */
  removeTool(name: string): boolean {
    const removed = this.#tools.delete(name);
    if (removed) this.#changed();
    return removed;
  }

  /** Tells of tools that came or went. Returns the unsubscribe. */
  onToolsChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Makes the state of one connection. For providers. */
  async start(ctx: ServerContext): Promise<State> {
    return (await this.#options.start?.(ctx)) as State;
  }

  /** Ends the state of one connection. For providers. */
  async stop(state: State): Promise<void> {
    await this.#options.stop?.(state);
  }

  /** Ends what a state keeps for one conversation. For providers. */
  async endSession(state: State, sessionId: string): Promise<void> {
    await this.#options.endSession?.(state, sessionId);
  }

  #insert(tool: Tool): void {
    if (!isMadeBy('CompiledSchema', (tool as Partial<Tool> | null | undefined)?.input)) {
      throw new ToolError(
        'INVALID_ARGUMENT',
        `The server "${this.name}" takes tools made by defineTool(), not ${JSON.stringify(tool)}.`,
      );
    }
    if (this.#tools.has(tool.name)) {
      throw new ToolError(
        'NAME_CONFLICT',
        `The server "${this.name}" has a tool "${tool.name}" already; remove or rename one.`,
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
 * @throws {ToolError} INVALID_ARGUMENT for a wrong name or version, NAME_CONFLICT for two tools of one name.
 * @example
 * ```ts
 * const math = defineServer({ name: 'math', version: '1.0.0', tools: [add] });
 * ```
 */
export function defineServer<State = unknown>(options: ToolServerOptions<State>): ToolServer<State> {
  return new ToolServer(options);
}
