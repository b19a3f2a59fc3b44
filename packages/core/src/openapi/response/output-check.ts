// Checks results against the listed schemas of the responses. Documents are often wrong about them, so it reports by default.

import { ToolError } from '../../contract/errors.js';
import type { JsonObject } from '../../contract/json.js';
import { noteBrokenOutput, type UntimedResult } from '../../contract/result.js';
import type { ToolDefinition } from '../../contract/tool-definition.js';
import type { JsonSchemaValidator } from '../../tool/json-schema-validator.js';
import { readListedSchema } from '../../tool/listed-schema-validator.js';
import { describeIssues } from '../../tool/schema.js';

/** The validators of one provider's results. */
export class OutputCheck {
  readonly #mode: 'warn' | 'strict' | 'off';
  readonly #warn: (message: string) => void;
  /** Null: the schema is beyond the limits, and not enforced. */
  readonly #validators = new WeakMap<ToolDefinition, JsonSchemaValidator | null>();

  constructor(mode: 'warn' | 'strict' | 'off', warn: (message: string) => void) {
    this.#mode = mode;
    this.#warn = warn;
  }

  /**
   * Marks a result that does not match the tool's schema, and warns.
   *
   * @throws {ToolError} OUTPUT_INVALID instead, with `'strict'`
   */
  check(tool: ToolDefinition, result: UntimedResult): void {
    if (!tool.outputSchema || this.#mode === 'off') return;
    const { structuredContent } = result;
    const issues = structuredContent && this.#validatorOf(tool)?.(structuredContent).issues;
    if (structuredContent && !issues) return;
    const why = issues ? describeIssues(issues) : 'it is not JSON';
    const message = `"${tool.name}" ran, but its response does not match its schema: ${why}.`;
    if (this.#mode === 'strict') throw new ToolError('OUTPUT_INVALID', message, { tool: tool.name });
    noteBrokenOutput(result);
    this.#warn(message);
  }

  #validatorOf(tool: ToolDefinition): JsonSchemaValidator | null {
    let validator = this.#validators.get(tool);
    if (validator === undefined) {
      try {
        validator = readListedSchema(tool.outputSchema as JsonObject);
      } catch {
        validator = null; // beyond the limits
      }
      this.#validators.set(tool, validator);
    }
    return validator;
  }
}
