// The TypeScript types of the values that a schema accepts. Types only, and shallow: an unsupported schema is
// `unknown`.

import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject, JsonSchema } from '../contract/json.js';

/**
 * What `input` and `output` of a tool take: a schema of zod 4.2 or later, zod 3.25, ArkType or any other Standard
 * Schema that gives its JSON Schema (valibot through `toStandardJsonSchema`), or a plain JSON Schema of an object.
 */
export type ToolSchema = StandardSchemaV1<any, any> | JsonSchema; // eslint-disable-line @typescript-eslint/no-explicit-any -- the position of an inferred type

/** The type that a caller passes: fields with a default may be left out. */
export type SchemaInput<S> = S extends StandardSchemaV1<infer Input, unknown> ? Input : FromJsonSchema<S, 'input'>;

/** The type after parsing: transforms applied, defaults filled in. */
export type SchemaOutput<S> = S extends StandardSchemaV1<unknown, infer Output> ? Output : FromJsonSchema<S, 'output'>;

/**
 * The type of a JSON Schema literal. It reads `const`, `enum`, `type` (one or several), `properties`, `required`,
 * `items`, `additionalProperties`, `anyOf` and `oneOf`; with `side` `'output'` a property with a default is present.
 */
export type FromJsonSchema<S, Side extends 'input' | 'output' = 'output'> = S extends { const: infer Value }
  ? Value
  : S extends { enum: readonly (infer Value)[] }
    ? Value
    : S extends { anyOf: readonly (infer Member)[] } | { oneOf: readonly (infer Member)[] }
      ? Member extends unknown
        ? FromJsonSchema<Member, Side>
        : never
      : S extends { type: readonly (infer Type)[] }
        ? Type extends unknown
          ? FromType<Type, S, Side>
          : never
        : S extends { type: infer Type }
          ? string extends Type
            ? unknown
            : FromType<Type, S, Side>
          : string extends keyof S
            ? JsonObject
            : unknown;

type FromType<Type, S, Side extends 'input' | 'output'> = Type extends 'string'
  ? string
  : Type extends 'number' | 'integer'
    ? number
    : Type extends 'boolean'
      ? boolean
      : Type extends 'null'
        ? null
        : Type extends 'array'
          ? S extends { items: infer Item }
            ? FromJsonSchema<Item, Side>[]
            : unknown[]
          : Type extends 'object'
            ? FromObject<S, Side>
            : unknown;

type FromObject<S, Side extends 'input' | 'output'> = S extends { properties: infer P }
  ? Flatten<
      { -readonly [K in keyof P as K extends PresentKeys<S, P, Side> ? K : never]: FromJsonSchema<P[K], Side> } & {
        -readonly [K in keyof P as K extends PresentKeys<S, P, Side> ? never : K]?: FromJsonSchema<P[K], Side>;
      } & Extra<S>
    >
  : S extends { additionalProperties: infer Values extends object }
    ? Record<string, FromJsonSchema<Values, Side>>
    : JsonObject;

type PresentKeys<S, P, Side> =
  | (S extends { required: readonly (infer Key)[] } ? Key : never)
  | (Side extends 'output' ? { [K in keyof P]: P[K] extends { default: unknown } ? K : never }[keyof P] : never);

type Extra<S> = S extends { additionalProperties: true } ? JsonObject : unknown;

type Flatten<T> = { [K in keyof T]: T[K] };
