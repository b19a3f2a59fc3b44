// callTyped(): a call with typed arguments and output that rejects on failure.

import { CALL_OPTIONS } from '../call/call-scope.js';
import { ToolError } from '../contract/errors.js';
import type { JsonObject, JsonSchema } from '../contract/json.js';
import { assertOptions, type OptionNames } from '../contract/options.js';
import { textOf, type ToolResult } from '../contract/result.js';
import type { JsonSchemaValidator } from '../tool/json-schema-validator.js';
import { readListedSchema } from '../tool/listed-schema-validator.js';
import { describeIssues } from '../tool/schema.js';
import type { Tool } from '../tool/define-tool.js';
import type { CallOptions, ToolProvider } from '../contract/tool-provider.js';

/** {@link CallOptions}, and the server to call when several servers have a tool of that name. */
export interface CallTypedOptions extends CallOptions {
  /** The tool's server. Default: the only server of the provider that has a tool of that name. */
  server?: string;
}

const CALL_TYPED_OPTIONS: OptionNames<CallTypedOptions> = { server: true, ...CALL_OPTIONS };

/**
 * Calls a tool whose definition you have, with typed arguments and a typed output. For a tool without an output schema the
 * output is the structured content, or the text if there is none. An output that is not an object is returned unwrapped.
 *
 * @throws {ToolError} the result's error, when the call fails
 * @example
 * ```ts
 * const { sum } = await callTyped(provider, add, { a: 1, b: 2 });
 * ```
 */
export async function callTyped<Args, Output>(
  provider: ToolProvider,
  tool: Tool<Args, Output>,
  args: Args,
  options: CallTypedOptions = {},
): Promise<Output> {
  assertOptions('callTyped()', options, CALL_TYPED_OPTIONS);
  const { server, ...callOptions } = options;
  if (typeof (provider as Partial<ToolProvider> | undefined)?.callTool !== 'function')
    throw new ToolError(
      'INVALID_ARGUMENT',
      'callTyped() takes a provider as its first argument; wrap a server in one: new InProcessToolProvider({ servers: [server] }).',
    );
  if (typeof (tool as Partial<typeof tool> | undefined)?.name !== 'string')
    throw new ToolError(
      'INVALID_ARGUMENT',
      'callTyped() takes as its second argument the tool that defineTool() made.',
    );
  const name = server === undefined ? tool.name : `${server}.${tool.name}`;
  const result = await provider.callTool(name, args as JsonObject, callOptions);
  if (result.isError) {
    const info = result.error ?? { code: 'EXECUTION_FAILED', message: textOf(result) };
    throw new ToolError({ ...info, provider: provider.name, tool: name });
  }
  assertOutput(tool, name, result);
  const structured = tool.output?.wraps ? result.structuredContent?.result : result.structuredContent;
  return (structured ?? textOf(result)) as Output;
}

/** A schema that cannot be compiled here is not checked: the provider enforced it. */
function validatorOf(schema: JsonSchema): JsonSchemaValidator {
  try {
    return readListedSchema(schema);
  } catch {
    return (value) => ({ value });
  }
}

const validators = new WeakMap<object, JsonSchemaValidator>();

/** Checks the output, as the name may belong to a different tool than `tool`. @throws {ToolError} OUTPUT_INVALID */
function assertOutput(tool: Tool, name: string, { structuredContent }: ToolResult): void {
  const schema = tool.output?.jsonSchema;
  if (!schema) return;
  let validate = validators.get(schema);
  if (!validate) validators.set(schema, (validate = validatorOf(schema)));
  const { issues } = validate(structuredContent ?? {});
  if (!issues) return;
  throw new ToolError(
    'OUTPUT_INVALID',
    `"${name}" ran, but its output does not match the schema of the given tool: ${describeIssues(issues)}. ` +
      'If several servers have a tool of that name, set the option `server`.',
    { tool: name },
  );
}
