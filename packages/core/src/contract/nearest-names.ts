// "Did you mean …?": the known names most similar to an unknown one, by edit distance.

/** The `limit` names most similar to `wanted`, best first. */
export function nearestNames(wanted: string, names: Iterable<string>, limit = 3): string[] {
  return rank(wanted, names)
    .slice(0, limit)
    .map(({ name }) => name);
}

/** The name that was probably meant; undefined when none is similar enough. */
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
    // Beyond the budget, only names of which one contains the other are similar.
    const distance = left > 0 ? editDistance(target, candidate) : target.length + candidate.length;
    // A part of a name is close to the name: "read" for "filesystem.read_file".
    const shorter = Math.min(target.length, candidate.length);
    const contained = shorter >= 3 && (candidate.includes(target) || target.includes(candidate));
    return { name, distance: contained ? Math.min(distance, 1 + distance / 1_000) : distance };
  }).sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
}

/** Names are short; a hostile one is cut to keep the comparison cheap. */
const MAX_LENGTH = 128;

/** Character comparisons for all names together, about 50 ms: a server may list 10,000 long names. */
const MAX_COMPARISONS = 10_000_000;

/** The Levenshtein distance, computed row by row. */
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
