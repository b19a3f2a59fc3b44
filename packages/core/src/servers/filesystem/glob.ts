// glob: files by name, by ripgrep's walk or the own one, and a matcher of ours.

import { isUtf8 } from 'node:buffer';
import { lstatSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { defineTool, type Tool } from '../../tool.js';
import { ToolError } from '../../errors.js';
import { showName } from '../directory-entries.js';
import { escapeControls, quote, type ProjectScope, type ScopePath } from '../project-scope.js';
import {
  changedNotice,
  changedOutput,
  claimPath,
  withheldNotice,
  withheldOutput,
  type FilesystemContext,
} from './context.js';
import { cursorInput, cursorOutput, readCursor, writeCursor, type Position } from './cursor.js';
import { compileGlob } from './glob-pattern.js';
import { provenNames, type FoundName, type ProvenNames } from './glob-proof.js';
import { IgnoreFile } from './ignore-file.js';
import { IgnoreRules } from './ignore-rules.js';
import { walkFiles } from './ordered-walk.js';
import { limitText } from '../output-budget.js';
import { compareKeys, orderKey } from './path-order.js';
import { runRipgrep } from './ripgrep.js';
import { RowBudget } from './row-budget.js';
import { engineOutput, resolveEngine } from './search-engine.js';
import { openSearchPlace, type SearchPlace } from './search-place.js';
import { SmallestFirst } from './smallest-first.js';

/** A walk over millions of files; what was found by then is given. */
const TIMEOUT_MS = 60_000;
const PROGRESS_INTERVAL_MS = 1_000;
/** Times are asked for without a thread each, which costs a tenth; the event loop waits no longer than this. */
const MAX_STALL_MS = 10;

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
    cursor: cursorInput,
  },
  required: ['pattern'],
} as const;

const output = {
  type: 'object',
  properties: {
    files: { type: 'array', items: { type: 'string' } },
    truncated: { type: 'boolean', description: 'There are more: give the cursor, narrow the pattern or raise limit.' },
    cursor: cursorOutput,
    changed: changedOutput,
    withheld: withheldOutput,
    engine: engineOutput,
  },
  required: ['files', 'truncated', 'engine'],
  additionalProperties: false,
} as const;

/** One file, by its path relative to the directory. */
interface Name {
  path: string;
  key: string;
  /** Reaches it through an open directory; without it its path below the searched one is taken. */
  address?: string | Buffer;
}
interface Found extends Name, FoundName {
  shown: string;
}

