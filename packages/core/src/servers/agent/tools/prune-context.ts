// prune_context: asks the engine to drop old messages.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { hints } from '../../../tool/object-schema.js';

/** The tool `prune_context`. */
export function pruneContextTool(): Tool {
  return defineTool({
    name: 'prune_context',
    title: 'Forget old messages',
    description:
      'Ask for old tool results to be dropped from the conversation, to make room. Note down first what is still needed.',
    input: {
      type: 'object',
      properties: {
        keep_recent: {
          type: 'integer',
          minimum: 0,
          maximum: 1_000,
          default: 2,
          description: 'How many of the latest messages stay.',
        },
      },
    },
    annotations: hints('destructive', 'idempotent'),
    execute: ({ keep_recent }) => ({
      content: [{ type: 'text' as const, text: 'Prune requested.' }],
      directives: [{ type: 'prune_messages' as const, params: { keep_recent } }],
    }),
  });
}
