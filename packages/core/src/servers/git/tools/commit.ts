// commit: commits the staged changes.

import { NO_DIFF_HELPERS } from '../hardening/git-settings.js';
import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { assertPlain, claimAction, type GitContext } from '../git-context.js';
import { COMMIT_HOOKS, hooksOf } from '../repository/configured-hooks.js';
import { readPatch } from '../repository/patch-pages.js';
import { currentBranch, resolveRef } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import { readableMessage } from '../../project/git/run-git.js';
import { readCommit } from './show.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

/** The limit of a message, in bytes. */
export const MESSAGE = {
  type: 'string',
  minLength: 1,
  maxLength: 100_000,
  description: 'The whole message: a subject line, then an empty line and the body.',
} as const;

const input = objectSchema(
  {
    message: MESSAGE,
  },
  {
    all: {
      type: 'boolean',
      default: false,
      description: 'Stage all changed tracked files first, but not untracked files.',
    },
    amend: { type: 'boolean', default: false, description: 'Replace the last commit.' },
    allow_empty: { type: 'boolean', default: false, description: 'Commit even when nothing has changed.' },
    author: { type: 'string', maxLength: 500, description: 'Name <address>. Default: the configured user.' },
  },
);

const output = objectSchema(
  {
    oid: { type: 'string' },
    subject: { type: 'string' },
    files: { type: 'integer' },
    insertions: { type: 'integer' },
    deletions: { type: 'integer' },
    hooks_ran: { type: 'boolean' },
    hooks: {
      type: 'array',
      items: { type: 'string' },
      description: 'The hooks that ran, or that were skipped in an untrusted repository.',
    },
  },
  {
    branch: { type: 'string', description: 'Absent when HEAD is detached.' },
  },
);

/** The tool `commit`. */
export function commitTool(context: GitContext): Tool {
  return defineTool({
    name: 'commit',
    title: 'Commit',
    description: 'Commit the staged changes. Stage files with add first, or set all.',
    input,
    output,
    annotations: hints('destructive'),
    permission: ({ amend }) => claimAction(amend ? 'amend' : 'commit'),
    execute: ({ message, all, amend, allow_empty, author }, ctx) =>
      Repository.change(context, ctx, async (repository) => {
        assertMessage(message);
        assertAuthor(author);
        const hooks = await hooksOf(repository, COMMIT_HOOKS);
        const args = [
          'commit',
          '--quiet',
          '--file=-',
          '--cleanup=whitespace',
          ...(all ? ['--all'] : []),
          ...(amend ? ['--amend'] : []),
          ...(allow_empty ? ['--allow-empty'] : []),
          ...(author === undefined ? [] : [`--author=${author}`]),
        ];
        const { code, stdout, stderr } = await repository.write(args, {
          stdin: message,
          accept: [0, 1],
          hooks: hooks.length > 0,
        });
        if (code === 1)
          throw await notCommitted(repository, {
            hooks,
            allow_empty,
            said: stderr + stdout.toString('utf8', 0, 2_000),
          });
        const commit = await readCommit(repository, await resolveRef(repository, 'HEAD'));
        const branch = await currentBranch(repository);
        const numbers = await numbersOf(repository, commit.oid, commit.parents[0]);
        const hooksRan = repository.trusted && hooks.length > 0;
        const skipped =
          hooks.length > 0 && !hooksRan
            ? ` Hooks were not run, as the repository is not trusted: ${hooks.join(', ')}.`
            : '';
        const where = branch === undefined ? 'a detached head' : escapeControls(branch);
        const text = `Committed ${commit.oid} on ${where}: ${numbers.files} files, +${numbers.insertions} -${numbers.deletions}.${skipped}`;
        return {
          content: [{ type: 'text', text }],
          structuredContent: {
            oid: commit.oid,
            ...(branch !== undefined && { branch }),
            subject: commit.subject,
            ...numbers,
            hooks_ran: hooksRan,
            hooks,
          },
        };
      }),
  });
}

/** @throws {ToolError} INVALID_ARGUMENT for a message that git would truncate or empty */
export function assertMessage(message: string): void {
  if (message.includes('\0'))
    throw new ToolError('INVALID_ARGUMENT', 'message contains a NUL character, at which git would cut it.');
  if (message.trim() === '')
    throw new ToolError('INVALID_ARGUMENT', 'message is empty. Describe what the commit does.');
}

function assertAuthor(author: string | undefined): void {
  assertPlain('author', author);
  if (author === undefined || /^[^<>]+ <[^<>]*>$/.test(author)) return;
  throw new ToolError('INVALID_ARGUMENT', 'author must be of the form: Name <address>');
}

async function notCommitted(
  repository: Repository,
  { hooks, allow_empty, said }: { hooks: readonly string[]; allow_empty: boolean; said: string },
): Promise<ToolError> {
  const unmerged = (await repository.read(['ls-files', '--unmerged', '-z'])).stdout.length > 0;
  if (unmerged)
    return new ToolError(
      'EXECUTION_FAILED',
      'Some files have conflicts. Resolve them, stage them with add, then commit again.',
    );
  const staged = ['diff', '--cached', '--quiet', ...NO_DIFF_HELPERS];
  if (!allow_empty && (await repository.read(staged, { accept: [0, 1] })).code === 0)
    return new ToolError('NO_CHANGE', 'Nothing is staged. Stage files with add, or set all.');
  const by = repository.trusted && hooks.length > 0 ? ` Its hooks ran: ${hooks.join(', ')}.` : '';
  return new ToolError('EXECUTION_FAILED', `git made no commit.${by} ${readableMessage(said)}`.trim());
}

async function numbersOf(
  repository: Repository,
  oid: string,
  parent: string | undefined,
): Promise<{ files: number; insertions: number; deletions: number }> {
  const args =
    parent === undefined ? ['diff-tree', '--root', '--no-commit-id', '-r', oid] : ['diff-tree', '-r', parent, oid];
  const { files, file_count } = await readPatch(repository, {
    args,
    paths: [],
    context: 0,
    stat_only: true,
    max_bytes: 0,
  });
  return {
    files: file_count,
    insertions: files.reduce((sum, { added = 0 }) => sum + added, 0),
    deletions: files.reduce((sum, { removed = 0 }) => sum + removed, 0),
  };
}
