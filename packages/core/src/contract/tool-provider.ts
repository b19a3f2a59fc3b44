// The contract: what every provider of tools promises. Types only; result.ts and errors.ts hold what calls give back.

import type { ToolError } from './errors.js';
import type { Approval, ApprovalContext, ApprovalRequest, PolicyAction } from './approval.js';
import type { JsonObject } from './json.js';
import type { LogEntry } from './logger.js';
import type { ToolResult } from './result.js';
import type { ToolDefinition } from './tool-definition.js';
import type { PermissionClaim } from './claims.js';

/**
 * Anything that lists and calls tools: functions of this process, a supervised process, an MCP server, or a hub of
 * all of these.
 *
 * Names are *qualified*, `server.tool`, split at the first dot; a bare tool name works where it is unique.
 * {@link callTool} and {@link listTools} connect by themselves. Hold a provider with `await using`, or call
 * {@link disconnect} in a `finally`.
 */
export interface ToolProvider extends AsyncDisposable {
  readonly name: string;
  /** Everything but `'in-process'` is external: foreign names, default deadlines, untrusted directives. */
  readonly kind: 'in-process' | 'process' | 'mcp' | 'hub' | 'other';
  /** The deadline of a call that names none, in milliseconds. */
  readonly callTimeoutMs?: number;
  /** The name prefixes it owns, known before it connects. A hub's is the union and may grow (with onToolsChanged). */
  readonly servers: readonly string[];
  /**
   * Opens the provider. Idempotent; concurrent calls share one attempt. Rejects with {@link ToolError}. `onDemand`: a
   * call asks for it, not a person, so that a supervisor may refuse to start yet again what keeps failing.
   */
  connect(options?: { signal?: AbortSignal; onDemand?: boolean }): Promise<void>;
  /** Every tool, under its qualified name. Rejects with {@link ToolError}, `NOT_CONNECTED` after a disconnect. */
  listTools(options?: { signal?: AbortSignal }): Promise<readonly ToolDefinition[]>;
  /** Runs one tool. Never rejects and never throws: every failure is a result with `isError` and a code. */
  callTool(name: string, args?: JsonObject, options?: CallOptions): Promise<ToolResult>;
  /**
   * Resolves the name, validates (and repairs) the arguments and says what the call would do. Runs nothing, never
   * throws. Where it is absent, a hub validates by `inputSchema` and claims the tool's name. Wrappers pass it on.
   */
  prepareCall?(name: string, args: JsonObject, options?: CallOptions): PreparedCall | Promise<PreparedCall>;
  /** Ends the provider. Idempotent, never rejects; every call in flight settles first (as `CONNECTION_CLOSED`). */
  disconnect(): Promise<void>;
  /**
   * Ends what is kept for the calls of one `sessionId`, such as background jobs: its conversation is over. Idempotent,
   * never rejects. Wrappers pass it on.
   */
  endSession?(sessionId: string): Promise<void>;
  /** Tells of a changed tool list. Returns the unsubscribe. */
  onToolsChanged(listener: () => void): () => void;
  /** Counters and the lifecycle state, read at once and without I/O. */
  health?(): ProviderHealth;
  /** Asks the peer whether it answers; opens nothing. Rejects with {@link ToolError} when it does not, or is not there. */
  ping?(options?: { signal?: AbortSignal }): Promise<void>;
  /** Tells, once a connection, that it is gone and nobody disconnected it. Returns the unsubscribe. */
  onLost?(listener: (failure: ToolError) => void): () => void;
  /** What an MCP provider has beyond tools, in plain types; wrappers pass it on. */
  readonly mcp?: McpPeer;
}

