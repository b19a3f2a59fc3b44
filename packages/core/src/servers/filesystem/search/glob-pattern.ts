// Matches glob patterns without regular expressions: in time proportional to pattern times path, for every pattern.

import { ToolError } from '../../../contract/errors.js';

/** Whether a relative path, with `/`, matches. */
export type PathMatcher = (path: string) => boolean;

const MAX_PATTERN_CHARS = 2_000;
/** `{a,b}{c,d}` is four patterns; more than these are refused. */
const MAX_ALTERNATIVES = 1_000;

/** One place of a path component. */
type Token =
  | { kind: 'char'; char: string }
  | { kind: 'any' }
  | { kind: 'run' }
  | { kind: 'class'; negated: boolean; ranges: [number, number][] };
/** One component of a pattern: any number of components, exactly this text, any text that ends so, or these tokens. */
type Component = '**' | { text: string } | { suffix: string } | { tokens: Token[] };

/**
 * Compiles a pattern as .gitignore has them: `*` and `?` within a name, `**` over names, `[a-z]`, `{a,b}`, `\` escapes;
 * without a slash it matches a name at any depth.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a pattern that is not closed, leaves the directory, or is too complex
 */
export function compileGlob(pattern: string): PathMatcher {
  if (pattern === '' || pattern.length > MAX_PATTERN_CHARS)
    throw wrong(pattern, `it must have 1 to ${MAX_PATTERN_CHARS} characters`);
  return matcherOf(expandBraces(pattern).map((each) => compileAlternative(each, pattern)));
}

/** The globs, and each with the letters of its names in the other Unicode normal forms (NFC and NFD). */
export function inNormalForms(globs: readonly string[]): string[] {
  return globs.flatMap((glob) => [...new Set([glob, glob.normalize('NFC'), glob.normalize('NFD')])]);
}

function matcherOf(alternatives: readonly Component[][]): PathMatcher {
  const onNames = alternatives.map(([any, name, ...more]) =>
    any === '**' && name !== undefined && name !== '**' && more.length === 0 ? name : undefined,
  );
  if (onNames.every((name) => name !== undefined)) {
    // The most common patterns depend only on the last name.
    return (path) => {
      const last = path.slice(path.lastIndexOf('/') + 1);
      return onNames.some((name) => matchName(name, last));
    };
  }
  return (path) => {
    const names = path.split('/');
    return alternatives.some((components) => matchComponents(components, names));
  };
}

/**
 * Compiles a glob of an ignore file as ripgrep reads one: matched from the file's directory, without its slashes at the
 * ends and its marks; `a/**` is what is below `a`.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a pattern that is not closed, or is too complex
 */
export function compileIgnoreGlob(glob: string): PathMatcher {
  if (glob.length > MAX_PATTERN_CHARS) throw wrong(glob, `it must have at most ${MAX_PATTERN_CHARS} characters`);
  return matcherOf(
    expandBraces(glob).map((alternative) => {
      const parts = alternative.split('/');
      if (parts.length > 1 && parts.at(-1) === '**') parts.push('*');
      return compileComponents(parts, glob);
    }),
  );
}

function compileAlternative(alternative: string, pattern: string): Component[] {
  const anchored = alternative.replace(/^(?:\.?\/)+/, '');
  const isName = anchored === alternative && !alternative.replace(/\/$/, '').includes('/');
  const parts = (anchored.endsWith('/') ? `${anchored}**` : anchored)
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw wrong(pattern, 'it must not leave the directory; set path to the directory');
  if (isName) parts.unshift('**');
  return compileComponents(parts, pattern);
}

function compileComponents(parts: readonly string[], pattern: string): Component[] {
  const components: Component[] = [];
  for (const part of parts) {
    if (part !== '**') components.push(compileComponent(part, pattern));
    else if (components.at(-1) !== '**') components.push('**');
  }
  return components;
}

function compileComponent(part: string, pattern: string): Component {
  const tokens: Token[] = [];
  const characters = Array.from(part);
  for (let at = 0; at < characters.length; at++) {
    const char = characters[at] ?? '';
    if (char === '*') {
      if (tokens.at(-1)?.kind !== 'run') tokens.push({ kind: 'run' });
    } else if (char === '?') tokens.push({ kind: 'any' });
    else if (char === '\\') {
      const next = characters[++at];
      if (next === undefined) throw wrong(pattern, 'it ends in an unfinished escape "\\"');
      tokens.push({ kind: 'char', char: next });
    } else if (char === '[') {
      const { token, end } = compileClass(characters, at, pattern);
      tokens.push(token);
      at = end;
    } else tokens.push({ kind: 'char', char });
  }
  const [first, ...rest] = tokens;
  if (tokens.every((token) => token.kind === 'char')) return { text: textOfTokens(tokens) };
  if (first?.kind === 'run' && rest.every((token) => token.kind === 'char')) return { suffix: textOfTokens(rest) };
  return { tokens };
}

