// grep: lines that match a pattern, by ripgrep.

import { ToolError } from '../../errors.js';
import { defineTool, type Tool, type ToolContext } from '../../tool.js';
import { showName } from '../directory-entries.js';
import { claimPath, type FilesystemContext } from './context.js';
import { GrepRows, grepLines, type GrepRow } from './grep-rows.js';
import { IgnoreRules } from './ignore-rules.js';
import { limitText } from '../output-budget.js';
import { findRipgrep, runRipgrep } from './ripgrep.js';
import { openSearchPlace, type SearchPlace } from './search-place.js';

const MAX_PATTERN_CHARS = 10_000;
const PROGRESS_INTERVAL_MS = 1_000;

const input = {
  type: 'object',
  properties: {
    pattern: {
      type: 'string',
      minLength: 1,
      maxLength: MAX_PATTERN_CHARS,
      description: "A regular expression in Rust's syntax: no look-around, no back-references.",
    },
    path: { type: 'string', default: '.', description: 'A directory or one file, relative to the project.' },
    glob: {
      type: 'string',
      minLength: 1,
      description: 'Only files that match, such as "*.ts" or "src/**"; "!*.md" leaves files out.',
    },
    type: {
      type: 'string',
      pattern: '^[A-Za-z0-9_+-]+$',
      description: 'Only files of a type, such as "ts", "py" or "rust".',
    },
    literal: { type: 'boolean', default: false, description: 'Take the pattern as plain text.' },
    case: {
      type: 'string',
      enum: ['sensitive', 'insensitive', 'smart'],
      default: 'sensitive',
      description: '"smart": sensitive if the pattern has an upper-case letter.',
    },
    word: { type: 'boolean', default: false, description: 'Match whole words only.' },
    before: { type: 'integer', minimum: 0, maximum: 100, default: 0, description: 'Lines to show before each match.' },
    after: { type: 'integer', minimum: 0, maximum: 100, default: 0, description: 'Lines to show after each match.' },
    context: {
      type: 'integer',
      minimum: 0,
      maximum: 100,
      default: 0,
      description: 'Lines to show before and after each match.',
    },
    mode: {
      type: 'string',
      enum: ['content', 'files', 'count'],
      default: 'content',
      description: 'Matching lines, only the files that have some, or how many lines each has.',
    },
    limit: { type: 'integer', minimum: 1, maximum: 10_000, default: 100, description: 'Rows at most.' },
    timeout_ms: {
      type: 'integer',
      minimum: 1,
      maximum: 600_000,
      default: 20_000,
      description: 'What was found by then is given.',
    },
  },
  required: ['pattern'],
} as const;

const output = {
  type: 'object',
  properties: {
    matches: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          path: { type: 'string' },
          line: { type: 'integer', description: 'In mode content.' },
          column: { type: 'integer', description: 'In mode content: of the first match, from 1, in UTF-16 units.' },
          text: { type: 'string', description: 'In mode content: the line, cut around the match when it is long.' },
          context: {
            type: 'array',
            items: {
              type: 'object',
              properties: { line: { type: 'integer' }, text: { type: 'string' } },
              required: ['line', 'text'],
              additionalProperties: false,
            },
          },
          count: { type: 'integer', description: 'In mode count: matching lines.' },
        },
        required: ['path'],
        additionalProperties: false,
      },
    },
    match_count: { type: 'integer', description: 'Matching lines that were found; in mode files as many as files.' },
    file_count: { type: 'integer' },
    truncated: { type: 'boolean', description: 'There is more: narrow the search or raise limit.' },
    timed_out: { type: 'boolean' },
    engine: { type: 'string', enum: ['rg'] },
  },
  required: ['matches', 'match_count', 'file_count', 'truncated', 'timed_out', 'engine'],
  additionalProperties: false,
} as const;

interface GrepArguments {
  pattern: string;
  glob?: string;
  type?: string;
  literal: boolean;
  case: 'sensitive' | 'insensitive' | 'smart';
  word: boolean;
  mode: 'content' | 'files' | 'count';
  limit: number;
  timeout_ms: number;
}

type Row = { path: string; count?: number } | GrepRow;