/** What one call may be given. All of it is optional. */
export interface CallOptions {
  /** Cancels the call: it answers `CANCELLED` at once and the tool's own signal is aborted. */
  signal?: AbortSignal | undefined;
  /**
   * The bound of the call, in milliseconds from now; `Infinity` for none. It replaces every default, and progress does
   * not renew it. The one exception: while a person is asked, the clock is paused.
   */
  timeoutMs?: number | undefined;
  /**
   * The longest time without growing progress, in milliseconds; `Infinity` for none. It replaces every default. With
   * `timeoutMs` both hold.
   */
  idleTimeoutMs?: number | undefined;
  /** Told of the tool's progress, never after the call has settled. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Names the call in logs and events. Default: a fresh one. */
  callId?: string | undefined;
  /** Groups calls of one conversation: background jobs and read tracking are kept by it. */
  sessionId?: string | undefined;
  /** The name by which the caller knows the tool, such as an alias: texts for the model use it. Default: the qualified name. */
  calledAs?: string | undefined;
  /**
   * The answer to the approval request of a prepared call's {@link PreparedCall.verdict}. It answers the hub that gave the
   * verdict and is never passed inward.
   */
  approval?: Approval | undefined;
  /** Told of what the tool says with `ctx.logger`, beside the provider's logger; never after the call has settled. */
  onLog?: ((entry: LogEntry) => void) | undefined;
  /** Asked where a hub's policy says `ask` and has no `approve` of its own: the caller of this very call. */
  approve?: ((request: ApprovalRequest, context: ApprovalContext) => Approval | Promise<Approval>) | undefined;
  /**
   * Answers what an MCP server asks during this call: elicitation, sampling, roots. A call without it is the host's own, for
   * which the provider's handlers answer. A server that has calls of several callers in flight is refused, so that no one
   * answers a question of another's call. Callers are told apart by `sessionId`, or by this function.
   */
  onRequest?: PeerRequestHandler | undefined;
  /** Passed to the tool as `ctx.meta`, and to an MCP server as `_meta`. */
  meta?: JsonObject | undefined;
  /**
   * Narrows what a call may touch of that which its claims cover without naming it, such as one file below a claimed
   * directory: the tool leaves out, or refuses, what this denies. Set by a hub from its policy; heeded in process only.
   */
  permits?: ((pattern: string) => boolean) | undefined;
  /**
   * Stops the clock of the call while a person or a model is asked, until what it gives is called. Set by a hub, for
   * providers that ask during a call; one that enforces a deadline of its own stops that too.
   */
  hold?: (() => () => void) | undefined;
}

/** How far a call has come: `progress` grows, and is complete at `total` where that is known. */
export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** A call that was resolved and validated and has not run. */
export interface PreparedCall {
  readonly tool: ToolDefinition;
  /** The arguments as they will be sent, after repair. */
  readonly args: JsonObject;
  /** The tool's own deadline for this call. */
  readonly timeoutMs?: number;
  /** Everything that the call would do, for a policy to judge. */
  readonly claims: readonly PermissionClaim[];
  /** Set when the call cannot run (unknown tool, wrong arguments): the answer, ready to be given. */
  readonly refused?: ToolResult;
  /** What the policy of a hub says of the call; `request` where the action is `ask`. Absent without a policy. */
  readonly verdict?: { action: PolicyAction; reason: string; request?: ApprovalRequest };
  /** Runs the call. Never rejects. A refused call gives its refusal. */
  execute(options?: CallOptions): Promise<ToolResult>;
}

/** The state of a provider, of whatever kind. */
export type ProviderState = 'COLD' | 'INITIALIZING' | 'READY' | 'DEGRADED' | 'DEAD';

/** What a provider knows of itself. Times are milliseconds since the epoch. */
export interface ProviderHealth {
  state: ProviderState;
  consecutiveFailures: number;
  lastSuccessAt?: number;
  totalInvocations: number;
  totalFailures: number;
  restarts: number;
  retryAt?: number;
  lastError?: string;
}

/**
 * Answers requests of an MCP server. What it throws with a whole number as `code` is sent to the server as it is.
 *
 * @param params as the server sent them, unchecked
 * @param options `signal` is aborted when the server withdraws its request or the connection ends
 */
export type PeerRequestHandler = (
  method: string,
  params: JsonObject,
  options: { signal: AbortSignal },
) => Promise<JsonObject>;

/** An MCP peer beyond its tools: resources, prompts, completion, and requests of its own. */
export interface McpPeer {
  /** What the peer offers, as it said when it was last connected; empty before. Each connection has an object of its own. */
  readonly capabilities: JsonObject;
  /**
   * Sends a request, connecting first. Rejects with {@link ToolError}; a JSON-RPC error has its number as
   * `details.rpcCode`. Tools are not called this way: `tools/*` is `INVALID_ARGUMENT`.
   */
  request(
    method: string,
    params?: JsonObject,
    options?: Pick<CallOptions, 'signal' | 'timeoutMs' | 'callId' | 'sessionId' | 'onRequest'>,
  ): Promise<JsonObject>;
  /**
   * Reports the peer's notifications, in their order with its answers, and `list_changed` after each connection. `call` is
   * the latest call in flight at the peer, where all of them are one caller's. Returns the unsubscribe.
   */
  onNotification(
    listener: (method: string, params: JsonObject, call?: Pick<CallOptions, 'callId' | 'sessionId'>) => void,
  ): () => void;
  /**
   * Answers the peer's own requests during the host's calls, and between calls, where nothing else does. `offers` are the
   * capabilities that the next connection names for it; default: elicitation of forms, sampling and roots.
   */
  setRequestHandler(handler: PeerRequestHandler | undefined, offers?: JsonObject): void;
  /**
   * Names capabilities to the peer for callers whose calls bring an `onRequest`. A connection that was opened without them
   * is replaced as soon as no call is in flight. Returns the withdrawal, which the next connection sees.
   */
  offer?(capabilities: JsonObject): () => void;
}
