// stash: saves uncommitted changes, and restores them.

import { NO_DIFF_HELPERS } from '../hardening/git-settings.js';
import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { assertPlain, claimAction, type GitContext } from '../git-context.js';
import { conflictsOf } from '../repository/conflicts.js';
import { nulFields } from '../repository/nul-records.js';
import { nameList } from '../git-paths.js';
import { PATCH_INPUT, PATCH_OUTPUT, readPatch } from '../repository/patch-pages.js';
import { findRef, headOf } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import { readableMessage } from '../../project/git/run-git.js';
import { assertTreeWritable, changeTree, differingPaths, allPaths, treeDiff } from '../repository/tree-changes.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = {
  type: 'object',
  properties: {
    action: {
      type: 'string',
      enum: ['push', 'list', 'show', 'apply', 'pop', 'drop'],
      description:
        'push stashes changes; apply restores them; pop restores them and drops the entry; drop deletes an entry.',
    },
    index: { type: 'integer', minimum: 0, maximum: 10_000, default: 0, description: 'The entry; 0 is the newest.' },
    message: { type: 'string', minLength: 1, maxLength: 1_000, description: 'For push: a message of one line.' },
    include_untracked: { type: 'boolean', default: false, description: 'For push: include untracked files.' },
    ...PATCH_INPUT,
  },
  required: ['action'],
} as const;

const output = {
  type: 'object',
  properties: {
    entries: {
      type: 'array',
      description: 'The entries afterwards, newest first; the first 100.',
      items: objectSchema({
        index: { type: 'integer' },
        oid: { type: 'string' },
        message: { type: 'string' },
        time: { type: 'string' },
      }),
    },
    changed: {
      type: 'array',
      items: { type: 'string' },
      description: 'Files of the working tree that were written or deleted.',
    },
    conflicts: {
      type: 'array',
      items: { type: 'string' },
      description: 'Files with conflicts to resolve; the entry is kept.',
    },
    ...PATCH_OUTPUT,
  },
  required: ['entries'],
  additionalProperties: false,
} as const;

const MAX_ENTRIES = 100;

/** The tool `stash`. */
export function stashTool(context: GitContext): Tool {
  return defineTool({
    name: 'stash',
    title: 'Stash changes',
    description: 'Stash uncommitted changes and restore them; list, show or drop entries.',
    input,
    output,
    annotations: hints('destructive'),
    permission: ({ action, index }) =>
      claimAction(action, action === 'push' || action === 'list' ? undefined : String(index)),
    async execute({ action, index, message, include_untracked, ...page }, ctx) {
      assertPlain('message', message);
      if (message !== undefined && action !== 'push')
        throw new ToolError('INVALID_ARGUMENT', 'message is only for push.');
      if (action === 'list') return listed(await entriesOf(await Repository.open(context, ctx)));
      if (action === 'show') return show(await Repository.open(context, ctx), index, page);
      return Repository.change(context, ctx, async (repository) => {
        if (action === 'drop') {
          await entryAt(repository, index);
          await repository.write(['stash', 'drop', '--quiet', `stash@{${index}}`]);
          const { content, structuredContent } = listed(await entriesOf(repository));
          return { content: [{ type: 'text' as const, text: 'Dropped.' }, ...content], structuredContent };
        }
        repository.assertConfigStays('several-gits');
        if (action === 'push') return push(repository, message, include_untracked);
        return takeUp(repository, index, action);
      });
    },
  });
}

interface Entry {
  index: number;
  oid: string;
  message: string;
  time: string;
}

async function entriesOf(repository: Repository): Promise<Entry[]> {
  if ((await findRef(repository, 'refs/stash')) === undefined) return [];
  const format = '--format=tformat:%H%x00%gs%x00%cI';
  const { stdout } = await repository.read(['stash', 'list', '-z', `--max-count=${MAX_ENTRIES}`, format]);
  const fields = nulFields(stdout).map((field) => field.toString('utf8'));
  const entries: Entry[] = [];
  for (let start = 0; start + 2 < fields.length; start += 3)
    entries.push({
      index: start / 3,
      oid: fields[start] ?? '',
      message: fields[start + 1] ?? '',
      time: fields[start + 2] ?? '',
    });
  return entries;
}

async function entryAt(repository: Repository, index: number): Promise<string> {
  const oid = await findRef(repository, `stash@{${index}}`);
  // For an index beyond the reflog, git returns the oldest entry instead of an error.
  const entries = await entriesOf(repository);
  if (oid !== undefined && (index < entries.length || entries.length === MAX_ENTRIES)) return oid;
  throw new ToolError(
    'NOT_FOUND',
    `The stash entry ${index} does not exist; there are ${entries.length}. List them with action list.`,
  );
}