/** The tool `grep`. */
export function grepTool({ files, limits }: FilesystemContext): Tool {
  return defineTool({
    name: 'grep',
    title: 'Search in files',
    description:
      'Find lines that match a regular expression. Looks into hidden files, not into .git, nor into what .gitignore leaves out, binary files ' +
      'or files above 256 MiB.',
    input,
    output,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    permission: ({ path }) => claimPath(files, path, 'read', 'tree'),
    async execute(args, ctx) {
      if (args.pattern.includes('\0') || args.glob?.includes('\0'))
        throw new ToolError('INVALID_ARGUMENT', 'pattern and glob cannot hold a NUL character; write \\x00.');
      await using place = await openSearchPlace(files, args.path);
      const command = await findRipgrep(files.scope);
      const before = Math.max(args.before, args.context);
      const after = Math.max(args.after, args.context);
      // ripgrep takes a glob as a wish that is stronger than ignore files, which is not what is meant.
      const rules = place.file === undefined ? await IgnoreRules.below(files.scope, place.directory.path) : undefined;
      const mustFilter =
        rules && (args.glob !== undefined || place.directory.path.absolute !== place.directory.path.root.path);
      const accept = async (path: string): Promise<string | undefined> => {
        const shown = place.show(path);
        return shown === undefined || (mustFilter && (await rules.isIgnored(path, false))) ? undefined : shown;
      };
      const collector =
        args.mode === 'content'
          ? new GrepRows(args.limit, after, accept)
          : new FileRows(args.limit, args.mode === 'count', accept);
      let reportedAt = performance.now();
      let truncated = false;
      const { timedOut } = await runRipgrep({
        command,
        args: ripgrepArguments(args, place, before, after),
        cwd: place.directory.address,
        timeoutMs: args.timeout_ms,
        signal: ctx.signal,
        onOutput: async (chunk) => {
          truncated = !(await collector.push(chunk));
          if (performance.now() - reportedAt > PROGRESS_INTERVAL_MS) {
            reportedAt = performance.now();
            report(ctx, collector.rows.length);
          }
          return !truncated;
        },
      });
      return answer(args.mode, collector.rows, { truncated, timedOut }, limits);
    },
  });
}

function report(ctx: ToolContext, rows: number): void {
  ctx.progress({ progress: rows, message: `${rows} rows found` });
}

function ripgrepArguments(args: GrepArguments, place: SearchPlace, before: number, after: number): string[] {
  const shape = {
    content: ['--json', `--before-context=${before}`, `--after-context=${after}`],
    files: ['--files-with-matches', '--null'],
    count: ['--count', '--null', '--with-filename'],
  };
  const one = place.file === undefined ? [] : ['--max-depth=1', `--glob=/${escapeGlob(place.file)}`];
  return [
    ...shape[args.mode],
    ...one,
    ...(args.glob !== undefined && place.file === undefined ? [`--glob=${args.glob}`] : []),
    ...(args.type === undefined ? [] : [`--type=${args.type}`]),
    ...(args.literal ? ['--fixed-strings'] : []),
    { sensitive: '--case-sensitive', insensitive: '--ignore-case', smart: '--smart-case' }[args.case],
    ...(args.word ? ['--word-regexp'] : []),
    '--max-filesize=256M',
    '-e',
    args.pattern,
  ];
}

/** A name as a glob that matches nothing else. */
function escapeGlob(name: string): string {
  return name.replace(/[ !#*?[\]{}\\]/g, '\\$&');
}

/** Rows of the modes that give files: `path NUL`, or `path NUL count newline`. */
class FileRows {
  readonly rows: { path: string; count?: number }[] = [];
  readonly #limit: number;
  readonly #counts: boolean;
  readonly #accept: (path: string) => Promise<string | undefined>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(limit: number, counts: boolean, accept: (path: string) => Promise<string | undefined>) {
    this.#limit = limit;
    this.#counts = counts;
    this.#accept = accept;
  }

  async push(chunk: Buffer): Promise<boolean> {
    const bytes = Buffer.concat([this.#rest, chunk]);
    let start = 0;
    for (;;) {
      const nul = bytes.indexOf(0, start);
      const end = this.#counts && nul >= 0 ? bytes.indexOf(0x0a, nul) : nul;
      if (nul < 0 || end < 0) break;
      const path = await this.#accept(showName(bytes.subarray(start, nul)).replace(/^\.\//, ''));
      const count = Number(bytes.toString('latin1', nul + 1, end));
      start = end + 1;
      if (path === undefined) continue;
      if (this.rows.length === this.#limit) return false;
      this.rows.push(this.#counts ? { path, count } : { path });
    }
    this.#rest = Buffer.from(bytes.subarray(start));
    return true;
  }
}

function answer(
  mode: GrepArguments['mode'],
  rows: Row[],
  { truncated, timedOut }: { truncated: boolean; timedOut: boolean },
  limits: FilesystemContext['limits'],
) {
  // ripgrep works in parallel and finds them in any order.
  rows.sort((a, b) => (a.path === b.path ? lineOf(a) - lineOf(b) : a.path < b.path ? -1 : 1));
  const fileCount = new Set(rows.map((row) => row.path)).size;
  const matchCount = rows.reduce((sum, row) => sum + ('count' in row ? (row.count ?? 0) : 1), 0);
  const lines =
    mode === 'content'
      ? grepLines(rows as GrepRow[])
      : rows.map((row) => ('count' in row ? `${row.path}: ${row.count}` : row.path));
  const notices = [
    ...(rows.length === 0 ? ['No matches.'] : []),
    ...(truncated ? [`Stopped at ${rows.length} rows; there are more. Narrow the search, or raise limit.`] : []),
    ...(timedOut ? ['Stopped at the timeout; there may be more. Narrow the search, or raise timeout_ms.'] : []),
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
      truncated,
      timed_out: timedOut,
      engine: 'rg' as const,
    },
  };
}

function lineOf(row: Row): number {
  return 'line' in row ? row.line : 0;
}
