// stats: counts memories, and reports where they are stored and whether the file is sound.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import {
  callMemory,
  claimScopes,
  memoryResult,
  NOTICE,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { safeText } from '../service/plain-text.js';

const QUARANTINED = objectSchema({
  file: { type: 'string' },
  reason: { type: 'string' },
  at: { type: 'string' },
  recovered: { type: 'integer' },
});

const STORE = objectSchema(
  {
    scope: { type: 'string', enum: ['project', 'global'] },
    engine: { type: 'string' },
    memories: { type: 'integer' },
    deleted: { type: 'integer' },
    by_category: { type: 'object', additionalProperties: { type: 'integer' } },
    vectors: { type: 'object', additionalProperties: { type: 'integer' }, description: 'Count by embedder.' },
    bytes: { type: 'integer' },
    quarantined: {
      type: 'array',
      items: QUARANTINED,
      description: 'Files that could not be read and were moved aside, with the memories recovered from them.',
    },
  },
  {
    file: { type: 'string' },
    integrity: { type: 'string', description: 'ok, or what is wrong; only with check.' },
  },
);

/** The tool `stats`. */
export function statsTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('stats'),
    title: 'Memory statistics',
    description:
      'Count the memories, and report their file and what happened to it. With check, the whole file is examined.',
    input: objectSchema(
      {},
      {
        check: {
          type: 'boolean',
          default: false,
          description: 'Examine the file, which takes seconds when it is large.',
        },
      },
    ),
    output: objectSchema({ project: { type: 'string' }, stores: { type: 'array', items: STORE } }, { notice: NOTICE }),
    annotations: hints('readOnly', 'idempotent'),
    permission: () => claimScopes(context, 'stats', 'all'),
    async execute({ check }, ctx: MemoryToolContext) {
      const { result, notice } = await callMemory(ctx, 'stats', { check });
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
        quarantined: more.quarantined.map((file) => ({ ...file })),
      }));
      const lines = stores.flatMap((store) => [
        `${store.scope}: ${store.memories} memories, ${store.deleted} deleted, ${store.bytes} bytes, ${store.engine}${store.file === undefined ? '' : `, ${safeText(store.file)}`}`,
        ...Object.entries(store.by_category).map(([name, count]) => `  ${safeText(name)}: ${count}`),
        ...Object.entries(store.vectors).map(([name, count]) => `  vectors of ${safeText(name)}: ${count}`),
        ...(store.integrity === undefined ? [] : [`  integrity: ${safeText(store.integrity)}`]),
        ...store.quarantined.map(
          ({ file, reason, at, recovered }) =>
            `  quarantined ${at}: ${safeText(file)} (${safeText(reason)}), ${recovered} memories recovered`,
        ),
      ]);
      const text = [`Project: ${safeText(result.project)}`, ...lines].join('\n');
      return memoryResult(context, text, { project: result.project, stores }, notice);
    },
  });
}
