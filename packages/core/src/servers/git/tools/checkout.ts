// checkout: switches to a branch or a commit, or creates a branch and switches to it.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { escapeControls, quote } from '../../project/scope/project-scope.js';
import { claimAction, type GitContext } from '../git-context.js';
import { assertNewName, assertRefText, exactRef, headOf, REF, resolveRef } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import { nameList } from '../git-paths.js';
import { allPaths, assertTreeWritable, changeTree, differingPaths, treeDiff } from '../repository/tree-changes.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {
    ref: { ...REF, description: 'A branch; a commit or tag, which detaches HEAD; or with create, the new branch.' },
  },
  {
    create: { type: 'boolean', default: false, description: 'Create the branch first.' },
    start: { ...REF, description: 'With create: the commit to start from. Default: HEAD.' },
  },
);

const output = objectSchema(
  {
    to: { type: 'string' },
    detached: { type: 'boolean' },
    changed: {
      type: 'array',
      items: { type: 'string' },
      description: 'Files of the working tree that were written or deleted.',
    },
    changed_count: { type: 'integer' },
  },
  {
    from: { type: 'string', description: 'The previous branch or commit. Absent before the first commit.' },
    oid: { type: 'string' },
  },
);

/** The tool `checkout`. */
export function checkoutTool(context: GitContext): Tool {
  return defineTool({
    name: 'checkout',
    title: 'Switch branches',
    description:
      'Switch to a branch, or create one and switch to it. Uncommitted changes are kept; if they conflict, nothing is changed.',
    input,
    output,
    annotations: hints('destructive'),
    permission: ({ ref, create, start }) => claimAction(create ? 'create' : 'switch', ref, create ? start : undefined),
    execute: ({ ref, create, start }, ctx) =>
      Repository.change(context, ctx, async (repository) => {
        if (start !== undefined && !create) throw new ToolError('INVALID_ARGUMENT', 'start is only for create.');
        repository.assertConfigStays('one-git');
        const { args, target } = create ? await toNew(repository, ref, start) : await toExisting(repository, ref);
        const head = await headOf(repository);
        if (target !== undefined && target !== head)
          assertTreeWritable(
            repository,
            await (head === undefined
              ? allPaths(repository, target)
              : differingPaths(repository, treeDiff(head, target))),
          );
        const { before, after, changed, changedCount } = await changeTree(repository, () =>
          repository.write(
            ['switch', '--quiet', '--no-guess', '--no-overwrite-ignore', '--no-recurse-submodules', ...args],
            { hooks: true },
          ),
        );
        const from = before.branch ?? before.oid;
        const to = after.branch ?? after.oid ?? ref;
        const detached = after.branch === undefined;
        const what = detached ? `HEAD is detached at ${to}.` : `On the branch ${quote(escapeControls(to))}.`;
        const files = changedCount === 0 ? 'No file was changed.' : `Changed files:\n${nameList(changed)}`;
        return {
          content: [{ type: 'text', text: `${what} ${files}` }],
          structuredContent: {
            ...(from !== undefined && { from }),
            to,
            ...(after.oid !== undefined && { oid: after.oid }),
            detached,
            changed,
            changed_count: changedCount,
          },
        };
      }),
  });
}

interface Way {
  args: string[];
  /** The current commit; undefined before the first one. */
  target: string | undefined;
}

async function toNew(repository: Repository, name: string, start: string | undefined): Promise<Way> {
  await assertNewName(repository, 'branch', name);
  if (start === undefined && (await headOf(repository)) === undefined)
    return { args: ['--create', name], target: undefined };
  const target = await resolveRef(repository, start ?? 'HEAD');
  return { args: ['--no-track', '--create', name, target], target };
}

async function toExisting(repository: Repository, ref: string): Promise<Way> {
  assertRefText(ref);
  const branch = await exactRef(repository, `refs/heads/${ref}`);
  // Switches to a branch by its verified name, and to anything else by id.
  if (branch !== undefined) return { args: [ref], target: branch };
  const target = await resolveRef(repository, ref);
  return { args: ['--detach', target], target };
}
