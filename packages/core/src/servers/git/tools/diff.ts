// diff: compares the working tree with the index, the index with a commit, or two commits.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { claimPaths, type GitContext } from '../git-context.js';
import { PATCH_INPUT, PATCH_OUTPUT, readPatch } from '../repository/patch-pages.js';
import { PATHS } from '../git-paths.js';
import { REF, resolveRef } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import { hints } from '../../../tool/object-schema.js';

const input = {
  type: 'object',
  properties: {
    staged: { type: 'boolean', default: false, description: 'Show the staged changes.' },
    from: { ...REF, description: 'Compare with this commit.' },
    to: { ...REF, description: 'Compare from with this commit rather than with the working tree.' },
    merge_base: { type: 'boolean', default: false, description: 'Compare with the merge base of from and to.' },
    paths: PATHS,
    ...PATCH_INPUT,
  },
} as const;

const output = {
  type: 'object',
  properties: PATCH_OUTPUT,
  required: ['files', 'file_count', 'truncated'],
  additionalProperties: false,
} as const;

/** The tool `diff`. */
export function diffTool(context: GitContext): Tool {
  return defineTool({
    name: 'diff',
    title: 'Show differences',
    description:
      'Show changes: by default unstaged changes in the working tree; with staged, staged changes; with from and to, changes between commits.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ paths }) => claimPaths(context, paths, 'read', 'shows what has changed'),
    async execute({ staged, from, to, merge_base, paths, ...page }, ctx) {
      if (to !== undefined && from === undefined)
        throw new ToolError('INVALID_ARGUMENT', 'to requires from, the commit to compare it with.');
      if (to !== undefined && staged)
        throw new ToolError('INVALID_ARGUMENT', 'staged compares the index; remove staged or to.');
      if (merge_base && from === undefined) throw new ToolError('INVALID_ARGUMENT', 'merge_base requires from.');
      const repository = await Repository.open(context, ctx);
      const revisions: string[] = [];
      for (const ref of [from, to]) if (ref !== undefined) revisions.push(await resolveRef(repository, ref));
      const args = ['diff', ...(staged ? ['--cached'] : []), ...(merge_base ? ['--merge-base'] : []), ...revisions];
      const specs = await repository.paths(paths ?? []);
      const { text, ...data } = await readPatch(repository, { args, paths: specs, ...page });
      return {
        content: [{ type: 'text', text: data.file_count === 0 ? 'No differences.' : text }],
        structuredContent: data,
      };
    },
  });
}
