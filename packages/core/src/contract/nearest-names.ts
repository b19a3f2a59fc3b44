// "Did you mean …?": the names nearest to a wrong one, by edit distance.

/** The `limit` names nearest to `wanted`, best first, however far they are. */
export function nearestNames(wanted: string, names: Iterable<string>, limit = 3): string[] {
  return rank(wanted, names)
    .slice(0, limit)
    .map(({ name }) => name);
}

/** The one name that was probably meant; undefined when none is near. */
export function likelyName(wanted: string, names: Iterable<string>): string | undefined {
  const best = rank(wanted, names)[0];
  if (!best) return undefined;
  return best.distance <= Math.max(2, Math.floor(Math.max(wanted.length, best.name.length) / 2))
    ? best.name
    : undefined;
}

function rank(wanted: string, names: Iterable<string>): { name: string; distance: number }[] {
  const target = wanted.slice(0, MAX_LENGTH).toLowerCase();
  let left = MAX_COMPARISONS;
  return Array.from(names, (name) => {
    const candidate = name.slice(0, MAX_LENGTH).toLowerCase();
    left -= target.length * candidate.length;
    // Past the budget a name counts only where one contains the other.
    const distance = left > 0 ? editDistance(target, candidate) : target.length + candidate.length;
    // Part of a name is nearly the name: "read" for "filesystem.read_file".
    const shorter = Math.min(target.length, candidate.length);
    const contained = shorter >= 3 && (candidate.includes(target) || target.includes(candidate));
    return { name, distance: contained ? Math.min(distance, 1 + distance / 1_000) : distance };
  }).sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
}

/** Names are short; a hostile one is cut so that the comparison stays cheap. */
const MAX_LENGTH = 128;

/** Of characters with characters, for all names together: some 50 ms. A server may list 10,000 long names. */
const MAX_COMPARISONS = 10_000_000;

/** Levenshtein's distance, in one row. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, substitution));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
