// stats: how many memories there are, where they are kept, and whether that is sound.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { answer, ask, claimScopes, NOTICE, type MemoryContext, type MemoryToolContext } from '../memory-context.js';
import { safeText } from '../service/plain-text.js';

const output = {
  type: 'object',
  properties: {
    project: { type: 'string' },
    stores: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          scope: { type: 'string', enum: ['project', 'global'] },
          file: { type: 'string' },
          engine: { type: 'string' },
          memories: { type: 'integer' },
          deleted: { type: 'integer' },
          by_category: { type: 'object', additionalProperties: { type: 'integer' } },
          vectors: { type: 'object', additionalProperties: { type: 'integer' }, description: 'By embedder.' },
          bytes: { type: 'integer' },
          integrity: { type: 'string', description: 'ok, or what is wrong; only with check.' },
          set_aside: {
            type: 'array',
            items: {
              type: 'object',
              properties: {
                file: { type: 'string' },
                reason: { type: 'string' },
                at: { type: 'string' },
                recovered: { type: 'integer' },
              },
              required: ['file', 'reason', 'at', 'recovered'],
              additionalProperties: false,
            },
          },
        },
        required: ['scope', 'engine', 'memories', 'deleted', 'by_category', 'vectors', 'bytes', 'set_aside'],
        additionalProperties: false,
      },
    },
    notice: NOTICE,
  },
  required: ['project', 'stores'],
  additionalProperties: false,
} as const;

/** The tool `stats`. */
export function statsTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('stats'),
    title: 'Memory statistics',
    description:
      'How many memories there are, in which file, and what happened to it. With check the whole file is examined.',
    input: {
      type: 'object',
      properties: {
        check: { type: 'boolean', default: false, description: 'Examine the file; seconds when it is large.' },
      },
    },
    output,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    permission: () => claimScopes(context, 'stats', 'all'),
    async execute({ check }, ctx: MemoryToolContext) {
      const { result, notice } = await ask(ctx, 'stats', { check });
      const stores = result.stores.map(({ scope, file, engine, memories, deleted, bytes, ...more }) => ({
        scope,
        ...(file !== undefined && { file }),
        engine,
        memories,
        deleted,
        by_category: more.byCategory,
        vectors: more.vectors,
        bytes,
        ...(more.integrity !== undefined && { integrity: more.integrity }),
        set_aside: more.setAside.map((each) => ({ ...each })),
      }));
      const lines = stores.flatMap((store) => [
        `${store.scope}: ${store.memories} memories, ${store.deleted} deleted, ${store.bytes} bytes, ${store.engine}${store.file === undefined ? '' : `, ${safeText(store.file)}`}`,
        ...Object.entries(store.by_category).map(([name, count]) => `  ${safeText(name)}: ${count}`),
        ...Object.entries(store.vectors).map(([name, count]) => `  vectors of ${safeText(name)}: ${count}`),
        ...(store.integrity === undefined ? [] : [`  integrity: ${safeText(store.integrity)}`]),
        ...store.set_aside.map(
          ({ file, reason, at, recovered }) =>
            `  put aside ${at}: ${safeText(file)} (${safeText(reason)}), ${recovered} memories taken over`,
        ),
      ]);
      const text = [`Project: ${safeText(result.project)}`, ...lines].join('\n');
      return answer(context, text, { project: result.project, stores }, notice);
    },
  });
}
