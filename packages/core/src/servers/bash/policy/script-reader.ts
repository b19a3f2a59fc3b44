// Parses a bash script into lists, pipelines and simple commands. Loops, conditions, functions and the rest of the
// language are refused.

import { tokenize, UnreadableScript, type ShellToken, type ShellWord } from './script-tokens.js';

/** `NAME=value` before a command. */
export interface Assignment {
  readonly name: string;
  readonly value: ShellWord;
}

export interface Redirect {
  readonly operator: string;
  readonly target: ShellWord;
}

export type ScriptNode =
  | {
      readonly kind: 'command';
      readonly words: readonly ShellWord[];
      readonly assignments: readonly Assignment[];
      readonly redirects: readonly Redirect[];
    }
  /** `( )` runs in a subshell, `{ }` in this one. */
  | {
      readonly kind: 'group';
      readonly subshell: boolean;
      readonly body: ScriptNode;
      readonly redirects: readonly Redirect[];
    }
  | { readonly kind: 'not'; readonly body: ScriptNode }
  | { readonly kind: 'pipeline'; readonly parts: readonly ScriptNode[] }
  | { readonly kind: 'and' | 'or'; readonly left: ScriptNode; readonly right: ScriptNode }
  | { readonly kind: 'background'; readonly body: ScriptNode }
  | { readonly kind: 'sequence'; readonly parts: readonly ScriptNode[] };

type CommandNode = Extract<ScriptNode, { kind: 'command' }>;

/** Words that cannot be a command's name. `time` is reserved too, but reads like a wrapper. */
const RESERVED: ReadonlySet<string> = new Set(
  'if then else elif fi case esac for select while until do done in function coproc [[ ]] { } !'.split(' '),
);
const MAX_DEPTH = 20;

/** @throws {UnreadableScript} with the reason, for everything but lists, pipelines and simple commands */
export function readScript(source: string): ScriptNode {
  return new ScriptReader(tokenize(source)).read();
}

/** The simple commands in the order of their text. */
export function commandsOf(node: ScriptNode): CommandNode[] {
  switch (node.kind) {
    case 'command':
      return [node];
    case 'pipeline':
    case 'sequence':
      return node.parts.flatMap(commandsOf);
    case 'and':
    case 'or':
      return [...commandsOf(node.left), ...commandsOf(node.right)];
    default:
      return commandsOf(node.body);
  }
}

class ScriptReader {
  readonly #tokens: readonly ShellToken[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly ShellToken[]) {
    this.#tokens = tokens;
  }

  read(): ScriptNode {
    const script = this.#sequence();
    if (this.#at < this.#tokens.length) throw new UnreadableScript('an operator is where a command should be');
    return script;
  }

  #sequence(): ScriptNode {
    const parts: ScriptNode[] = [];
    this.#skipLines();
    while (this.#at < this.#tokens.length && !this.#isOperator(')') && !this.#isBare('}')) {
      const part = this.#andOr();
      const background = this.#skipOperator('&');
      parts.push(background ? { kind: 'background', body: part } : part);
      if (!background && !this.#skipOperator(';') && !this.#isOperator('\n')) break;
      this.#skipLines();
    }
    if (parts.length === 0) throw new UnreadableScript('it contains no command');
    return parts.length === 1 ? (parts[0] as ScriptNode) : { kind: 'sequence', parts };
  }

  #andOr(): ScriptNode {
    let left = this.#pipeline();
    for (;;) {
      const kind = this.#skipOperator('&&') ? 'and' : this.#skipOperator('||') ? 'or' : undefined;
      if (!kind) return left;
      this.#skipLines();
      left = { kind, left, right: this.#pipeline() };
    }
  }

  #pipeline(): ScriptNode {
    const negated = this.#isBare('!');
    if (negated) this.#at++;
    const parts = [this.#command()];
    while (this.#skipOperator('|') || this.#skipOperator('|&')) {
      this.#skipLines();
      parts.push(this.#command());
    }
    const body: ScriptNode = parts.length === 1 ? (parts[0] as ScriptNode) : { kind: 'pipeline', parts };
    return negated ? { kind: 'not', body } : body;
  }

  #command(): ScriptNode {
    if (this.#skipOperator('(')) return this.#group(true, () => this.#skipOperator(')'));
    if (!this.#isBare('{')) return this.#simple();
    this.#at++;
    return this.#group(false, () => {
      const closed = this.#isBare('}');
      if (closed) this.#at++;
      return closed;
    });
  }

  #group(subshell: boolean, close: () => boolean): ScriptNode {
    if (++this.#depth > MAX_DEPTH) throw new UnreadableScript('it is nested too deeply');
    const body = this.#sequence();
    if (!close()) throw new UnreadableScript('a bracket is not closed');
    this.#depth--;
    const redirects: Redirect[] = [];
    while (this.#tokens[this.#at]?.kind === 'redirect') redirects.push(this.#redirect());
    return { kind: 'group', subshell, body, redirects };
  }

  #simple(): CommandNode {
    const words: ShellWord[] = [];
    const assignments: Assignment[] = [];
    const redirects: Redirect[] = [];
    for (let token = this.#tokens[this.#at]; token && token.kind !== 'operator'; token = this.#tokens[this.#at]) {
      if (token.kind === 'redirect') {
        redirects.push(this.#redirect());
        continue;
      }
      this.#at++;
      const { word } = token;
      const assignment = words.length === 0 ? readAssignment(word) : undefined;
      if (assignment) assignments.push(assignment);
      else {
        if (words.length === 0 && RESERVED.has(word.shape))
          throw new UnreadableScript(`"${word.text}" begins a loop, a condition or a function, or is misplaced`);
        words.push(word);
      }
    }
    if (this.#isOperator('(') && words.length > 0) throw new UnreadableScript('it defines a function');
    if (words.length + assignments.length + redirects.length === 0)
      throw new UnreadableScript('an operator is where a command should be');
    return { kind: 'command', words, assignments, redirects };
  }

  #redirect(): Redirect {
    const token = this.#tokens[this.#at++] as Extract<ShellToken, { kind: 'redirect' }>;
    const target = this.#tokens[this.#at++];
    if (target?.kind !== 'word') throw new UnreadableScript('a redirection has no target');
    return { operator: token.operator, target: target.word };
  }

  #isOperator(operator: string): boolean {
    const token = this.#tokens[this.#at];
    return token?.kind === 'operator' && token.operator === operator;
  }

  #skipOperator(operator: string): boolean {
    const found = this.#isOperator(operator);
    if (found) this.#at++;
    return found;
  }

  #skipLines(): void {
    while (this.#skipOperator('\n'));
  }

  #isBare(word: string): boolean {
    const token = this.#tokens[this.#at];
    return token?.kind === 'word' && token.word.shape === word;
  }
}

function readAssignment({ text, shape, variable }: ShellWord): Assignment | undefined {
  const [, name] = /^([A-Za-z_][A-Za-z0-9_]*)\+?=/.exec(shape) ?? [];
  if (name === undefined) {
    if (/^[A-Za-z_][A-Za-z0-9_]*\[[^]*\]?\+?=/.test(shape))
      throw new UnreadableScript('it sets an element of an array');
    return undefined;
  }
  const start = shape.indexOf('=') + 1;
  return { name, value: { text: text.slice(start), shape: shape.slice(start), variable } };
}
