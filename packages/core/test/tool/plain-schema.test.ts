import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isPlainSchema } from '../../src/tool/plain-schema.js';

/** Values that keywords may have, most of them right for one and wrong for others. */
const leaf = fc.constantFrom<unknown>(
  ...['string', 'object', 'array', 'nothing', '', 'date-time', '[', null, true, false, 0, 1, -1, 1.5, NaN, Infinity],
  ...[[], ['a'], ['a', 'a'], ['string', 'null'], ['string', 'string'], [1, null, {}], {}],
);
const KEYWORDS = [
  ...['type', 'title', 'description', '$comment', 'format', 'default', 'const', 'enum', 'examples', 'deprecated'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'minLength', 'maxItems', 'minProperties', 'uniqueItems', 'required'],
  ...['properties', 'items', 'additionalProperties', 'propertyNames', 'not', 'anyOf', 'oneOf', 'allOf'],
  ...['$ref', '$id', 'pattern', 'nullable', 'discriminator', 'if', 'multipleOf', 'patternProperties', 'dependencies'],
];
const { schema } = fc.letrec<{ schema: unknown; value: unknown }>((tie) => ({
  schema: fc.dictionary(fc.constantFrom(...KEYWORDS), tie('value'), { maxKeys: 4 }),
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    tie('schema'),
    fc.array(tie('schema'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('schema'), { maxKeys: 2 }),
  ),
}));

it('isPlainSchema() is true only for schemas that Ajv compiles', () => {
  const ajv = new Ajv2020({ strict: false, addUsedSchema: false, logger: false });
  let plain = 0;
  fc.assert(
    fc.property(schema, (one) => {
      if (!isPlainSchema(one)) return;
      plain++;
      expect(() => ajv.compile(one as object)).not.toThrow();
      ajv.removeSchema(one as object);
    }),
    { numRuns: 5_000 },
  );
  expect(plain).toBeGreaterThan(300); // or nothing was shown
});

it.each([
  [{ type: 'object', properties: { a: { type: ['string', 'null'], enum: ['x', null] } }, required: ['a'] }, true],
  [{ type: 'array', items: { anyOf: [{ type: 'integer', minimum: -1 }, true] }, maxItems: 3, default: [] }, true],
  [{ type: 'nothing' }, false],
  [{ enum: [] }, false],
  [{ $ref: '#/properties/a' }, false],
  [{ properties: { a: { pattern: '(' } } }, false],
  [{ type: 'string', nullable: true }, false],
  [{ items: [{}] }, false],
  [{ minLength: 1.5 }, false],
  [{ $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }, false],
  [[], false],
])('isPlainSchema(%j) is %s', (one, is) => {
  expect(isPlainSchema(one)).toBe(is);
});
