// One tool call in a generation: sends it, forwards its progress and logs, settles it once, and cancels it with its scope.

import type { JsonObject, Logger, ToolResult } from '@toolwright/core';
import { copyJson, fromWireResult, outcomeUnknown, type CallScope } from '@toolwright/core/internal';
import { CALL_META } from '../wire/protocol.js';
import type { ListedTool } from '../wire/registration.js';
import type { ProviderGeneration } from './generation.js';

const CANCELLED_WORDS = 500;

/** The provider's name, for errors, and a callback for warnings about results. */
interface Caller {
  provider: string;
  logger: Logger;
}

/** @throws {ToolError} what ends the call; with `outcomeUnknown` in its details if it was sent */
export function callGeneration(
  generation: ProviderGeneration,
  tool: ListedTool,
  given: JsonObject,
  scope: CallScope,
  { provider, logger }: Caller,
): Promise<ToolResult> {
  const meta: JsonObject = typeof scope.meta === 'object' ? copyJson(scope.meta) : {};
  // Last, so that the caller's meta cannot override the call or session id.
  meta[CALL_META] = { callId: scope.callId, sessionId: scope.sessionId };
  return new Promise<ToolResult>((resolve, reject) => {
    const { onLog } = scope;
    const id = generation.call(tool.bareName, given, meta, {
      callId: scope.callId,
      resolve: (wire) => {
        try {
          const untimed = fromWireResult(wire, (what) =>
            logger.warn(`In the result of "${tool.definition.name}" ${what}.`),
          );
          resolve(Object.assign(untimed, { durationMs: performance.now() - scope.startedAt }));
        } catch (thrown) {
          reject(thrown);
        }
      },
      reject,
      onProgress: ({ progress, total, message }) => {
        if (typeof progress !== 'number') return;
        scope.progress({
          progress,
          ...(typeof total === 'number' && { total }),
          ...(typeof message === 'string' && { message }),
        });
      },
      ...(onLog && { onLog }),
    });
    scope.onEnd((error) => {
      generation.cancel(id, error.message.slice(0, CANCELLED_WORDS));
      reject(outcomeUnknown(error, provider, tool.definition.name));
    });
  });
}
