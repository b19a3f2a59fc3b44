// merge: merges a branch into the current one.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { assertMessage, MESSAGE } from './commit.js';
import { claimAction, type GitContext } from '../git-context.js';
import { REF, resolveRef } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import {
  assertCommitsWritable,
  assertNothingUnderWay,
  goOn,
  startSequence,
  SEQUENCE_OUTPUT,
} from '../repository/sequence.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {},
  {
    ref: { ...REF, description: 'The branch or commit to merge.' },
    step: {
      type: 'string',
      enum: ['continue', 'abort'],
      description: 'Instead of ref: continue or abort a stopped merge.',
    },
    // As an argument, because merge cannot read the message from stdin.
    message: {
      ...MESSAGE,
      maxLength: 10_000,
      description: 'The message of the merge commit. Default: "Merge", then ref.',
    },
    fast_forward: {
      type: 'string',
      enum: ['auto', 'only', 'never'],
      default: 'auto',
      description: 'Whether to fast-forward when possible.',
    },
  },
);

/** The tool `merge`. */
export function mergeTool(context: GitContext): Tool {
  return defineTool({
    name: 'merge',
    title: 'Merge',
    description: 'Merge a branch into the current one. Stops at conflicts; then continue or abort.',
    input,
    output: SEQUENCE_OUTPUT,
    annotations: hints('destructive'),
    permission: ({ ref, step }) => claimAction(step ?? 'merge', ref),
    execute: ({ ref, step, message, fast_forward }, ctx) =>
      Repository.change(context, ctx, async (repository) => {
        if ((ref === undefined) === (step === undefined)) throw new ToolError('INVALID_ARGUMENT', 'Set ref or step.');
        if (step !== undefined) return goOn(repository, 'merge', 'merge', step);
        await assertNothingUnderWay(repository);
        if (message !== undefined) assertMessage(message);
        const target = await resolveRef(repository, ref ?? '');
        await assertCommitsWritable(repository, target);
        const forward = { auto: '--ff', only: '--ff-only', never: '--no-ff' }[fast_forward];
        // The default message would contain only the id.
        const said = message ?? `Merge ${ref}`;
        const args = ['merge', '--quiet', '--no-edit', '--no-overwrite-ignore', forward, `--message=${said}`, target];
        return startSequence(repository, 'merge', args);
      }),
  });
}