function textOfTokens(tokens: readonly Token[]): string {
  return tokens.map((token) => (token.kind === 'char' ? token.char : '')).join('');
}

function compileClass(characters: readonly string[], start: number, pattern: string): { token: Token; end: number } {
  let at = start + 1;
  const negated = characters[at] === '!' || characters[at] === '^';
  if (negated) at++;
  const ranges: [number, number][] = [];
  // A "]" in the first position is literal.
  for (let isFirst = true; isFirst || characters[at] !== ']'; isFirst = false) {
    if (characters[at] === '\\') at++;
    const from = characters[at]?.codePointAt(0);
    if (from === undefined) throw wrong(pattern, 'a "[" is not closed; write "\\[" for the character itself');
    const isRange = characters[at + 1] === '-' && characters[at + 2] !== undefined && characters[at + 2] !== ']';
    const to = isRange ? (characters[at + 2]?.codePointAt(0) ?? from) : from;
    ranges.push([from, to]);
    at += isRange ? 3 : 1;
  }
  return { token: { kind: 'class', negated, ranges }, end: at };
}

/** Matches greedily, and backtracks only to the last `**`: earlier ones need no second attempt. */
function matchComponents(components: readonly Component[], names: readonly string[]): boolean {
  let [component, name, star, resume] = [0, 0, -1, 0];
  while (name < names.length) {
    const wanted = components[component];
    if (wanted === '**') {
      star = component++;
      resume = name;
    } else if (wanted !== undefined && matchName(wanted, names[name] ?? '')) {
      component++;
      name++;
    } else if (star >= 0) {
      component = star + 1;
      name = ++resume;
    } else return false;
  }
  while (components[component] === '**') component++;
  return component === components.length;
}

function matchName(component: Exclude<Component, '**'>, name: string): boolean {
  if ('text' in component) return component.text === name;
  if ('suffix' in component) return name.endsWith(component.suffix);
  const { tokens } = component;
  const characters = Array.from(name);
  let [token, at, star, resume] = [0, 0, -1, 0];
  while (at < characters.length) {
    const wanted = tokens[token];
    if (wanted?.kind === 'run') {
      star = token++;
      resume = at;
    } else if (wanted && matchToken(wanted, characters[at] ?? '')) {
      token++;
      at++;
    } else if (star >= 0) {
      token = star + 1;
      at = ++resume;
    } else return false;
  }
  while (tokens[token]?.kind === 'run') token++;
  return token === tokens.length;
}

function matchToken(token: Token, char: string): boolean {
  if (token.kind === 'char') return token.char === char;
  if (token.kind !== 'class') return true;
  const code = char.codePointAt(0) ?? 0;
  return token.ranges.some(([from, to]) => from <= code && code <= to) !== token.negated;
}

/** `a{b,c{d,e}}` to `ab`, `acd`, `ace`. */
function expandBraces(pattern: string): string[] {
  let results = [''];
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at] ?? '';
    if (char === '\\') results = results.map((each) => each + pattern.slice(at, at + 2));
    else if (char === '[') {
      const close = pattern.indexOf(']', at + 2);
      const end = close < 0 ? at : close;
      results = results.map((each) => each + pattern.slice(at, end + 1));
      at = end;
      continue;
    } else if (char === '{') {
      const { parts, end } = splitBraces(pattern, at);
      const expanded = parts.flatMap(expandBraces);
      if (results.length * expanded.length > MAX_ALTERNATIVES)
        throw wrong(pattern, `its braces expand to more than ${MAX_ALTERNATIVES} patterns`);
      results = results.flatMap((each) => expanded.map((part) => each + part));
      at = end;
      continue;
    } else results = results.map((each) => each + char);
    if (char === '\\') at++;
  }
  return results;
}

function splitBraces(pattern: string, start: number): { parts: string[]; end: number } {
  const parts: string[] = [];
  let depth = 0;
  let from = start + 1;
  for (let at = start; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === '\\') at++;
    else if (char === '{') depth++;
    else if ((char === ',' && depth === 1) || (char === '}' && depth === 1)) {
      parts.push(pattern.slice(from, at));
      from = at + 1;
      if (char === '}') return { parts, end: at };
    } else if (char === '}') depth--;
  }
  throw wrong(pattern, 'a "{" is not closed; write "\\{" for the character itself');
}

function wrong(pattern: string, why: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `Invalid glob ${JSON.stringify(pattern.slice(0, 200))}: ${why}.`);
}
