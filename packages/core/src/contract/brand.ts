// Which of our classes made a value, also where it was the class of another copy of this package: a provider file may bring
// its own, and `instanceof` says no there.

/** Carries the name of the class. */
export const BRAND = Symbol.for('toolwright.class');

/** A set of values that all copies of this package in this thread know. */
export function sharedSet(name: string): WeakSet<object> {
  const place = globalThis as { [key: symbol]: WeakSet<object> | undefined };
  return (place[Symbol.for(`toolwright.${name}`)] ??= new WeakSet());
}

/** True for what the class of that name has made, in this copy of the package or another. */
export function isMadeBy(className: string, value: unknown): boolean {
  return (value as { [BRAND]?: unknown } | null | undefined)?.[BRAND] === className;
}
