// Variables in the texts of a configuration: `${NAME}`, `${NAME:-default}`, and `$${` for a literal `${`.

import { isJsonObject } from '@toolwright/core/internal';
import type { ConfigPath } from './config-source.js';

/** A name with its default, as in a shell; `env:NAME` as in VS Code. */
const VARIABLE = /\$\$\{|\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-((?:[^{}]|\{[^{}]*\})*))?\}/g;

/** A variable without a value and without a default. */
export interface MissingVariable {
  /** Its name. */
  readonly name: string;
  /** The text that names it. */
  readonly path: ConfigPath;
}

/** A configuration with its variables replaced, the variables that have no value, and the values that came from variables. */
export interface Expanded {
  /** The copy. */
  readonly value: unknown;
  /** Every variable that has neither a value nor a default. */
  readonly missing: readonly MissingVariable[];
}

/**
 * Replaces variables in every text of a value, but not in keys.
 *
 * @param env the values by name; an empty one counts as missing where there is a default, as in a shell
 */
export function expandVariables(value: unknown, env: Readonly<Record<string, string | undefined>>): Expanded {
  const missing: MissingVariable[] = [];
  const expand = (part: unknown, path: ConfigPath): unknown => {
    if (typeof part === 'string')
      return part.replace(VARIABLE, (whole, name: string | undefined, fallback: string | undefined) => {
        if (name === undefined) return '${';
        const found = Object.hasOwn(env, name) ? env[name] : undefined;
        if (found !== undefined && (found !== '' || fallback === undefined)) return found;
        if (fallback !== undefined) return fallback;
        missing.push({ name, path });
        return whole;
      });
    if (Array.isArray(part)) return part.map((item, index) => expand(item, [...path, index]));
    if (!isJsonObject(part)) return part;
    return Object.fromEntries(Object.entries(part).map(([key, item]) => [key, expand(item, [...path, key])]));
  };
  return { value: expand(value, []), missing };
}
