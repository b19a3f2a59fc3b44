// status: the branch, an operation in progress, and all files that differ.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { limitText } from '../../project/output-budget.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { claimPaths, type GitContext } from '../git-context.js';
import { nulFields } from '../repository/nul-records.js';
import { operationOf, OPERATIONS } from '../repository/operation.js';
import { PATHS } from '../git-paths.js';
import { Repository } from '../repository/repository.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {},
  {
    untracked: {
      type: 'string',
      enum: ['no', 'normal', 'all'],
      default: 'normal',
      description: 'Whether untracked files are listed; "all" lists those in new directories too.',
    },
    paths: PATHS,
    limit: { type: 'integer', minimum: 1, maximum: 10_000, default: 500 },
    skip: { type: 'integer', minimum: 0, default: 0, description: 'Entries to skip, to continue.' },
  },
);

const output = objectSchema(
  {
    detached: { type: 'boolean' },
    operation: { type: 'string', enum: OPERATIONS, description: 'The operation in progress.' },
    stashes: { type: 'integer' },
    entries: {
      type: 'array',
      items: objectSchema(
        {
          path: { type: 'string' },
          index: { type: 'string', description: 'As in git: M, A, D, R, C, T, U, or "." for none.' },
          worktree: { type: 'string' },
          kind: { type: 'string', enum: ['changed', 'renamed', 'unmerged', 'untracked'] },
        },
        {
          old_path: { type: 'string' },
          submodule: objectSchema({
            commit_changed: { type: 'boolean' },
            modified: { type: 'boolean' },
            untracked: { type: 'boolean' },
          }),
        },
      ),
    },
    counts: objectSchema({
      staged: { type: 'integer' },
      unstaged: { type: 'integer' },
      unmerged: { type: 'integer' },
      untracked: { type: 'integer' },
    }),
    truncated: { type: 'boolean' },
  },
  {
    branch: { type: 'string', description: 'Absent when HEAD is detached.' },
    oid: { type: 'string', description: 'The current commit. Absent before the first one.' },
    upstream: { type: 'string' },
    ahead: { type: 'integer' },
    behind: { type: 'integer' },
    next_skip: { type: 'integer' },
  },
);

interface Entry {
  path: string;
  old_path?: string;
  index: string;
  worktree: string;
  kind: 'changed' | 'renamed' | 'unmerged' | 'untracked';
  submodule?: { commit_changed: boolean; modified: boolean; untracked: boolean };
}

interface Head {
  branch?: string;
  oid?: string;
  upstream?: string;
  ahead?: number;
  behind?: number;
  stashes: number;
}

/** The tool `status`. */
export function statusTool(context: GitContext): Tool {
  return defineTool({
    name: 'status',
    title: 'Status of the repository',
    description:
      'Show the branch, a merge or rebase in progress, and all files that are staged, changed, in conflict or untracked.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ paths }) => claimPaths(context, paths, 'read', 'lists what has changed'),
    async execute({ untracked, paths, limit, skip }, ctx) {
      const repository = await Repository.open(context, ctx);
      const args = ['status', '--porcelain=v2', '--branch', '--show-stash', '-z', `--untracked-files=${untracked}`];
      const { stdout, cut } = await repository.read(args, { paths: await repository.paths(paths ?? []) });
      const { head, entries } = parseStatus(stdout, (path) => repository.shown(path));
      const operation = await operationOf(repository);
      const counts = {
        staged: entries.filter(({ kind, index }) => kind !== 'unmerged' && kind !== 'untracked' && index !== '.')
          .length,
        unstaged: entries.filter(
          ({ kind, worktree }) => kind !== 'unmerged' && kind !== 'untracked' && worktree !== '.',
        ).length,
        unmerged: entries.filter(({ kind }) => kind === 'unmerged').length,
        untracked: entries.filter(({ kind }) => kind === 'untracked').length,
      };
      const shown = entries.slice(skip, skip + limit);
      const truncated = cut || skip + shown.length < entries.length;
      const next = skip + shown.length;
      const lines = [
        headline(head, operation),
        ...shown.map(entryLine),
        ...(entries.length === 0 ? ['Nothing has changed.'] : []),
        ...(truncated ? [`[There are more entries. Continue with skip ${next}, or restrict paths.]`] : []),
      ];
      const more = (count: number): string =>
        `[${count} more lines are not shown. Restrict paths, or use limit and skip.]`;
      return {
        content: [{ type: 'text', text: limitText(lines.join('\n'), context.limits, more) }],
        structuredContent: {
          ...head,
          detached: head.branch === undefined,
          operation,
          entries: shown,
          counts,
          truncated,
          ...(truncated && { next_skip: next }),
        },
      };
    },
  });
}

