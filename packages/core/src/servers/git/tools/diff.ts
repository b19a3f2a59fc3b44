// diff: the working tree against the index, the index against a commit, or two commits.

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
    staged: { type: 'boolean', default: false, description: 'What the next commit would hold.' },
    from: { ...REF, description: 'Compare with this commit.' },
    to: { ...REF, description: 'Compare from with this commit and not with the working tree.' },
    merge_base: { type: 'boolean', default: false, description: 'Begin where from and to parted.' },
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
      'Show what has changed: by default in the working tree and not staged; with staged what is; with from, and to, between commits.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ paths }) => claimPaths(context, paths, 'read', 'shows what has changed'),
    async execute({ staged, from, to, merge_base, paths, ...page }, ctx) {
      if (to !== undefined && from === undefined)
        throw new ToolError('INVALID_ARGUMENT', 'to needs from: the commit that it is compared with.');
      if (to !== undefined && staged)
        throw new ToolError('INVALID_ARGUMENT', 'staged compares the index; leave out staged or to.');
      if (merge_base && from === undefined) throw new ToolError('INVALID_ARGUMENT', 'merge_base needs from.');
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
