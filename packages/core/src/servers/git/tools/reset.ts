// reset: moves the current branch to another commit.

import { NO_DIFF_HELPERS } from '../hardening/git-settings.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { claimAction, type GitContext } from '../git-context.js';
import { nameList } from '../git-paths.js';
import { headOf, REF, resolveRef } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import { assertTreeWritable, changeTree, differingPaths } from '../repository/tree-changes.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {},
  {
    ref: { ...REF, default: 'HEAD', description: 'The commit to move the branch to.' },
    mode: {
      type: 'string',
      enum: ['soft', 'mixed', 'hard'],
      default: 'mixed',
      description: 'soft keeps the index and files, mixed unstages changes, hard discards all uncommitted changes.',
    },
  },
);

const output = objectSchema(
  {
    oid: { type: 'string' },
    changed: {
      type: 'array',
      items: { type: 'string' },
      description: 'With hard: the files that were written or deleted.',
    },
  },
  {
    from: { type: 'string', description: 'The previous commit; create a branch there to get it back.' },
  },
);

/** The tool `reset`. */
export function resetTool(context: GitContext): Tool {
  return defineTool({
    name: 'reset',
    title: 'Reset the branch',
    description: 'Move the current branch to another commit. Ends a merge in progress. To unstage files use unstage.',
    input,
    output,
    annotations: hints('destructive', 'idempotent'),
    permission: ({ ref, mode }) => claimAction(mode, ref),
    execute: ({ ref, mode }, ctx) =>
      Repository.change(context, ctx, async (repository) => {
        repository.assertConfigStays('one-git');
        const oid = await resolveRef(repository, ref);
        const args = ['reset', '--quiet', `--${mode}`, '--no-recurse-submodules', oid];
        if (mode !== 'hard') {
          const from = await headOf(repository);
          await repository.write(args);
          return answer(from, oid, []);
        }
        assertTreeWritable(repository, await differingPaths(repository, ['diff', ...NO_DIFF_HELPERS, oid]));
        const { before, changed } = await changeTree(repository, () => repository.write(args));
        return answer(before.oid, oid, changed);
      }),
  });
}

function answer(from: string | undefined, oid: string, changed: string[]) {
  const files = changed.length > 0 ? ` Changed files:\n${nameList(changed)}` : '';
  const was = from === undefined || from === oid ? '' : ` It was at ${from}.`;
  return {
    content: [{ type: 'text' as const, text: `The branch is at ${oid}.${was}${files}` }],
    structuredContent: { ...(from !== undefined && { from }), oid, changed },
  };
}
