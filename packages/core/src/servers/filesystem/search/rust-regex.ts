// Translates regular expressions of ripgrep (Rust's `regex`) to JavaScript. Constructs that would match differently are
// rejected: the two engines may differ in the patterns they accept, never in what they find.

import { escapeCode, PatternReader, readClass, readEscape, WORD_SET, type ClassSet } from './rust-class.js';

/** Options of a pattern. */
export interface RegexOptions {
  literal: boolean;
  case: 'sensitive' | 'insensitive' | 'smart';
  word: boolean;
  /** A match may span lines. */
  multiline: boolean;
}

/** A pattern for JavaScript, of two sources: for text that is all ASCII, and for any. */
export interface TranslatedRegex {
  ascii: string;
  unicode: string;
  flags: string;
  /** False: each match is within one line. */
  spansLines: boolean;
}

/** Half a surrogate pair represents a byte that is not UTF-8; as in Rust no class contains it. */
const NO_BYTES = '\\u{d800}-\\u{dfff}';
/** Half a word boundary must not be next to such a byte: as in Rust, a byte that is not UTF-8 is no edge of a word. */
const NO_EDGE = `[${WORD_SET}${NO_BYTES}]`;
const LOOK = { '=': 'look-ahead', '!': 'look-ahead', '<=': 'look-behind', '<!': 'look-behind' };
/** Deeper nesting would overflow a stack, here or in V8. */
const MAX_NESTING = 200;
/** Rust rejects larger repetitions for their size; in V8 they exhaust the memory. */
const MAX_REPEATS = 1_000;

/** @throws {ToolError} INVALID_ARGUMENT for a pattern that Rust rejects, or that JavaScript cannot express */
export function translateRegex(pattern: string, options: RegexOptions): TranslatedRegex {
  const translation = new Translation(pattern, options);
  const body = translation.whole();
  const insensitive = translation.isInsensitive();
  const sources = [true, false].map((ascii) => {
    const text = body.map((part) => (typeof part === 'string' ? part : ascii ? part.ascii : part.unicode)).join('');
    if (!options.word) return text;
    return ascii ? `(?<!\\w)(?:${text})(?!\\w)` : `(?<!${NO_EDGE})(?:${text})(?!${NO_EDGE})`;
  });
  const [ascii = '', unicode = ''] = sources;
  const flags = insensitive ? 'vgi' : 'vg';
  try {
    new RegExp(unicode, flags);
    new RegExp(ascii, flags);
  } catch (error) {
    throw translation.wrong(error instanceof Error ? error.message.slice(-100) : 'it does not compile');
  }
  return { ascii, unicode, flags, spansLines: options.multiline && translation.spansLines };
}

/** A part of the pattern: one source for all text, or one for ASCII and one for Unicode text. */
type Part = string | { ascii: string; unicode: string };

interface Flags {
  insensitive: boolean;
  multiLine: boolean;
  dotAll: boolean;
  swapGreed: boolean;
  verbose: boolean;
}

class Translation {
  spansLines = false;
  readonly #reader: PatternReader;
  readonly #options: RegexOptions;
  #flags: Flags = { insensitive: false, multiLine: true, dotAll: false, swapGreed: false, verbose: false };
  /** The case settings under which the pattern has characters with two cases. */
  readonly #cases = new Set<boolean>();
  #hasLetter = false;
  #hasUpper = false;
  readonly #names = new Set<string>();

  constructor(pattern: string, options: RegexOptions) {
    this.#reader = new PatternReader(pattern);
    this.#options = options;
    this.#flags.insensitive = options.case === 'insensitive';
  }

