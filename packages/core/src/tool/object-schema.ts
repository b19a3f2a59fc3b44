// Builds the schemas and hints of the built-in tools: closed objects whose TypeScript type `FromJsonSchema` infers.

import type { JsonSchema } from '../contract/json.js';
import type { ToolAnnotations } from '../contract/tool-definition.js';

type Properties = Readonly<Record<string, JsonSchema>>;

/** The JSON Schema that {@link objectSchema} returns. A type, as an interface would not be assignable to a JSON object. */
export type ObjectSchema<Required extends Properties, Optional extends Properties> = {
  readonly type: 'object';
  readonly properties: Required & Optional;
  readonly required: readonly (keyof Required & string)[];
  readonly additionalProperties: false;
};

/**
 * The JSON Schema of an object with these properties and no others; those in `optional` may be absent. A property of an input
 * with a default belongs in `optional`.
 */
export function objectSchema<
  const Required extends Properties,
  const Optional extends Properties = Record<never, JsonSchema>,
>(required: Required, optional: Optional = {} as Optional): ObjectSchema<Required, Optional> {
  const names = Object.keys(required);
  return {
    type: 'object',
    properties: { ...required, ...optional },
    ...(names.length > 0 && { required: names }),
    additionalProperties: false,
  } as ObjectSchema<Required, Optional>;
}

type Hint = 'readOnly' | 'destructive' | 'idempotent' | 'openWorld';

/** All four hints of a tool: true for those named, false for the others. */
export function hints(...named: Hint[]): ToolAnnotations {
  return {
    readOnlyHint: named.includes('readOnly'),
    destructiveHint: named.includes('destructive'),
    idempotentHint: named.includes('idempotent'),
    openWorldHint: named.includes('openWorld'),
  };
}
