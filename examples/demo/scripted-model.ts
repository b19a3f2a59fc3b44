// The demo's model: it uses no network and no randomness, and decides each step by the previous results.

import { textOf, type ToolResult } from '@toolwright/core';
import type { Model, Turn } from './agent.js';

const MARK = 'edited by the Toolwright demo';
const TEXT_FILES = '**/*.{md,txt,rst,ts,tsx,js,mjs,cjs,py,go,rs,java,c,h,cpp,rb,sh,toml,yaml,yml}';

/** Longer lines are shown shortened, so their text cannot be used for an edit. */
const LONGEST_LINE = 400;
const MAX_TRIES = 5;
const NEW_FILE = 'notes.txt';

interface Match {
  path: string;
  line: number;
  text: string;
}

/**
 * Finds a text file, searches it, reads it, changes one line after an approval, verifies the change with a search and a
 * command, and commits it.
 */
export function scriptedModel(): Model {
  return function* () {
    const looked = yield {
      say: 'What is in this project?',
      call: { name: 'filesystem.list_directory', args: { path: '.' } },
    };
    if (looked.isError) return `I cannot list the project: ${textOf(looked)}`;

    const found = yield {
      say: 'Which text files does it have?',
      call: { name: 'filesystem.glob', args: { pattern: TEXT_FILES, limit: 50, sort: 'path' } },
    };
    let target: Match | undefined;
    for (const path of bestFirst(filesOf(found)).slice(0, MAX_TRIES)) {
      target = firstWords(yield search(path));
      if (target) break;
    }
    if (!target) {
      yield {
        say: 'No file has words in it, so I write one.',
        call: {
          name: 'filesystem.write_file',
          args: { path: NEW_FILE, content: 'A first line of notes.\nAnd a second one.\n' },
        },
      };
      target = firstWords(yield search(NEW_FILE));
    }
    if (!target) return 'I found no words anywhere, so I have nothing to change.';
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
        say: 'That text occurs several times, so I change all of them.',
        call: { name: 'filesystem.edit_file', args: { path, edits: [{ old_string, new_string, replace_all: true }] } },
      };
    }
    if (edited.isError) return `The edit failed (${edited.error?.code}), and ${path} is unchanged.`;

    const verified = yield {
      say: 'Did the edit work?',
      call: { name: 'filesystem.grep', args: { pattern: MARK, path, literal: true } },
    };
    const tested = yield {
      say: 'Does a shell command agree?',
      call: { name: 'bash.execute', args: { command: `grep -c ${quoted(MARK)} ${quoted(`./${path}`)}` } },
    };
    const committed = yield* commit(path);
    const outside = yield {
      say: 'A path outside the project should be refused:',
      call: { name: 'filesystem.read_file', args: { path: '../../../etc/passwd' } },
    };
    const where = matchesOf(verified).map(({ line }) => line);
    return (
      `I marked line ${where.join(', ')} of ${path}; the command exited with ${exitOf(tested)}; ` +
      `${committed}; reading outside was ${outside.isError ? 'refused' : 'ALLOWED'}.`
    );
  };
}

/** Checks what changed and commits the one file. */
function* commit(path: string): Generator<Turn, string, ToolResult> {
  const status = yield { say: 'What has changed since the last commit?', call: { name: 'git.status', args: {} } };
  if (status.isError) return `nothing was committed (${status.error?.code})`;
  const added = yield { say: 'I stage the file.', call: { name: 'git.add', args: { paths: [path] } } };
  if (added.isError) return `nothing was committed (${added.error?.code})`;
  const message = `Mark a line of ${path}`;
  const committed = yield { say: 'I commit it.', call: { name: 'git.commit', args: { message } } };
  return committed.isError
    ? `nothing was committed (${committed.error?.code})`
    : `commit ${String(committed.structuredContent?.oid).slice(0, 8)} contains it`;
}

/** Quotes a text as one word of a shell. */
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

/** READMEs first, then short paths near the root. */
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
