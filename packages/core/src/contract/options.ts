// Unknown options are refused: a misspelt limit that is silently ignored is found out too late.

import { isJsonObject } from './json.js';
import { ToolError } from './errors.js';
import { likelyName } from './nearest-names.js';

/** Every key of an options interface; the compiler keeps it complete. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/** Names that other libraries use for an option. */
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
 * What is wrong with the names of options, a sentence each.
 *
 * @param path what stands before an option's name, such as `limits.`
 */
export function optionFaults(given: object, known: Readonly<Record<string, true>>, path = ''): string[] {
  const unknown = Object.keys(given).filter((key) => !Object.hasOwn(known, key));
  if (unknown.length === 0) return unknown; // callTyped() asks for each call
  const names = Object.keys(known);
  return unknown.map((key) => {
    const synonym = Object.hasOwn(SYNONYMS, key) ? SYNONYMS[key] : undefined;
    const meant = synonym !== undefined && Object.hasOwn(known, synonym) ? synonym : likelyName(key, names);
    const hint = meant === undefined ? '' : `did you mean \`${path}${meant}\`? `;
    return `unknown option \`${path}${key}\`; ${hint}valid options: ${names.join(', ')}`;
  });
}

/**
 * Refuses what is not an object of known options.
 *
 * @param where the function or class, such as `new ToolHub()`
 * @throws {ToolError} INVALID_ARGUMENT naming every unknown option and the nearest known one
 */
export function assertOptions(where: string, given: unknown, known: Readonly<Record<string, true>>, path = ''): void {
  assertOptionsObject(where, given, known, path);
  const faults = optionFaults(given as object, known, path);
  if (faults.length > 0)
    throw new ToolError('INVALID_ARGUMENT', `${where}: ${faults.join('; ')}.`, { details: { faults } });
}

/** Texts by name, copied; undefined for anything else, such as an array, a `Map` or `Headers`, whose entries a copy loses. */
export function copyTexts(given: unknown): Record<string, string> | undefined {
  if (typeof given !== 'object' || given === null || Symbol.iterator in given) return undefined;
  const copy: Record<string, unknown> = { ...given };
  return Object.values(copy).every((value) => typeof value === 'string') ? (copy as Record<string, string>) : undefined;
}

/**
 * Refuses what is not an object; for functions that report unknown options with other faults.
 *
 * @throws {ToolError} INVALID_ARGUMENT
 */
export function assertOptionsObject(
  where: string,
  given: unknown,
  known: Readonly<Record<string, true>>,
  path = '',
): void {
  if (isJsonObject(given)) return;
  const got = given === null ? 'null' : Array.isArray(given) ? 'an array' : typeof given;
  const what = path === '' ? 'an object of options' : `an object as \`${path.slice(0, -1)}\``;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `${where} takes ${what}, not ${got}; valid options: ${Object.keys(known).join(', ')}.`,
  );
}
