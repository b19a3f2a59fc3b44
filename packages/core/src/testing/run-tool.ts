// runTool(): runs one tool without a provider, a server or a process.

import { isMadeBy } from '../contract/brand.js';
import { CALL_OPTIONS, CallScope } from '../call/call-scope.js';
import { ToolError } from '../contract/errors.js';
import { SILENT_LOGGER, type Logger } from '../contract/logger.js';
import { assertOptions, type OptionNames } from '../contract/options.js';
import { errorResult, type ToolResult } from '../contract/result.js';
import { CallContext, executeTool, ownTimeoutMs, parseArguments } from '../tool/run-call.js';
import { prepareTool, type Tool } from '../tool/define-tool.js';
import type { CallOptions } from '../contract/tool-provider.js';

/** Options of {@link runTool}: {@link CallOptions}, and what a provider passes to the tool. */
export interface RunToolOptions<State> extends CallOptions {
  /** `ctx.state`. Default: undefined. */
  state?: State;
  /** `ctx.logger`. Default: silent. */
  logger?: Logger;
  /** `ctx.provider`. Default: `'test'`. */
  provider?: string;
}

const RUN_TOOL_OPTIONS: OptionNames<RunToolOptions<unknown>> = {
  state: true,
  logger: true,
  provider: true,
  ...CALL_OPTIONS,
};

/**
 * Runs a tool as a provider does: coerces and validates the arguments, converts exceptions to results, and validates the
 * output. Never rejects.
 *
 * @example
 * ```ts
 * const result = await runTool(add, { a: 1, b: 2 });
 * assert.deepEqual(result.structuredContent, { sum: 3 });
 * ```
 */
export async function runTool<Args, State = unknown>(
  tool: Tool<Args, unknown, State>,
  args: Args,
  options: RunToolOptions<State> = {},
): Promise<ToolResult> {
  try {
    assertOptions('runTool()', options, RUN_TOOL_OPTIONS);
  } catch (thrown) {
    return errorResult(ToolError.from(thrown), performance.now());
  }
  const { state, logger = SILENT_LOGGER, provider = 'test', ...call } = options;
  const scope = new CallScope(call);
  try {
    if (!isMadeBy('CompiledSchema', (tool as Partial<Tool> | undefined)?.input))
      throw new ToolError('INVALID_ARGUMENT', 'runTool() expects a tool from defineTool().');
    await prepareTool(tool);
    const { value } = await parseArguments(tool, args);
    scope.setDeadline(ownTimeoutMs(tool, value));
    if (scope.error) throw scope.error;
    const result = await scope.race(
      Promise.resolve(executeTool(tool, value, new CallContext(scope, provider, state, logger))),
    );
    return { ...result, durationMs: performance.now() - scope.startedAt };
  } catch (thrown) {
    return errorResult(ToolError.from(thrown), scope.startedAt);
  } finally {
    scope.close();
  }
}
