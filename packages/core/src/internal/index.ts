/**
 * What the three packages share: call scopes, argument copies, running a tool, results on a wire. For implementers of
 * providers. It has no stable API: anything here may change with every release.
 *
 * `defineTool`, `ToolServer` and `ToolError` are here too, only for provider processes: `@toolwright/core` would load
 * the hub into each of them.
 *
 * @example
 * ```ts
 * import { settledWithin } from '@toolwright/core/internal';
 *
 * const work = [fetch('data:,one'), fetch('data:,two')];
 * const isDone = await settledWithin(work, 1_000); // false after a second
 * ```
 * @module
 */

import { assertNodeVersion } from '../node-version.js';

export { BRAND, isMadeBy } from '../contract/brand.js';
export {
  assertTimeout,
  type CallObserver,
  CallScope,
  MAX_TOTAL_TIMEOUT_MS,
  outcomeUnknown,
  TAKES_SCOPES,
} from '../call/call-scope.js';
export { startTimer, type Deadline } from '../call/deadline.js';
export { CallCounters } from '../call/call-counters.js';
export { messageOf, ToolError } from '../contract/errors.js';
export { isDirective } from '../contract/directives.js';
export { canonicalJson } from '../contract/canonical-json.js';
export { isDeeperThan, isJsonObject } from '../contract/json.js';
export { copyArguments, copyAsJson, copyJson, deepFreeze, frozenCopy, snapshot } from '../contract/json-copy.js';
export { callSafely, Listeners, safeLogger } from '../call/host-callbacks.js';
export { SILENT_LOGGER, WARNING_LOGGER } from '../contract/logger.js';
export { redactedText } from '../contract/redacted-text.js';
export { likelyName } from '../contract/nearest-names.js';
export { assertOptions, copyTexts, shownValue, type OptionNames, type OptionType } from '../contract/options.js';
export { ConnectionLifecycle } from '../provider/connection-lifecycle.js';
export { bareName, prepareFromListing, type ListedCall } from '../provider/prepared-call.js';
export { isSameListing, isSameCall, staleCallError, rejectedCall, isStaleCall } from '../provider/prepared-call.js';

export { errorResult, hasBrokenOutput, isOwnFailure, type UntimedResult } from '../contract/result.js';
export {
  CallContext,
  executeTool,
  executionFailed,
  finishTool,
  isThenable,
  listedTimeoutMs,
  parseArguments,
  startTool,
  TIMEOUT_META,
  type ParsedArguments,
} from '../tool/run-call.js';

export { isForViewsOnly } from '../contract/tool-definition.js';
export { ToolIndex } from '../provider/tool-index.js';
export { defineTool, fillAnnotations, listingOf, nameFault, prepareTool } from '../tool/define-tool.js';
export { ToolServer } from '../tool/define-server.js';
export { START_OUTPUT, startOutputOf, withStartOutput, type StartOutput } from '../provider/start-output.js';
export { deferred, settledWithin, untilAborted, type Deferred } from '../call/waiting.js';
export { fromWireResult, toWireResult, type WireResult } from '../mcp/tools/wire-result.js';
export { showHidden } from '../contract/shell-words.js';
export { lastText, plainText, withoutSecrets, withoutSecretsInside } from '../contract/sanitize.js';
export {
  DEFAULT_MAX_FRAME_BYTES,
  frameOf,
  FrameReader,
  type FrameListener,
  type FrameReaderOptions,
} from '../mcp/transport/frames.js';
export { StreamTail } from '../process/stream-tail.js';

assertNodeVersion();
