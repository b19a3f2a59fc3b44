// Which of our classes made a value, also where it was the class of another copy of this package: a provider file may bring
// its own, and `instanceof` says no there.

/** Carries the name of the class. */
export const BRAND = Symbol.for('toolwright.class');

/** True for what the class of that name has made, in this copy of the package or another. */
export function isMadeBy(className: string, value: unknown): boolean {
  return (value as { [BRAND]?: unknown } | null | undefined)?.[BRAND] === className;
}
