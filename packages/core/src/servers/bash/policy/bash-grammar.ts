// The second parser of a command: the tree-sitter grammar of bash. It lists every command at any depth, so that nothing
// hides from the first parser, and what that one refuses can still be shown.

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

/** A command of 32 KB takes a few milliseconds. */
const PARSE_TIMEOUT_MS = 50;
const MAX_COMMANDS_LISTED = 200;

let loading: Promise<Parser> | undefined;

/** Parses a command with the grammar, which is loaded on first use, once a process. */
export async function readByGrammar(command: string): Promise<GrammarReading> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined; // the file may be readable later
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
  parser.parse('echo warm')?.delete(); // the first parse compiles the grammar, which would exceed the timeout
  return parser;
}

/** In the built package the grammar is in `grammars/`, some directories up; in the sources it is a dependency. */
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

/** The nodes of a plain script. Everything else is unsupported. */
const PLAIN: ReadonlySet<string> = new Set([
  ...['program', 'list', 'pipeline', 'redirected_statement', 'negated_command', 'subshell', 'compound_statement'],
  ...['command', 'command_name', 'variable_assignment', 'variable_assignments', 'variable_name', 'comment'],
  ...['file_redirect', 'file_descriptor', 'word', 'number', 'string', 'string_content', 'raw_string'],
  ...['concatenation', 'simple_expansion', 'special_variable_name', 'expansion'],
  ...['test_command', 'unary_expression', 'binary_expression', 'test_operator'],
]);

const UNSUPPORTED_NODES: Readonly<Record<string, string>> = {
  command_substitution: 'it runs a command inside an argument: $( )',
  process_substitution: 'it runs a command inside an argument: <( )',
  heredoc_redirect: 'it contains a here-document: <<',
  herestring_redirect: 'it contains a here-string: <<<',
  function_definition: 'it defines a function',
  declaration_command: 'it changes variables of the shell',
  unset_command: 'it changes variables of the shell',
  arithmetic_expansion: 'it does arithmetic inside an argument, which can run commands',
  ansi_c_string: "it contains an escaped string: $' '",
  translated_string: 'it contains a translated string: $" "',
  brace_expression: 'it expands one word to several: { }',
};

function readTree(root: Node, deadline: number): GrammarReading {
  let unsupported = root.hasError ? 'it is incomplete or not valid bash' : undefined;
  const commands: GrammarCommand[] = [];
  const open: Node[] = [root];
  // Depth first without recursion: 5,000 brackets must not overflow the stack.
  for (let node = open.pop(), seen = 1; node; node = open.pop(), seen++) {
    if (seen % 64 === 0 && performance.now() > deadline)
      return { commands, unsupported: `it could not be read within ${PARSE_TIMEOUT_MS} ms` };
    if (node.isNamed && !PLAIN.has(node.type))
      unsupported ??= UNSUPPORTED_NODES[node.type] ?? `"${node.type}" is not read here`;
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
