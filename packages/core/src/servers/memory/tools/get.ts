// get: memories by their ids, whole.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import {
  answer,
  ask,
  claimScopes,
  ID,
  MEMORY,
  memoriesData,
  memoryText,
  NOTICE,
  QUOTED,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { safeText } from '../service/plain-text.js';
import { MAX_RESULTS } from '../memory-limits.js';

const output = {
  type: 'object',
  properties: {
    memories: { type: 'array', items: MEMORY },
    missing: { type: 'array', items: { type: 'string' }, description: 'IDs that name no memory; absent for none.' },
    notice: NOTICE,
  },
  required: ['memories'],
  additionalProperties: false,
} as const;

/** The tool `get`. */
export function getTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('get'),
    title: 'Get memories',
    description: 'Get memories by their IDs, with their whole content.',
    input: {
      type: 'object',
      properties: { ids: { type: 'array', items: ID, minItems: 1, maxItems: MAX_RESULTS } },
      required: ['ids'],
    },
    output,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    permission: () => claimScopes(context, 'get', 'all'),
    async execute({ ids }, ctx: MemoryToolContext) {
      const wanted = [...new Set(ids)];
      const { result: memories, notice } = await ask(ctx, 'get', { ids: wanted });
      const missing = wanted.filter((id) => !memories.some((memory) => memory.id === id));
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
      return answer(context, lines.join('\n\n'), data, notice);
    },
  });
}
