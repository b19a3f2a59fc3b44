// log: lists commits, newest first, page by page.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { limitText } from '../../project/output-budget.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { COMMIT, COMMIT_FIELDS, COMMIT_FORMAT, parseCommit, type Commit } from '../repository/commit-record.js';
import { assertPlain, claimPaths, type GitContext } from '../git-context.js';
import { nulFields } from '../repository/nul-records.js';
import { PATHS, type GitPath } from '../git-paths.js';
import { headOf, REF, resolveRef } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const TEXT = { type: 'string', minLength: 1, maxLength: 500 } as const;

const input = objectSchema(
  {},
  {
    ref: { ...REF, default: 'HEAD', description: 'The commit to start from. Default: HEAD.' },
    max: { type: 'integer', minimum: 1, maximum: 1_000, default: 20 },
    skip: { type: 'integer', minimum: 0, default: 0, description: 'Commits to skip, to continue.' },
    since: { ...TEXT, description: 'Only commits after this, such as "2 weeks ago" or 2026-01-31.' },
    until: { ...TEXT, description: 'Only commits before this.' },
    author: { ...TEXT, description: "Only commits with this text in the author's name or address." },
    grep: { ...TEXT, description: 'Only commits with this text in the message; case-insensitive.' },
    paths: { ...PATHS, description: 'Only commits that change one of these files or directories.' },
    follow: { type: 'boolean', default: false, description: 'Follow renames; requires exactly one path.' },
  },
);

const output = objectSchema(
  {
    commits: { type: 'array', items: COMMIT },
    has_more: { type: 'boolean' },
  },
  {
    next_skip: { type: 'integer' },
  },
);

/** The tool `log`. */
export function logTool(context: GitContext): Tool {
  return defineTool({
    name: 'log',
    title: 'Show history',
    description:
      'List commits, newest first, with their messages. Filter by path, author, time or text of the message.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ paths }) => claimPaths(context, paths, 'read', 'lists the commits that change it'),
    async execute({ ref, max, skip, since, until, author, grep, paths = [], follow }, ctx) {
      for (const [name, value] of Object.entries({ since, until, author, grep })) assertPlain(name, value);
      if (follow && paths.length !== 1) throw new ToolError('INVALID_ARGUMENT', 'follow requires exactly one path.');
      const repository = await Repository.open(context, ctx);
      const specs = await repository.paths(paths);
      const isUnborn = ref === 'HEAD' && (await headOf(repository)) === undefined;
      const commits = isUnborn
        ? []
        : await readCommits(
            repository,
            [
              `--max-count=${max + 1}`,
              `--skip=${skip}`,
              ...(since === undefined ? [] : [`--since=${since}`]),
              ...(until === undefined ? [] : [`--until=${until}`]),
              ...(author === undefined ? [] : [`--author=${author}`]),
              ...(grep === undefined ? [] : [`--grep=${grep}`]),
              '--fixed-strings',
              '--regexp-ignore-case',
              ...(follow ? ['--follow'] : []),
              await resolveRef(repository, ref),
            ],
            specs,
          );
      const hasMore = commits.length > max;
      const shown = commits.slice(0, max);
      const lines = [
        ...shown.map(commitLine),
        ...(shown.length === 0 ? [isUnborn ? 'The repository has no commits yet.' : 'No commits.'] : []),
        ...(hasMore ? [`[There are more. Continue with skip ${skip + max}.]`] : []),
      ];
      const more = (count: number): string => `[${count} more lines are not shown. Use a smaller max.]`;
      return {
        content: [{ type: 'text', text: limitText(lines.join('\n'), context.limits, more) }],
        structuredContent: { commits: shown, has_more: hasMore, ...(hasMore && { next_skip: skip + max }) },
      };
    },
  });
}

/** Runs `git log` and parses its commits. @throws {ToolError} TOO_LARGE when the output exceeds 8 MiB */
async function readCommits(
  repository: Repository,
  args: readonly string[],
  paths: readonly GitPath[],
): Promise<Commit[]> {
  const { stdout, cut } = await repository.read(['log', '-z', '--no-notes', '--no-color', COMMIT_FORMAT, ...args], {
    paths,
  });
  if (cut) throw new ToolError('TOO_LARGE', 'The messages of these commits are larger than 8 MiB. Use a smaller max.');
  const fields = nulFields(stdout);
  const commits: Commit[] = [];
  // Each record ends with one empty field.
  for (let start = 0; start + COMMIT_FIELDS <= fields.length; start += COMMIT_FIELDS + 1)
    commits.push(parseCommit(fields.slice(start, start + COMMIT_FIELDS)));
  return commits;
}

function commitLine({ oid, author, subject, refs }: Commit): string {
  const names = refs.length > 0 ? ` (${refs.map(escapeControls).join(', ')})` : '';
  return `${oid.slice(0, 12)} ${author.date.slice(0, 10)} ${escapeControls(author.name)}: ${escapeControls(subject)}${names}`;
}