  whole(): Part[] {
    if (this.#options.literal) {
      const { characters } = this.#reader;
      return characters.map((char) => {
        this.#reader.at++;
        return this.#literal(char.codePointAt(0) ?? 0);
      });
    }
    const parts = this.#alternatives(0);
    if (this.#reader.next !== undefined) throw this.wrong('unopened group');
    return parts;
  }

  wrong(why: string) {
    return this.#reader.wrong(why);
  }

  isInsensitive(): boolean {
    if (this.#cases.size > 1)
      throw this.wrong('without ripgrep (?i) must apply to the whole pattern; put it at the beginning');
    if (this.#options.case === 'smart' && this.#hasLetter && !this.#hasUpper) return true;
    return this.#cases.has(true);
  }

  #alternatives(depth: number): Part[] {
    if (depth > MAX_NESTING) throw this.wrong('its groups are nested too deeply');
    const parts: Part[] = [];
    const before = this.#flags;
    for (;;) {
      const char = this.#reader.next;
      if (char === undefined || char === ')') break;
      if (this.#reader.take('|')) parts.push('|');
      else for (const part of this.#repeated(this.#item(depth))) parts.push(part);
    }
    this.#setFlags(before);
    return parts;
  }

  /** One item; undefined for a `(?i)`, which no repetition may follow. */
  #item(depth: number): Part[] | undefined {
    const reader = this.#reader;
    const char = reader.next ?? '';
    reader.at++;
    switch (char) {
      case '(':
        return this.#group(depth);
      case '[':
        return [this.#class(readClass(reader, (code) => this.#note(code)))];
      case '\\':
        return this.#escape();
      case '.':
        return [this.#class(this.#flags.dotAll ? '\\p{Any}' : '[^\\n]', false)];
      case '^':
        return [this.#flags.multiLine || !this.#options.multiline ? '(?:(?<![^\\n]))' : '(?:^)'];
      case '$':
        return [this.#flags.multiLine || !this.#options.multiline ? '(?:(?![^\\n]))' : '(?:$)'];
      case '*':
      case '+':
      case '?':
      case '{':
        throw this.wrong('repetition operator missing expression');
      default:
        return [this.#literal(char.codePointAt(0) ?? 0)];
    }
  }

  #group(depth: number): Part[] | undefined {
    const reader = this.#reader;
    const outside = this.#flags;
    if (reader.take('?')) {
      for (const [mark, name] of Object.entries(LOOK)) {
        if (reader.take(mark)) throw this.wrong(`${name} is not supported, as it could take unbounded time`);
      }
      if (reader.take('P<') || reader.take('<')) this.#name(reader.until('>', 'a group name'));
      else if (this.#readFlags()) return undefined;
    }
    const parts = this.#alternatives(depth + 1);
    this.#setFlags(outside);
    if (!reader.take(')')) throw this.wrong('unclosed group');
    return ['(?:', ...parts, ')'];
  }

  #name(name: string): void {
    if (!/^[\p{Alphabetic}_][\p{Alphabetic}\p{Nd}_.[\]]*$/u.test(name) || this.#names.has(name))
      throw this.wrong(`the group name ${JSON.stringify(name)} is invalid or duplicate`);
    this.#names.add(name);
  }

  /** True for flags of the rest of the group, as in `(?i)`; false for a group of their own, as in `(?i:`. */
  #readFlags(): boolean {
    const reader = this.#reader;
    const flags = { ...this.#flags };
    let value = true;
    for (;;) {
      const char = reader.characters[reader.at++];
      if (char === '-' && value) value = false;
      else if (char === 'i') flags.insensitive = value;
      else if (char === 'm') flags.multiLine = value;
      else if (char === 's') flags.dotAll = value;
      else if (char === 'U') flags.swapGreed = value;
      else if (char === 'x') flags.verbose = value;
      else if (char === 'u' && value) continue;
      else if (char === 'u' || char === 'R') throw this.wrong(`the flag ${char} requires ripgrep`);
      else if (char === ':' || char === ')') {
        this.#setFlags(flags);
        return char === ')';
      } else throw this.wrong('unrecognized flag');
    }
  }

  #setFlags(flags: Flags): void {
    this.#flags = flags;
    this.#reader.isVerbose = flags.verbose;
  }

  #escape(): Part[] {
    const reader = this.#reader;
    const escape = readEscape(reader);
    if (escape)
      return ['set' in escape ? this.#class(escape.set, /^\\[pP]/.test(escape.set)) : this.#literal(escape.code)];
    const look = ['A', 'z', '<', '>', 'b{start-half}', 'b{end-half}', 'b{start}', 'b{end}', 'b', 'B'].find((each) =>
      reader.take(each),
    );
    switch (look) {
      case 'A':
        return [this.#options.multiline ? '(?:^)' : '(?:(?<![^\\n]))'];
      case 'z':
        return [this.#options.multiline ? '(?:$)' : '(?:(?![^\\n]))'];
      case 'b':
      case 'B': {
        const [before, after] = [`(?<=${WORD_SET})`, `(?=${WORD_SET})`];
        const [notBefore, notAfter] = [`(?<!${WORD_SET})`, `(?!${WORD_SET})`];
        const noEdge = `(?<!${NO_EDGE})(?!${NO_EDGE})`;
        const unicode =
          look === 'b' ? `(?:${before}${notAfter}|${notBefore}${after})` : `(?:${before}${after}|${noEdge})`;
        return [{ ascii: `(?:\\${look})`, unicode }];
      }
      case undefined:
        throw this.wrong('unrecognized escape sequence, or a back-reference, which is not supported');
      default: {
        const isStart = look === '<' || look.includes('start');
        const half = (word: string): string => (isStart ? `(?<!${word})` : `(?!${word})`);
        const other = (word: string): string => (look.includes('half') ? '' : isStart ? `(?=${word})` : `(?<=${word})`);
        return [
          {
            ascii: `(?:${half('\\w')}${other('\\w')})`,
            unicode: `(?:${half(look.includes('half') ? NO_EDGE : WORD_SET)}${other(WORD_SET)})`,
          },
        ];
      }
    }
  }

  #repeated(item: Part[] | undefined): Part[] {
    if (!item) {
      if (/^[*+?{]$/.test(this.#reader.next ?? '')) throw this.wrong('repetition operator missing expression');
      return [];
    }
    let parts = item;
    for (;;) {
      const operator = this.#operator();
      if (operator === undefined) return parts;
      const lazy = this.#reader.take('?') !== this.#flags.swapGreed;
      parts = ['(?:', ...parts, `)${operator}${lazy ? '?' : ''}`];
    }
  }

  #operator(): string | undefined {
    const reader = this.#reader;
    for (const each of ['*', '+', '?']) if (reader.take(each)) return each;
    if (!reader.take('{')) return undefined;
    const text = reader.until('}', 'repetition quantifier').replace(/\s/g, '');
    const [, least, comma, most] = /^(\d{1,6})(,?)(\d{1,6})?$/.exec(text) ?? [];
    if (least === undefined || (comma === '' && most !== undefined))
      throw this.wrong('repetition quantifier expects a valid decimal');
    if (most !== undefined && Number(most) < Number(least)) throw this.wrong('invalid repetition count range');
    if (Number(most ?? least) > MAX_REPEATS)
      throw this.wrong(`without ripgrep the limit is ${MAX_REPEATS} repetitions`);
    return `{${Number(least)}${comma}${most === undefined ? '' : Number(most)}}`;
  }

  #literal(code: number): string {
    if (code === 0x0a && !this.#options.multiline)
      throw this.wrong('the literal "\\n" is not allowed without multiline; set multiline');
    if (code === 0x0a) this.spansLines = true;
    this.#note(code);
    return escapeCode(code);
  }

  /** Records a literal character of the pattern. */
  #note(code: number): void {
    const char = String.fromCodePoint(code);
    this.#hasLetter = true;
    this.#hasUpper ||= /\p{Lu}/u.test(char);
    if (/\p{Changes_When_Casemapped}/u.test(char)) this.#cases.add(this.#flags.insensitive);
  }

  #class(set: ClassSet, hasCases = true): Part {
    const hasNewline = new RegExp(`[${set}]`, 'v').test('\n');
    if (hasNewline) this.spansLines = true;
    const isPerl = set === WORD_SET || set.startsWith('[^\\p{Nd}') || set.startsWith(`[^${WORD_SET}`);
    if (hasCases && !isPerl && set !== '\\p{Nd}' && set !== '\\p{White_Space}')
      this.#cases.add(this.#flags.insensitive);
    const newline = this.#options.multiline ? '' : '\\n';
    return {
      ascii: newline && hasNewline ? `[${set}--[${newline}]]` : `[${set}]`,
      unicode: `[${set}--[${newline}${NO_BYTES}]]`,
    };
  }
}
