// @toolwright/core/kit, for implementers of providers: what the providers of these packages are made of. The life of a
// call, the running of an authored tool, lists, results on a wire. It may change with every release.

import { assertNodeVersion } from '../node-version.js';

export { BRAND, isMadeBy } from '../brand.js';
export { assertTimeout, CallScope, MAX_TOTAL_TIMEOUT_MS, outcomeUnknown, TAKES_SCOPES } from '../call-scope.js';
export { startTimer } from '../deadline.js';
export { CallCounters } from '../call-counters.js';
export { messageOf, ToolError } from '../errors.js';
export { isDirective } from '../directives.js';
export { copyArguments, copyAsJson, copyJson, deepFreeze, frozenCopy, snapshot } from '../json-copy.js';
export { callSafely, Listeners, safeLogger } from '../listeners.js';
export { SILENT_LOGGER, WARNING_LOGGER } from '../logger.js';
export { assertOptions, copyTexts, type OptionNames } from '../options.js';
export { ProviderLife } from '../provider-life.js';
export { isSameCall, preparedBefore, refusedCall, wasPreparedBefore } from '../refused-call.js';
export { errorResult, hasBrokenOutput, isOwnFailure, type UntimedResult } from '../result.js';
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
} from '../tool-call.js';
export { ToolIndex } from '../tool-index.js';
export { defineTool, fillAnnotations, listingOf, nameFault, prepareTool } from '../tool.js';
export { ToolServer } from '../tool-server.js';
export { START_OUTPUT, startOutputOf, withStartOutput, type StartOutput } from '../start-output.js';
export { settledWithin, untilAborted } from '../waiting.js';
export { fromWireResult, toWireResult, type WireResult } from '../mcp/wire-result.js';
export { lastWords, plainWords, withoutSecrets, withoutSecretsInside } from '../mcp/server-words.js';
export { StreamTail } from '../process/stream-tail.js';

assertNodeVersion();
