// ReplayToolProvider: answers from a recording, without the tools that were recorded.

import { CallCounters } from '../call/call-counters.js';
import { CallScope, TAKES_SCOPES } from '../call/call-scope.js';
import { Listeners } from '../call/host-callbacks.js';
import { ToolError } from '../contract/errors.js';
import { copyJson } from '../contract/json-copy.js';
import { isJsonObject, type JsonObject } from '../contract/json.js';
import { WARNING_LOGGER } from '../contract/logger.js';
import { assertOptions, shownValue, type OptionNames } from '../contract/options.js';
import { errorResult, nameAsCalled, type ToolResult } from '../contract/result.js';
import { isForViewsOnly, type ToolDefinition } from '../contract/tool-definition.js';
import type { CallOptions, PreparedCall, ProviderHealth, ToolProvider } from '../contract/tool-provider.js';
import { prepareFromListing, rejectedCall, staleCallError } from '../provider/prepared-call.js';
import { selectTools, type ToolSelection } from '../provider/tool-selection.js';
import { recordedCall } from '../recording/recorded-values.js';
import type { RecordedCall } from '../recording/recording-format.js';
import { readRecording, type ReadCall, type ReadPrepare } from '../recording/recording-reader.js';
import { fillAnnotations } from '../tool/define-tool.js';
import { playCall, restoredResult } from './play-call.js';
import { ReplayCalls } from './replay-calls.js';
import { ReplayLists } from './replay-lists.js';
import type { ConnectOptions, ListingOptions } from './wrapped-provider.js';

/** Options of {@link ReplayToolProvider}. */
export interface ReplayOptions {
  /**
   * What happens when a call was made more often than it was recorded: with true it fails with `NO_MATCH`, with false it gets the
   * last result again. A call whose arguments were never recorded fails in both cases. With false, calls with wrong arguments or
   * of an unknown tool fail as they do without a recording. Default true.
   */
  strict?: boolean;
  /** `'recorded'`: progress and results come as long after the call as they did. `'none'`: at once. Default `'none'`. */
  timing?: 'none' | 'recorded';
}

/** A recorded call that has not been made. */
export interface UnusedCall {
  /** The name as it was called. */
  readonly name: string;
  /** The arguments, secrets redacted. */
  readonly args: unknown;
}

const OPTIONS: OptionNames<ReplayOptions> = { strict: true, timing: true };
const KINDS: ReadonlySet<unknown> = new Set<ToolProvider['kind']>(['in-process', 'process', 'mcp', 'hub', 'other']);

/**
 * A provider that lists the tools of a recording and answers calls with its results: content, structured content, errors,
 * directives, `_meta` and progress, as they were. It runs nothing, opens nothing but the file, and has no randomness.
 *
 * A call is answered by the first recorded call with its name and equal arguments that was not used. A call that was not
 * recorded fails with `NO_MATCH` and the difference from the nearest one that was.
 *
 * @example
 * ```ts
 * await using provider = new ReplayToolProvider('docs.ndjson');
 * const result = await provider.callTool('docs.search', { query: 'hubs' });
 * ```
 */
export class ReplayToolProvider implements ToolProvider {
  readonly name: string;
  /** As recorded. */
  readonly kind: ToolProvider['kind'];
  /** @internal */
  readonly [TAKES_SCOPES] = true;
  readonly servers: readonly string[];
  readonly callTimeoutMs?: number;
  readonly sourceHash?: string;
  readonly #lists: ReplayLists;
  readonly #calls: ReplayCalls;
  readonly #isStrict: boolean;
  readonly #isTimed: boolean;
  readonly #counters = new CallCounters();
  readonly #changed = new Listeners();
  readonly #inFlight = new Map<CallScope, Promise<ToolResult>>();
  #isConnected = false;
  #isDisconnected = false;
  /** Counts disconnects: a prepared call belongs to the connection that prepared it. */
  #disconnects = 0;

