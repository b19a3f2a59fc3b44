// store: keeps a memory.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import {
  answer,
  ask,
  claimScopes,
  MEMORY,
  memoryData,
  NOTICE,
  TAGS,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { safeText } from '../service/plain-text.js';
import { MAX_CONTENT_CHARS, MAX_KEY_CHARS, MAX_PATH_CHARS } from '../memory-limits.js';

const output = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    outcome: { type: 'string', enum: ['created', 'merged', 'updated'] },
    memory: MEMORY,
    similar: {
      type: 'array',
      items: {
        type: 'object',
        properties: { memory: MEMORY, similarity: { type: 'number' } },
        required: ['memory', 'similarity'],
        additionalProperties: false,
      },
    },
    notice: NOTICE,
  },
  required: ['id', 'outcome', 'memory', 'similar'],
  additionalProperties: false,
} as const;

const OUTCOMES = {
  created: undefined,
  merged: 'Merged: the same content was stored already; it has the tags of both and the higher importance.',
  updated: 'Updated: the key was in use; what it named is in the history.',
} as const;

/** The tool `store`. */
export function storeTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('store'),
    title: 'Store a memory',
    description:
      'Keep something worth knowing in later sessions: a decision, a preference, a fix, how something is deployed. One fact a memory, in words one would search for. Same content is merged; with key, what the key names is replaced. What stands in <private> is not kept.',
    input: {
      type: 'object',
      properties: {
        content: {
          type: 'string',
          maxLength: MAX_CONTENT_CHARS,
          description: `What to remember, 1 to ${MAX_CONTENT_CHARS} characters.`,
        },
        category: { type: 'string', enum: context.categories },
        tags: { ...TAGS, default: [], description: 'Names to find it by.' },
        scope: {
          type: 'string',
          enum: ['project', 'global'],
          default: 'project',
          description: 'Whether it belongs to this project, or to all projects of the user.',
        },
        importance: { type: 'integer', minimum: 1, maximum: 10, default: 5 },
        documentation_path: {
          type: 'string',
          minLength: 1,
          maxLength: MAX_PATH_CHARS,
          description: 'A file that says more.',
        },
        key: {
          type: 'string',
          minLength: 1,
          maxLength: MAX_KEY_CHARS,
          description: 'A name of your own for what there is only one of, such as "deploy-command".',
        },
        on_duplicate: { type: 'string', enum: ['merge', 'allow'], default: 'merge' },
      },
      required: ['content', 'category'],
    },
    output,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    permission: ({ scope }) => claimScopes(context, 'store', scope),
    async execute(
      { content, category, tags, scope, importance, documentation_path, key, on_duplicate },
      ctx: MemoryToolContext,
    ) {
      const { result, notice } = await ask(ctx, 'store', {
        content,
        category,
        tags,
        scope,
        importance,
        documentationPath: documentation_path,
        key,
        onDuplicate: on_duplicate,
      });
      const { memory, outcome, similar, project } = result;
      const lines = [
        `✓ Memory stored successfully (${scope === 'global' ? 'global' : `project: ${safeText(project)}`})`,
        `ID: ${safeText(memory.id)}`,
        `Category: ${safeText(memory.category)}`,
        `Importance: ${memory.importance}`,
        `Tags: ${memory.tags.length > 0 ? memory.tags.map(safeText).join(', ') : 'none'}`,
        OUTCOMES[outcome],
        similar.length > 0
          ? `Similar: ${similar.map((each) => `${safeText(each.memory.id)} (${each.similarity})`).join(', ')}`
          : undefined,
      ];
      return answer(
        context,
        lines.filter((line) => line !== undefined).join('\n'),
        {
          id: memory.id,
          outcome,
          memory: memoryData({ ...memory, scope }),
          similar: similar.map((each) => ({ memory: memoryData(each.memory, 500), similarity: each.similarity })),
        },
        result.notice,
        notice,
      );
    },
  });
}