/** Parses `status --porcelain=v2 --branch --show-stash -z`. https://git-scm.com/docs/git-status#_porcelain_format_version_2 */
export function parseStatus(stdout: Buffer, show: (path: Buffer) => string): { head: Head; entries: Entry[] } {
  const head: Head = { stashes: 0 };
  const entries: Entry[] = [];
  const fields = nulFields(stdout);
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index]!;
    const type = String.fromCharCode(field[0] ?? 0);
    if (type === '#') parseHeader(field.toString('utf8'), head);
    else if (type === '?')
      entries.push({ path: show(field.subarray(2)), index: '?', worktree: '?', kind: 'untracked' });
    else if (type === '1' || type === '2' || type === 'u') {
      const words = { '1': 8, '2': 9, u: 10 }[type];
      const { texts, rest } = splitWords(field, words);
      const [, xy = '..', sub = 'N...'] = texts;
      const oldPath = type === '2' ? fields[++index] : undefined;
      entries.push({
        path: show(rest),
        ...(oldPath && { old_path: show(oldPath) }),
        index: xy[0] ?? '.',
        worktree: xy[1] ?? '.',
        kind: type === 'u' ? 'unmerged' : type === '2' ? 'renamed' : 'changed',
        ...(sub.startsWith('S') && {
          submodule: { commit_changed: sub[1] === 'C', modified: sub[2] === 'M', untracked: sub[3] === 'U' },
        }),
      });
    }
  }
  return { head, entries };
}

function parseHeader(line: string, head: Head): void {
  const [, name, value = ''] = /^# ([a-z.]+) (.*)$/s.exec(line) ?? [];
  if (name === 'branch.oid' && value !== '(initial)') head.oid = value;
  if (name === 'branch.head' && value !== '(detached)') head.branch = value;
  if (name === 'branch.upstream') head.upstream = value;
  if (name === 'stash') head.stashes = Number(value);
  const [, ahead, behind] = name === 'branch.ab' ? (/^\+(\d+) -(\d+)$/.exec(value) ?? []) : [];
  if (ahead !== undefined && behind !== undefined)
    Object.assign(head, { ahead: Number(ahead), behind: Number(behind) });
}

/** Splits off a number of words; returns them and the rest as bytes. */
function splitWords(field: Buffer, count: number): { texts: string[]; rest: Buffer } {
  const texts: string[] = [];
  let start = 0;
  for (let word = 0; word < count; word++) {
    const end = field.indexOf(0x20, start);
    texts.push(field.toString('latin1', start, end));
    start = end + 1;
  }
  return { texts, rest: field.subarray(start) };
}

function headline(head: Head, operation: string): string {
  const where =
    head.branch === undefined ? `Detached at ${head.oid?.slice(0, 12)}` : `On ${escapeControls(head.branch)}`;
  const parts = [
    head.oid === undefined ? `${where}, no commit yet` : where,
    ...(head.upstream === undefined
      ? []
      : [`${head.ahead ?? '?'} ahead of and ${head.behind ?? '?'} behind ${escapeControls(head.upstream)}`]),
    ...(operation === 'none' ? [] : [`in the middle of: ${operation}`]),
    ...(head.stashes > 0 ? [`${head.stashes} stashed`] : []),
  ];
  return `${parts.join('; ')}.`;
}

function entryLine({ path, old_path, index, worktree, submodule }: Entry): string {
  const name = old_path === undefined ? path : `${old_path} -> ${path}`;
  const inside = submodule
    ? ` (submodule: ${
        Object.entries(submodule)
          .filter(([, is]) => is)
          .map(([what]) => what)
          .join(', ') || 'staged'
      })`
    : '';
  return `${index}${worktree} ${escapeControls(name)}${inside}`;
}
