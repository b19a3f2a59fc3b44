// The format of a recording: JSON, one line each. A header, then lists of tools, prepared calls, calls, their progress and
// their results, in the order in which they happened. docs/testing.md documents it.

import type { PermissionClaim } from '../contract/claims.js';
import type { PreparedVerdict, Progress, ToolProvider } from '../contract/tool-provider.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import type { ToolResult } from '../contract/result.js';

/** The version of the format. It grows when an older reader would misread a recording; new types of lines do not count. */
export const RECORDING_VERSION = 1;

/** The first line: what was recorded. */
export interface HeaderLine {
  readonly type: 'recording';
  /** The version of the format. */
  readonly v: typeof RECORDING_VERSION;
  /** The name of the recorded provider or hub. */
  readonly name: string;
  readonly kind: ToolProvider['kind'];
  /** The prefixes of its tools, as known when the recording began. */
  readonly servers: readonly string[];
  readonly callTimeoutMs?: number;
  readonly sourceHash?: string;
  /** When the recording began: ISO 8601, UTC. */
  readonly at: string;
}

/** A list of tools, as it was read. */
export interface ToolsLine {
  readonly type: 'tools';
  readonly tools: readonly ToolDefinition[];
  /** The tools are added to the list, or replace those of the same name. Absent when they are all tools. */
  readonly partial?: true;
}

/** The provider reported that its list of tools changed. */
export interface ChangedLine {
  readonly type: 'changed';
}

/** A call that was resolved and validated; a call that runs follows as a line of its own. */
export interface PrepareLine {
  readonly type: 'prepare';
  readonly name: string | null;
  /** The arguments as they were given. */
  readonly args: unknown;
  /** The qualified name of the tool. */
  readonly tool: string;
  /** The arguments after coercion. Absent when they are those that were given. */
  readonly sent?: unknown;
  readonly claims: readonly PermissionClaim[];
  readonly timeoutMs?: number;
  readonly verdict?: PreparedVerdict;
  /** The result of a call that cannot run. */
  readonly refused?: RecordedResult;
}

/** A call, when it was made. */
export interface CallLine {
  readonly type: 'call';
  /** Numbers the calls of the recording. */
  readonly id: number;
  /** The name as it was called; null for one that is not a string. */
  readonly name: string | null;
  readonly args: unknown;
}

/** Progress of a call. */
export interface ProgressLine {
  readonly type: 'progress';
  readonly id: number;
  readonly progress: Progress;
  /** When it was reported, in milliseconds since the call was made. */
  readonly ms: number;
}

/** The result of a call, when it settled. */
export interface ResultLine {
  readonly type: 'result';
  readonly id: number;
  readonly result: RecordedResult;
  /** When the call settled, in milliseconds since it was made. */
  readonly ms: number;
}

/** The recorder stopped before the run ended. The last line. */
export interface IncompleteLine {
  readonly type: 'incomplete';
  readonly reason: string;
}

/** One line of a recording. */
export type RecordingLine =
  HeaderLine | ToolsLine | ChangedLine | PrepareLine | CallLine | ProgressLine | ResultLine | IncompleteLine;

/** A result without its duration, with the marks that are not part of its JSON. */
export interface RecordedResult extends Omit<ToolResult, 'durationMs'> {
  /** The error was reported by the provider, not by its peer or the tool. */
  readonly own?: true;
  /** The structured content does not match the tool's output schema. */
  readonly brokenOutput?: true;
}

/** A call as a recording identifies it: the name, and the arguments as JSON with secrets redacted. */
export interface RecordedCall {
  readonly name: string | null;
  readonly args: unknown;
}

/** The header of a recording that begins now. */
export function recordingHeader(
  provider: Pick<ToolProvider, 'name' | 'kind' | 'servers' | 'callTimeoutMs' | 'sourceHash'>,
): HeaderLine {
  const { name, kind, servers, callTimeoutMs, sourceHash } = provider;
  return {
    type: 'recording',
    v: RECORDING_VERSION,
    name,
    kind,
    servers,
    ...(callTimeoutMs !== undefined && callTimeoutMs !== Infinity && { callTimeoutMs }),
    ...(sourceHash !== undefined && { sourceHash }),
    at: new Date().toISOString(),
  };
}
