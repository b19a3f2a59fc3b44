// The contract of every tool provider. Types only; result.ts and errors.ts define what calls return.

import type { ToolError } from './errors.js';
import type { Approval, ApprovalContext, ApprovalRequest, PolicyAction } from './approval.js';
import type { JsonObject } from './json.js';
import type { LogEntry } from './logger.js';
import type { ToolResult } from './result.js';
import type { ToolDefinition } from './tool-definition.js';
import type { PermissionClaim } from './claims.js';

/**
 * Lists and calls tools: functions in this process, a supervised process, an MCP server, or a hub of all of these.
 *
 * Tool names are *qualified*, `server.tool`, split at the first dot; a bare tool name works if it is unique.
 * {@link callTool} and {@link listTools} connect on demand. Declare a provider with `await using`, or call
 * {@link disconnect} in a `finally`.
 */
export interface ToolProvider extends AsyncDisposable {
  /** Identifies the provider in a hub, in logs and in errors. */
  readonly name: string;
  /** Every kind but `'in-process'` is external: its calls have a default deadline. */
  readonly kind: 'in-process' | 'process' | 'mcp' | 'hub' | 'other';
  /** The deadline of calls that set none, in milliseconds. */
  readonly callTimeoutMs?: number;
  /** The prefixes of its tools' names, known before it connects. A hub has those of all its providers; they may change. */
  readonly servers: readonly string[];
  /**
   * Those of its {@link servers} that keep state between the calls of one `sessionId`, while it is connected: several
   * processes that take turns serving one session would each have their own state. Absent for a provider that does not
   * know. Wrappers must forward it.
   */
  readonly sessionServers?: readonly string[];
  /**
   * How long the last list of tools may be kept without asking again, in milliseconds, as its servers say. Absent where they
   * say nothing. Wrappers must forward it.
   */
  readonly toolsTtlMs?: number | undefined;
  /**
   * A hash of what it runs or connects to: command and arguments, or URL. A hub with pins compares it. Absent for a provider
   * in this process. Wrappers must forward it.
   */
  readonly sourceHash?: string | undefined;
  /**
   * Connects the provider. Idempotent; concurrent callers share one attempt. `onDemand`: true when a call causes it rather
   * than a person, so that a supervisor may refuse to restart a program that keeps failing.
   *
   * @throws {ToolError} why it could not be connected
   */
  connect(options?: { signal?: AbortSignal; onDemand?: boolean }): Promise<void>;
  /**
   * Lists all tools, by qualified name. `includeViewTools`: a hub also lists the tools that only views of MCP Apps call; other
   * providers always do.
   *
   * @throws {ToolError} why they could not be listed; NOT_CONNECTED after a disconnect
   */
  listTools(options?: { signal?: AbortSignal; includeViewTools?: boolean }): Promise<readonly ToolDefinition[]>;
  /** Calls a tool. Never rejects and never throws: every failure is a result with `isError` and a code. */
  callTool(name: string, args?: JsonObject, options?: CallOptions): Promise<ToolResult>;
  /**
   * Resolves the name, validates and coerces the arguments, and returns the claims of the call. Runs nothing and never
   * throws. Without it, a hub validates against `inputSchema` and claims the tool's name. Wrappers must forward it.
   */
  prepareCall?(name: string, args: JsonObject, options?: CallOptions): PreparedCall | Promise<PreparedCall>;
  /** Disconnects the provider. Idempotent, never rejects; calls in flight settle first, with `CONNECTION_CLOSED`. */
  disconnect(): Promise<void>;
  /**
   * Ends the state of one `sessionId`, such as its background jobs. Idempotent, never rejects. Wrappers must forward it.
   */
  endSession?(sessionId: string): Promise<void>;
  /** Calls `listener` when the list of tools has changed. Returns a function that unsubscribes. */
  onToolsChanged(listener: () => void): () => void;
  /** The state and the counters, without I/O. */
  health?(): ProviderHealth;
  /** Checks that the peer responds; does not connect. @throws {ToolError} when it does not respond or is not connected */
  ping?(options?: { signal?: AbortSignal }): Promise<void>;
  /** Calls `listener` once when the connection is lost without `disconnect()`. Returns a function that unsubscribes. */
  onLost?(listener: (failure: ToolError) => void): () => void;
  /** The features of an MCP server beyond tools. Wrappers must forward it. */
  readonly mcp?: McpPeer;
  /**
   * Calls `listener` with what happens in the provider beyond its calls: states, log entries, reloads. A hub passes it on in its
   * own event stream. Returns a function that unsubscribes. Wrappers must forward it.
   */
  onEvent?(listener: (event: ProviderEvent) => void): () => void;
}