/** The tool `glob`. */
export function globTool({ files, limits, search }: FilesystemContext): Tool {
  return defineTool({
    name: 'glob',
    title: 'Find files',
    description:
      'Find files by a pattern of their path. Looks into hidden directories, not into .git, nor into what .gitignore leaves out.',
    input,
    output,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    permission: ({ path }) => claimPath(files, path, 'read', 'tree'),
    async execute({ limit, cursor, ...rest }, ctx) {
      const { pattern, path, exclude = [], include_ignored, sort } = rest;
      const matches = compileGlob(pattern);
      for (const each of exclude) {
        if (each.startsWith('!') || each.includes('\0'))
          throw new ToolError('INVALID_ARGUMENT', `exclude takes plain patterns, not ${JSON.stringify(each)}.`);
        compileGlob(each); // for an error that names it
      }
      const asked = files.scope.parse(path);
      const identity = ['glob', asked.shown, rest];
      const after = readCursor(identity, cursor);
      const engine = await resolveEngine(files.scope, search);
      await using place = await openSearchPlace(files, path, ctx.permits);
      if (place.file !== undefined)
        throw new ToolError('INVALID_ARGUMENT', `${quote(path)} is a file; give the directory to look in.`);
      const order = sort === 'mtime' ? newestFirst : byPath;
      const last: Found | undefined = after && { path: '', shown: '', key: after.key, mtime: after.number ?? 0 };
      const smallest = new SmallestFirst<Found>(limit + 1, order);
      const clock = { reportedAt: performance.now(), yieldedAt: performance.now(), seen: 0 };
      const take = async (names: Iterable<Name>): Promise<void> => {
        for (const { path: name, key, address } of names) {
          clock.seen++;
          if (!matches(name)) continue;
          const shown = place.show(name);
          if (shown === undefined) continue;
          const mtime = sort === 'mtime' ? timeOf(address ?? addressOf(place, name, key)) : 0;
          if (mtime === undefined) continue;
          const found = { path: name, key, shown, mtime };
          if (!last || order(last, found) < 0) smallest.add(found);
          if (sort === 'mtime' && performance.now() - clock.yieldedAt > MAX_STALL_MS) {
            await setImmediate();
            ctx.signal.throwIfAborted();
            clock.yieldedAt = performance.now();
          }
        }
        if (performance.now() - clock.reportedAt <= PROGRESS_INTERVAL_MS) return;
        clock.reportedAt = performance.now();
        ctx.progress({ progress: clock.seen, message: `${clock.seen} files looked at` });
      };
      const question: GlobQuestion = {
        ...{ scope: files.scope, asked, place, exclude, includeIgnored: include_ignored, signal: ctx.signal, take },
        after: sort === 'path' ? after?.key : undefined,
      };
      const { timedOut } =
        engine.name === 'rg' ? await globByRipgrep(engine.command, question) : await globByWalk(question);
      const budget = new RowBudget<Found>(limit);
      for (const found of smallest.sorted()) if (!budget.add(found, found.shown.length)) break;
      const below = { scope: files.scope, asked, directory: place.directory, signal: ctx.signal };
      const proven: ProvenNames<Found> =
        engine.name === 'rg'
          ? await provenNames(below, budget.rows, sort === 'mtime' ? order : undefined)
          : { rows: budget.rows, last: budget.rows.at(-1), changed: 0 };
      const { rows, changed } = proven;
      const list = rows.map(({ shown }) => shown);
      const position = budget.full && !timedOut ? proven.last : undefined;
      const next = position && writeCursor(identity, positionOf(position, sort));
      const goOn = next === undefined ? 'Narrow the pattern' : `Go on with cursor ${next}, narrow the pattern`;
      const notice = [
        ...(budget.full ? [`There are more than these ${list.length}. ${goOn}, or raise limit.`] : []),
        ...(timedOut ? ['The time was up before all directories were read. Give a directory further down.'] : []),
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

/** Files of one time by their path, so that the order is whole and pages do not overlap. */
function newestFirst(a: Found, b: Found): number {
  return b.mtime - a.mtime || compareKeys(a.key, b.key);
}

function positionOf({ key, mtime }: Found, sort: 'mtime' | 'path'): Position {
  return sort === 'mtime' ? { key, number: mtime } : { key };
}

/** When a file was changed, to the microsecond or so; undefined when it is gone. Only the order depends on it. */
function timeOf(address: string | Buffer): number | undefined {
  return lstatSync(address, { throwIfNoEntry: false })?.mtimeMs;
}

function addressOf({ directory: { address } }: SearchPlace, path: string, key: string): string | Buffer {
  if (key === path) return `${address}/${path}`;
  return Buffer.concat([Buffer.from(`${address}/`), Buffer.from(key, 'latin1')]);
}

interface GlobQuestion {
  scope: ProjectScope;
  asked: ScopePath;
  place: SearchPlace;
  exclude: readonly string[];
  includeIgnored: boolean;
  /** Only what comes after this key is wanted. */
  after: string | undefined;
  signal: AbortSignal;
  take: (names: Iterable<Name>) => Promise<void>;
}

async function globByRipgrep(command: string, question: GlobQuestion): Promise<{ timedOut: boolean }> {
  const { scope, place, exclude, includeIgnored, signal, take } = question;
  const { path } = place.directory;
  const rules = includeIgnored || path.absolute === path.root.path ? undefined : await IgnoreRules.below(scope, path);
  let rest: Buffer = Buffer.alloc(0);
  return runRipgrep({
    command,
    args: [
      '--files',
      '--null',
      ...(includeIgnored ? ['--no-ignore'] : []),
      ...exclude.map((each) => `--glob=!${each}`),
    ],
    cwd: place.directory.address,
    timeoutMs: TIMEOUT_MS,
    signal,
    onOutput: async (chunk) => {
      const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
      const end = bytes.lastIndexOf(0) + 1;
      const names = namesIn(bytes.subarray(0, end));
      rest = Buffer.from(bytes.subarray(end));
      if (!rules) await take(names);
      else {
        const kept: Name[] = [];
        for (const name of names) if (!(await rules.isIgnored(name.path, false))) kept.push(name);
        await take(kept);
      }
      return true;
    },
  });
}

async function globByWalk(question: GlobQuestion): Promise<{ timedOut: boolean }> {
  const { scope, asked, place, exclude, includeIgnored, after, signal, take } = question;
  const excluded = IgnoreFile.ofGlobs(exclude);
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), TIMEOUT_MS);
  try {
    const runs = walkFiles(place.directory, {
      ...{ scope, asked, after, signal: AbortSignal.any([signal, timeout.signal]) },
      rules: includeIgnored ? undefined : await IgnoreRules.below(scope, place.directory.path),
      accept: (_path, key, isDirectory) => excluded.test(key, isDirectory) !== true,
    });
    for await (const { files } of runs) await take(files);
  } catch (error) {
    signal.throwIfAborted();
    if (!timeout.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  return { timedOut: timeout.signal.aborted };
}

/** The names in `./name NUL ./name NUL`, taken apart as one text where all of them are UTF-8. */
function namesIn(bytes: Buffer): Name[] {
  if (bytes.length === 0) return [];
  const isText = isUtf8(bytes);
  const names = bytes.toString(isText ? 'utf8' : 'latin1').split('\0');
  names.pop(); // what follows the last NUL
  return names.map((each) => {
    const name = each.startsWith('./') ? each.slice(2) : each;
    return isText ? { path: name, key: orderKey(name) } : { path: showName(Buffer.from(name, 'latin1')), key: name };
  });
}
