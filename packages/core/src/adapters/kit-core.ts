// What the kits of all vendors share: the current tools of a provider, and the calls that a model makes with them.

import { callSafely } from '../call/host-callbacks.js';
import type { Directive } from '../contract/directives.js';
import { ToolError } from '../contract/errors.js';
import { isJsonObject, type JsonObject } from '../contract/json.js';
import { assertOptions, type OptionNames, type OptionType } from '../contract/options.js';
import { nearestNames } from '../contract/nearest-names.js';
import { errorResult, type ToolResult } from '../contract/result.js';
import { isForViewsOnly, type ToolDefinition } from '../contract/tool-definition.js';
import type { CallOptions, ToolProvider } from '../contract/tool-provider.js';
import { shownDefinition } from '../provider/shown-definition.js';
import { assertSelection, selectTools, type ToolSelection } from '../provider/tool-selection.js';
import { offeredTools, type KitTool, type VendorForm } from './kit-tools.js';
import type { SchemaLoss } from './schema-loss.js';

/** Options of every kit. */
export interface KitOptions extends ToolSelection {
  /** Groups the kit's calls: background jobs and the files that were read belong to it. Default: none. */
  sessionId?: string;
  /** Cancels the calls in flight, and makes further ones fail. Default: none. */
  signal?: AbortSignal;
  /**
   * Receives the directives of each turn, before `answer` resolves; what it throws is ignored. Default: they are only in its
   * result.
   */
  onDirectives?: (directives: readonly Directive[]) => void;
}

export const KIT_OPTIONS: OptionNames<KitOptions> = {
  include: true,
  exclude: true,
  sessionId: true,
  signal: true,
  onDirectives: true,
};

/** One call that a model made. */
export interface ModelCall {
  /** The name that the model used. */
  readonly name: unknown;
  /** The arguments: JSON text, or an object. */
  readonly args: unknown;
}

/** What a call came to. */
export interface ModelCallResult {
  /** The qualified name; undefined for a tool that the kit does not have. */
  readonly tool: string | undefined;
  /** The whole result, for the engine. */
  readonly result: ToolResult;
}

/** The tools and calls behind a kit. Follows changes of the provider's list until it is closed or collected. */
export class ToolKitCore {
  readonly #provider: ToolProvider;
  readonly #options: KitOptions;
  readonly #form: VendorForm;
  readonly #unsubscribe: () => void;
  #shown: readonly ToolDefinition[] | undefined;
  #tools: readonly KitTool[] = [];
  #byModelName: ReadonlyMap<string, KitTool> = new Map();
  #losses: readonly SchemaLoss[] = [];
  #refreshing: Promise<void> | undefined;
  #isStale = false;
  #isFollowing = false;
  #isClosed = false;

