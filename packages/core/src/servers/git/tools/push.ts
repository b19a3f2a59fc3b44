// push: sends a branch or a tag to a remote, without overwriting anything there.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { quote } from '../../project/scope/project-scope.js';
import { claimAction, type GitContext } from '../git-context.js';
import { assertNewName, currentBranch, exactRef } from '../repository/refs.js';
import { assertRemote, REMOTE, remoteBranch } from '../repository/remotes.js';
import { Repository } from '../repository/repository.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const NAME = { type: 'string', minLength: 1, maxLength: 500 } as const;

const input = objectSchema(
  {},
  {
    remote: REMOTE,
    branch: { ...NAME, description: 'The local branch. Default: the current one.' },
    to: { ...NAME, description: "The remote's branch. Default: the upstream of the local branch, or the same name." },
    tag: { ...NAME, description: 'A tag, instead of a branch.' },
    set_upstream: { type: 'boolean', default: false, description: 'Set the pushed branch as upstream.' },
  },
);

const output = objectSchema({
  ref: { type: 'string' },
  to: { type: 'string' },
  oid: { type: 'string' },
  status: { type: 'string', enum: ['pushed', 'up_to_date'] },
});

/** The tool `push`. */
export function pushTool(context: GitContext): Tool {
  return defineTool({
    name: 'push',
    title: 'Push to a remote',
    description:
      'Push a branch or a tag to a remote. Force and delete are not supported: if the remote has new commits, pull first.',
    input,
    output,
    annotations: hints('destructive', 'idempotent', 'openWorld'),
    permission: ({ remote, branch, tag, to }) =>
      claimAction(remote, tag === undefined ? branch : `refs/tags/${tag}`, to),
    execute: ({ remote, branch, to, tag, set_upstream }, ctx) =>
      Repository.change(context, ctx, async (repository) => {
        if (tag !== undefined && (branch !== undefined || to !== undefined))
          throw new ToolError('INVALID_ARGUMENT', 'Set branch and to, or tag.');
        await assertRemote(repository, remote);
        const local = tag ?? branch ?? (await currentBranch(repository));
        if (local === undefined) throw new ToolError('INVALID_ARGUMENT', 'HEAD is detached: set branch.');
        const space = tag === undefined ? 'refs/heads' : 'refs/tags';
        for (const name of [local, to])
          if (name !== undefined) await assertNewName(repository, tag === undefined ? 'branch' : 'tag', name);
        const oid = await exactRef(repository, `${space}/${local}`);
        if (oid === undefined)
          throw new ToolError(
            'NOT_FOUND',
            `The ${tag === undefined ? 'branch' : 'tag'} ${quote(local)} does not exist.`,
          );
        const target = to ?? (tag === undefined ? await remoteBranch(repository, remote, local) : local);
        const { protocols } = repository.context;
        const options = [
          '--porcelain',
          '--no-force',
          '--no-follow-tags',
          '--no-recurse-submodules',
          '--receive-pack=git-receive-pack',
        ];
        const { code, stdout, stderr } = await repository.write(
          [
            'push',
            ...options,
            ...(repository.trusted ? [] : ['--no-verify']),
            ...(set_upstream && tag === undefined ? ['--set-upstream'] : []),
            '--end-of-options',
            remote,
            `${space}/${local}:${space}/${target}`,
          ],
          { protocols, accept: [0, 1], hooks: true },
        );
        const report = /^([ +\-*!=])\t(\S+)\t(.*)$/m.exec(stdout.toString('utf8'));
        if (code === 1 || !report || report[1] === '!') throw refused(report?.[3] ?? stderr, target);
        const status = report[1] === '=' ? ('up_to_date' as const) : ('pushed' as const);
        const what = status === 'pushed' ? 'Pushed' : 'The remote already had';
        return {
          content: [{ type: 'text', text: `${what} ${quote(local)} as ${quote(target)} of ${quote(remote)}, ${oid}.` }],
          structuredContent: { ref: `${space}/${local}`, to: `${space}/${target}`, oid, status },
        };
      }),
  });
}

function refused(reason: string, target: string): ToolError {
  const isBehind = /non-fast-forward|fetch first|already exists/.test(reason);
  const next = isBehind ? ` It has commits that are missing here, or a different tag of that name: pull first.` : '';
  return new ToolError('EXECUTION_FAILED', `The remote rejected ${quote(target)}: ${quote(reason.trim())}.${next}`);
}
