// The demo's model: no network, no randomness, but real decisions: each step looks at what the tools answered.

import { textOf, type ToolResult } from '@toolwright/core';
import type { Model, Turn } from './agent.js';

const MARK = 'edited by the Toolwright demo';
const TEXT_FILES = '**/*.{md,txt,rst,ts,tsx,js,mjs,cjs,py,go,rs,java,c,h,cpp,rb,sh,toml,yaml,yml}';

/** A longer line is shown cut, and cannot be replaced by what was shown. */
const LONGEST_LINE = 400;
const MAX_TRIES = 5;
const OWN_FILE = 'notes.txt';

interface Match {
  path: string;
  line: number;
  text: string;
}

/**
 * Finds a text file, searches it, reads it, changes one line after an approval, verifies the change by a search and by a
 * command, and commits it.
 */
export function scriptedModel(): Model {
  return function* () {
    const looked = yield {
      say: 'What is in this project?',
      call: { name: 'filesystem.list_directory', args: { path: '.' } },
    };
    if (looked.isError) return `I cannot look around: ${textOf(looked)}`;

    const found = yield {
      say: 'Which text files are there?',
      call: { name: 'filesystem.glob', args: { pattern: TEXT_FILES, limit: 50, sort: 'path' } },
    };
    let target: Match | undefined;
    for (const path of bestFirst(filesOf(found)).slice(0, MAX_TRIES)) {
      target = firstWords(yield search(path));
      if (target) break;
    }
    if (!target) {
      yield {
        say: 'There is no file with words in it; I write one.',
        call: {
          name: 'filesystem.write_file',
          args: { path: OWN_FILE, content: 'A first line of notes.\nAnd a second one.\n' },
        },
      };
      target = firstWords(yield search(OWN_FILE));
    }
    if (!target) return 'I found no words anywhere, so there is nothing for me to change.';
    const { path } = target;

    const read = yield {
      say: 'I read the file before I change it.',
      call: {
        name: 'filesystem.read_file',
        args: { path, offset: 1, limit: Math.max(20, target.line), line_numbers: false },
      },
    };
    if (read.isError) return `I could not read ${path}: ${textOf(read)}`;

    const old_string = target.text.trimEnd();
    const new_string = `${old_string} (${MARK})`;
    const numbered = { path, edits: [{ old_string, new_string }] };
    let edited = yield { say: `I mark line ${target.line}.`, call: { name: 'filesystem.edit_file', args: numbered } };
    if (edited.error?.code === 'MULTIPLE_MATCHES') {
      edited = yield {
        say: 'That text is there several times; I change all of them.',
        call: { name: 'filesystem.edit_file', args: { path, edits: [{ old_string, new_string, replace_all: true }] } },
      };
    }
    if (edited.isError) return `The change was not made (${edited.error?.code}), and ${path} is as it was.`;

    const verified = yield {
      say: 'Is the change there?',
      call: { name: 'filesystem.grep', args: { pattern: MARK, path, literal: true } },
    };
    const tested = yield {
      say: 'A command of the shell says the same?',
      call: { name: 'bash.execute', args: { command: `grep -c ${quoted(MARK)} ${quoted(`./${path}`)}` } },
    };
    const committed = yield* commit(path);
    const outside = yield {
      say: 'And what lies outside the project stays outside:',
      call: { name: 'filesystem.read_file', args: { path: '../../../etc/passwd' } },
    };
    const where = matchesOf(verified).map(({ line }) => line);
    return (
      `I marked line ${where.join(', ')} of ${path}; the command ended with ${exitOf(tested)}; ` +
      `${committed}; the way out was ${outside.isError ? 'closed' : 'OPEN'}.`
    );
  };
}

/** Looks at what changed, and commits that one file. */
function* commit(path: string): Generator<Turn, string, ToolResult> {
  const status = yield { say: 'What has changed since the last commit?', call: { name: 'git.status', args: {} } };
  if (status.isError) return `nothing was committed (${status.error?.code})`;
  const added = yield { say: 'I take that into a commit.', call: { name: 'git.add', args: { paths: [path] } } };
  if (added.isError) return `nothing was committed (${added.error?.code})`;
  const message = `Mark a line of ${path}`;
  const committed = yield { say: 'And say why.', call: { name: 'git.commit', args: { message } } };
  return committed.isError
    ? `nothing was committed (${committed.error?.code})`
    : `commit ${String(committed.structuredContent?.oid).slice(0, 8)} holds it`;
}

/** One word of a shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function exitOf({ structuredContent, error }: ToolResult): string {
  return error?.code ?? String(structuredContent?.exit_code);
}

function search(path: string): Turn {
  const args = { pattern: '[A-Za-z]{4,}', path, limit: 5 };
  return { say: `I look for lines with a word in ${path}.`, call: { name: 'filesystem.grep', args } };
}

function firstWords(result: ToolResult): Match | undefined {
  return matchesOf(result).find(({ text }) => text.length <= LONGEST_LINE);
}

/** Readable files near the root come first: READMEs, then short paths. */
function bestFirst(files: readonly string[]): string[] {
  const rank = (path: string): number =>
    (/^readme/i.test(path) ? 0 : 1) * 1_000 + path.split('/').length * 100 + path.length;
  return files.toSorted((a, b) => rank(a) - rank(b));
}

function filesOf({ structuredContent }: ToolResult): string[] {
  return (structuredContent?.files as string[] | undefined) ?? [];
}

function matchesOf({ structuredContent }: ToolResult): Match[] {
  return (structuredContent?.matches as Match[] | undefined) ?? [];
}
