// Splits bash text into words and operators, for the part of the language in which the text says what runs. Everything
// else is refused with the reason: only bash can expand it.

/** Thrown for text that is not read here. The message is for the person who approves the command. */
export class UnreadableScript extends Error {}

/** One word, as a command receives it. */
export interface ShellWord {
  /** Without quotes. A variable is written `$NAME`. */
  readonly text: string;
  /** {@link text} with a NUL for each character that is quoted or part of a variable. */
  readonly shape: string;
  /** True when it contains a plain `$NAME`, whose value is not known here. */
  readonly variable: boolean;
}

export type ShellToken =
  | { readonly kind: 'word'; readonly word: ShellWord }
  /** `&&`, `||`, `;`, `&`, `|`, `|&`, `(`, `)` or a line end. */
  | { readonly kind: 'operator'; readonly operator: string }
  /** A redirection; its target is the word that follows. */
  | { readonly kind: 'redirect'; readonly operator: string; readonly descriptor: string | undefined };

const OPERATORS = ['&&', '||', '|&', ';', '|', '(', ')', '\n', '&'];
const REDIRECTS = ['&>>', '&>', '>>', '>|', '>&', '<>', '<&', '>', '<'];
const BROKEN_NAME = 'a line break is inside an expansion';
const PLAIN_VARIABLE = /^\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\}|[?#$!0-9])/;

/** @throws {UnreadableScript} */
export function tokenize(source: string): ShellToken[] {
  const tokens: ShellToken[] = [];
  let at = 0;
  while (at < source.length) {
    const char = source[at] as string;
    if (char === ' ' || char === '\t') at++;
    else if (source.startsWith('\\\n', at)) at += 2;
    else if (char === '#') at = endOfLine(source, at);
    else {
      const redirect = REDIRECTS.find((each) => source.startsWith(each, at));
      const operator = OPERATORS.find((each) => source.startsWith(each, at));
      if (source.startsWith('<<', at)) throw new UnreadableScript('it contains a here-document: <<');
      if (source.startsWith('<(', at) || source.startsWith('>(', at))
        throw new UnreadableScript('it runs a command inside an argument: <( ) or >( )');
      if (redirect !== undefined) {
        tokens.push({ kind: 'redirect', operator: redirect, descriptor: undefined });
        at = targetOf(source, redirect, at + redirect.length);
      } else if (source.startsWith(';;', at) || source.startsWith(';&', at) || source.startsWith('((', at)) {
        throw new UnreadableScript(`"${source.slice(at, at + 2)}" is not read here`);
      } else if (operator !== undefined) {
        tokens.push({ kind: 'operator', operator });
        at += operator.length;
      } else {
        const { word, end } = readWord(source, at);
        at = end;
        if (/^\{[A-Za-z_]\w*(?:\[[^\]]*\])?\}$/.test(word.shape) && (source[at] === '<' || source[at] === '>'))
          throw new UnreadableScript('it stores a descriptor in a variable: {NAME}>');
        // Digits directly before < or > are a descriptor, or a word of the command when they exceed a C int.
        if (/^\d+$/.test(word.shape) && (source[at] === '<' || source[at] === '>')) {
          if (Number(word.text) > 0x7fff_ffff) throw new UnreadableScript('its descriptor is too large a number');
          const next = REDIRECTS.find((each) => !each.startsWith('&') && source.startsWith(each, at)) as string;
          if (source.startsWith('<<', at)) throw new UnreadableScript('it contains a here-document: <<');
          tokens.push({ kind: 'redirect', operator: next, descriptor: word.text });
          at = targetOf(source, next, at + next.length);
        } else tokens.push({ kind: 'word', word });
      }
    }
  }
  return tokens;
}

/**
 * Where the target of a redirection begins. After `<&` and `>&` bash reads a dash as a separate token:
 * in `2>& -/etc/passwd` the dash closes the descriptor, and `/etc/passwd` is an argument of the command.
 */
function targetOf(source: string, operator: string, at: number): number {
  if (!operator.endsWith('&')) return at;
  const [blanks] = /^(?:[ \t]|\\\n)*/.exec(source.slice(at)) as [string];
  const start = at + blanks.length;
  if (/^-[^ \t\n;&|()<>]/.test(source.slice(start, start + 2)))
    throw new UnreadableScript('a word follows the dash that closes a descriptor');
  return start;
}

