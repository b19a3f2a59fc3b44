// store: stores a memory.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import {
  callMemory,
  claimScopes,
  MEMORY,
  memoryData,
  memoryResult,
  NOTICE,
  TAGS,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { safeText } from '../service/plain-text.js';
import { MAX_CONTENT_CHARS, MAX_KEY_CHARS, MAX_PATH_CHARS } from '../memory-limits.js';

/** Characters of a similar memory's content in the data. */
const SIMILAR_CHARS = 500;

const OUTCOMES = {
  created: undefined,
  merged: 'Merged: the same content was stored before. The memory now has the tags of both and the higher importance.',
  updated: 'Updated: a memory with this key existed. Its previous version is in the history.',
} as const;

/** The tool `store`. */
export function storeTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('store'),
    title: 'Store a memory',
    description:
      'Store something worth knowing in later sessions: a decision, a preference, a fix, how something is deployed. Store one fact per memory, in words that one would search for. The same content is merged; the same key replaces the earlier memory. Text inside <private> is not stored.',
    input: objectSchema(
      {
        content: {
          type: 'string',
          maxLength: MAX_CONTENT_CHARS,
          description: `What to remember, 1 to ${MAX_CONTENT_CHARS} characters.`,
        },
        category: { type: 'string', enum: context.categories },
      },
      {
        tags: { ...TAGS, default: [], description: 'Names to find it by.' },
        scope: {
          type: 'string',
          enum: ['project', 'global'],
          default: 'project',
          description: 'project: for this project only. global: for all projects of the user.',
        },
        importance: { type: 'integer', minimum: 1, maximum: 10, default: 5 },
        documentation_path: {
          type: 'string',
          minLength: 1,
          maxLength: MAX_PATH_CHARS,
          description: 'A file with more information.',
        },
        key: {
          type: 'string',
          minLength: 1,
          maxLength: MAX_KEY_CHARS,
          description: 'A name for a fact with one current value, such as "deploy-command".',
        },
        on_duplicate: { type: 'string', enum: ['merge', 'allow'], default: 'merge' },
      },
    ),
    output: objectSchema(
      {
        id: { type: 'string' },
        outcome: { type: 'string', enum: ['created', 'merged', 'updated'] },
        memory: MEMORY,
        similar: { type: 'array', items: objectSchema({ memory: MEMORY, similarity: { type: 'number' } }) },
      },
      { notice: NOTICE },
    ),
    annotations: hints(),
    permission: ({ scope }) => claimScopes(context, 'store', scope),
    async execute({ documentation_path, on_duplicate, ...fields }, ctx: MemoryToolContext) {
      const { result, notice } = await callMemory(ctx, 'store', {
        ...fields,
        documentationPath: documentation_path,
        onDuplicate: on_duplicate,
      });
      const { scope } = fields;
      const { memory, outcome, similar, project } = result;
      const lines = [
        `✓ Memory stored successfully (${scope === 'global' ? 'global' : `project: ${safeText(project)}`})`,
        `ID: ${safeText(memory.id)}`,
        `Category: ${safeText(memory.category)}`,
        `Importance: ${memory.importance}`,
        `Tags: ${memory.tags.length > 0 ? memory.tags.map(safeText).join(', ') : 'none'}`,
        OUTCOMES[outcome],
        similar.length > 0
          ? `Similar: ${similar.map((other) => `${safeText(other.memory.id)} (${other.similarity})`).join(', ')}`
          : undefined,
      ];
      const data = {
        id: memory.id,
        outcome,
        memory: memoryData({ ...memory, scope }),
        similar: similar.map((other) => ({
          memory: memoryData(other.memory, SIMILAR_CHARS),
          similarity: other.similarity,
        })),
      };
      const text = lines.filter((line) => line !== undefined).join('\n');
      return memoryResult(context, text, data, result.notice, notice);
    },
  });
}
