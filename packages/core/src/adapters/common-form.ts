// The form of tools for Anthropic, and for the frameworks that pass tools on to any vendor: JSON Schema 2020-12, with names of
// properties that Anthropic accepts.

import { isJsonObject, type JsonObject } from '../contract/json.js';
import type { VendorForm } from './kit-tools.js';
import { pointerPart } from './vendor-schema.js';

/** Anthropic refuses the whole request for any other name among the properties of the arguments. */
const PROPERTY_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

export const COMMON_FORM: VendorForm = {
  compile(schema, report) {
    const properties = isJsonObject(schema.properties) ? schema.properties : {};
    const names = Object.keys(properties);
    if (names.every((name) => PROPERTY_NAME.test(name))) return { schema };
    const aliases = aliasesOf(names);
    for (const [name, alias] of aliases)
      if (alias !== name) report(`/properties/${pointerPart(name)}`, `The property is sent as "${alias}".`);
    const renamed = Object.fromEntries(names.map((name) => [aliases.get(name) ?? name, properties[name]]));
    const required = Array.isArray(schema.required)
      ? { required: (schema.required as string[]).map((name) => aliases.get(name) ?? name) }
      : {};
    const originals = new Map([...aliases].map(([name, alias]) => [alias, name]));
    return { schema: { ...schema, properties: renamed, ...required }, restore: (args) => withNames(args, originals) };
  },
};

/** A name for each property: its own, or a clean one that no other property has. */
function aliasesOf(names: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(names.filter((name) => PROPERTY_NAME.test(name)));
  const aliases = new Map([...taken].map((name) => [name, name]));
  for (const name of names) {
    if (aliases.has(name)) continue;
    const clean = name.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').slice(0, 56) || '_';
    let alias = clean;
    for (let number = 2; taken.has(alias); number++) alias = `${clean}_${number}`;
    taken.add(alias);
    aliases.set(name, alias);
  }
  return aliases;
}

function withNames(args: JsonObject, originals: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries(Object.entries(args).map(([key, value]) => [originals.get(key) ?? key, value]));
}
