// Every message between a host and a provider process: JSON-RPC 2.0, one object a line, in both directions.
// docs/wire-protocol.md describes the rules.

import type { JsonObject, ToolErrorInfo } from '@toolwright/core';

/** The protocol version of this release; a host also accepts the one before. */
export const PROTOCOL_VERSION = 1;

/** The environment variables of a provider process. It deletes all three as soon as it has read them. */
export const SOCKET_VARIABLE = 'TOOLWRIGHT_SOCKET';
export const NAME_VARIABLE = 'TOOLWRIGHT_PROVIDER';
export const TOKEN_VARIABLE = 'TOOLWRIGHT_TOKEN';

/** The key of `_meta` with a call's ids: `{ callId, sessionId? }`. */
export const CALL_META = 'toolwright/call';

/** JSON-RPC's error codes, and the one for a {@link ToolErrorInfo} in `data`. */
export const RPC = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  toolError: -32_000,
} as const;

/** The exit code of a provider that the host rejected permanently: a wrong token, name, protocol or registration. */
export const REFUSED_EXIT_CODE = 78;

export type MessageId = string | number;

/** The error of a response. `data` is a {@link ToolErrorInfo} where the code is `RPC.toolError`. */
export interface RpcErrorObject {
  code: number;
  message: string;
  data?: unknown;
}

// Provider -> host.

/** `provider/register`, which must be the first message. */
export interface RegisterParams {
  protocol: number;
  token: string;
  name: string;
  version: string;
  description: string;
  /** As in MCP's `tools/list`, with bare names. */
  tools: JsonObject[];
  pid: number;
  capabilities: ProviderCapabilities;
}

/** Which optional functions a provider has; an absent one is not requested. */
export interface ProviderCapabilities {
  initialize?: boolean;
  decide?: boolean;
  state?: boolean;
  dispose?: boolean;
  endSession?: boolean;
}

/** The response to `provider/register`. */
export interface RegisterResult {
  protocol: number;
  config: JsonObject;
  variables: Record<string, string>;
  previousState: JsonObject | null;
  limits: { maxFrameBytes: number; maxDepth: number };
}

/** `notifications/message`: an entry of a provider's log. */
export interface LogParams {
  level: string;
  data: JsonObject;
  _meta?: JsonObject;
}

// Host -> provider.

/** The settings of a provider. */
export interface ProviderSettings {
  /** The configuration that the host passes to the provider. */
  config: JsonObject;
  /** Settings and secrets by name. They are not in the environment. */
  variables: Record<string, string>;
}

/** Why a provider is initialized: it was started, it replaces another generation, or its config changed. */
export type InitializeReason = 'start' | 'reload' | 'config';

/** `provider/initialize`, before any call and again after each change of the config. Response: `{}`. */
export interface InitializeParams extends ProviderSettings {
  previousState: JsonObject | null;
  reason: InitializeReason;
  isReinitialization: boolean;
}

/** `tools/call`. Response: MCP's CallToolResult, with `toolwright/error` and `toolwright/directives` in `_meta`. */
export interface CallParams {
  name: string;
  arguments: JsonObject;
  _meta?: JsonObject;
}

/** `provider/decide`. Response: {@link Decision}. */
export interface DecideParams {
  old: ProviderSettings;
  new: ProviderSettings;
}

/** What a changed config requires; `restart` takes precedence. */
export interface Decision {
  /** Whether the process must be restarted. */
  restart: boolean;
  /** Whether the state must be created again. */
  reinitialize: boolean;
}

/** The response to `provider/export_state`: the JSON part of the state, and the dotted paths of the rest. */
export interface ExportedState {
  /** The state as JSON. */
  state: JsonObject | null;
  /** The paths of values that could not be exported. */
  dropped: string[];
}

/**
 * `provider/drain`, answered `{ drained }` when no call is in flight or the deadline has passed. `provider/dispose`:
 * `{}`.
 */
export interface DrainParams {
  deadlineMs: number;
}

/** `provider/end_session`: the session with this `sessionId` has ended. Response: `{}`. */
export interface EndSessionParams {
  sessionId: string;
}

/** True for a version that a host of version `newest` accepts: that one and the one before. */
export function speaksProtocol(version: unknown, newest: number = PROTOCOL_VERSION): boolean {
  return version === newest || (version === newest - 1 && version >= 1);
}

/** The plain form of an error, as `data` of a JSON-RPC error carries it. */
export function isErrorInfo(value: unknown): value is ToolErrorInfo {
  if (typeof value !== 'object' || value === null) return false;
  const { code, message } = value as Partial<ToolErrorInfo>;
  return typeof code === 'string' && typeof message === 'string';
}