/** Something that happened. */
export interface ProviderEvent {
  /** What happened, such as `provider.log`. A hub ignores types that it does not know. */
  readonly type: string;
  /** The call that it belongs to, if any. */
  readonly callId?: string | undefined;
  /** The call on whose behalf that one was made. */
  readonly parentCallId?: string | undefined;
  /** The session of the call. */
  readonly sessionId?: string | undefined;
  /** The provider's name. */
  readonly provider?: string | undefined;
  /** The qualified name of the tool. */
  readonly tool?: string | undefined;
  /** Details, by type. */
  readonly data?: JsonObject | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** Cancels the call: it settles immediately with `CANCELLED`, and the tool's signal is aborted. */
  signal?: AbortSignal | undefined;
  /**
   * The deadline of the call, in milliseconds from now; `Infinity` for none. Replaces every default. Progress does not renew
   * it, but it is paused while an approval is pending.
   */
  timeoutMs?: number | undefined;
  /**
   * The longest time without progress, in milliseconds; `Infinity` for none. Replaces every default. If `timeoutMs` is set
   * too, both apply.
   */
  idleTimeoutMs?: number | undefined;
  /** Receives the tool's progress, until the call has settled. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Identifies the call in logs and events. Default: a new id. */
  callId?: string | undefined;
  /** The id of the call on whose behalf this one is made; `ctx.nested` sets it. Default: none. */
  parentCallId?: string | undefined;
  /** Groups the calls of one session: background jobs and the files that were read belong to it. */
  sessionId?: string | undefined;
  /** The name by which the model knows the tool, such as an alias; error texts use it. Default: the qualified name. */
  calledAs?: string | undefined;
  /**
   * The answer to the approval request in {@link PreparedCall.verdict}. It applies to the hub that returned the verdict and is
   * not passed to inner providers.
   */
  approval?: Approval | undefined;
  /** Receives what the tool writes to `ctx.logger`, in addition to the provider's logger, until the call has settled. */
  onLog?: ((entry: LogEntry) => void) | undefined;
  /** Called when the policy requires an approval and has no `approve` function. */
  approve?: ((request: ApprovalRequest, context: ApprovalContext) => Approval | Promise<Approval>) | undefined;
  /**
   * Answers requests that an MCP server sends during this call: elicitation, sampling, roots. Without it, the provider's
   * handlers answer. While calls of several callers are in flight at a server, its requests are refused, so that no caller
   * answers a request of another's call. Callers are distinguished by `sessionId`, or by this function.
   */
  onRequest?: PeerRequestHandler | undefined;
  /**
   * Relays the rounds of a server of MCP 2026-07-28 that requires input during this call, instead of answering them with
   * `onRequest`. Providers of other kinds ignore it.
   */
  relay?: InputRelay | undefined;
  /** Passed to the tool as `ctx.meta`, and to an MCP server as `_meta`. */
  meta?: JsonObject | undefined;
  /**
   * Restricts what a call may access below its claims, such as single files of a claimed directory: the tool leaves out or
   * refuses what this denies. A hub sets it from its policy; only in-process tools respect it.
   */
  permits?: ((pattern: string) => boolean) | undefined;
  /**
   * Pauses the deadline, while a person or a model is asked; returns a function that resumes it. A hub sets it for providers
   * that ask during a call; a provider that enforces its own deadline pauses that too.
   */
  hold?: (() => () => void) | undefined;
}

/** How a caller relays the rounds of an MCP server to the client on whose behalf it calls. */
export interface InputRelay {
  /** The client capabilities that are declared to the server for this call. Default: those of the provider. */
  readonly capabilities?: JsonObject | undefined;
  /** The answer to the previous round, sent with the call. Default: none, as in the first round. */
  readonly answer?: InputAnswer | undefined;
  /**
   * Receives the input that the server requires. The call then settles with `CANCELLED`, as the server has ended it; to
   * continue, call again with the same arguments and the {@link answer}.
   */
  onRound(round: InputRound): void;
}

/** The input that an MCP server requires before it completes a request: `input_required` of MCP 2026-07-28. */
export interface InputRound {
  /** Requests by key, each with `method` and `params`: elicitation, sampling, roots. Absent when only a retry is required. */
  readonly inputRequests?: JsonObject;
  /** The server's opaque state, at most 64 KiB, which the answer must contain unchanged. */
  readonly requestState?: string;
}

