// list_directory: lists a directory and its subdirectories to a given depth. Links are shown, never followed.

import type { BigIntStats } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { ToolError } from '../../../contract/errors.js';
import { defineTool, permitsAll, type Tool } from '../../../tool/define-tool.js';
import {
  entriesOf,
  entryPath,
  entryTypeOf,
  type DirectoryEntry,
  type EntryType,
} from '../../project/open/directory-entries.js';
import { errnoOf, fileFailure } from '../../project/open/file-failure.js';
import { leadsOutside } from '../../project/open/link-target.js';
import { openPath, type OpenedPath } from '../../project/open/opened-path.js';
import type { ProjectScope, ScopePath } from '../../project/scope/project-scope.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { isPlaceholder } from '../../project/scope/protected-paths.js';
import { isTemporaryName } from '../../project/write/atomic-write.js';
import { claimPath, withheldNotice, withheldOutput, type FilesystemContext } from '../filesystem-context.js';
import { cursorInput, cursorOutput, readCursor, writeCursor } from '../search/search-cursor.js';
import { IgnoreRules } from '../search/ignore-rules.js';
import { entryKey } from '../search/path-order.js';
import { RowBudget } from '../search/row-budget.js';
import { limitText } from '../../project/output-budget.js';
import { SmallestFirst } from '../search/smallest-first.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {},
  {
    path: { type: 'string', default: '.', description: 'The directory, relative to the project.' },
    depth: {
      type: 'integer',
      minimum: 1,
      maximum: 10,
      default: 1,
      description: '1: only the entries of the directory itself.',
    },
    include_ignored: { type: 'boolean', default: false, description: 'Include entries that .gitignore excludes.' },
    include_hidden: { type: 'boolean', default: true, description: 'Include names that begin with a dot.' },
    limit: { type: 'integer', minimum: 1, maximum: 10_000, default: 1_000 },
    cursor: cursorInput,
  },
);

const output = objectSchema(
  {
    entries: {
      type: 'array',
      items: objectSchema(
        {
          path: { type: 'string' },
          type: { type: 'string', enum: ['file', 'dir', 'symlink', 'other'] },
          size: { type: 'integer', description: 'In bytes.' },
          mtime_ms: { type: 'integer', description: 'In milliseconds since 1970.' },
        },
        {
          target: { type: 'string', description: 'The target as written in the link.' },
          outside: { type: 'boolean', description: 'True for a link that resolves outside the project.' },
        },
      ),
    },
    truncated: {
      type: 'boolean',
      description: 'There are more entries: pass the cursor, list a subdirectory, or raise limit.',
    },
  },
  {
    cursor: cursorOutput,
    withheld: withheldOutput,
  },
);

interface Entry {
  path: string;
  type: EntryType;
  size: number;
  mtime_ms: number;
  target?: string;
  outside?: boolean;
}

/** The tool `list_directory`. */
export function listDirectoryTool({ files, limits }: FilesystemContext): Tool {
  return defineTool({
    name: 'list_directory',
    title: 'List directory',
    description:
      'List the files and directories in a directory, with their sizes. Omits entries that .gitignore excludes.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ path }) => claimPath(files, path, 'read', 'tree'),
    async execute({ limit, cursor, ...rest }, ctx) {
      const { path, depth, include_ignored, include_hidden } = rest;
      const requested = files.scope.parse(path);
      const identity = ['list_directory', requested.shown, rest];
      const after = readCursor(identity, cursor)?.key;
      await using directory = await files.openDirectory(requested);
      const listing = new Listing(files.scope, requested, {
        depth,
        limit,
        after,
        includeHidden: include_hidden,
        rules: include_ignored ? undefined : await IgnoreRules.below(files.scope, directory.path),
        permits: ctx.permits,
        onDirectory: () => ctx.signal.throwIfAborted(),
      });
      try {
        await listing.add(directory, { prefix: '', key: '', level: 1 });
      } catch (error) {
        throw fileFailure(error, 'list', requested.shown);
      }
      const { entries, truncated, withheld } = listing;
      const next = truncated && listing.last !== undefined ? writeCursor(identity, { key: listing.last }) : undefined;
      const lines =
        entries.length === 0 ? ['The directory is empty, or all of its entries are ignored.'] : entries.map(lineOf);
      const more = truncated
        ? `There are more than these ${entries.length} entries. Continue with cursor ${next}, list a subdirectory, or raise limit.`
        : '';
      const notice = [more, withheldNotice(withheld)].filter((each) => each !== '').map((each) => `\n[${each}]`);
      return {
        content: [
          {
            type: 'text',
            text:
              limitText(
                lines.join('\n'),
                limits,
                (more) => `[${more} more entries are not shown. List a subdirectory.]`,
              ) + notice.join(''),
          },
        ],
        structuredContent: {
          entries,
          truncated,
          ...(next !== undefined && { cursor: next }),
          ...(withheld > 0 && { withheld }),
        },
      };
    },
  });
}

interface KeyedEntry {
  entry: DirectoryEntry;
  key: string;
}

interface ListingOptions {
  depth: number;
  limit: number;
  /** Only entries after this key. */
  after: string | undefined;
  includeHidden: boolean;
  rules: IgnoreRules | undefined;
  permits: (shown: string) => boolean;
  onDirectory: () => void;
}

/** A directory that is being listed. */
interface Level {
  /** Of its entries' paths, relative to the listed directory, and of their keys. */
  prefix: string;
  key: string;
  level: number;
}

