// `claims` of a configuration: what the calls of a foreign tool touch, as texts with the names of arguments in braces.

import type { JsonObject, PermissionClaim } from '@toolwright/core';

/** Texts by the bare name of a tool: `{ create_file: "{path}" }`. */
export type ClaimTemplates = Readonly<Record<string, string | readonly string[]>>;

const ARGUMENT = /\{([^{}]+)\}/g;

/**
 * The claims of a call; undefined for a tool without templates. A list as an argument makes one claim for each item. A claim
 * whose argument is missing or is neither a text nor a number or boolean is not understood, so that it always asks.
 */
export function claimsFromTemplates(
  templates: ClaimTemplates,
  tool: string,
  args: JsonObject,
): PermissionClaim[] | undefined {
  const given = Object.hasOwn(templates, tool) ? templates[tool] : undefined;
  if (given === undefined) return undefined;
  return [given].flat().flatMap((template) => claimsOf(template, args));
}

function claimsOf(template: string, args: JsonObject): PermissionClaim[] {
  const names = [...template.matchAll(ARGUMENT)].map(([, name = '']) => name);
  let filled: Record<string, unknown>[] = [{}];
  for (const name of names) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    filled = filled.flatMap((values) => items.map((item) => ({ ...values, [name]: item })));
  }
  return filled.map((values): PermissionClaim => {
    const isKnown = (name: string): boolean => ['string', 'number', 'boolean'].includes(typeof values[name]);
    const pattern = template.replace(ARGUMENT, (whole, name: string) => (isKnown(name) ? String(values[name]) : whole));
    const unknown = names.find((name) => !isKnown(name));
    if (unknown === undefined) return { pattern, match: 'glob', understood: true };
    return { pattern, match: 'glob', understood: false, reason: `the argument ${unknown} is missing or not a text` };
  });
}
