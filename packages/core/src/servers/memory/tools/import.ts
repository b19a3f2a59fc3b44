// import: imports memories from a file of the project.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import {
  callMemory,
  claimScopes,
  memoryResult,
  NOTICE,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { MAX_PATH_CHARS } from '../memory-limits.js';
import { importNotice } from '../transfer/import-notice.js';

/** The tool `import`. */
export function importTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('import'),
    title: 'Import memories',
    description:
      'Import memories from a file of the project: JSONL as export writes it, or the memories.json of another memory server. Memories that exist already are left unchanged, so an import can be repeated.',
    input: objectSchema(
      { path: { type: 'string', minLength: 1, maxLength: MAX_PATH_CHARS } },
      { scope: { type: 'string', enum: ['project', 'global'], default: 'project' } },
    ),
    output: objectSchema(
      {
        imported: { type: 'integer' },
        skipped: { type: 'integer', description: 'Exist already, or were deleted permanently.' },
        rejected: { type: 'integer' },
      },
      {
        rejected_file: {
          type: 'string',
          description: 'The file with the rejected rows and the reasons, in the directory of the store.',
        },
        notice: NOTICE,
      },
    ),
    annotations: hints('idempotent'),
    permission: ({ path, scope }) => [
      ...claimScopes(context, 'import', scope),
      {
        pattern: `read ${context.files.scope.parse(path).shown}`,
        match: 'glob',
        understood: true,
        reason: 'reads the file',
      },
    ],
    async execute({ path, scope }, ctx: MemoryToolContext) {
      const { result, notice } = await callMemory(ctx, 'import', { path, scope });
      const { imported, skipped, rejected, rejectedFile } = result;
      const data = { imported, skipped, rejected, ...(rejectedFile !== undefined && { rejected_file: rejectedFile }) };
      return memoryResult(context, escapeControls(importNotice(result)), data, notice);
    },
  });
}
