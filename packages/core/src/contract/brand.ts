// Recognises instances across copies of this package, where `instanceof` fails: a provider file may bring its own copy.

/** The key under which an instance carries the name of its class. */
export const BRAND = Symbol.for('toolwright.class');

/** A set that all copies of this package in this thread share. */
export function sharedSet(name: string): WeakSet<object> {
  const place = globalThis as { [key: symbol]: WeakSet<object> | undefined };
  return (place[Symbol.for(`toolwright.${name}`)] ??= new WeakSet());
}

/** True for an instance of the class of that name, from any copy of the package. */
export function isMadeBy(className: string, value: unknown): boolean {
  return (value as { [BRAND]?: unknown } | null | undefined)?.[BRAND] === className;
}
