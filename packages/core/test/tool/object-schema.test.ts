import { describe, expect, expectTypeOf, it } from 'vitest';
import type { FromJsonSchema } from '../../src/tool/infer-schema.js';
import { hints, objectSchema } from '../../src/tool/object-schema.js';

describe('objectSchema()', () => {
  it('requires the first properties and forbids properties that neither object has', () => {
    expect(objectSchema({ path: { type: 'string' } }, { limit: { type: 'integer' } })).toEqual({
      type: 'object',
      properties: { path: { type: 'string' }, limit: { type: 'integer' } },
      required: ['path'],
      additionalProperties: false,
    });
  });

  it('keeps literal types, so that the type of a value can be inferred', () => {
    const schema = objectSchema(
      {
        mode: { enum: ['read', 'write'] },
        rows: { type: 'array', items: objectSchema({ line: { type: 'integer' } }) },
      },
      { limit: { type: 'integer', default: 10 }, note: { type: 'string' } },
    );
    expectTypeOf<FromJsonSchema<typeof schema, 'output'>>().toEqualTypeOf<{
      mode: 'read' | 'write';
      rows: { line: number }[];
      limit: number;
      note?: string;
    }>();
    expectTypeOf<FromJsonSchema<typeof schema, 'input'>>().toEqualTypeOf<{
      mode: 'read' | 'write';
      rows: { line: number }[];
      limit?: number;
      note?: string;
    }>();
    expect(schema.required).toEqual(['mode', 'rows']);
  });
});

describe('hints()', () => {
  it('sets all four hints, to true only those named', () => {
    expect(hints('readOnly', 'idempotent')).toEqual({
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    });
  });
});
