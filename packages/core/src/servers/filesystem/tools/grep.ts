// grep: finds lines that match a pattern, by ripgrep or by the built-in walk.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import {
  changedNotice,
  changedOutput,
  claimPath,
  withheldNotice,
  withheldOutput,
  type FilesystemContext,
} from '../filesystem-context.js';
import { cursorInput, cursorOutput, readCursor, writeCursor } from '../search/search-cursor.js';
import { fileTypeMatcher } from '../search/file-types.js';
import { grepByRipgrep } from '../search/grep-ripgrep.js';
import type { FileRow, GrepRow } from '../search/grep-sink.js';
import { inNormalForms } from '../search/glob-pattern.js';
import { IgnoreFile } from '../search/ignore-file.js';
import { grepLines } from '../search/line-part.js';
import { limitText } from '../../project/output-budget.js';
import { engineOutput, resolveEngine, type SearchEngine } from '../search/search-engine.js';
import { openSearchPlace } from '../search/search-place.js';
import type { GrepOutcome, GrepQuestion } from '../search/grep-question.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const MAX_PATTERN_CHARS = 10_000;
const PROGRESS_INTERVAL_MS = 1_000;

const input = objectSchema(
  {
    pattern: {
      type: 'string',
      minLength: 1,
      maxLength: MAX_PATTERN_CHARS,
      description: "A regular expression in Rust's syntax, without look-around and back-references.",
    },
  },
  {
    path: { type: 'string', default: '.', description: 'A directory or one file, relative to the project.' },
    glob: {
      anyOf: [
        { type: 'string', minLength: 1 },
        { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1, maxItems: 100 },
      ],
      description:
        'Only files that match, such as "*.ts" or "src/**"; "!*.md" excludes files. In a list, the last match decides.',
    },
    type: {
      type: 'string',
      pattern: '^[A-Za-z0-9_+-]+$',
      description: 'Only files of this type, such as "ts", "py" or "rust".',
    },
    literal: { type: 'boolean', default: false, description: 'Treat the pattern as plain text.' },
    case: {
      type: 'string',
      enum: ['sensitive', 'insensitive', 'smart'],
      default: 'sensitive',
      description: '"smart": case-sensitive if the pattern has an upper-case letter.',
    },
    word: { type: 'boolean', default: false, description: 'Match whole words only.' },
    multiline: {
      type: 'boolean',
      default: false,
      description: 'Let a match span lines: \\n, \\s and [^a] match line breaks; "." does with (?s).',
    },
    before: { type: 'integer', minimum: 0, maximum: 100, default: 0, description: 'Lines before each match.' },
    after: { type: 'integer', minimum: 0, maximum: 100, default: 0, description: 'Lines after each match.' },
    context: {
      type: 'integer',
      minimum: 0,
      maximum: 100,
      default: 0,
      description: 'Lines before and after each match.',
    },
    mode: {
      type: 'string',
      enum: ['content', 'files', 'count'],
      default: 'content',
      description: 'Matching lines, files with a match, or the number of matching lines per file.',
    },
    limit: { type: 'integer', minimum: 1, maximum: 10_000, default: 100, description: 'Maximum number of rows.' },
    cursor: cursorInput,
    timeout_ms: {
      type: 'integer',
      minimum: 1,
      maximum: 600_000,
      default: 20_000,
      description: 'The rows found until then are returned.',
    },
  },
);

const output = objectSchema(
  {
    matches: {
      type: 'array',
      items: objectSchema(
        {
          path: { type: 'string' },
        },
        {
          line: { type: 'integer', description: 'In mode content.' },
          column: {
            type: 'integer',
            description: 'In mode content: the column of the first match, from 1, in UTF-16 units.',
          },
          text: {
            type: 'string',
            description: 'In mode content: the line, or all lines that a match spans; cut around the match if long.',
          },
          context: {
            type: 'array',
            items: objectSchema({ line: { type: 'integer' }, text: { type: 'string' } }),
          },
          count: { type: 'integer', description: 'In mode count: the number of matching lines.' },
        },
      ),
    },
    match_count: {
      type: 'integer',
      description:
        'In this answer: the number of matching lines; in mode files, of files. Matches beyond limit are not counted.',
    },
    file_count: { type: 'integer', description: 'In this answer: the number of files with a match.' },
    truncated: {
      type: 'boolean',
      description: 'There are more rows: pass the cursor, narrow the search or raise limit.',
    },
    timed_out: { type: 'boolean', description: 'The timeout was reached before all files were searched.' },
    engine: engineOutput,
  },
  {
    cursor: cursorOutput,
    changed: changedOutput,
    withheld: withheldOutput,
  },
);

