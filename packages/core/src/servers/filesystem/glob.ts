// glob: files by name, by ripgrep's walk and a matcher of ours.

import { isUtf8 } from 'node:buffer';
import { defineTool, type Tool } from '../../tool.js';
import { ToolError } from '../../errors.js';
import { showName } from '../directory-entries.js';
import { escapeControls, quote } from '../project-scope.js';
import { claimPath, type FilesystemContext } from './context.js';
import { compileGlob } from './glob-pattern.js';
import { IgnoreRules } from './ignore-rules.js';
import { limitText } from '../output-budget.js';
import { findRipgrep, runRipgrep } from './ripgrep.js';
import { openSearchPlace } from './search-place.js';
import { SmallestFirst } from './smallest-first.js';

/** A walk over millions of files; what was found by then is given. */
const TIMEOUT_MS = 60_000;
const PROGRESS_INTERVAL_MS = 1_000;

const input = {
  type: 'object',
  properties: {
    pattern: {
      type: 'string',
      minLength: 1,
      description: 'Such as "*.ts" (a name at any depth), "src/**/*.{js,ts}" or "/*.md" (only here).',
    },
    path: { type: 'string', default: '.', description: 'The directory to look in, relative to the project.' },
    exclude: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      maxItems: 100,
      description: 'Patterns of files or directories to leave out.',
    },
    include_ignored: { type: 'boolean', default: false, description: 'Also what .gitignore leaves out.' },
    sort: { type: 'string', enum: ['mtime', 'path'], default: 'mtime', description: '"mtime": the newest first.' },
    limit: { type: 'integer', minimum: 1, maximum: 10_000, default: 1_000 },
  },
  required: ['pattern'],
} as const;

const output = {
  type: 'object',
  properties: {
    files: { type: 'array', items: { type: 'string' } },
    truncated: { type: 'boolean', description: 'There are more: narrow the pattern or raise limit.' },
    engine: { type: 'string', enum: ['rg'] },
  },
  required: ['files', 'truncated', 'engine'],
  additionalProperties: false,
} as const;

/** The tool `glob`. */
export function globTool({ files, limits }: FilesystemContext): Tool {
  return defineTool({
    name: 'glob',
    title: 'Find files',
    description:
      'Find files by a pattern of their path. Looks into hidden directories, not into .git, nor into what .gitignore leaves out.',
    input,
    output,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    permission: ({ path }) => claimPath(files, path, 'read', 'tree'),
    async execute({ pattern, path, exclude = [], include_ignored, sort, limit }, ctx) {
      const matches = compileGlob(pattern);
      const excluded = exclude.map((each) => {
        if (each.startsWith('!') || each.includes('\0'))
          throw new ToolError('INVALID_ARGUMENT', `exclude takes plain patterns, not ${JSON.stringify(each)}.`);
        compileGlob(each); // for an error that names it
        return `--glob=!${each}`;
      });
      await using place = await openSearchPlace(files, path);
      if (place.file !== undefined)
        throw new ToolError('INVALID_ARGUMENT', `${quote(path)} is a file; give the directory to look in.`);
      const command = await findRipgrep(files.scope);
      const atRoot = place.directory.path.absolute === place.directory.path.root.path;
      const rules = include_ignored || atRoot ? undefined : await IgnoreRules.below(files.scope, place.directory.path);
      const found: string[] = [];
      const smallest = new SmallestFirst<string>(limit, (a, b) => (a < b ? -1 : 1));
      let rest: Buffer = Buffer.alloc(0);
      let reportedAt = performance.now();
      let seen = 0;
      const { timedOut } = await runRipgrep({
        command,
        args: [
          '--files',
          '--null',
          ...(sort === 'mtime' ? ['--sortr=modified'] : []),
          ...(include_ignored ? ['--no-ignore'] : []),
          ...excluded,
        ],
        cwd: place.directory.address,
        timeoutMs: TIMEOUT_MS,
        signal: ctx.signal,
        onOutput: async (chunk) => {
          const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
          const end = bytes.lastIndexOf(0) + 1;
          for (const each of namesIn(bytes.subarray(0, end))) {
            const name = each.startsWith('./') ? each.slice(2) : each;
            seen++;
            if (!matches(name) || (rules && (await rules.isIgnored(name, false)))) continue;
            const shown = place.show(name);
            if (shown === undefined) continue;
            if (sort === 'path') smallest.add(shown);
            else if (found.push(shown) > limit) return false;
          }
          rest = Buffer.from(bytes.subarray(end));
          if (performance.now() - reportedAt > PROGRESS_INTERVAL_MS) {
            reportedAt = performance.now();
            ctx.progress({ progress: seen, message: `${seen} files looked at` });
          }
          return true;
        },
      });
      const list = sort === 'path' ? smallest.sorted() : found.slice(0, limit);
      const truncated = timedOut || (sort === 'path' ? smallest.dropped : found.length > limit);
      const notice = truncated
        ? `\n[There are more than these ${list.length}. Narrow the pattern, or raise limit.]`
        : '';
      const body = list.length === 0 ? 'No files match.' : list.map(escapeControls).join('\n');
      return {
        content: [
          {
            type: 'text' as const,
            text: limitText(body, limits, (more) => `[${more} more files are not shown. Narrow the pattern.]`) + notice,
          },
        ],
        structuredContent: { files: list, truncated, engine: 'rg' as const },
      };
    },
  });
}

/** The names in `name NUL name NUL`, taken apart as one text where all of them are UTF-8. */
function namesIn(bytes: Buffer): string[] {
  if (bytes.length === 0) return [];
  const names = isUtf8(bytes)
    ? bytes.toString().split('\0')
    : bytes
        .toString('latin1')
        .split('\0')
        .map((name) => showName(Buffer.from(name, 'latin1')));
  names.pop(); // what follows the last NUL
  return names;
}