  /**
   * Reads the recording.
   *
   * @throws {ToolError} NOT_FOUND when there is no such file; INVALID_ARGUMENT for a file that is not a recording, and for a wrong
   *   option
   */
  constructor(file: string, options: ReplayOptions = {}) {
    assertOptions('new ReplayToolProvider()', options, OPTIONS);
    const { strict = true, timing = 'none' } = options;
    if (timing !== 'none' && timing !== 'recorded')
      throw new ToolError(
        'INVALID_ARGUMENT',
        `new ReplayToolProvider(): \`timing\` must be 'none' or 'recorded', not ${shownValue(timing)}.`,
      );
    const recording = readRecording(file);
    const { header, lists } = recording;
    this.name = header.name;
    this.kind = KINDS.has(header.kind) ? header.kind : 'other';
    const prefixes = lists.flatMap(({ tools }) => tools.map(({ name }) => name.split('.', 1)[0] ?? ''));
    this.servers = Object.freeze([...new Set([...header.servers, ...prefixes])]);
    if (header.callTimeoutMs !== undefined) this.callTimeoutMs = header.callTimeoutMs;
    if (header.sourceHash !== undefined) this.sourceHash = header.sourceHash;
    this.#isStrict = strict;
    this.#isTimed = timing === 'recorded';
    this.#calls = new ReplayCalls(file, recording, !strict);
    this.#lists = new ReplayLists(recording);
    this.#lists.advance(this.#calls.nextLine);
  }

  /** The recorded calls that have not been made, in their order. Empty after a complete replay. */
  get unused(): readonly UnusedCall[] {
    return this.#calls.unused.map(({ name, args }) => ({ name: name ?? '', args: structuredClone(args) }));
  }

  async connect(options?: ConnectOptions): Promise<void> {
    const scope = new CallScope(options);
    try {
      if (scope.error) throw scope.error;
      this.#isDisconnected = false;
      this.#isConnected = true;
    } finally {
      scope.close();
    }
  }

