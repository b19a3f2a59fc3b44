// The keywords of a listed schema that need nothing but the value: its type, and limits of numbers and counts.

import { isJsonObject, type JsonObject } from '../contract/json.js';

/** True for a value of that JSON Schema type. */
export function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isJsonObject(value);
    default:
      return typeof value === type;
  }
}

/** The limits that a number exceeds, as messages. */
export function numberFaults(schema: JsonObject, value: number): string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema as Record<
    string,
    number | boolean | undefined
  >;
  const faults: string[] = [];
  const demand = (holds: boolean, requirement: string): void => {
    if (!holds) faults.push(`must be ${requirement}`);
  };
  // In draft 4, the exclusive keywords are flags.
  if (typeof minimum === 'number')
    demand(exclusiveMinimum === true ? value > minimum : value >= minimum, `at least ${minimum}`);
  if (typeof maximum === 'number')
    demand(exclusiveMaximum === true ? value < maximum : value <= maximum, `at most ${maximum}`);
  if (typeof exclusiveMinimum === 'number') demand(value > exclusiveMinimum, `more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === 'number') demand(value < exclusiveMaximum, `less than ${exclusiveMaximum}`);
  if (typeof multipleOf === 'number' && multipleOf > 0) {
    const quotient = value / multipleOf;
    // In binary, 0.3 / 0.1 is not 3.
    demand(
      Math.abs(quotient - Math.round(quotient)) <= 1e-9 * Math.max(1, Math.abs(quotient)),
      `a multiple of ${multipleOf}`,
    );
  }
  return faults;
}

const COUNTED = { Items: 'items', Properties: 'properties', Length: 'characters' } as const;

/** The limit that a count exceeds, as a message; `min` and `max` with the suffix are the keywords. */
export function countFaults(schema: JsonObject, suffix: keyof typeof COUNTED, count: number): string[] {
  const min = schema[`min${suffix}`] as number | undefined;
  const max = schema[`max${suffix}`] as number | undefined;
  if (min !== undefined && count < min) return [`must have at least ${min} ${COUNTED[suffix]}`];
  if (max !== undefined && count > max) return [`must have at most ${max} ${COUNTED[suffix]}`];
  return [];
}
