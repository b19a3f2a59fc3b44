// A provider that answers a host: owns its state, runs its calls and settles each once. start-provider.ts connects it.

import type { JsonObject, LogEntry, Logger, Tool, ToolResult } from '@toolwright/core';
import {
  CallContext,
  CallScope,
  errorResult,
  executionFailed,
  finishTool,
  isThenable,
  listingOf,
  outcomeUnknown,
  parseArguments,
  prepareTool,
  settledWithin,
  SILENT_LOGGER,
  startTool,
  TIMEOUT_META,
  ToolError,
  ToolIndex,
  toWireResult,
  type UntimedResult,
  type WireResult,
} from '@toolwright/core/internal';
import type { PeerHandlers, WirePeer } from '../wire/peer.js';
import {
  CALL_META,
  RPC,
  type CallParams,
  type DecideParams,
  type Decision,
  type DrainParams,
  type EndSessionParams,
  type ExportedState,
  type InitializeParams,
  type LogParams,
  type MessageId,
} from '../wire/protocol.js';
import { RpcError } from '../wire/wire-error.js';
import { exportState } from './exported-state.js';
import type { AnyProvider } from './provider.js';

/** The default and longest time of a drain. */
const DEFAULT_DRAIN_MS = 30_000;
const MAX_DRAIN_MS = 600_000;
/** The time limit of `dispose` and `endSession`. */
const DISPOSE_MS = 2_000;

/** A provider on one connection. */
export class ServedProvider implements PeerHandlers {
  readonly #provider: AnyProvider;
  readonly #lifetime = new AbortController();
  readonly #calls = new Map<MessageId, CallScope>();
  /** Running tool functions, including those whose call was settled early. */
  #running = 0;
  #whenIdle: (() => void)[] = [];
  #tools = new Map<string, Tool>();
  #peer: WirePeer | undefined;
  #state: unknown;
  #isInitialized = false;
  #disposing: Promise<void> | undefined;
  readonly #onEnd: () => void;

  /** @param onEnd called when the host has disconnected and the state is disposed of */
  constructor(provider: AnyProvider, onEnd: () => void) {
    this.#provider = provider;
    this.#onEnd = onEnd;
    this.#indexTools();
  }