  /** The tools as they were listed before the next recorded call that has not been made. */
  async listTools(options?: ListingOptions): Promise<readonly ToolDefinition[]> {
    if (this.#isDisconnected && this.kind === 'hub') return [];
    if (this.#isDisconnected) throw this.#notConnected();
    await this.connect({ ...(options?.signal && { signal: options.signal }) });
    const { tools } = this.#lists;
    if (this.kind !== 'hub') return tools;
    const { includeViewTools = false, ...selection } = { ...options } as ListingOptions & ToolSelection;
    return selectTools(includeViewTools ? tools : modelTools(tools), selection);
  }

  callTool(name: string, args: JsonObject = {}, options?: CallOptions): Promise<ToolResult> {
    return this.#run([recordedCall(name, args)], new CallScope(options));
  }

  prepareCall(name: string, args: JsonObject): PreparedCall {
    const call = recordedCall(name, args);
    try {
      if (this.#isDisconnected) throw this.#notConnected();
      this.#isConnected = true;
      const prepared = this.#calls.prepared(call);
      if (prepared) return this.#preparedAsRecorded(prepared, name, args);
      if (this.#isStrict && ![call, ...this.#asHubsCall(call)].some((form) => this.#calls.has(form)))
        throw this.#calls.unexpected(call);
      return this.#preparedFromListing(call, name, args);
    } catch (thrown) {
      return rejectedCall(name, undefined, args, errorResult(ToolError.from(thrown, 'INTERNAL'), performance.now()));
    }
  }

  async disconnect(): Promise<void> {
    this.#isDisconnected = true;
    this.#isConnected = false;
    this.#disconnects++;
    const message = `The provider "${this.name}" was disconnected during the call.`;
    const closed = new ToolError('CONNECTION_CLOSED', message, { provider: this.name });
    const open = [...this.#inFlight];
    for (const [scope] of open) scope.end(closed);
    await Promise.all(open.map(([, settled]) => settled));
  }

  /** Disconnects, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
  }

  onToolsChanged(listener: () => void): () => void {
    return this.#changed.add(listener);
  }

  health(): ProviderHealth {
    return this.#counters.health(this.#isConnected ? 'READY' : 'COLD');
  }

  // One call.

  /**
   * @param candidates the call in the forms in which it may have been recorded
   * @param disconnects of a prepared call: the connection that prepared it
   */
  #run(candidates: readonly RecordedCall[], scope: CallScope, disconnects?: number): Promise<ToolResult> {
    const settled = this.#answer(candidates, scope, disconnects).finally(() => this.#inFlight.delete(scope));
    this.#inFlight.set(scope, settled);
    return settled;
  }

  async #answer(
    candidates: readonly RecordedCall[],
    scope: CallScope,
    disconnects: number | undefined,
  ): Promise<ToolResult> {
    const [call] = candidates as [RecordedCall];
    let result: ToolResult;
    try {
      if (disconnects !== undefined && disconnects !== this.#disconnects) throw staleCallError(this.name);
      if (this.#isDisconnected) throw this.#notConnected();
      this.#isConnected = true;
      const recorded = this.#take(candidates);
      scope.setDeadline();
      if (scope.error) throw scope.error;
      if (!recorded) throw this.#missing(call);
      result = await playCall(recorded, scope, { isTimed: this.#isTimed, provider: this.name });
    } catch (thrown) {
      result = errorResult(ToolError.from(thrown, 'INTERNAL'), scope.startedAt);
    }
    result.durationMs = performance.now() - scope.startedAt;
    if (result.isError && scope.calledAs !== undefined) nameAsCalled(result, call.name ?? '', scope.calledAs);
    scope.close();
    this.#counters.record(result, performance.now());
    if (this.#lists.advance(this.#calls.nextLine)) this.#changed.emit(WARNING_LOGGER);
    return result;
  }

  #take(candidates: readonly RecordedCall[]): ReadCall | undefined {
    for (const forms of [candidates, candidates.flatMap((call) => this.#asHubsCall(call))])
      for (const call of forms) {
        const taken = this.#calls.take(call);
        if (taken) return taken;
      }
    return undefined;
  }

  /** A call with the qualified name, and with the coerced arguments, as a hub would have made it. */
  #asHubsCall(call: RecordedCall): RecordedCall[] {
    const tool = call.name === null ? undefined : this.#lists.index.get(call.name);
    if (!tool || !isJsonObject(call.args)) return [];
    const qualified = { name: tool.name, args: call.args };
    try {
      return [qualified, { name: tool.name, args: coerced(tool, call.args) }];
    } catch {
      return [qualified]; // the arguments are wrong
    }
  }

  /** Why a call has no answer: as without a recording if that refuses it and the replay is not strict. */
  #missing(call: RecordedCall): ToolError {
    if (this.#isStrict || call.name === null) return this.#calls.unexpected(call);
    const { index } = this.#lists;
    const tool = index.get(call.name);
    if (!tool) return index.notFound(call.name, `The recorded provider "${this.name}"`);
    try {
      coerced(tool, call.args as JsonObject);
      return this.#calls.unexpected(call);
    } catch (thrown) {
      return ToolError.from(thrown);
    }
  }

  #preparedAsRecorded(recorded: ReadPrepare, name: string, given: JsonObject): PreparedCall {
    const tool = this.#lists.definition(recorded.tool);
    if (recorded.refused) return rejectedCall(name, tool, given, restoredResult(recorded.refused));
    const args = recorded.sent === undefined ? copyJson(given) : (structuredClone(recorded.sent) as JsonObject);
    const sent = recordedCall(recorded.tool, args);
    const disconnects = this.#disconnects;
    return {
      tool: tool ?? {
        name: recorded.tool,
        description: '',
        inputSchema: { type: 'object' },
        annotations: fillAnnotations(),
      },
      args,
      claims: recorded.claims,
      ...(recorded.timeoutMs !== undefined && { timeoutMs: recorded.timeoutMs }),
      ...(recorded.verdict && { verdict: structuredClone(recorded.verdict) }),
      execute: (options) => this.#run([sent], new CallScope(options), disconnects),
    };
  }

  #preparedFromListing(call: RecordedCall, name: string, given: JsonObject): PreparedCall {
    const { index } = this.#lists;
    const tool = index.get(name);
    if (!tool) throw index.notFound(name, `The recorded provider "${this.name}"`);
    const disconnects = this.#disconnects;
    return prepareFromListing(
      {
        tool,
        execute: (args, options) =>
          this.#run([call, recordedCall(tool.name, args)], new CallScope(options), disconnects),
      },
      given,
    );
  }

  #notConnected(): ToolError {
    const message = `The provider "${this.name}" was disconnected; call connect() to use it again.`;
    return new ToolError('NOT_CONNECTED', message, { provider: this.name });
  }
}

/** The tools without those that only views call; the same array if there are none. */
function modelTools(tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
  return tools.some(isForViewsOnly) ? tools.filter((tool) => !isForViewsOnly(tool)) : tools;
}

/** The arguments as a hub would send them. @throws {ToolError} INVALID_ARGUMENT when they are wrong */
function coerced(tool: ToolDefinition, args: JsonObject): JsonObject {
  const execute = (): never => {
    throw new ToolError('INTERNAL', 'Only the arguments are needed.');
  };
  return prepareFromListing({ tool, execute }, args).args;
}
