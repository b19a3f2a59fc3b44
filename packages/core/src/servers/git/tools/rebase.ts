// rebase: moves the commits of the current branch onto another one.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { claimAction, type GitContext } from '../git-context.js';
import { REF, resolveRef } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import {
  assertCommitsWritable,
  assertNothingUnderWay,
  goOn,
  mergeBases,
  startSequence,
  SEQUENCE_OUTPUT,
} from '../repository/sequence.js';
import { assertTreeWritable, differingPaths, treeDiff } from '../repository/tree-changes.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {},
  {
    onto: { ...REF, description: 'The branch or commit to rebase onto.' },
    step: {
      type: 'string',
      enum: ['continue', 'skip', 'abort'],
      description:
        'Instead of onto: continue, skip or abort a stopped rebase. skip leaves out the commit at which it stopped.',
    },
  },
);

/** The tool `rebase`. */
export function rebaseTool(context: GitContext): Tool {
  return defineTool({
    name: 'rebase',
    title: 'Rebase',
    description: 'Rebase the current branch onto another. Stops at conflicts; then continue, skip or abort.',
    input,
    output: SEQUENCE_OUTPUT,
    annotations: hints('destructive'),
    permission: ({ onto, step }) => claimAction(step ?? 'rebase', onto),
    execute: ({ onto, step }, ctx) =>
      Repository.change(context, ctx, async (repository) => {
        if ((onto === undefined) === (step === undefined)) throw new ToolError('INVALID_ARGUMENT', 'Set onto or step.');
        if (step !== undefined) return goOn(repository, 'rebase', 'rebase', step);
        await assertNothingUnderWay(repository);
        const target = await resolveRef(repository, onto ?? '');
        await assertCommitsWritable(repository, target);
        const head = await resolveRef(repository, 'HEAD');
        await assertOwnCommitsWritable(repository, target, head);
        return startSequence(repository, 'rebase', ['rebase', '--quiet', '--merge', '--no-autostash', target]);
      }),
  });
}

/** Rewrites the branch's commits one by one, and may stop at any of them. */
async function assertOwnCommitsWritable(repository: Repository, target: string, head: string): Promise<void> {
  for (const base of await mergeBases(repository, head, target))
    assertTreeWritable(repository, await differingPaths(repository, treeDiff(base === head ? target : base, head)));
  const each = ['log', '--no-merges', '--root', '--format=', `${target}..${head}`];
  assertTreeWritable(repository, await differingPaths(repository, each));
}
