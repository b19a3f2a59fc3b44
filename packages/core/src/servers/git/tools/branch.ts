// branch: creates, renames and deletes branches; checkout switches.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { quote } from '../../project/scope/project-scope.js';
import { claimAction, type GitContext } from '../git-context.js';
import { assertNewName, assertRefText, exactRef, REF, resolveRef } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {
    action: { type: 'string', enum: ['create', 'rename', 'delete'] },
    name: { ...REF, description: 'The branch.' },
  },
  {
    new_name: { ...REF, description: 'For rename.' },
    start: { ...REF, default: 'HEAD', description: 'For create: the commit to start from. Default: HEAD.' },
    force: {
      type: 'boolean',
      default: false,
      description: 'For delete: even if its commits are on no other branch and would be lost.',
    },
  },
);

const output = objectSchema({
  name: { type: 'string', description: 'The branch; after a rename, its new name.' },
  oid: { type: 'string', description: 'The commit that it is or was at.' },
});

/** The tool `branch`. */
export function branchTool(context: GitContext): Tool {
  return defineTool({
    name: 'branch',
    title: 'Create, rename or delete a branch',
    description:
      'Create a branch without switching to it, rename one, or delete one whose commits are on another branch too.',
    input,
    output,
    annotations: hints('destructive'),
    permission: ({ action, name, new_name, force }) =>
      claimAction(
        action === 'delete' && force ? 'force-delete' : action,
        name,
        action === 'rename' ? new_name : undefined,
      ),
    execute: ({ action, name, new_name, start, force }, ctx) =>
      Repository.change(context, ctx, async (repository) => {
        if ((action === 'rename') !== (new_name !== undefined))
          throw new ToolError(
            'INVALID_ARGUMENT',
            action === 'rename' ? 'rename requires new_name.' : 'new_name is only for rename.',
          );
        if (action === 'create') {
          await assertNewName(repository, 'branch', name);
          const oid = await resolveRef(repository, start);
          await repository.write(['branch', '--no-track', name, oid]);
          return answer(name, oid, 'Made');
        }
        const oid = await existing(repository, name);
        if (new_name !== undefined) {
          await assertNewName(repository, 'branch', new_name);
          await repository.write(['branch', '-m', name, new_name]);
          return answer(new_name, oid, 'Renamed');
        }
        await repository.write(['branch', force ? '-D' : '-d', name]);
        return answer(name, oid, 'Deleted');
      }),
  });
}

async function existing(repository: Repository, name: string): Promise<string> {
  assertRefText(name);
  const oid = await exactRef(repository, `refs/heads/${name}`);
  if (oid !== undefined) return oid;
  throw new ToolError('NOT_FOUND', `The local branch ${quote(name)} does not exist. List branches with branch_list.`);
}

function answer(name: string, oid: string, done: string) {
  const text = `${done} the branch ${quote(name)}, at ${oid}.`;
  return { content: [{ type: 'text' as const, text }], structuredContent: { name, oid } };
}