function endOfLine(source: string, at: number): number {
  const end = source.indexOf('\n', at);
  return end < 0 ? source.length : end;
}

function readWord(source: string, start: number): { word: ShellWord; end: number } {
  let text = '';
  let shape = '';
  let variable = false;
  let at = start;
  const append = (piece: string, quoted: boolean): void => {
    text += piece;
    shape += quoted ? '\0'.repeat(piece.length) : piece;
  };
  const appendVariable = (): void => {
    const [name] = PLAIN_VARIABLE.exec(source.slice(at, at + 200)) ?? [];
    if (name === undefined) throw new UnreadableScript(expansionAt(source, at));
    // bash removes the line break before it looks for the ends of a name.
    if (source.startsWith('\\\n', at + name.length)) throw new UnreadableScript(BROKEN_NAME);
    append(`$${name.replace(/[${}]/g, '') || '$'}`, true);
    variable = true;
    at += name.length;
  };
  while (at < source.length && !/[ \t\n;&|()<>]/.test(source[at] as string)) {
    const char = source[at] as string;
    if (char === '\\') {
      const next = source[at + 1];
      if (next === undefined) throw new UnreadableScript('it ends in a backslash');
      if (next !== '\n') append(next, true);
      at += 2;
    } else if (char === "'") {
      const end = source.indexOf("'", at + 1);
      if (end < 0) throw new UnreadableScript('a quote is not closed');
      append(source.slice(at + 1, end), true);
      at = end + 1;
    } else if (char === '"') {
      at++;
      while (source[at] !== '"') {
        const inner = source[at];
        if (inner === undefined) throw new UnreadableScript('a quote is not closed');
        if (inner === '\\') {
          const next = source[at + 1] ?? '';
          if (next !== '\n') append(/^[$`"\\]$/.test(next) ? next : `\\${next}`, true);
          at += 2;
        } else if (inner === '`') throw new UnreadableScript('it runs a command inside an argument: ` `');
        else if (inner === '$' && expandsAt(source, at, /^[A-Za-z0-9_{(?#$!@*[-]/)) appendVariable();
        else {
          append(inner, true);
          at++;
        }
      }
      at++;
    } else if (char === '`') throw new UnreadableScript('it runs a command inside an argument: ` `');
    else if (char === '$' && expandsAt(source, at, /^[A-Za-z0-9_{(?#$!@*['"-]/)) appendVariable();
    else {
      append(char, false);
      at++;
    }
  }
  // The shape does not show empty quotes. With them `2''>a` has a word, and `CI''=1` and `}''` are commands.
  const [bare] = /^(?:\d+$|[!{}]$|[A-Za-z_]\w*(?:\[[^]*\])?\+?=)/.exec(shape) ?? [];
  if (bare !== undefined) {
    const raw = source.slice(start, at).replaceAll('\\\n', '');
    if (bare.endsWith('=') ? !raw.startsWith(bare) : raw !== bare)
      throw new UnreadableScript('empty quotes change what a word is');
  }
  return { word: { text, shape, variable }, end: at };
}

/** Whether a "$" begins an expansion. bash ignores an escaped line break after it. */
function expandsAt(source: string, at: number, next: RegExp): boolean {
  return next.test(source[at + 1] ?? '') || source.startsWith('\\\n', at + 1);
}

function expansionAt(source: string, at: number): string {
  const next = source[at + 1];
  if (next === '(') return 'it runs a command, or arithmetic, inside an argument: $( )';
  if (next === "'" || next === '"') return `it contains an escaped string: $${next}`;
  if (next === '\\') return BROKEN_NAME;
  return 'it expands more than a plain variable: ${ }';
}

/** True when bash replaces it with file names. */
export function hasWildcard({ shape }: ShellWord): boolean {
  return /[*?]|\[[^]*\]/.test(shape);
}

/** True when bash splits it into several words: `{a,b}`, `{1..3}`. */
export function hasBraces({ shape }: ShellWord): boolean {
  return /\{[^]*(?:,|\.\.)/.test(shape);
}

/** True when bash replaces a part of it with a home directory. */
export function hasTilde({ shape }: ShellWord): boolean {
  return /(?:^|[=:])~/.test(shape);
}
