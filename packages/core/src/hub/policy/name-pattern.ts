// The one glob of policies: `*` is any run of characters (`.` and `/` included), `?` is one, `\` escapes the next.

/** True when `pattern` matches the whole of the text. Never more than linear in text times pattern. */
export function matchesGlob(pattern: string, given: string): boolean {
  const tokens = tokenise(pattern);
  const text: ArrayLike<string> = SURROGATE.test(given) ? Array.from(given) : given;
  let at = 0;
  let token = 0;
  let starAt = -1;
  let starToken = -1;
  // Greedy, with one step back: only the last star ever needs to take more.
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

/** A pattern that matches `text` and nothing else. */
export function escapeGlob(text: string): string {
  return text.replace(/[*?\\]/g, '\\$&');
}

/** A character is a code point: texts with surrogates are taken apart. */
const SURROGATE = /[\ud800-\udfff]/;
const ANY_RUN = Symbol('*');
const ANY_ONE = Symbol('?');
type Token = string | typeof ANY_RUN | typeof ANY_ONE;

/** Rules are few and are compared on every call: each pattern is read once. */
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
