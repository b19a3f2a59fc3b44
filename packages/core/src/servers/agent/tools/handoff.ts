// handoff: asks the engine to continue with another model tier.

import type { Directive } from '../../../contract/directives.js';
import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import type { TodoLists } from '../todo-lists.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

/**
 * The tool `handoff`.
 *
 * @param tiers the names that are taken; undefined for any
 */
export function handoffTool(lists: TodoLists, tiers: readonly string[] | undefined): Tool {
  const known = tiers ? ` Available tiers: ${tiers.join(', ')}.` : '';
  return defineTool({
    name: 'handoff',
    title: 'Hand the task over',
    description: `Hand the current task over to another model tier, which goes on from here. This ends your turn.${known}`,
    input: {
      type: 'object',
      properties: {
        target_tier: {
          type: 'string',
          minLength: 1,
          maxLength: 100,
          ...(tiers && { enum: [...tiers] }),
          description: 'The tier that continues the work.',
        },
        reason: { type: 'string', minLength: 1, maxLength: 2_000, description: 'Why another tier does it better.' },
        task_state: {
          type: 'string',
          minLength: 1,
          maxLength: 20_000,
          description: 'What is done, what is left, and what the next tier has to know.',
        },
      },
      required: ['target_tier', 'reason', 'task_state'],
    },
    output: objectSchema({
      target_tier: { type: 'string' },
      reason: { type: 'string' },
      task_state: { type: 'string' },
    }),
    annotations: hints(),
    execute(args, { sessionId }) {
      const { target_tier, reason, task_state } = args as Record<'target_tier' | 'reason' | 'task_state', string>;
      const list = lists.of(sessionId);
      const targeted = list.items.filter((item) => item.target_tier !== undefined);
      if (list.items.length > 0 && targeted.length === 0)
        throw new ToolError(
          'INVALID_ARGUMENT',
          'Error: No execution todos (with target_tier) found. Give the items that are left a target_tier with todo_write, or clear the list, before handing off.',
        );
      const open = list.items.filter((item) => item.target_tier === undefined && item.status !== 'completed').length;
      list.clearOwn();
      const directives: Directive[] = [
        { type: 'clear_self_todos', params: {} },
        { type: 'tier_change', params: { tier: target_tier, reason } },
        { type: 'stop_processing', params: {} },
      ];
      if (open > 0)
        directives.unshift({
          type: 'inject_context',
          params: {
            content: `[SYSTEM] Warning: ${open} self-directed todo(s) not yet completed. Proceeding with handoff.`,
          },
        });
      return {
        content: [{ type: 'text' as const, text: `Handoff requested to ${target_tier}. Reason: ${reason}` }],
        structuredContent: { target_tier, reason, task_state },
        directives,
      };
    },
  });
}
