// Character classes of Rust's regular expressions as sets of JavaScript's `v` mode.

import { ToolError } from '../../../contract/errors.js';

/** The source of a set, for use inside the brackets of another. */
export type ClassSet = string;

/** What a `\w` is in Unicode. https://unicode.org/reports/tr18/#Compatibility_Properties */
export const WORD_SET = '[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]';
const PERL_SETS: Readonly<Record<string, ClassSet>> = { d: '\\p{Nd}', s: '\\p{White_Space}', w: WORD_SET };
/** https://docs.rs/regex/latest/regex/#ascii-character-classes */
const POSIX_SETS: Readonly<Record<string, ClassSet>> = {
  alnum: '[0-9A-Za-z]',
  alpha: '[A-Za-z]',
  ascii: '[\\x00-\\x7f]',
  blank: '[\\t ]',
  cntrl: '[\\x00-\\x1f\\x7f]',
  digit: '[0-9]',
  graph: '[\\x21-\\x7e]',
  lower: '[a-z]',
  print: '[\\x20-\\x7e]',
  punct: '[\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e]',
  space: '[\\t\\n\\v\\f\\r ]',
  upper: '[A-Z]',
  word: '[0-9A-Za-z_]',
  xdigit: '[0-9A-Fa-f]',
};
const CONTROL_ESCAPES: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 };

/** Reads a pattern from left to right, by characters. */
export class PatternReader {
  readonly characters: readonly string[];
  at = 0;
  /** Inside `(?x)`, where white space and comments mean nothing. */
  isVerbose = false;

  constructor(pattern: string) {
    this.characters = Array.from(pattern);
  }

  get next(): string | undefined {
    if (this.isVerbose) this.#skipVerbose();
    return this.characters[this.at];
  }

  /** Consumes these characters if they come next. */
  take(text: string): boolean {
    if (this.isVerbose) this.#skipVerbose();
    for (let index = 0; index < text.length; index++)
      if (this.characters[this.at + index] !== text[index]) return false;
    this.at += text.length;
    return true;
  }

  /** Consumes the text up to a character, and that character. */
  until(end: string, what: string): string {
    const found = this.characters.indexOf(end, this.at);
    if (found < 0) throw this.wrong(`${what} is missing its closing "${end}"`);
    const text = this.characters.slice(this.at, found).join('');
    this.at = found + 1;
    return text;
  }

  wrong(why: string): ToolError {
    return new ToolError(
      'INVALID_ARGUMENT',
      `The pattern cannot be used: ${why} (character ${this.at + 1}). Fix the pattern, or set literal.`,
    );
  }

  #skipVerbose(): void {
    for (;;) {
      const char = this.characters[this.at];
      if (char === '#') while (this.at < this.characters.length && this.characters[this.at] !== '\n') this.at++;
      else if (char !== undefined && /\s/.test(char)) this.at++;
      else return;
    }
  }
}

/** An escape: a character, or a set. */
export type Escape = { code: number } | { set: ClassSet };

