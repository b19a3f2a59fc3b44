// todo_write: the model's own plan, kept in front of it by the engine.

import type { Directive } from '../../../contract/directives.js';
import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import type { TodoItem, TodoList } from '../todo-list.js';
import type { TodoLists } from '../todo-lists.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const text = { type: 'string', minLength: 1, maxLength: 2_000 } as const;
const status = { type: 'string', enum: ['pending', 'in_progress', 'completed'] } as const;
const tier = {
  type: 'string',
  minLength: 1,
  maxLength: 100,
  description: 'The model tier that shall do it. Leave it out for your own items.',
} as const;

const input = objectSchema(
  {},
  {
    action: {
      type: 'string',
      enum: ['add', 'update', 'remove', 'replace'],
      default: 'replace',
      description: 'add and replace take todos; update takes index and what to change; remove takes index.',
    },
    todos: {
      type: 'array',
      maxItems: 200,
      items: objectSchema(
        {
          content: { ...text, description: 'What to do, such as "Fix the parser".' },
          active_form: { ...text, description: 'The same while it is done: "Fixing the parser".' },
          status,
        },
        {
          target_tier: tier,
        },
      ),
    },
    index: { type: 'integer', minimum: 0, description: 'The item, as numbered in the list; the first is 0.' },
    content: text,
    active_form: text,
    status,
    target_tier: tier,
  },
);

const output = objectSchema({
  items: { type: 'array', items: { type: 'object' } },
  completed: { type: 'integer' },
  total: { type: 'integer' },
});

interface Change {
  action: 'add' | 'update' | 'remove' | 'replace';
  todos?: readonly TodoItem[] | undefined;
  index?: number | undefined;
  change: Partial<TodoItem>;
}

/** The tool `todo_write`. */
export function todoWriteTool(lists: TodoLists): Tool {
  return defineTool({
    name: 'todo_write',
    title: 'Plan the work',
    description:
      'Keep a to-do list of the task: add, update or remove items, or replace the whole. At most one item is in_progress. ' +
      'Items with a target_tier are for that tier after a handoff.',
    input,
    output,
    annotations: hints(),
    execute({ action, todos, index, ...change }, { sessionId }) {
      const list = lists.of(sessionId);
      const said = apply(list, { action, todos, index, change });
      const items = list.items.map((item) => ({ ...item }));
      const directives: Directive[] = [
        { type: 'context_anchor', params: { key: 'todo_state', content: list.show() } },
        { type: 'notify_presenter', params: { key: 'todo_update', data: { items, count: items.length } } },
      ];
      return {
        content: [{ type: 'text' as const, text: said }],
        structuredContent: { items, completed: list.completed, total: items.length },
        directives,
      };
    },
  });
}

function apply(list: TodoList, { action, todos, index, change }: Change): string {
  if (action === 'add' || action === 'replace') {
    const strange = index !== undefined ? 'index' : Object.keys(change)[0];
    if (strange !== undefined) throw wrong(`${action} takes todos, not ${strange}.`);
    if (!todos || (action === 'add' && todos.length === 0)) throw wrong(`${action} needs todos.`);
    return action === 'add' ? list.add(todos) : list.replace(todos);
  }
  if (todos) throw wrong(`${action} takes index, not todos.`);
  if (index === undefined) throw wrong(`${action} needs index.`);
  const changes = Object.keys(change);
  if (action === 'remove') {
    if (changes.length > 0) throw wrong(`remove takes index alone, not ${changes.join(', ')}.`);
    return list.remove(index);
  }
  if (changes.length === 0) throw wrong('update needs content, active_form, status or target_tier.');
  return list.update(index, change);
}

function wrong(message: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `Error: ${message}`);
}
