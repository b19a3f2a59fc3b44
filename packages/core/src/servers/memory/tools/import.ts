// import: takes over memories from a file of the project.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { answer, ask, claimScopes, NOTICE, type MemoryContext, type MemoryToolContext } from '../memory-context.js';
import { MAX_PATH_CHARS } from '../memory-limits.js';
import { importNotice } from '../service/import-notice.js';

const output = {
  type: 'object',
  properties: {
    imported: { type: 'integer' },
    skipped: { type: 'integer', description: 'Were there already, or were deleted for good.' },
    rejected: { type: 'integer' },
    rejected_file: { type: 'string', description: 'In the directory of the store: the rejected rows, with reasons.' },
    notice: NOTICE,
  },
  required: ['imported', 'skipped', 'rejected'],
  additionalProperties: false,
} as const;

/** The tool `import`. */
export function importTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('import'),
    title: 'Import memories',
    description:
      'Take over memories from a file of the project: JSONL as export writes it, or the memories.json of another memory server. What is there already is left as it is, so it can be repeated.',
    input: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, maxLength: MAX_PATH_CHARS },
        scope: { type: 'string', enum: ['project', 'global'], default: 'project' },
      },
      required: ['path'],
    },
    output,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    permission: ({ path, scope }) => [
      ...claimScopes(context, 'import', scope),
      { pattern: `read ${context.files.scope.parse(path).shown}`, match: 'glob', understood: true, reason: 'reads it' },
    ],
    async execute({ path, scope }, ctx: MemoryToolContext) {
      const { result, notice } = await ask(ctx, 'import', { path, scope });
      const { imported, skipped, rejected, rejectedFile } = result;
      return answer(
        context,
        escapeControls(importNotice(result)),
        { imported, skipped, rejected, ...(rejectedFile !== undefined && { rejected_file: rejectedFile }) },
        notice,
      );
    },
  });
}