/** The character or class after a `\`; undefined for anything else, with nothing consumed. */
export function readEscape(reader: PatternReader): Escape | undefined {
  const char = reader.characters[reader.at];
  if (char === undefined) throw reader.wrong('incomplete escape sequence at the end');
  const lower = char.toLowerCase();
  const perl = PERL_SETS[lower];
  if (perl !== undefined) {
    reader.at++;
    return { set: char === lower ? perl : `[^${perl}]` };
  }
  if (lower === 'p') {
    reader.at++;
    return { set: readProperty(reader, char === 'P') };
  }
  if (char === 'x' || char === 'u' || char === 'U') {
    reader.at++;
    return { code: readHex(reader, { x: 2, u: 4, U: 8 }[char]) };
  }
  const control = CONTROL_ESCAPES[char];
  if (control !== undefined || /[!-/:;=?@[-`{-~]/.test(char)) {
    reader.at++;
    return { code: control ?? char.charCodeAt(0) };
  }
  return undefined;
}

function readHex(reader: PatternReader, digits: number): number {
  const text = reader.take('{')
    ? reader.until('}', 'a hexadecimal escape')
    : reader.characters.slice(reader.at, (reader.at += digits)).join('');
  const code = /^[0-9a-fA-F]{1,8}$/.test(text) ? parseInt(text, 16) : Infinity;
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw reader.wrong('invalid hexadecimal escape');
  return code;
}

function readProperty(reader: PatternReader, isNegated: boolean): ClassSet {
  const text = reader.take('{') ? reader.until('}', 'a Unicode class') : (reader.characters[reader.at++] ?? '');
  const isInverted = text.startsWith('^') !== isNegated;
  const [name = '', value] = text.replace(/^\^/, '').split(/!?[=:]/);
  const letter = isInverted !== text.includes('!') ? 'P' : 'p';
  const title = (word: string): string =>
    word
      .trim()
      .toLowerCase()
      .replace(/(^|[ _-])([a-z])/g, (_all, gap: string, first: string) => (gap && '_') + first.toUpperCase());
  const candidates =
    value === undefined
      ? [
          name,
          title(name),
          name.toUpperCase(),
          `Script=${title(name)}`,
          ...(name.toLowerCase() === 'any' ? ['Any'] : []),
        ]
      : /^(?:gc|general[_ ]?category)$/i.test(name)
        ? [title(value), value]
        : /^(?:sc|script)$/i.test(name)
          ? [`Script=${title(value)}`]
          : /^(?:scx|script[_ ]?extensions)$/i.test(name)
            ? [`Script_Extensions=${title(value)}`]
            : [];
  // Properties of strings exist in JavaScript only; `u` mode does not know them.
  const found = candidates.find((candidate) => /^[\w=]+$/.test(candidate) && compiles(`\\p{${candidate}}`));
  if (found === undefined) throw reader.wrong(`unknown Unicode class ${JSON.stringify(text)}`);
  return `\\${letter}{${found}}`;
}

function compiles(source: string): boolean {
  try {
    return new RegExp(source, 'u').test('') || true;
  } catch {
    return false; // no such name
  }
}

/** Reads a class after its `[`. Calls `onLiteral` with each literal character. */
export function readClass(reader: PatternReader, onLiteral: (code: number) => void, depth = 0): ClassSet {
  if (depth > 50) throw reader.wrong('its classes are nested too deeply');
  const isNegated = reader.take('^');
  let left: ClassSet | undefined;
  let operator = '';
  let items: ClassSet[] = [];
  const close = (): ClassSet => {
    const right = `[${items.join('')}]`;
    items = [];
    if (left === undefined) return right;
    if (operator === '~~') return `[[${left}--${right}][${right}--${left}]]`;
    return `[${left}${operator}${right}]`;
  };
  for (let isFirst = true; ; isFirst = false) {
    if (reader.next === undefined) throw reader.wrong('unclosed character class');
    if (!isFirst && reader.take(']')) break;
    const posix = reader.next === '[' ? readPosix(reader) : undefined;
    const found = ['&&', '--', '~~'].find((each) => !(isFirst && each === '--') && reader.take(each));
    if (posix !== undefined) items.push(posix);
    else if (found !== undefined) {
      left = close();
      operator = found;
    } else if (reader.take('[')) items.push(readClass(reader, onLiteral, depth + 1));
    else items.push(readItem(reader, onLiteral));
  }
  const set = close();
  return isNegated ? `[^${set}]` : set;
}

/** An ASCII class whose `[:` comes next; undefined, with nothing consumed, for an unknown name. */
function readPosix(reader: PatternReader): ClassSet | undefined {
  const [, text = ''] = /^\[:(\^?[a-z]+):\]/.exec(reader.characters.slice(reader.at, reader.at + 20).join('')) ?? [];
  const set = POSIX_SETS[text.replace(/^\^/, '')];
  if (set === undefined) return undefined;
  reader.at += text.length + 4;
  return text.startsWith('^') ? `[^${set}]` : set;
}

function readItem(reader: PatternReader, onLiteral: (code: number) => void): ClassSet {
  const from = readMember(reader);
  if ('set' in from) return from.set;
  onLiteral(from.code);
  const after = reader.characters[reader.at + 1];
  // A "-" at the end of a class, or of an operation, is literal.
  if (reader.next !== '-' || after === ']' || after === '-' || after === undefined) return escapeCode(from.code);
  reader.take('-');
  const to = readMember(reader);
  if ('set' in to || to.code < from.code) throw reader.wrong('invalid character class range');
  onLiteral(to.code);
  return `${escapeCode(from.code)}-${escapeCode(to.code)}`;
}

function readMember(reader: PatternReader): Escape {
  const char = reader.next ?? '';
  reader.at++;
  if (char !== '\\') return { code: char.codePointAt(0) ?? 0 };
  const escape = readEscape(reader);
  if (!escape) throw reader.wrong('unrecognized escape sequence in a class');
  return escape;
}

/** A literal character, in a class or outside. */
export function escapeCode(code: number): string {
  const char = String.fromCodePoint(code);
  return /^[0-9A-Za-z_]$/.test(char) ? char : `\\u{${code.toString(16)}}`;
}
