// The glob syntax of policies: `*` matches any characters (including `.` and `/`), `?` matches one, `\` escapes the next.

/** Whether `pattern` matches the whole text. Takes at most time proportional to text length times pattern length. */
export function matchesGlob(pattern: string, given: string): boolean {
  const tokens = tokenise(pattern);
  const text: ArrayLike<string> = SURROGATE.test(given) ? Array.from(given) : given;
  let at = 0;
  let token = 0;
  let starAt = -1;
  let starToken = -1;
  // Greedy; on a mismatch only the last star needs to match more.
  while (at < text.length) {
    const current = tokens[token];
    if (current === ANY_RUN) {
      starToken = token++;
      starAt = at;
    } else if (current !== undefined && (current === ANY_ONE || current === text[at])) {
      token++;
      at++;
    } else if (starToken >= 0) {
      token = starToken + 1;
      at = ++starAt;
    } else return false;
  }
  while (tokens[token] === ANY_RUN) token++;
  return token === tokens.length;
}

/** A pattern that matches only `text`. */
export function escapeGlob(text: string): string {
  return text.replace(/[*?\\]/g, '\\$&');
}

/** A character is a code point, so texts with surrogates are split into code points. */
const SURROGATE = /[\ud800-\udfff]/;
const ANY_RUN = Symbol('*');
const ANY_ONE = Symbol('?');
type Token = string | typeof ANY_RUN | typeof ANY_ONE;

/** Patterns are matched on every call, so each is parsed once. */
const cache = new Map<string, readonly Token[]>();
const MAX_CACHED = 1_000;

function tokenise(pattern: string): readonly Token[] {
  const known = cache.get(pattern);
  if (known) return known;
  const tokens: Token[] = [];
  const chars = Array.from(pattern);
  for (let i = 0; i < chars.length; i++) {
    const char = chars[i] as string;
    if (char === '\\' && i + 1 < chars.length) tokens.push(chars[++i] as string);
    else if (char === '*') tokens.push(ANY_RUN);
    else if (char === '?') tokens.push(ANY_ONE);
    else tokens.push(char);
  }
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(pattern, tokens);
  return tokens;
}
