// The second reading of a command: the tree-sitter grammar of bash. It names every command that it finds anywhere, so
// that nothing hides from the first reading, and what that one refuses can still be shown.

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Node, Parser } from 'web-tree-sitter';

/** A command that the grammar found. */
export interface GrammarCommand {
  /** Its name and arguments, with their quotes. */
  readonly raw: readonly string[];
  readonly text: string;
}

export interface GrammarReading {
  readonly commands: readonly GrammarCommand[];
  /** Why the text is more than a plain script; undefined when it is one. */
  readonly unsupported: string | undefined;
}

/** Patience for one parse; a command of 32 KB takes a few milliseconds. */
const PARSE_TIMEOUT_MS = 50;
/** Nodes beyond these are looked at for commands only. */
const MAX_COMMANDS_LISTED = 200;

let loading: Promise<Parser> | undefined;

/** What the grammar says of a command. Loads the grammar on first use, once a process. */
export async function readByGrammar(command: string): Promise<GrammarReading> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined; // a file that could not be read may be readable later
    throw error;
  });
  const parser = await loading;
  const start = performance.now();
  const tree = parser.parse(command, null, {
    progressCallback: () => performance.now() - start > PARSE_TIMEOUT_MS,
  });
  if (!tree) {
    parser.reset();
    return { commands: [], unsupported: `it could not be read within ${PARSE_TIMEOUT_MS} ms` };
  }
  try {
    return readTree(tree.rootNode, performance.now() + PARSE_TIMEOUT_MS);
  } finally {
    tree.delete();
  }
}

async function load(): Promise<Parser> {
  const { Parser, Language } = await import('web-tree-sitter');
  await Parser.init();
  const parser = new Parser();
  parser.setLanguage(await Language.load(await readFile(grammarFile())));
  parser.parse('echo warm')?.delete(); // the first parse compiles the grammar, which is not the command's fault
  return parser;
}

/** In the built package the grammar lies in `grammars/`, some directories up; in the sources it is a dependency. */
function grammarFile(): string {
  const name = 'tree-sitter-bash';
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    for (const file of [join('grammars', `${name}.wasm`), join('node_modules', name, `${name}.wasm`)]) {
      const path = join(directory, file);
      if (existsSync(path)) return path;
    }
    if (dirname(directory) === directory)
      throw new Error(`${name}.wasm is missing: it is in dist/grammars of @toolwright/core. Install it again.`);
  }
}

/** What a plain script is made of. Everything else is a unsupported. */
const PLAIN: ReadonlySet<string> = new Set(
  ['program', 'list', 'pipeline', 'redirected_statement', 'negated_command', 'subshell', 'compound_statement']
    .concat(['command', 'command_name', 'variable_assignment', 'variable_assignments', 'variable_name', 'comment'])
    .concat(['file_redirect', 'file_descriptor', 'word', 'number', 'string', 'string_content', 'raw_string'])
    .concat(['concatenation', 'simple_expansion', 'special_variable_name', 'expansion', 'test_command'])
    .concat(['unary_expression', 'binary_expression', 'test_operator']), // prettier-ignore
);

const UNKNOWN_NODES: Readonly<Record<string, string>> = {
  command_substitution: 'it runs a command inside an argument: $( )',
  process_substitution: 'it runs a command inside an argument: <( )',
  heredoc_redirect: 'it feeds text written in the command to a program (<<)',
  herestring_redirect: 'it feeds text written in the command to a program (<<<)',
  function_definition: 'it defines a function',
  declaration_command: 'it changes variables of the shell',
  unset_command: 'it changes variables of the shell',
  arithmetic_expansion: 'it computes inside an argument, which can run commands',
  ansi_c_string: "it writes a word in disguise: $' '",
  translated_string: 'it writes a word in disguise: $" "',
  brace_expression: 'it makes several words of one: { }',
};

function readTree(root: Node, deadline: number): GrammarReading {
  let unsupported = root.hasError ? 'it is not complete or not correct bash' : undefined;
  const commands: GrammarCommand[] = [];
  const open: Node[] = [root];
  // Depth first without recursion: 5,000 brackets must not end in a full stack.
  for (let node = open.pop(), seen = 1; node; node = open.pop(), seen++) {
    if (seen % 64 === 0 && performance.now() > deadline)
      return { commands, unsupported: `it could not be read within ${PARSE_TIMEOUT_MS} ms` };
    if (node.isNamed && !PLAIN.has(node.type))
      unsupported ??= UNKNOWN_NODES[node.type] ?? `"${node.type}" is not read here`;
    if (node.type === 'command' && commands.length < MAX_COMMANDS_LISTED) commands.push(readCommand(node));
    if (node.type === 'test_command' && commands.length < MAX_COMMANDS_LISTED)
      commands.push({ raw: [node.text], text: node.text });
    const { children } = node;
    for (let index = children.length - 1; index >= 0; index--) {
      const child = children[index];
      if (child) open.push(child);
    }
  }
  return { commands, unsupported };
}

function readCommand(node: Node): GrammarCommand {
  const raw: string[] = [];
  for (const child of node.children) {
    if (
      child &&
      child.isNamed &&
      !/^(?:variable_assignment|(?:file|herestring|heredoc)_redirect|comment)$/.test(child.type)
    )
      raw.push(child.text);
  }
  return { raw, text: node.text };
}
