// pull: fetches, then merges into or rebases the current branch.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { claimAction, type GitContext } from '../git-context.js';
import { fetchFrom } from './fetch.js';
import { currentBranch, resolveRef } from '../repository/refs.js';
import { REMOTE, remoteBranch } from '../repository/remotes.js';
import { Repository } from '../repository/repository.js';
import {
  assertCommitsWritable,
  assertNothingUnderWay,
  startSequence,
  SEQUENCE_OUTPUT,
} from '../repository/sequence.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {},
  {
    remote: REMOTE,
    branch: {
      type: 'string',
      minLength: 1,
      maxLength: 500,
      description: "The remote's branch. Default: the upstream of the current branch.",
    },
    mode: {
      type: 'string',
      enum: ['fast_forward', 'merge'],
      default: 'fast_forward',
      description: 'If both branches have new commits, fast_forward fails and merge creates a merge commit.',
    },
  },
);

/** The tool `pull`. */
export function pullTool(context: GitContext): Tool {
  return defineTool({
    name: 'pull',
    title: 'Pull from a remote',
    description: "Fetch a remote's branch and update the current branch to it.",
    input,
    output: SEQUENCE_OUTPUT,
    annotations: hints('destructive', 'openWorld'),
    permission: ({ remote, branch }) => claimAction(remote, branch),
    execute: ({ remote, branch, mode }, ctx) =>
      Repository.change(context, ctx, async (repository) => {
        await assertNothingUnderWay(repository);
        const current = await currentBranch(repository);
        if (current === undefined)
          throw new ToolError(
            'INVALID_ARGUMENT',
            'HEAD is detached, so there is no branch to update. Use checkout first.',
          );
        const wanted = branch ?? (await remoteBranch(repository, remote, current));
        await fetchFrom(repository, remote, wanted, false);
        const target = await resolveRef(repository, `refs/remotes/${remote}/${wanted}`);
        await assertCommitsWritable(repository, target);
        const forward = mode === 'merge' ? '--ff' : '--ff-only';
        const said = `--message=Merge the branch ${wanted} of ${remote}`;
        const args = ['merge', '--quiet', '--no-edit', '--no-overwrite-ignore', forward, said, target];
        return startSequence(repository, 'merge', args);
      }),
  });
}