class Listing {
  truncated = false;
  withheld = 0;
  /** The key of the last entry. */
  last: string | undefined;
  readonly #scope: ProjectScope;
  readonly #requested: ScopePath;
  readonly #options: ListingOptions;
  readonly #budget: RowBudget<Entry>;

  constructor(scope: ProjectScope, requested: ScopePath, options: ListingOptions) {
    this.#scope = scope;
    this.#requested = requested;
    this.#options = options;
    this.#budget = new RowBudget(options.limit);
  }

  get entries(): Entry[] {
    return this.#budget.rows;
  }

  /** Adds the entries of a directory, each followed by the entries below it. */
  async add(directory: OpenedPath, at: Level): Promise<void> {
    this.#options.onDirectory();
    const { after, depth } = this.#options;
    const { names, dropped } = await this.#namesIn(directory, at);
    const found = await Promise.all(
      names.map(({ entry }) => lstat(entry.address, { bigint: true }).catch(() => undefined)),
    );
    for (const [index, { entry, key }] of names.entries()) {
      if (this.truncated) return;
      const stats = found[index];
      if (!stats) continue; // deleted since the directory was read
      if (isPlaceholder(stats) && (await isEmpty(entry.address, stats))) continue; // of the sandbox, while a command is running
      const path = at.prefix + entry.name;
      // A directory that is, or contains, the last entry of the previous answer was returned there.
      const isGiven = after !== undefined && (after === key || after.startsWith(`${key}/`));
      if (!isGiven) {
        const row = await this.#entry(directory, entry, path, stats);
        if (!this.#budget.add(row, row.path.length + (row.target?.length ?? 0))) {
          this.truncated = true;
          return;
        }
        this.last = key;
      }
      if (stats.isDirectory() && at.level < depth && entry.name !== '.git')
        await this.#addBelow(directory, entry, { prefix: `${path}/`, key: `${key}/`, level: at.level + 1 });
    }
    this.truncated ||= dropped; // entries were deleted in the meantime, so the limit was not reached
  }

  async #addBelow(parent: OpenedPath, entry: DirectoryEntry, at: Level): Promise<void> {
    let directory: OpenedPath;
    try {
      directory = await openPath(this.#scope, parent.entry(entry.name), this.#requested, {
        directory: true,
        follow: false,
      });
    } catch {
      return; // deleted, replaced by a link, or not accessible: its own entry is listed
    }
    try {
      await this.add(directory, at);
    } catch (error) {
      if (ToolError.isInstance(error) || errnoOf(error) !== 'EACCES') throw error; // a directory that may not be listed stays a single entry
    } finally {
      await directory.close();
    }
  }

  async #namesIn(directory: OpenedPath, at: Level): Promise<{ names: KeyedEntry[]; dropped: boolean }> {
    const { rules, includeHidden, limit, after } = this.#options;
    // As many as the limit allows, one more to detect the next page, and one that the previous page returned.
    const room = limit - this.entries.length + 2;
    const names = new SmallestFirst<KeyedEntry>(room, (a, b) => (a.key < b.key ? -1 : 1));
    const least = after?.startsWith(at.key) ? after.slice(at.key.length).split('/')[0] : undefined;
    let count = 0;
    for await (const entry of entriesOf(directory)) {
      if (++count % 1_000 === 0) this.#options.onDirectory();
      const { name, type } = entry;
      if (!includeHidden && name.startsWith('.')) continue;
      if (isTemporaryName(name) || (name === '.git' && at.level > 1)) continue;
      const key = entryKey(entry);
      if (least !== undefined && key < least) continue;
      if (!this.#isPermitted(directory, at.prefix + name, name)) {
        this.withheld++;
        continue;
      }
      if (rules && name !== '.git' && (await rules.isIgnored(at.prefix + name, type === 'dir'))) continue;
      names.add({ entry, key: at.key + key });
    }
    const sorted = names.sorted();
    return { names: sorted, dropped: names.dropped };
  }

  #shownOf(path: string): string {
    return this.#requested.shown === '.' ? path : `${this.#requested.shown}/${path}`;
  }

  /** Checks the real name as well if the listed directory was reached through a link. */
  #isPermitted(directory: OpenedPath, path: string, name: string): boolean {
    const { permits } = this.#options;
    if (permits === permitsAll) return true;
    return permits(this.#shownOf(path)) && permits(entryPath(this.#scope, directory, name).shown);
  }

  async #entry(directory: OpenedPath, name: DirectoryEntry, path: string, stats: BigIntStats): Promise<Entry> {
    const shown = this.#shownOf(path);
    const entry: Entry = {
      path: shown,
      type: entryTypeOf(stats),
      size: Number(stats.size),
      mtime_ms: Number(stats.mtimeMs),
    };
    if (entry.type !== 'symlink') return entry;
    const target = await readlink(name.address).catch(() => undefined);
    if (target === undefined) return entry;
    return { ...entry, target, outside: await leadsOutside(this.#scope, this.#requested, directory, target) };
  }
}

function lineOf({ path, type, size, target, outside }: Entry): string {
  const shown = escapeControls(path);
  if (type === 'dir') return `${shown}/`;
  if (type === 'file') return `${shown}  ${size}`;
  if (type === 'other') return `${shown}  (not a regular file)`;
  return `${shown} -> ${escapeControls(target ?? '?')}${outside ? ' (outside the project)' : ''}`;
}

/** Also true for a file, as a placeholder file is empty. */
async function isEmpty(address: DirectoryEntry['address'], stats: BigIntStats): Promise<boolean> {
  return stats.isFile() || (await readdir(address).catch(() => ['']))[0] === undefined; // not accessible: shown
}