/** The answer to an {@link InputRound}. */
export interface InputAnswer {
  /** The results of the requests, by the same keys. */
  readonly inputResponses?: JsonObject | undefined;
  /** The `requestState` of the round. */
  readonly requestState?: string | undefined;
}

/** The progress of a call: `progress` increases, up to `total` if that is known. */
export interface Progress {
  /** What is done so far; any unit. */
  progress: number;
  /** What there is to do, in the same unit. */
  total?: number;
  /** What is being done, for people. */
  message?: string;
}

/** A policy's verdict on a call that has not run. */
export interface PreparedVerdict {
  /** Whether the call runs, needs an approval, or is denied. */
  action: PolicyAction;
  /** Why, in one sentence. */
  reason: string;
  /** What to ask a person. Present when the action is `ask`. */
  request?: ApprovalRequest;
}

/** A call that is resolved and validated but has not run. */
export interface PreparedCall {
  /** The tool, as it was listed when the call was prepared. */
  readonly tool: ToolDefinition;
  /** The arguments as they will be sent, after coercion. */
  readonly args: JsonObject;
  /** The tool's deadline for this call, in milliseconds. */
  readonly timeoutMs?: number;
  /** The effects of the call, for a policy to evaluate. */
  readonly claims: readonly PermissionClaim[];
  /** Set when the call cannot run (unknown tool, wrong arguments): its result. */
  readonly refused?: ToolResult;
  /** The verdict of a hub's policy; with a `request` if the action is `ask`. Absent without a policy. */
  readonly verdict?: PreparedVerdict;
  /** Runs the call. Never rejects. A refused call returns its {@link refused} result. */
  execute(options?: CallOptions): Promise<ToolResult>;
}

/** The state of a provider: not connected, connecting, connected, partly working, or failed. */
export type ProviderState = 'COLD' | 'INITIALIZING' | 'READY' | 'DEGRADED' | 'DEAD';

/** The state and counters of a provider. Times are in milliseconds since the epoch. */
export interface ProviderHealth {
  /** The current state. */
  state: ProviderState;
  /** Failures since the last success. */
  consecutiveFailures: number;
  /** When a call last succeeded. Absent before the first success. */
  lastSuccessAt?: number;
  /** Calls so far. */
  totalInvocations: number;
  /** Calls that failed so far. */
  totalFailures: number;
  /** Starts after a failure; 0 for a provider that is not supervised. */
  restarts: number;
  /** When a supervisor may start the provider again. Absent unless it is waiting. */
  retryAt?: number;
  /** The message of the latest failure. */
  lastError?: string;
}

/**
 * Answers requests of an MCP server. An error with an integer `code` that it throws is sent to the server unchanged.
 *
 * @param params the server's parameters, unchecked
 * @param options `signal` is aborted when the server withdraws its request or the connection ends
 */
export type PeerRequestHandler = (
  method: string,
  params: JsonObject,
  options: { signal: AbortSignal },
) => Promise<JsonObject>;

/** The features of an MCP server beyond tools: resources, prompts, completion, and requests to the client. */
export interface McpPeer {
  /** The server's capabilities, as of its latest connection; empty before. A new object for each connection. */
  readonly capabilities: JsonObject;
  /**
   * Sends a request, connecting first if needed. Not for tools: `tools/*` is `INVALID_ARGUMENT`.
   *
   * @throws {ToolError} the failure; a JSON-RPC error has its code as `details.rpcCode`
   */
  request(
    method: string,
    params?: JsonObject,
    options?: Pick<CallOptions, 'signal' | 'timeoutMs' | 'callId' | 'sessionId' | 'onRequest' | 'relay'>,
  ): Promise<JsonObject>;
  /**
   * Calls `listener` for each notification of the server, in order with its responses, and with `list_changed` after each
   * connection. `call` is the latest call in flight, if all calls in flight belong to one caller. Returns a function that
   * unsubscribes.
   */
  onNotification(
    listener: (method: string, params: JsonObject, call?: Pick<CallOptions, 'callId' | 'sessionId'>) => void,
  ): () => void;
  /**
   * Sets the handler of the server's requests, for those that no other handler answers. `offers` are the client capabilities
   * that the next connection declares for it; default: form elicitation, sampling and roots.
   */
  setRequestHandler(handler: PeerRequestHandler | undefined, offers?: JsonObject): void;
  /**
   * Declares client capabilities, for callers whose calls set `onRequest`. A connection without them is replaced as soon as
   * no call is in flight. Returns a function that withdraws them from the next connection.
   */
  offer?(capabilities: JsonObject): () => void;
}
