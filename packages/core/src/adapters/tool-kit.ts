// What the kits of all vendors share: the tools of a provider under the names that a model uses, and the calls that a model
// makes with them. A vendor's file adds the shapes of its API.

import type { Directive } from '../contract/directives.js';
import { ToolError } from '../contract/errors.js';
import { isJsonObject, type JsonObject, type JsonSchema } from '../contract/json.js';
import { copyJson } from '../contract/json-copy.js';
import { assertOptions, type OptionNames, type OptionType } from '../contract/options.js';
import { nearestNames } from '../contract/nearest-names.js';
import { errorResult, type ToolResult } from '../contract/result.js';
import { isForViewsOnly, type ToolDefinition } from '../contract/tool-definition.js';
import type { CallOptions, ToolProvider } from '../contract/tool-provider.js';
import { shownDefinition } from '../provider/shown-definition.js';
import { assertSelection, selectTools, type ToolSelection } from '../provider/tool-selection.js';
import { aliasOf } from './alias.js';
import { portableSchema, type ReportLoss, type SchemaLoss } from './vendor-schema.js';

/** Options of every kit. */
export interface KitOptions extends ToolSelection {
  /** Groups the kit's calls: background jobs and the files that were read belong to it. Default: none. */
  sessionId?: string;
  /** Cancels the calls in flight, and makes further ones fail. Default: none. */
  signal?: AbortSignal;
  /** Receives the directives of each turn, before `answer` resolves. Default: they are only in its result. */
  onDirectives?: (directives: readonly Directive[]) => void;
}

export const KIT_OPTIONS: OptionNames<KitOptions> = {
  include: true,
  exclude: true,
  sessionId: true,
  signal: true,
  onDirectives: true,
};

/** A tool in the form of one vendor. */
export interface KitTool {
  /** The name that the model uses. */
  readonly modelName: string;
  /** The tool as the provider lists it. */
  readonly definition: ToolDefinition;
  /** A copy in the vendor's form. */
  readonly schema: JsonSchema;
  /** Converts the arguments of a model to those of the tool. Absent where they are the same. */
  readonly restore?: ((args: JsonObject) => JsonObject) | undefined;
}

/** A vendor's form of a portable schema; a text says why the tool cannot be offered. */
export type CompileSchema = (
  portable: JsonSchema,
  report: ReportLoss,
  original: JsonSchema,
) => Pick<KitTool, 'schema' | 'restore'> | string;

/** One call that a model made. */
export interface ModelCall {
  /** The name that the model used. */
  readonly name: unknown;
  /** The arguments: JSON text, or an object. */
  readonly args: unknown;
}

