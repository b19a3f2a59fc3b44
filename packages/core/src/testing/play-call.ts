// Plays one recorded call: its progress and its result, at once or at the times at which they came.

import { outcomeUnknown, type CallScope } from '../call/call-scope.js';
import { startTimer } from '../call/deadline.js';
import { deferred } from '../call/waiting.js';
import { ToolError } from '../contract/errors.js';
import { noteBrokenOutput, noteOwnFailure, type ToolResult } from '../contract/result.js';
import type { RecordedResult } from '../recording/recording-format.js';
import type { ReadCall } from '../recording/recording-reader.js';

/**
 * Reports the progress of a recorded call to the scope, and returns a copy of its result.
 *
 * @throws {ToolError} what ends the call early; OUTCOME_UNKNOWN when the recorded call had not settled
 */
export async function playCall(
  { progress, result, name }: ReadCall,
  scope: CallScope,
  { isTimed, provider }: { isTimed: boolean; provider: string },
): Promise<ToolResult> {
  const startedAt = performance.now();
  const until = (ms: number): Promise<void> =>
    isTimed ? pause(startedAt + ms - performance.now(), scope) : Promise.resolve();
  try {
    await until(0);
    for (const line of progress) {
      await until(line.ms);
      scope.progress(line.progress);
    }
    if (result) await until(result.ms);
    if (scope.error) throw scope.error;
  } catch (thrown) {
    throw outcomeUnknown(ToolError.from(thrown, 'INTERNAL'), provider, name ?? '');
  }
  if (result) return restoredResult(result.result);
  const message = 'The call had not settled when the recording ended, so its result is not known.';
  throw new ToolError('OUTCOME_UNKNOWN', message, { provider });
}

/** A copy of a recorded result, with its marks. */
export function restoredResult({ own, brokenOutput, ...recorded }: RecordedResult): ToolResult {
  const result: ToolResult = { ...structuredClone(recorded), durationMs: 0 };
  if (own) noteOwnFailure(result);
  if (brokenOutput) noteBrokenOutput(result);
  return result;
}

/** Waits, or rejects with what ends the call first. */
async function pause(ms: number, scope: CallScope): Promise<void> {
  const { promise, resolve } = deferred();
  const stop = startTimer(Math.max(0, ms), resolve);
  try {
    await scope.race(promise);
  } finally {
    stop();
  }
}
