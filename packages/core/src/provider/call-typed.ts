// callTyped: a call whose arguments and answer have types, and whose failure is a rejection.

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

/** {@link CallOptions}, with the server to call where several have a tool of that name. */
export interface CallTypedOptions extends CallOptions {
  /** The tool's server. Default: the one server of the provider that has a tool of that name. */
  server?: string;
}

const CALL_TYPED_OPTIONS: OptionNames<CallTypedOptions> = { server: true, ...CALL_OPTIONS };

/**
 * Calls a tool that you hold the definition of: typed arguments in, typed output out. A tool without an output schema
 * gives its structured content where it made some, else its text. An output that is not an object is given as it is.
 *
 * @throws {ToolError} the error of the result, when it is one
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
      'callTyped() takes a provider first; of a server make one: new InProcessToolProvider({ servers: [server] }).',
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

/** A schema of the author's own that cannot be read here was enforced by the provider. */
function validatorOf(schema: JsonSchema): JsonSchemaValidator {
  try {
    return readListedSchema(schema);
  } catch {
    return (value) => ({ value });
  }
}

const validators = new WeakMap<object, JsonSchemaValidator>();

/** The name may lead to another tool than the one whose types the caller has. @throws {ToolError} OUTPUT_INVALID */
function assertOutput(tool: Tool, name: string, { structuredContent }: ToolResult): void {
  const schema = tool.output?.jsonSchema;
  if (!schema) return;
  let validate = validators.get(schema);
  if (!validate) validators.set(schema, (validate = validatorOf(schema)));
  const { issues } = validate(structuredContent ?? {});
  if (!issues) return;
  throw new ToolError(
    'OUTPUT_INVALID',
    `"${name}" ran, and its output is not that of the tool that was given: ${describeIssues(issues)}. ` +
      'Where several servers have a tool of that name, name the server.',
    { tool: name },
  );
}
