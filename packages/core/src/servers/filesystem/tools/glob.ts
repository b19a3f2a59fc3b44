// glob: finds files by name, listed by ripgrep or by the built-in walk and matched here.

import { lstatSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { ToolError } from '../../../contract/errors.js';
import { escapeControls, quote } from '../../project/scope/project-scope.js';
import {
  changedNotice,
  changedOutput,
  claimPath,
  withheldNotice,
  withheldOutput,
  type FilesystemContext,
} from '../filesystem-context.js';
import { cursorInput, cursorOutput, readCursor, writeCursor, type Position } from '../search/search-cursor.js';
import { globByRipgrep, globByWalk, type GlobQuestion, type Name } from '../search/glob-names.js';
import { compileGlob, inNormalForms } from '../search/glob-pattern.js';
import { provenNames, type FoundName, type ProvenNames } from '../search/glob-proof.js';
import { limitText } from '../../project/output-budget.js';
import { compareKeys } from '../search/path-order.js';
import { RowBudget } from '../search/row-budget.js';
import { engineOutput, resolveEngine } from '../search/search-engine.js';
import { openSearchPlace, type SearchPlace } from '../search/search-place.js';
import { SmallestFirst } from '../search/smallest-first.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const PROGRESS_INTERVAL_MS = 1_000;
/** Times are read synchronously, which is ten times as fast; the event loop is blocked no longer than this. */
const MAX_STALL_MS = 10;

const input = objectSchema(
  {
    pattern: {
      type: 'string',
      minLength: 1,
      description: 'Such as "*.ts" (a name at any depth), "src/**/*.{js,ts}" or "/*.md" (in this directory only).',
    },
  },
  {
    path: { type: 'string', default: '.', description: 'The directory to search, relative to the project.' },
    exclude: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      maxItems: 100,
      description: 'Patterns of files or directories to exclude.',
    },
    include_ignored: { type: 'boolean', default: false, description: 'Include files that .gitignore excludes.' },
    sort: { type: 'string', enum: ['mtime', 'path'], default: 'mtime', description: '"mtime": newest first.' },
    limit: { type: 'integer', minimum: 1, maximum: 10_000, default: 1_000 },
    cursor: cursorInput,
  },
);

const output = objectSchema(
  {
    files: { type: 'array', items: { type: 'string' } },
    truncated: {
      type: 'boolean',
      description: 'There are more files: pass the cursor, narrow the pattern or raise limit.',
    },
    engine: engineOutput,
  },
  {
    cursor: cursorOutput,
    changed: changedOutput,
    withheld: withheldOutput,
  },
);

/** With how it is answered. */
interface Found extends Name, FoundName {
  shown: string;
}

