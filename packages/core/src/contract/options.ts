// Checks the names of options and the types of their values: a misspelt limit, or one given as text, must not be ignored.

import { isJsonObject } from './json.js';
import { ToolError } from './errors.js';
import { likelyName } from './nearest-names.js';

/** The most characters of a wrong value that an error shows. */
const MAX_SHOWN = 100;

/** The type that the value of an option must have; `true` where the function that takes the options validates it. */
export type OptionType = true | keyof typeof TYPES;

/** All keys of an options interface; the compiler checks that none is missing. */
export type OptionNames<Options> = Readonly<Record<keyof Options, OptionType>>;

/** The types of values: their names in errors, and their checks. */
const TYPES = {
  array: { shown: 'an array', accepts: (value: unknown) => Array.isArray(value) },
  boolean: { shown: 'true or false', accepts: (value: unknown) => typeof value === 'boolean' },
  function: { shown: 'a function', accepts: (value: unknown) => typeof value === 'function' },
  object: { shown: 'an object', accepts: isJsonObject },
  text: { shown: 'text', accepts: (value: unknown) => typeof value === 'string' },
} as const;

/** The names of options in other libraries. */
const SYNONYMS: Readonly<Record<string, string>> = {
  inputSchema: 'input',
  parameters: 'input',
  args: 'input',
  schema: 'input',
  outputSchema: 'output',
  handler: 'execute',
  run: 'execute',
  func: 'execute',
  timeout: 'timeoutMs',
  abortSignal: 'signal',
  session: 'sessionId',
};

/**
 * The faults in the names of options, one sentence each.
 *
 * @param path the prefix of the options' names, such as `limits.`
 */
export function optionFaults(given: object, known: Readonly<Record<string, OptionType>>, path = ''): string[] {
  const unknown = Object.keys(given).filter((key) => !Object.hasOwn(known, key));
  if (unknown.length === 0) return unknown; // fast path: callTyped() checks every call
  const names = Object.keys(known);
  return unknown.map((key) => {
    const synonym = Object.hasOwn(SYNONYMS, key) ? SYNONYMS[key] : undefined;
    const meant = synonym !== undefined && Object.hasOwn(known, synonym) ? synonym : likelyName(key, names);
    const hint = meant === undefined ? '' : `did you mean \`${path}${meant}\`? `;
    return `unknown option \`${path}${key}\`; ${hint}valid options: ${names.join(', ')}`;
  });
}

/** The options whose values have a wrong type, one sentence each. An option that is undefined has its default. */
export function optionTypeFaults(given: object, known: Readonly<Record<string, OptionType>>, path = ''): string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    const type = Object.hasOwn(known, name) ? known[name] : undefined;
    if (value === undefined || type === undefined || type === true || TYPES[type].accepts(value)) return [];
    return [`\`${path}${name}\` must be ${TYPES[type].shown}, not ${shownValue(value)}`];
  });
}

/**
 * Checks that a value is an object of known options whose values have the right types.
 *
 * @param where the function or class, such as `new ToolHub()`
 * @throws {ToolError} INVALID_ARGUMENT naming every unknown option with the nearest known one, and every wrong value
 */
export function assertOptions(
  where: string,
  given: unknown,
  known: Readonly<Record<string, OptionType>>,
  path = '',
): void {
  assertOptionsObject(where, given, known, path);
  const faults = [...optionFaults(given as object, known, path), ...optionTypeFaults(given as object, known, path)];
  if (faults.length > 0)
    throw new ToolError('INVALID_ARGUMENT', `${where}: ${faults.join('; ')}.`, { details: { faults } });
}

/** Copies an object of strings; undefined for anything else, such as an array, a `Map` or `Headers`, whose entries a copy would lose. */
export function copyTexts(given: unknown): Record<string, string> | undefined {
  if (typeof given !== 'object' || given === null || Symbol.iterator in given) return undefined;
  const copy: Record<string, unknown> = { ...given };
  return Object.values(copy).every((value) => typeof value === 'string') ? (copy as Record<string, string>) : undefined;
}

/** A wrong value as an error shows it: text in quotes, an object or function by its kind. */
export function shownValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, MAX_SHOWN));
  if (Array.isArray(value)) return 'an array';
  if (value !== null && (typeof value === 'object' || typeof value === 'function'))
    return `a${typeof value === 'object' ? 'n object' : ' function'}`;
  return String(value);
}

/**
 * Checks that a value is an object; for functions that report unknown options together with other faults.
 *
 * @throws {ToolError} INVALID_ARGUMENT naming the valid options
 */
export function assertOptionsObject(
  where: string,
  given: unknown,
  known: Readonly<Record<string, OptionType>>,
  path = '',
): void {
  if (isJsonObject(given)) return;
  const what = path === '' ? 'an object of options' : `an object as \`${path.slice(0, -1)}\``;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `${where} takes ${what}, not ${typeof given === 'string' ? 'text' : shownValue(given)}; valid options: ${Object.keys(known).join(', ')}.`,
  );
}