  private constructor(provider: ToolProvider, options: KitOptions, form: VendorForm) {
    this.#provider = provider;
    this.#options = options;
    this.#form = form;
    // The provider must not keep kits that nobody uses any more.
    const self = new WeakRef(this);
    const unsubscribe = provider.onToolsChanged(() => {
      const kit = self.deref();
      if (!kit) return unsubscribe();
      kit.#isStale = true;
      if (kit.#isFollowing) return; // a listing may itself cause a report
      kit.#isFollowing = true;
      void kit
        .refreshed()
        .catch(() => undefined) // the kit keeps its tools, and the next answer tries again
        .finally(() => (kit.#isFollowing = false));
    });
    this.#unsubscribe = unsubscribe;
  }

  /**
   * Lists the tools, connecting the provider if necessary.
   *
   * @param where the function that makes the kit, for errors
   * @throws {ToolError} INVALID_ARGUMENT for a wrong option, and why the tools could not be listed
   */
  static async open(
    where: string,
    provider: ToolProvider,
    options: KitOptions,
    form: VendorForm,
    known: Readonly<Record<string, OptionType>> = KIT_OPTIONS,
  ): Promise<ToolKitCore> {
    if (typeof (provider as Partial<ToolProvider> | undefined)?.callTool !== 'function')
      throw new ToolError(
        'INVALID_ARGUMENT',
        `${where} takes a ToolProvider, such as a ToolHub, as its first argument.`,
      );
    assertOptions(where, options, known);
    assertSelection(options);
    const kit = new ToolKitCore(provider, options, form);
    try {
      kit.#isStale = true;
      await kit.refreshed();
      return kit;
    } catch (thrown) {
      kit.close();
      throw thrown;
    }
  }

  /** The current tools; another array after each change. */
  get tools(): readonly KitTool[] {
    return this.#tools;
  }

  /** What the vendor's form does not say of each tool. */
  get losses(): readonly SchemaLoss[] {
    return this.#losses;
  }

  /** The tool that the model means by a name. */
  find(modelName: unknown): KitTool | undefined {
    return typeof modelName === 'string' ? this.#byModelName.get(modelName) : undefined;
  }

  /** Stops following changes of the list. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#isStale = false;
    this.#unsubscribe();
  }

  /**
   * Waits until the tools are those that the provider listed after this call, which takes at most two listings: a server that
   * keeps reporting changes must not stop the loop.
   *
   * @throws {ToolError} why they could not be listed
   */
  async refreshed(): Promise<void> {
    for (let listings = 0; listings < 2 && (this.#isStale || this.#refreshing); listings++)
      await (this.#refreshing ??= this.#refresh());
  }

  async #refresh(): Promise<void> {
    this.#isStale = false;
    const { signal } = this.#options;
    try {
      const definitions = await this.#provider.listTools(signal && { signal });
      const selected = selectTools(definitions, this.#options).filter((definition) => !isForViewsOnly(definition));
      const { kind } = this.#provider;
      const shown = kind === 'in-process' || kind === 'hub' ? selected : selected.map(shownDefinition); // a hub has cleaned them
      if (isSame(shown, this.#shown)) return;
      const { tools, losses } = offeredTools(shown, this.#form);
      this.#shown = shown;
      this.#byModelName = tools;
      this.#losses = losses;
      this.#tools = [...tools.values()];
    } catch (thrown) {
      this.#isStale = true;
      throw ToolError.from(thrown);
    } finally {
      this.#refreshing = undefined;
    }
  }

  /** Runs one call. Never rejects: whatever is wrong with it is its result. */
  async call(call: ModelCall, options: CallOptions = {}): Promise<ModelCallResult> {
    return this.#withCall(call, options, (name, args, all) => this.#provider.callTool(name, args, all));
  }

  /** Runs a call that a person has approved, if {@link needsApproval} said so. */
  async callApproved(call: ModelCall, options: CallOptions = {}): Promise<ModelCallResult> {
    return this.#withCall(call, options, async (name, args, all) => {
      const prepared = await this.#provider.prepareCall?.(name, args, all);
      if (prepared?.verdict?.action !== 'ask') return this.#provider.callTool(name, args, all);
      return prepared.execute({ ...all, approval: { decision: 'once' } });
    });
  }

  /** Whether the provider's policy asks a person before this call. */
  async needsApproval(call: ModelCall): Promise<boolean> {
    let asks = false;
    await this.#withCall(call, {}, async (name, args, options) => {
      const prepared = await this.#provider.prepareCall?.(name, args, options);
      asks = prepared?.verdict?.action === 'ask';
      return NOTHING_RUN;
    });
    return asks;
  }

  async #withCall(
    { name, args }: ModelCall,
    options: CallOptions,
    run: (name: string, args: JsonObject, options: CallOptions) => Promise<ToolResult>,
  ): Promise<ModelCallResult> {
    const startedAt = performance.now();
    const tool = this.find(name);
    if (!tool) return { tool: undefined, result: errorResult(this.#unknown(name), startedAt) };
    const parsed = parseArguments(tool.modelName, args);
    if (ToolError.isInstance(parsed)) return { tool: tool.definition.name, result: errorResult(parsed, startedAt) };
    const { sessionId, signal } = this.#options;
    const signals = [signal, options.signal].filter((one) => one !== undefined);
    try {
      const result = await run(tool.definition.name, tool.restore ? tool.restore(parsed) : parsed, {
        ...(sessionId !== undefined && { sessionId }),
        ...options,
        ...(signals.length > 0 && { signal: signals.length === 1 ? signals[0] : AbortSignal.any(signals) }),
        calledAs: tool.modelName,
      });
      return { tool: tool.definition.name, result };
    } catch (thrown) {
      return { tool: tool.definition.name, result: errorResult(ToolError.from(thrown), startedAt) }; // a provider's fault
    }
  }

  /** Runs the calls of one turn side by side, and reports their directives. */
  async callAll(
    calls: readonly ModelCall[],
  ): Promise<{ results: ModelCallResult[]; directives: readonly Directive[]; done: boolean }> {
    const results = await Promise.all(calls.map((call) => this.call(call)));
    const directives = results.flatMap(({ result }) => result.directives);
    this.reportDirectives(directives);
    if (this.#provider.kind === 'hub' && !this.#isClosed) this.#isStale = true; // a hub reports what a call has changed a moment later
    await this.refreshed().catch(() => undefined); // the tools that the next turn offers
    return {
      results,
      directives,
      done: calls.length === 0 || directives.some(({ type }) => type === 'stop_processing'),
    };
  }

  /** Passes directives to the host's callback. */
  reportDirectives(directives: readonly Directive[]): void {
    const { onDirectives } = this.#options;
    if (onDirectives && directives.length > 0) callSafely(() => onDirectives(directives));
  }

  #unknown(name: unknown): ToolError {
    if (typeof name !== 'string') return new ToolError('TOOL_NOT_FOUND', 'The call names no tool.');
    const nearest = nearestNames(name, this.#byModelName.keys());
    const hint = nearest.length > 0 ? ` The nearest are ${nearest.join(', ')}.` : ' There are no tools.';
    return new ToolError('TOOL_NOT_FOUND', `There is no tool "${name.slice(0, 100)}".${hint}`, {
      details: { nearest },
    });
  }
}

/** Whether two lists have the same definitions: providers return those that have not changed. */
function isSame(list: readonly ToolDefinition[], other: readonly ToolDefinition[] | undefined): boolean {
  return list.length === other?.length && list.every((definition, index) => definition === other[index]);
}

const NOTHING_RUN: ToolResult = { content: [], isError: false, directives: [], durationMs: 0 };

function parseArguments(modelName: string, args: unknown): JsonObject | ToolError {
  let value = args;
  if (typeof args === 'string') {
    try {
      value = JSON.parse(args);
    } catch (thrown) {
      const why = thrown instanceof Error ? thrown.message : String(thrown);
      return new ToolError(
        'INVALID_ARGUMENT',
        `The arguments of ${modelName} are not JSON (${why}). Call it again with a JSON object.`,
      );
    }
  }
  if (isJsonObject(value)) return value;
  return new ToolError(
    'INVALID_ARGUMENT',
    `The arguments of ${modelName} are not a JSON object. Call it again with one.`,
  );
}
