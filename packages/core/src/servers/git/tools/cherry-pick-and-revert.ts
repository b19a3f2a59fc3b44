// cherry_pick and revert: apply or undo the change of one commit, as a new commit.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { claimAction, type GitContext } from '../git-context.js';
import { REF, resolveRef } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import { assertNothingUnderWay, goOn, startSequence, SEQUENCE_OUTPUT } from '../repository/sequence.js';
import { allPaths, assertTreeWritable, differingPaths, treeDiff } from '../repository/tree-changes.js';
import { readCommit } from './show.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {},
  {
    ref: { ...REF, description: 'The commit.' },
    parent: {
      type: 'integer',
      minimum: 1,
      maximum: 100,
      description: 'For a merge commit: the number of the parent to compare it with.',
    },
    step: {
      type: 'string',
      enum: ['continue', 'skip', 'abort'],
      description: 'Instead of ref: continue, skip or abort one that has stopped.',
    },
  },
);

/** The tool `cherry_pick`. */
export function cherryPickTool(context: GitContext): Tool {
  return pickTool(
    context,
    'cherry_pick',
    'Cherry-pick',
    'Apply the change of a commit to the current branch, as a new commit.',
  );
}

/** The tool `revert`. */
export function revertTool(context: GitContext): Tool {
  return pickTool(context, 'revert', 'Revert a commit', 'Revert the change of a commit with a new commit.');
}

function pickTool(context: GitContext, name: 'cherry_pick' | 'revert', title: string, description: string): Tool {
  const subcommand = name === 'revert' ? 'revert' : 'cherry-pick';
  return defineTool({
    name,
    title,
    description: `${description} Stops at conflicts; then continue, skip or abort.`,
    input,
    output: SEQUENCE_OUTPUT,
    annotations: hints('destructive'),
    permission: ({ ref, step }) => claimAction(step ?? 'start', ref),
    execute: ({ ref, parent, step }, ctx) =>
      Repository.change(context, ctx, async (repository) => {
        if ((ref === undefined) === (step === undefined)) throw new ToolError('INVALID_ARGUMENT', 'Set ref or step.');
        if (step !== undefined) return goOn(repository, name, subcommand, step);
        await assertNothingUnderWay(repository);
        const { oid, parents } = await readCommit(repository, await resolveRef(repository, ref ?? ''));
        if (parents.length > 1 && parents[(parent ?? 0) - 1] === undefined)
          throw new ToolError(
            'INVALID_ARGUMENT',
            `The commit is a merge of ${parents.length} parents: set parent, 1 to ${parents.length}.`,
          );
        const before = parents[(parent ?? 1) - 1];
        assertTreeWritable(
          repository,
          await (before === undefined ? allPaths(repository, oid) : differingPaths(repository, treeDiff(before, oid))),
        );
        const mainline = parents.length > 1 ? [`--mainline=${parent}`] : [];
        return startSequence(repository, name, [subcommand, '--no-edit', ...mainline, oid]);
      }),
  });
}
