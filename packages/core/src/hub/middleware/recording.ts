// withRecording: writes what passes through a hub as a recording, which a ReplayToolProvider replays.

import { resolve } from 'node:path';
import { safeLogger } from '../../call/host-callbacks.js';
import { ToolError } from '../../contract/errors.js';
import { WARNING_LOGGER, type Logger } from '../../contract/logger.js';
import type { OptionNames } from '../../contract/options.js';
import type { ToolDefinition } from '../../contract/tool-definition.js';
import { isStaleCall } from '../../provider/prepared-call.js';
import type { ToolSelection } from '../../provider/tool-selection.js';
import { CallRecorder, type OpenRecording } from '../../recording/call-recorder.js';
import { recordedCall } from '../../recording/recorded-values.js';
import { recordingHeader } from '../../recording/recording-format.js';
import { MAX_PENDING_CHARACTERS, RecordingWriter } from '../../recording/recording-writer.js';
import type { Middleware, MiddlewareCall, SettledCall } from './middleware.js';
import { assertMiddlewareOptions, isSelected } from './selected-tools.js';

/** Options of {@link withRecording}: `file` or `write`, not both. */
export interface RecordingOptions extends ToolSelection {
  /** Where the recording is written. An older file is replaced; only this user can read the new one. */
  file?: string;
  /**
   * Receives the recording instead: one or more whole lines, each with its newline. The next ones come when its promise has
   * resolved; what it throws ends the recording.
   */
  write?: (lines: string) => unknown;
  /** The name in the header of the recording, which the replaying provider has. Default `'recording'`. */
  name?: string;
  /**
   * The most that waits to be written, in characters. Beyond it the recording ends, and `flush` rejects. Calls never wait.
   * Default 67,108,864.
   */
  maxPendingCharacters?: number;
  /** Receives the reason when the recording is incomplete. Default: `process.emitWarning`, each text once. */
  logger?: Logger;
}

/** The middleware of {@link withRecording}. */
export interface RecordingMiddleware extends Middleware {
  /**
   * Records a list of tools, such as `await hub.listTools()`. Without it a recording lists only the tools that were called.
   */
  recordTools(tools: readonly ToolDefinition[]): void;
  /** Resolves when everything so far is written. @throws {ToolError} why the recording is incomplete */
  flush(): Promise<void>;
}

const OPTIONS: OptionNames<RecordingOptions> = {
  file: true,
  write: true,
  name: true,
  maxPendingCharacters: true,
  logger: true,
  include: true,
  exclude: true,
};

/**
 * A middleware that records the calls that the policy allows, with their progress and their results, as they happen. Secrets are
 * redacted by name and by shape. Calls that the policy denies or that are invalid are not part of it.
 *
 * It records what it sees: put it last to record what providers return, first to record what the other middlewares make of it.
 * Calls never wait for the disk, and a disk that fails does not make them fail.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option
 * @example
 * ```ts
 * const recording = withRecording({ file: 'session.ndjson' });
 * const hub = new ToolHub({ providers, middleware: [recording] });
 * recording.recordTools(await hub.listTools());
 * ```
 */
export function withRecording(options: RecordingOptions): RecordingMiddleware {
  const {
    file,
    write,
    name = 'recording',
    maxPendingCharacters = MAX_PENDING_CHARACTERS,
  } = Object(options) as typeof options;
  assertMiddlewareOptions('withRecording()', options, OPTIONS, { maxPendingCharacters });
  const writer = new RecordingWriter({
    target: targetOf(file, write),
    header: () => recordingHeader({ name, kind: 'hub', servers: [] }),
    maxPendingCharacters,
    logger: safeLogger(options.logger ?? WARNING_LOGGER),
  });
  const recorder = new CallRecorder(writer);
  const open = new WeakMap<MiddlewareCall, OpenRecording>();

  const run: Middleware = async (call, next) => {
    if (!isSelected(call, options)) return next();
    let recording = call.previous && open.get(call.previous);
    if (!recording) {
      recorder.listOne(call.tool);
      recording = recorder.start(recordedCall(call.name, call.args));
      call.onProgress(recording.progress);
    }
    open.set(call, recording);
    const result = await next();
    if (!isStaleCall(result)) recording.settle(result); // else the hub prepares the call again
    return result;
  };
  // A call that ended early has no other result than the one its caller received.
  const onSettled = ({ call, result }: SettledCall): void => (call ? open.get(call)?.settle(result) : undefined);
  return Object.assign(run, {
    onSettled,
    recordTools: (tools: readonly ToolDefinition[]) => recorder.list(tools),
    flush: () => writer.flush(),
  });
}

function targetOf(file: unknown, write: unknown): string | ((lines: string) => unknown) {
  if (typeof file === 'string' && file !== '' && write === undefined) return resolve(file); // the working directory may change
  if (typeof write === 'function' && file === undefined) return write as (lines: string) => unknown;
  throw new ToolError('INVALID_ARGUMENT', 'withRecording() takes either a path as `file` or a function as `write`.');
}
