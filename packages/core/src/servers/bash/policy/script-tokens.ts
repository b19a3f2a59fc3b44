// Bash text as words and operators, for the part of the language that says plainly what it runs. Everything else is
// refused with the reason: it is bash's to expand, and nobody's to guess.

/** Thrown for what is not read here; the message is for the person who approves. */
export class UnreadableScript extends Error {}

/** One word as a command gets it. */
export interface ShellWord {
  /** Without its quotes. A variable stands as `$NAME`. */
  readonly text: string;
  /** {@link text} with a NUL in place of each character that was quoted or comes from a variable. */
  readonly shape: string;
  /** True when a plain `$NAME` is part of it: its value is not known here. */
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
const BROKEN_NAME = 'a line break stands in what the shell expands';
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
      if (source.startsWith('<<', at))
        throw new UnreadableScript('it feeds text written in the command to a program (<<)');
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
          throw new UnreadableScript('it keeps a descriptor in a variable: {NAME}>');
        // Digits directly before < or > are a descriptor, and a word of the command when no C int holds them.
        if (/^\d+$/.test(word.shape) && (source[at] === '<' || source[at] === '>')) {
          if (Number(word.text) > 0x7fff_ffff) throw new UnreadableScript('its descriptor is too large a number');
          const next = REDIRECTS.find((each) => !each.startsWith('&') && source.startsWith(each, at)) as string;
          if (source.startsWith('<<', at))
            throw new UnreadableScript('it feeds text written in the command to a program (<<)');
          tokens.push({ kind: 'redirect', operator: next, descriptor: word.text });
          at = targetOf(source, next, at + next.length);
        } else tokens.push({ kind: 'word', word });
      }
    }
  }
  return tokens;
}

/**
 * Where the target of a redirection begins. After `<&` and `>&` bash reads a dash as a token of its own, wherever it stands:
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
  const take = (piece: string, quoted: boolean): void => {
    text += piece;
    shape += quoted ? '\0'.repeat(piece.length) : piece;
  };
  const takeVariable = (): void => {
    const [name] = PLAIN_VARIABLE.exec(source.slice(at, at + 200)) ?? [];
    if (name === undefined) throw new UnreadableScript(expansionAt(source, at));
    // bash takes the line break out before it looks where a name begins and ends.
    if (source.startsWith('\\\n', at + name.length)) throw new UnreadableScript(BROKEN_NAME);
    take(`$${name.replace(/[${}]/g, '') || '$'}`, true);
    variable = true;
    at += name.length;
  };
  while (at < source.length && !/[ \t\n;&|()<>]/.test(source[at] as string)) {
    const char = source[at] as string;
    if (char === '\\') {
      const next = source[at + 1];
      if (next === undefined) throw new UnreadableScript('it ends in a backslash');
      if (next !== '\n') take(next, true);
      at += 2;
    } else if (char === "'") {
      const end = source.indexOf("'", at + 1);
      if (end < 0) throw new UnreadableScript('a quote is not closed');
      take(source.slice(at + 1, end), true);
      at = end + 1;
    } else if (char === '"') {
      at++;
      while (source[at] !== '"') {
        const inner = source[at];
        if (inner === undefined) throw new UnreadableScript('a quote is not closed');
        if (inner === '\\') {
          const next = source[at + 1] ?? '';
          if (next !== '\n') take(/^[$`"\\]$/.test(next) ? next : `\\${next}`, true);
          at += 2;
        } else if (inner === '`') throw new UnreadableScript('it runs a command inside an argument: ` `');
        else if (inner === '$' && expandsAt(source, at, /^[A-Za-z0-9_{(?#$!@*[-]/)) takeVariable();
        else {
          take(inner, true);
          at++;
        }
      }
      at++;
    } else if (char === '`') throw new UnreadableScript('it runs a command inside an argument: ` `');
    else if (char === '$' && expandsAt(source, at, /^[A-Za-z0-9_{(?#$!@*['"-]/)) takeVariable();
    else {
      take(char, false);
      at++;
    }
  }
  // Quotes around nothing are gone from the shape. With them `2''>a` has a word, and `CI''=1` and `}''` are commands.
  const [bare] = /^(?:\d+$|[!{}]$|[A-Za-z_]\w*(?:\[[^]*\])?\+?=)/.exec(shape) ?? [];
  if (bare !== undefined) {
    const raw = source.slice(start, at).replaceAll('\\\n', '');
    if (bare.endsWith('=') ? !raw.startsWith(bare) : raw !== bare)
      throw new UnreadableScript('quotes around nothing change what a word is');
  }
  return { word: { text, shape, variable }, end: at };
}

/** Whether a "$" begins an expansion; a line break behind it is not there for bash. */
function expandsAt(source: string, at: number, next: RegExp): boolean {
  return next.test(source[at + 1] ?? '') || source.startsWith('\\\n', at + 1);
}

function expansionAt(source: string, at: number): string {
  const next = source[at + 1];
  if (next === '(') return 'it runs a command, or computes, inside an argument: $( )';
  if (next === "'" || next === '"') return `it writes a word in disguise: $${next}`;
  if (next === '\\') return BROKEN_NAME;
  return 'it expands more than a plain variable: ${ }';
}

/** True when bash would put file names in its place. */
export function hasWildcard({ shape }: ShellWord): boolean {
  return /[*?]|\[[^]*\]/.test(shape);
}

/** True when bash would make several words of it: `{a,b}`, `{1..3}`. */
export function hasBraces({ shape }: ShellWord): boolean {
  return /\{[^]*(?:,|\.\.)/.test(shape);
}

/** True when bash would put a home directory in its place. */
export function hasTilde({ shape }: ShellWord): boolean {
  return /(?:^|[=:])~/.test(shape);
}
