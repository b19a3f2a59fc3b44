// How the arguments of two calls differ, for the error of a call that a recording does not have.

/** One value that differs. */
export interface Difference {
  /** Where the value is, such as `edits[0].old_string`; empty for the arguments as a whole. */
  readonly path: string;
  /** As recorded; absent when the recorded call does not have it. */
  readonly recorded?: unknown;
  /** As called; absent when the call does not have it. */
  readonly called?: unknown;
}

/** How many differences are counted at most. */
const MAX_COUNTED = 1_000;
const MAX_LISTED = 10;
const MAX_SHOWN = 120;
const ABSENT = Symbol('absent');

/** The values that differ, at most a thousand. */
export function differencesOf(recorded: unknown, called: unknown): Difference[] {
  const found: Difference[] = [];
  compare(recorded, called, '', found);
  return found;
}

/** The differences as a list for people and models: one a line, long values shortened around the place where they differ. */
export function describeDifferences(differences: readonly Difference[]): string {
  const lines = differences.slice(0, MAX_LISTED).map((difference) => `- ${describe(difference)}`);
  const more = differences.length - lines.length;
  return [...lines, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n');
}

function compare(recorded: unknown, called: unknown, path: string, found: Difference[]): void {
  if (recorded === called || found.length >= MAX_COUNTED) return;
  if (isComposite(recorded) && isComposite(called) && Array.isArray(recorded) === Array.isArray(called)) {
    const keys = new Set([...Object.keys(recorded), ...Object.keys(called)]);
    for (const key of keys) {
      const below = Array.isArray(recorded) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      compare(memberOf(recorded, key), memberOf(called, key), below, found);
    }
    return;
  }
  found.push({
    path,
    ...(recorded !== ABSENT && { recorded }),
    ...(called !== ABSENT && { called }),
  });
}

function isComposite(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function memberOf(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : ABSENT;
}

function describe(difference: Difference): string {
  const { path, recorded, called } = difference;
  const where = path === '' ? 'the arguments' : path;
  if (!('recorded' in difference)) return `${where}: not in the recorded call, called with ${shown(called, 0)}`;
  if (!('called' in difference)) return `${where}: recorded ${shown(recorded, 0)}, not in this call`;
  const from =
    typeof recorded === 'string' && typeof called === 'string'
      ? Math.max(0, firstDifference(recorded, called) - 20)
      : 0;
  return `${where}: recorded ${shown(recorded, from)}, called with ${shown(called, from)}`;
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}

/** The JSON of a value; of a long text the part from there. */
function shown(value: unknown, from: number): string {
  if (typeof value === 'string' && value.length > MAX_SHOWN) {
    const part = value.slice(from, from + MAX_SHOWN);
    return `${from > 0 ? '…' : ''}${JSON.stringify(part)}${from + MAX_SHOWN < value.length ? '…' : ''}`;
  }
  const json = JSON.stringify(value) ?? 'undefined';
  return json.length > MAX_SHOWN ? `${json.slice(0, MAX_SHOWN)}…` : json;
}