/** The tool `grep`. */
export function grepTool({ files, limits, search }: FilesystemContext): Tool {
  return defineTool({
    name: 'grep',
    title: 'Search in files',
    description:
      'Find lines that match a regular expression. Searches hidden files, but not .git, files that .gitignore excludes, binary files ' +
      'or files larger than 256 MiB.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ path }) => claimPath(files, path, 'read', 'tree'),
    async execute({ path, before, after, context, timeout_ms, limit, cursor, ...rest }, ctx) {
      const glob = rest.glob as string | string[] | undefined;
      const globs = typeof glob === 'string' ? [glob] : glob;
      if (rest.pattern.includes('\0') || globs?.some((each) => each.includes('\0')))
        throw new ToolError('INVALID_ARGUMENT', 'pattern and glob cannot contain a NUL character; write \\x00.');
      if (globs) IgnoreFile.ofGlobs(globs);
      if (rest.type !== undefined) fileTypeMatcher(rest.type);
      const requested = files.scope.parse(path);
      const identity = ['grep', requested.shown, rest];
      const position = readCursor(identity, cursor);
      const engine = await resolveEngine(files.scope, search);
      await using place = await openSearchPlace(files, path, ctx.permits);
      const question: GrepQuestion = {
        ...{ scope: files.scope, requested, place, signal: ctx.signal, after: position },
        args: { ...rest, type: rest.type, glob: globs && inNormalForms(globs), limit, timeoutMs: timeout_ms },
        linesBefore: rest.mode === 'content' ? Math.max(before, context) : 0,
        linesAfter: rest.mode === 'content' ? Math.max(after, context) : 0,
        report: throttled(PROGRESS_INTERVAL_MS, (rows) =>
          ctx.progress({ progress: rows, message: `${rows} rows found` }),
        ),
      };
      const outcome =
        engine.name === 'rg' ? await grepByRipgrep(engine.command, question) : await grepByBuiltInWalk(question);
      const last = outcome.isPrefix && (outcome.sink.full || outcome.timedOut) ? outcome.sink.position() : undefined;
      const cut = { cursor: last && writeCursor(identity, last), withheld: place.withheld };
      return answer(rest.mode, outcome, cut, engine, limits);
    },
  });
}

/** Loaded only without ripgrep. */
async function grepByBuiltInWalk(question: GrepQuestion): Promise<GrepOutcome> {
  const { grepByWalk } = await import('../search/grep-walk.js');
  return grepByWalk(question);
}

/** Calls `report` at most once per interval. */
function throttled(ms: number, call: (value: number) => void): (value: number) => void {
  let calledAt = performance.now();
  return (value) => {
    if (performance.now() - calledAt <= ms) return;
    calledAt = performance.now();
    call(value);
  };
}

function answer(
  mode: GrepQuestion['args']['mode'],
  { sink, timedOut, changed }: GrepOutcome,
  { cursor, withheld }: { cursor: string | undefined; withheld: number },
  engine: SearchEngine,
  limits: FilesystemContext['limits'],
) {
  const rows = sink.sorted();
  const fileCount = new Set(rows.map((row) => row.path)).size;
  const matchCount = rows.reduce((sum, row) => sum + ('count' in row ? (row.count ?? 0) : 1), 0);
  const lines = mode === 'content' ? grepLines(rows as GrepRow[]) : rows.map((row) => fileLine(row));
  const nextStep = cursor === undefined ? 'Narrow the search' : `Continue with cursor ${cursor}, narrow the search`;
  const notices = [
    ...(rows.length === 0 ? ['No matches.'] : []),
    ...(sink.full ? [`Stopped at ${rows.length} rows; there are more. ${nextStep}, or raise limit.`] : []),
    ...(timedOut ? [`Stopped at the timeout; there may be more. ${nextStep}, or raise timeout_ms.`] : []),
    ...(changed > 0 ? [changedNotice(changed)] : []),
    ...(withheld > 0 ? [withheldNotice(withheld)] : []),
  ];
  const body = limitText(lines.join('\n'), limits, (more) => `[${more} more lines are not shown. Narrow the search.]`);
  const text = [body, ...(notices.length > 0 ? [`[${notices.join(' ')}]`] : [])]
    .filter((part) => part !== '')
    .join('\n');
  return {
    content: [{ type: 'text' as const, text }],
    structuredContent: {
      matches: rows,
      match_count: matchCount,
      file_count: fileCount,
      truncated: sink.full,
      ...(cursor !== undefined && { cursor }),
      timed_out: timedOut,
      ...(changed > 0 && { changed }),
      ...(withheld > 0 && { withheld }),
      engine: engine.name,
    },
  };
}

function fileLine(row: FileRow): string {
  const path = escapeControls(row.path);
  return row.count === undefined ? path : `${path}: ${row.count}`;
}
