// export: writes all memories to a file of the project, or into the result.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import {
  callMemory,
  claimScopes,
  memoryResult,
  NOTICE,
  SCOPES,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { MAX_PATH_CHARS } from '../memory-limits.js';

/** The tool `export`. */
export function exportTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('export'),
    title: 'Export memories',
    description:
      'Write all memories to a file of the project, or return a few of them directly: as JSONL, as Markdown, or as memories.json for other memory servers.',
    input: objectSchema(
      {},
      {
        format: { type: 'string', enum: ['jsonl', 'markdown', 'memories.json'], default: 'jsonl' },
        scope: SCOPES,
        path: {
          type: 'string',
          minLength: 1,
          maxLength: MAX_PATH_CHARS,
          description: 'The file to write. Default: none; the result contains the export.',
        },
        overwrite: { type: 'boolean', default: false, description: 'Replace an existing file.' },
      },
    ),
    output: objectSchema(
      { count: { type: 'integer' }, bytes: { type: 'integer' } },
      {
        path: { type: 'string', description: 'The file that was written; absent when the text contains the export.' },
        notice: NOTICE,
      },
    ),
    annotations: hints('destructive', 'idempotent'),
    permission: ({ path, scope }) => {
      const claims = claimScopes(context, 'export', scope);
      if (path === undefined) return claims;
      const parsed = context.files.scope.parse(path);
      context.files.scope.assertWritable(parsed);
      const write = { pattern: `write ${parsed.shown}`, match: 'glob', understood: true, reason: 'writes the file' };
      return [...claims, write as (typeof claims)[number]];
    },
    async execute({ format, scope, path, overwrite }, ctx: MemoryToolContext) {
      const { result, notice } = await callMemory(ctx, 'export', { format, scope, path, overwrite });
      const { count, bytes, text } = result;
      const data = { count, bytes, ...(result.path !== undefined && { path: result.path }) };
      const memories = count === 1 ? '1 memory' : `${count} memories`;
      const written = `Wrote ${memories} to ${escapeControls(result.path ?? '')} (${bytes} bytes).`;
      return memoryResult(context, text ?? written, data, notice);
    },
  });
}