  /** The connection for notifications of calls. */
  attach(peer: WirePeer): void {
    this.#peer = peer;
    this.#provider.onToolsChanged(() => {
      this.#indexTools();
      peer.notify('notifications/tools/list_changed', {});
    });
  }

  /** The tools for the host's list, with bare names. @throws {ToolError} INVALID_ARGUMENT for a schema that does not compile */
  async list(): Promise<JsonObject[]> {
    const tools = this.#provider.tools;
    await Promise.all(tools.map(prepareTool));
    return tools.map((tool) => {
      const { name: _qualified, _meta, ...listing } = listingOf(this.#provider.name, tool);
      const meta = { ..._meta, ...(tool.timeoutMs !== undefined && { [TIMEOUT_META]: tool.timeoutMs }) };
      return { name: tool.name, ...listing, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
    });
  }

  onRequest(method: string, params: JsonObject, id: MessageId): unknown {
    switch (method) {
      case 'tools/call':
        return this.#call(params as unknown as CallParams, id);
      case 'tools/list':
        return this.list().then((tools) => ({ tools }));
      case 'provider/initialize':
        return this.#initialize(params as unknown as InitializeParams);
      case 'provider/decide':
        return this.#decide(params as unknown as DecideParams);
      case 'provider/export_state':
        return exportState(this.#state) satisfies ExportedState;
      case 'provider/drain':
        return this.#drain(params);
      case 'provider/end_session':
        return this.#endSession(params as unknown as EndSessionParams);
      case 'provider/dispose':
        return this.#dispose().then(() => ({}));
      default:
        throw new RpcError(RPC.methodNotFound, `A provider has no method "${method.slice(0, 80)}".`);
    }
  }

  onNotification(method: string, params: JsonObject): void {
    if (method !== 'notifications/cancelled') return;
    const { requestId, reason } = params;
    const why = typeof reason === 'string' ? reason : 'The call was cancelled by its caller.';
    this.#calls.get(requestId as MessageId)?.end(new ToolError('CANCELLED', why));
  }

  onClose(): void {
    const gone = new ToolError('CONNECTION_CLOSED', 'The host disconnected.');
    this.#lifetime.abort(gone);
    for (const scope of [...this.#calls.values()]) scope.end(gone);
    void settledWithin([this.#dispose()], DISPOSE_MS).then(this.#onEnd);
  }

  // The state.

  async #initialize({
    config,
    variables,
    previousState,
    reason,
    isReinitialization,
  }: InitializeParams): Promise<JsonObject> {
    const { initialize } = this.#provider.options;
    if (initialize) {
      const previous = reason === 'config' && this.#isInitialized ? (this.#state as JsonObject) : previousState;
      const ctx = { logger: this.#logger, signal: this.#lifetime.signal, reason, isReinitialization };
      this.#state = await initialize({ config, variables }, previous, ctx);
    }
    this.#isInitialized = true;
    return {};
  }

  async #decide({ old, new: next }: DecideParams): Promise<Decision> {
    const { shouldRestart, shouldReinitialize } = this.#provider.options;
    const restart = (await shouldRestart?.(old, next)) ?? false;
    return {
      restart,
      reinitialize: restart ? false : ((await shouldReinitialize?.(old, next)) ?? !shouldReinitialize),
    };
  }

  async #endSession({ sessionId }: EndSessionParams): Promise<JsonObject> {
    if (this.#isInitialized) {
      const ctx = { state: this.#state, logger: this.#logger, signal: AbortSignal.timeout(DISPOSE_MS) };
      await this.#provider.options.endSession?.({ ...ctx, sessionId });
    }
    return {};
  }

  #dispose(): Promise<void> {
    return (this.#disposing ??= this.#runDispose());
  }

  async #runDispose(): Promise<void> {
    const { dispose } = this.#provider.options;
    if (!dispose || !this.#isInitialized) return;
    await dispose({ state: this.#state, logger: this.#logger, signal: AbortSignal.timeout(DISPOSE_MS) });
  }

  async #drain({ deadlineMs }: Partial<DrainParams>): Promise<{ drained: boolean }> {
    if (this.#running === 0) return { drained: true };
    const idle = new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    const ms =
      typeof deadlineMs === 'number' && deadlineMs >= 0 ? Math.min(deadlineMs, MAX_DRAIN_MS) : DEFAULT_DRAIN_MS;
    return { drained: await settledWithin([idle], ms) };
  }

  // Calls.

  #indexTools(): void {
    this.#tools = new Map(this.#provider.tools.map((tool) => [tool.name, tool]));
  }

  #call({ name, arguments: args, _meta }: CallParams, id: MessageId): WireResult | Promise<WireResult> {
    const tool = this.#tools.get(name);
    if (!tool) throw this.#notFound(name);
    if (!this.#isInitialized) throw new ToolError('UNAVAILABLE', 'provider/initialize must come before any call.');
    const scope = new CallScope(this.#optionsOf(_meta));
    try {
      const parsed = tool.input.ready ? parseArguments(tool, args) : this.#parseWhenReady(tool, args);
      const output =
        parsed instanceof Promise ? this.#runParsed(tool, parsed, scope) : this.#run(tool, parsed.value, scope);
      if (!isThenable(output)) {
        const result = finishTool(tool, output);
        if (!(result instanceof Promise)) {
          scope.close();
          return wireOf(result);
        }
        return this.#settle(tool, result, scope, id);
      }
      const finished = Promise.resolve(output).then(
        (value) => finishTool(tool, value),
        (thrown: unknown) => {
          throw executionFailed(tool, thrown);
        },
      );
      return this.#settle(tool, finished, scope, id);
    } catch (thrown) {
      scope.close();
      return failureOf(thrown, scope);
    }
  }

  #run(tool: Tool, value: unknown, scope: CallScope): unknown {
    return startTool(tool, value, new CallContext(scope, this.#provider.name, this.#state, SILENT_LOGGER));
  }

  async #runParsed(tool: Tool, parsing: Promise<{ value: unknown }>, scope: CallScope): Promise<unknown> {
    const { value } = await parsing;
    if (scope.error) throw scope.error;
    return this.#run(tool, value, scope);
  }

  /** Waits for a tool that was just added. */
  async #parseWhenReady(tool: Tool, args: unknown): Promise<{ value: unknown }> {
    await prepareTool(tool);
    return parseArguments(tool, args);
  }

  /** Responds with the function's output, or with what ends the call early. */
  #settle(tool: Tool, finished: Promise<UntimedResult>, scope: CallScope, id: MessageId): Promise<WireResult> {
    this.#running++;
    this.#calls.set(id, scope);
    return new Promise((resolve) => {
      const settle = (result: WireResult): void => {
        this.#calls.delete(id);
        scope.close();
        resolve(result);
      };
      scope.onEnd((error) => settle(failureOf(outcomeUnknown(error, this.#provider.name, tool.name), scope)));
      finished
        .then(
          (result) => settle(wireOf(result)),
          (thrown: unknown) => settle(failureOf(thrown, scope)),
        )
        .finally(() => this.#noteEnd());
    });
  }

  #noteEnd(): void {
    if (--this.#running > 0) return;
    const waiting = this.#whenIdle;
    this.#whenIdle = [];
    for (const resolve of waiting) resolve();
  }

  /** The options of a call's scope, from its request. */
  #optionsOf(meta: JsonObject | undefined): ConstructorParameters<typeof CallScope>[0] {
    if (typeof meta !== 'object' || (meta as unknown) === null) return undefined;
    const { progressToken, [CALL_META]: ids, ...rest } = meta;
    const { callId, sessionId } = (typeof ids === 'object' && ids !== null ? ids : {}) as Record<string, unknown>;
    const peer = this.#peer;
    return {
      callId: typeof callId === 'string' ? callId : undefined,
      sessionId: typeof sessionId === 'string' ? sessionId : undefined,
      meta: hasKeys(rest) ? rest : undefined,
      onProgress: (progress) => {
        // A slow reader skips progress: a later one is more informative.
        if (progressToken === undefined || !peer || peer.isBehind) return;
        peer.notify('notifications/progress', { progressToken, ...progress });
      },
      onLog: (entry) => this.#log(entry, ids),
    };
  }

  get #logger(): Logger {
    const write =
      (level: keyof Logger) =>
      (message: string, fields?: object): void =>
        this.#log({ level, message, ...(fields && { fields }) });
    return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  }

  #log({ level, message, fields }: LogEntry, ids?: unknown): void {
    if (!this.#peer || this.#peer.isBehind) return;
    this.#peer.notify('notifications/message', {
      level: level === 'warn' ? 'warning' : level,
      data: { ...fields, message },
      ...(ids !== undefined && { _meta: { [CALL_META]: ids } }),
    } satisfies LogParams);
  }

  #notFound(name: unknown): RpcError {
    const index = new ToolIndex([...this.#tools].map(([bare, tool]) => [`${this.#provider.name}.${bare}`, tool]));
    const error = index.notFound(name, `The provider "${this.#provider.name}"`);
    return new RpcError(RPC.invalidParams, error.message, error.toInfo());
  }
}

function wireOf(result: UntimedResult): WireResult {
  return toWireResult(result as ToolResult); // the caller measures the duration
}

function failureOf(thrown: unknown, scope: CallScope): WireResult {
  return toWireResult(errorResult(ToolError.from(thrown), scope.startedAt));
}

function hasKeys(value: object): boolean {
  for (const _key in value) return true;
  return false;
}
