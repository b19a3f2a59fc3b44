// branch_list: lists branches, with their commits and upstreams.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { limitText } from '../../project/output-budget.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { claimPaths, type GitContext } from '../git-context.js';
import { currentBranch, REF, resolveRef } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {},
  {
    remote: { type: 'boolean', default: false, description: 'List remote-tracking branches instead of local ones.' },
    contains: { ...REF, description: 'Only branches that contain this commit.' },
    limit: { type: 'integer', minimum: 1, maximum: 10_000, default: 200 },
    skip: { type: 'integer', minimum: 0, default: 0, description: 'Branches to skip, to continue.' },
  },
);

const output = objectSchema(
  {
    branches: {
      type: 'array',
      items: objectSchema(
        {
          name: { type: 'string' },
          oid: { type: 'string' },
          subject: { type: 'string' },
          time: { type: 'string' },
          current: { type: 'boolean' },
          gone: { type: 'boolean', description: 'The upstream was deleted.' },
        },
        {
          upstream: { type: 'string' },
          ahead: { type: 'integer' },
          behind: { type: 'integer' },
        },
      ),
    },
    truncated: { type: 'boolean' },
  },
  {
    current: {
      type: 'string',
      description: 'The current branch, even before its first commit. Absent when HEAD is detached.',
    },
    next_skip: { type: 'integer' },
  },
);

interface Branch {
  name: string;
  oid: string;
  subject: string;
  time: string;
  current: boolean;
  upstream?: string;
  ahead?: number;
  behind?: number;
  gone: boolean;
}

const FORMAT = [
  'refname',
  'objectname',
  'HEAD',
  'upstream:short',
  'upstream:track,nobracket',
  'committerdate:iso-strict',
  'contents:subject',
]
  .map((field) => `%(${field})`)
  .join('%00');

/** The tool `branch_list`. */
export function branchListTool(context: GitContext): Tool {
  return defineTool({
    name: 'branch_list',
    title: 'List branches',
    description: 'List the local branches, or the remote-tracking ones, with their last commits and upstreams.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: () => claimPaths(context, [], 'read', 'lists the branches'),
    async execute({ remote, contains, limit, skip }, ctx) {
      const repository = await Repository.open(context, ctx);
      const holding = contains === undefined ? [] : [`--contains=${await resolveRef(repository, contains)}`];
      const count = `--count=${skip + limit + 1}`;
      const args = ['for-each-ref', count, `--format=${FORMAT}`, ...holding, remote ? 'refs/remotes/' : 'refs/heads/'];
      const rows = (await repository.read(args)).stdout
        .toString('utf8')
        .split('\n')
        .filter((row) => row !== '');
      const branches = rows.slice(skip, skip + limit).map(parseBranch);
      const current = await currentBranch(repository);
      const truncated = rows.length > skip + branches.length;
      const next = skip + branches.length;
      const lines = [
        ...branches.map(branchLine),
        ...(branches.length === 0 ? ['No branches.'] : []),
        ...(truncated ? [`[There are more. Continue with skip ${next}.]`] : []),
      ];
      return {
        content: [
          {
            type: 'text',
            text: limitText(lines.join('\n'), context.limits, (more) => `[${more} more lines. Use a smaller limit.]`),
          },
        ],
        structuredContent: {
          branches,
          ...(current !== undefined && { current }),
          truncated,
          ...(truncated && { next_skip: next }),
        },
      };
    },
  });
}

function parseBranch(row: string): Branch {
  const [name = '', oid = '', head = '', upstream = '', track = '', time = '', ...subject] = row.split('\0');
  const ahead = /ahead (\d+)/.exec(track)?.[1];
  const behind = /behind (\d+)/.exec(track)?.[1];
  return {
    name: name.replace(/^refs\/(?:heads|remotes)\//, ''),
    oid,
    subject: subject.join(' '),
    time,
    current: head === '*',
    ...(upstream !== '' && { upstream }),
    ...(upstream !== '' && track !== 'gone' && { ahead: Number(ahead ?? 0), behind: Number(behind ?? 0) }),
    gone: track === 'gone',
  };
}

function branchLine({ name, oid, subject, current, upstream, ahead, behind, gone }: Branch): string {
  const standing =
    upstream === undefined ? '' : gone ? ` [${upstream}, gone]` : ` [${upstream}: ${ahead} ahead, ${behind} behind]`;
  return `${current ? '*' : ' '} ${escapeControls(name)} ${oid.slice(0, 12)}${escapeControls(standing)} ${escapeControls(subject)}`;
}