function listed(entries: Entry[]) {
  const lines = entries.map(
    ({ index, message, time }) => `${index}: ${escapeControls(message)} (${time.slice(0, 10)})`,
  );
  const text = lines.length === 0 ? 'Nothing is stashed.' : lines.join('\n');
  return { content: [{ type: 'text' as const, text }], structuredContent: { entries } };
}

async function show(
  repository: Repository,
  index: number,
  page: { context: number; stat_only: boolean; max_bytes: number; cursor?: string },
) {
  const oid = await entryAt(repository, index);
  const { text, ...data } = await readPatch(repository, { args: treeDiff(`${oid}^1`, oid), paths: [], ...page });
  const untracked = await untrackedOf(repository, oid);
  const news = untracked.length > 0 ? `\nNew files:\n${nameList(untracked.map((path) => repository.shown(path)))}` : '';
  return {
    content: [{ type: 'text' as const, text: `${text}${news}` }],
    structuredContent: { entries: await entriesOf(repository), ...data },
  };
}

/** The untracked files of an entry, which are in its third parent. */
async function untrackedOf(repository: Repository, oid: string): Promise<Buffer[]> {
  const parent = await findRef(repository, `${oid}^3`);
  return parent === undefined ? [] : allPaths(repository, parent);
}

async function push(repository: Repository, message: string | undefined, includeUntracked: boolean) {
  if ((await headOf(repository)) === undefined)
    throw new ToolError('NOT_FOUND', 'The repository has no commits yet to restore to. Commit first.');
  const dirty = await differingPaths(repository, ['diff', ...NO_DIFF_HELPERS, 'HEAD']);
  const news = includeUntracked
    ? nulFields((await repository.read(['ls-files', '-z', '--others', '--exclude-standard'])).stdout)
    : [];
  if (dirty.length + news.length === 0) throw new ToolError('NO_CHANGE', 'There are no changes to stash.');
  assertTreeWritable(repository, [...dirty, ...news]);
  const { changed } = await changeTree(repository, () =>
    repository.write(
      [
        'stash',
        'push',
        '--quiet',
        ...(includeUntracked ? ['--include-untracked'] : []),
        ...(message === undefined ? [] : [`--message=${message}`]),
      ],
      { patterns: true }, // it removes untracked files with a pattern for the top level
    ),
  );
  return {
    content: [{ type: 'text' as const, text: `Stashed. Changed files:\n${nameList(changed)}` }],
    structuredContent: { entries: await entriesOf(repository), changed },
  };
}

/**
 * The paths that applying an entry would write, determined by the merge that git will run: with detected renames, it may write to
 * paths that the entry does not list. Empty for git before 2.38, which has no such merge but respects `merge.renames`.
 */
async function mergedPaths(repository: Repository, oid: string): Promise<Buffer[]> {
  if (repository.trusted) return [];
  const line = async (args: readonly string[], accept = [0]): Promise<string> => {
    const { stdout } = await repository.write(args, { accept });
    return stdout.toString('latin1').split('\n', 1)[0] ?? '';
  };
  const index = await line(['write-tree']);
  // The merge base is the parent that both have.
  const ident = ['-c', 'user.name=toolwright', '-c', 'user.email=toolwright@localhost'];
  const ours = await line([...ident, 'commit-tree', '-p', `${oid}^1`, '-m', 'index', index]);
  const merged = await line(['merge-tree', '--write-tree', ours, oid], [0, 1, 128, 129]);
  return /^[0-9a-f]{40,64}$/.test(merged) ? differingPaths(repository, treeDiff(index, merged)) : [];
}

async function takeUp(repository: Repository, index: number, action: 'apply' | 'pop') {
  const oid = await entryAt(repository, index);
  const paths = await differingPaths(repository, treeDiff(`${oid}^1`, oid));
  assertTreeWritable(repository, [
    ...paths,
    ...(await untrackedOf(repository, oid)),
    ...(await mergedPaths(repository, oid)),
  ]);
  const { result, changed } = await changeTree(repository, () =>
    repository.write(['stash', action, '--quiet', `stash@{${index}}`], { accept: [0, 1] }),
  );
  const conflicts = await conflictsOf(repository);
  if (result.code === 1 && conflicts.length === 0)
    throw new ToolError('EXECUTION_FAILED', `git stash ${action} failed. ${readableMessage(result.stderr)}`);
  const what =
    conflicts.length > 0
      ? `Conflicts in:\n${nameList(conflicts)}\nThe entry is kept.`
      : `Done. Changed files:\n${nameList(changed)}`;
  return {
    content: [{ type: 'text' as const, text: what }],
    structuredContent: { entries: await entriesOf(repository), changed, conflicts },
  };
}