/** The tool `glob`. */
export function globTool({ files, limits, search }: FilesystemContext): Tool {
  return defineTool({
    name: 'glob',
    title: 'Find files',
    description:
      'Find files by a pattern of their path. Searches hidden directories, but not .git or anything that .gitignore excludes.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ path }) => claimPath(files, path, 'read', 'tree'),
    async execute({ limit, cursor, ...rest }, ctx) {
      const { pattern, path, exclude = [], include_ignored, sort } = rest;
      const matchers = inNormalForms([pattern]).map(compileGlob);
      for (const each of exclude) {
        if (each.startsWith('!') || each.includes('\0'))
          throw new ToolError(
            'INVALID_ARGUMENT',
            `exclude must contain patterns without "!", not ${JSON.stringify(each)}.`,
          );
        compileGlob(each); // throws an error that quotes the pattern
      }
      const requested = files.scope.parse(path);
      const identity = ['glob', requested.shown, rest];
      const after = readCursor(identity, cursor);
      const engine = await resolveEngine(files.scope, search);
      await using place = await openSearchPlace(files, path, ctx.permits);
      if (place.file !== undefined)
        throw new ToolError('INVALID_ARGUMENT', `${quote(path)} is a file; give the directory to search.`);
      const order = sort === 'mtime' ? newestFirst : byPath;
      const last: Found | undefined = after && { path: '', shown: '', key: after.key, mtime: after.number ?? 0 };
      const smallest = new SmallestFirst<Found>(limit + 1, order);
      const clock = { reportedAt: performance.now(), yieldedAt: performance.now(), seen: 0 };
      /** The time of the oldest of the first `limit + 1`. */
      let oldest = Infinity;
      let held = 0;
      const take = async (names: Iterable<Name>, sorted = false): Promise<boolean> => {
        for (const { path: name, key, address } of names) {
          clock.seen++;
          if (!matchers.some((matches) => matches(name))) continue;
          const shown = place.show(name);
          if (shown === undefined) continue;
          const mtime = sort === 'mtime' ? timeOf(address ?? addressOf(place, name, key)) : 0;
          if (mtime === undefined) continue;
          // Files of one time are in no order, so all of them are collected; older ones are on a later page.
          if (sorted && held > limit && mtime < oldest) return false;
          const found = { path: name, key, shown, mtime };
          if (!last || order(last, found) < 0) {
            smallest.add(found);
            if (++held <= limit + 1) oldest = Math.min(oldest, mtime);
          }
          if (sort === 'mtime' && performance.now() - clock.yieldedAt > MAX_STALL_MS) {
            await setImmediate();
            ctx.signal.throwIfAborted();
            clock.yieldedAt = performance.now();
          }
        }
        if (performance.now() - clock.reportedAt > PROGRESS_INTERVAL_MS) {
          clock.reportedAt = performance.now();
          ctx.progress({ progress: clock.seen, message: `${clock.seen} files checked` });
        }
        return true;
      };
      const question: GlobQuestion = {
        ...{
          scope: files.scope,
          requested,
          place,
          exclude: inNormalForms(exclude),
          includeIgnored: include_ignored,
          sort,
          signal: ctx.signal,
          take,
        },
        after: sort === 'path' ? after?.key : undefined,
      };
      const { timedOut } =
        engine.name === 'rg' ? await globByRipgrep(engine.command, question) : await globByWalk(question);
      const budget = new RowBudget<Found>(limit);
      for (const found of smallest.sorted()) if (!budget.add(found, found.shown.length)) break;
      const below = { scope: files.scope, requested, directory: place.directory, signal: ctx.signal };
      const proven: ProvenNames<Found> =
        engine.name === 'rg'
          ? await provenNames(below, budget.rows, sort === 'mtime' ? order : undefined)
          : { rows: budget.rows, last: budget.rows.at(-1), changed: 0 };
      const { rows, changed } = proven;
      const list = rows.map(({ shown }) => shown);
      const position = budget.full && !timedOut ? proven.last : undefined;
      const next = position && writeCursor(identity, positionOf(position, sort));
      const nextStep = next === undefined ? 'Narrow the pattern' : `Continue with cursor ${next}, narrow the pattern`;
      const notice = [
        ...(budget.full ? [`There are more than these ${list.length} files. ${nextStep}, or raise limit.`] : []),
        ...(timedOut ? ['The timeout was reached before all directories were read. Search a subdirectory.'] : []),
        ...(changed > 0 ? [changedNotice(changed)] : []),
        ...(place.withheld > 0 ? [withheldNotice(place.withheld)] : []),
      ].map((each) => `\n[${each}]`);
      const body = list.length === 0 ? 'No files match.' : list.map(escapeControls).join('\n');
      return {
        content: [
          {
            type: 'text' as const,
            text:
              limitText(body, limits, (more) => `[${more} more files are not shown. Narrow the pattern.]`) +
              notice.join(''),
          },
        ],
        structuredContent: {
          files: list,
          truncated: budget.full || timedOut,
          ...(next !== undefined && { cursor: next }),
          ...(changed > 0 && { changed }),
          ...(place.withheld > 0 && { withheld: place.withheld }),
          engine: engine.name,
        },
      };
    },
  });
}

function byPath(a: Name, b: Name): number {
  return compareKeys(a.key, b.key);
}

/** Files of equal time are ordered by path: the order is total and pages do not overlap. */
function newestFirst(a: Found, b: Found): number {
  return b.mtime - a.mtime || compareKeys(a.key, b.key);
}

function positionOf({ key, mtime }: Found, sort: 'mtime' | 'path'): Position {
  return sort === 'mtime' ? { key, number: mtime } : { key };
}

/** The modification time, to about a microsecond; undefined if the file no longer exists. Only the order depends on it. */
function timeOf(address: string | Buffer): number | undefined {
  return lstatSync(address, { throwIfNoEntry: false })?.mtimeMs;
}

function addressOf({ directory: { address } }: SearchPlace, path: string, key: string): string | Buffer {
  if (key === path) return `${address}/${path}`;
  return Buffer.concat([Buffer.from(`${address}/`), Buffer.from(key, 'latin1')]);
}
