// get: returns memories by their IDs, with their full content.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import {
  callMemory,
  claimScopes,
  ID,
  MEMORY,
  memoriesData,
  memoryResult,
  memoryText,
  NOTICE,
  QUOTED,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { safeText } from '../service/plain-text.js';
import { MAX_RESULTS } from '../memory-limits.js';

/** The tool `get`. */
export function getTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('get'),
    title: 'Get memories',
    description: 'Get memories by their IDs, with their full content.',
    input: objectSchema({ ids: { type: 'array', items: ID, minItems: 1, maxItems: MAX_RESULTS } }),
    output: objectSchema(
      { memories: { type: 'array', items: MEMORY } },
      {
        missing: { type: 'array', items: { type: 'string' }, description: 'Unknown IDs; absent if there are none.' },
        notice: NOTICE,
      },
    ),
    annotations: hints('readOnly', 'idempotent'),
    permission: () => claimScopes(context, 'get', 'all'),
    async execute({ ids }, ctx: MemoryToolContext) {
      const distinctIds = [...new Set(ids)];
      const { result: memories, notice } = await callMemory(ctx, 'get', { ids: distinctIds });
      const missing = distinctIds.filter((id) => !memories.some((memory) => memory.id === id));
      if (memories.length === 0) {
        throw new ToolError('NOT_FOUND', missing.map((id) => `Memory with ID ${id} not found`).join('; '), {
          details: { missing },
        });
      }
      const lines = [
        QUOTED,
        ...memories.map((memory) => memoryText(memory)),
        ...missing.map((id) => `Memory with ID ${safeText(id)} not found`),
      ];
      const data = { memories: memoriesData(memories), ...(missing.length > 0 && { missing }) };
      return memoryResult(context, lines.join('\n\n'), data, notice);
    },
  });
}
