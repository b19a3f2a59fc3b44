// export: all memories as a text, or as a file of the project.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import {
  answer,
  ask,
  claimScopes,
  NOTICE,
  SCOPES,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { MAX_PATH_CHARS } from '../memory-limits.js';

const output = {
  type: 'object',
  properties: {
    count: { type: 'integer' },
    bytes: { type: 'integer' },
    path: { type: 'string', description: 'Where it was written; absent where it is in the answer.' },
    notice: NOTICE,
  },
  required: ['count', 'bytes'],
  additionalProperties: false,
} as const;

/** The tool `export`. */
export function exportTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('export'),
    title: 'Export memories',
    description:
      'Write all memories to a file of the project, or into the answer when they are few: as JSONL, as markdown, or as memories.json for other memory servers.',
    input: {
      type: 'object',
      properties: {
        format: { type: 'string', enum: ['jsonl', 'markdown', 'memories.json'], default: 'jsonl' },
        scope: SCOPES,
        path: { type: 'string', minLength: 1, maxLength: MAX_PATH_CHARS, description: 'Default: into the answer.' },
        overwrite: { type: 'boolean', default: false },
      },
    },
    output,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    permission: ({ path, scope }) => {
      const claims = claimScopes(context, 'export', scope);
      if (path === undefined) return claims;
      const place = context.files.scope.parse(path);
      context.files.scope.assertWritable(place);
      return [...claims, { pattern: `write ${place.shown}`, match: 'glob', understood: true, reason: 'writes it' }];
    },
    async execute({ format, scope, path, overwrite }, ctx: MemoryToolContext) {
      const { result, notice } = await ask(ctx, 'export', { format, scope, path, overwrite });
      const { count, bytes, text } = result;
      const data = { count, bytes, ...(result.path !== undefined && { path: result.path }) };
      const written = `${count === 1 ? '1 memory was' : `${count} memories were`} written to ${escapeControls(result.path ?? '')} (${bytes} bytes).`;
      return answer(context, text ?? written, data, notice);
    },
  });
}