/** The outcome of one call. */
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
  readonly #compile: CompileSchema;
  readonly #unsubscribe: () => void;
  #tools: readonly KitTool[] = [];
  #byModelName = new Map<string, KitTool>();
  #losses: readonly SchemaLoss[] = [];
  #refreshing: Promise<void> | undefined;
  #isStale = false;

  private constructor(provider: ToolProvider, options: KitOptions, compile: CompileSchema) {
    this.#provider = provider;
    this.#options = options;
    this.#compile = compile;
    // A weak reference: the provider must not keep unused kits alive.
    const self = new WeakRef(this);
    const unsubscribe = provider.onToolsChanged(() => {
      const kit = self.deref();
      if (!kit) return unsubscribe();
      kit.#isStale = true;
      kit.refreshed().catch(() => undefined); // the kit keeps its tools, and the next answer tries again
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
    compile: CompileSchema,
    known: Readonly<Record<string, OptionType>> = KIT_OPTIONS,
  ): Promise<ToolKitCore> {
    if (typeof (provider as Partial<ToolProvider> | undefined)?.callTool !== 'function')
      throw new ToolError(
        'INVALID_ARGUMENT',
        `${where} takes a ToolProvider, such as a ToolHub, as its first argument.`,
      );
    assertOptions(where, options, known);
    assertSelection(options);
    const kit = new ToolKitCore(provider, options, compile);
    try {
      await kit.#refresh();
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
    this.#unsubscribe();
  }

  /** Waits until the tools are those of the provider's current list. @throws {ToolError} why they could not be listed */
  async refreshed(): Promise<void> {
    while (this.#isStale || this.#refreshing) await (this.#refreshing ??= this.#refresh());
  }

  async #refresh(): Promise<void> {
    this.#isStale = false;
    const { signal } = this.#options;
    try {
      const definitions = await this.#provider.listTools(signal && { signal });
      const losses: SchemaLoss[] = [];
      const tools = new Map<string, KitTool>();
      for (const definition of selectTools(definitions, this.#options)) {
        if (isForViewsOnly(definition)) continue;
        const tool = this.#compiled(definition, losses);
        if (tool) tools.set(tool.modelName, tool);
      }
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

  #compiled(listed: ToolDefinition, losses: SchemaLoss[]): KitTool | undefined {
    const isOwn = this.#provider.kind === 'in-process' || this.#provider.kind === 'hub'; // a hub has cleaned foreign tools
    const definition = isOwn ? listed : shownDefinition(listed);
    const { name, inputSchema } = definition;
    const report: ReportLoss = (path, message) => void losses.push({ tool: name, path, message });
    const original = copyJson(inputSchema); // listings are frozen; what a vendor's package gets may be changed
    const portable = portableSchema(original, report);
    const compiled = portable ? this.#compile(portable, report, original) : 'its arguments are not an object';
    if (typeof compiled !== 'string') return { modelName: aliasOf(name), definition, ...compiled };
    report('', `The tool is not offered: ${compiled}.`);
    return undefined;
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
    const result = await run(tool.definition.name, tool.restore ? tool.restore(parsed) : parsed, {
      ...(sessionId !== undefined && { sessionId }),
      ...options,
      ...(signals.length > 0 && { signal: signals.length === 1 ? signals[0] : AbortSignal.any(signals) }),
      calledAs: tool.modelName,
    });
    return { tool: tool.definition.name, result };
  }

  /** Runs the calls of one turn side by side, and reports their directives. */
  async callAll(
    calls: readonly ModelCall[],
  ): Promise<{ results: ModelCallResult[]; directives: readonly Directive[]; done: boolean }> {
    const results = await Promise.all(calls.map((call) => this.call(call)));
    const directives = results.flatMap(({ result }) => result.directives);
    if (directives.length > 0) this.#options.onDirectives?.(directives);
    await this.refreshed().catch(() => undefined); // the tools that the next turn offers
    return {
      results,
      directives,
      done: calls.length === 0 || directives.some(({ type }) => type === 'stop_processing'),
    };
  }

  #unknown(name: unknown): ToolError {
    if (typeof name !== 'string')
      return new ToolError('TOOL_NOT_FOUND', 'The call has no tool name. Call one of the listed tools.');
    const nearest = nearestNames(name, this.#byModelName.keys());
    const hint = nearest.length > 0 ? ` The nearest are ${nearest.join(', ')}.` : ' There are no tools.';
    return new ToolError('TOOL_NOT_FOUND', `There is no tool "${name.slice(0, 100)}".${hint}`, {
      details: { nearest },
    });
  }
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

/** The outcome of the calls of one message of a model. */
export interface Turn<Message, Output> {
  /** What to add to the conversation: the model's message, and the messages with the results. */
  messages: Message[];
  /** The results in the vendor's form, in the order of the calls. */
  outputs: Output[];
  /** The results, in the same order. */
  results: ModelCallResult[];
  /** The directives of all results. */
  directives: readonly Directive[];
  /** True when the model called nothing, or a result has the directive `stop_processing`: the loop ends. */
  done: boolean;
}

/** The tools of a provider in the form of one API. */
export abstract class ToolKit<Tool, Call, Output> implements Disposable {
  /** @internal */
  protected readonly core: ToolKitCore;
  #from: readonly KitTool[] | undefined;
  #tools: Tool[] = [];

  /** @internal */
  constructor(core: ToolKitCore) {
    this.core = core;
  }

  /** The tools to pass with each request, as copies. Another array after each change of the provider's list. */
  get tools(): Tool[] {
    if (this.#from !== this.core.tools) {
      this.#from = this.core.tools;
      this.#tools = this.toVendor(this.core.tools);
    }
    return this.#tools;
  }

  /** What the API does not see of the tools' schemas, and which tools are not offered. */
  get losses(): readonly SchemaLoss[] {
    return this.core.losses;
  }

  /** The qualified name of the tool that the model means by a name; undefined if there is none. */
  resolve(modelName: string): string | undefined {
    return this.core.find(modelName)?.definition.name;
  }

  /** Runs one call. Never rejects: a failure is a result in the vendor's form. */
  abstract dispatch(call: Call): Promise<Output>;

  /** Stops following changes of the list; calls still work. Not required: an unused kit is collected. */
  close(): void {
    this.core.close();
  }

  /** Calls {@link close}, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** @internal */
  protected abstract toVendor(tools: readonly KitTool[]): Tool[];
}
