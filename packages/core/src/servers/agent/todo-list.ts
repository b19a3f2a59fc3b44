// The to-do list of one session: its items, the changes that a model may make, and how it is shown back to it.

import { ToolError } from '../../contract/errors.js';

/** How far an item is. */
export type TodoStatus = 'pending' | 'in_progress' | 'completed';

/** One item. */
export interface TodoItem {
  /** What to do, in the imperative. */
  content: string;
  /** The same while it is being done, such as "Fixing the parser". */
  active_form: string;
  status: TodoStatus;
  /** The model tier that shall do it; without it, the one that wrote it. */
  target_tier?: string;
}

/** More would fill the model's context with nothing but the list. */
const MAX_ITEMS = 200;
const MAX_SHOWN_CHARS = 50;
const MARKS: Readonly<Record<TodoStatus, string>> = { pending: '[ ]', in_progress: '[>]', completed: '[x]' };

/** Every change is whole or not at all: a refused one leaves the list as it was. */
export class TodoList {
  #items: readonly TodoItem[] = [];
  /** True when items went since the model was last shown the list, so that its indexes may mean others. */
  #shifted = false;

  get items(): readonly TodoItem[] {
    return this.#items;
  }

  get completed(): number {
    return this.#items.filter(({ status }) => status === 'completed').length;
  }

  replace(items: readonly TodoItem[]): string {
    this.#set(items);
    return `Todo list replaced: ${this.completed}/${items.length} completed`;
  }

  add(items: readonly TodoItem[]): string {
    this.#set([...this.#items, ...items]);
    return `Added ${items.length} item(s). Total: ${this.#items.length}`;
  }

  update(index: number, change: Partial<TodoItem>): string {
    const item = { ...this.#at(index), ...change };
    this.#set(this.#items.with(index, item));
    return `Updated item ${index}: ${shorten(item.content)}`;
  }

  remove(index: number): string {
    const { content } = this.#at(index);
    this.#set(this.#items.toSpliced(index, 1));
    return `Removed item ${index}: ${shorten(content)}`;
  }

  /** Forgets what the current tier had set for itself. */
  clearOwn(): void {
    const kept = this.#items.filter(({ target_tier }) => target_tier !== undefined);
    this.#shifted ||= kept.length < this.#items.length;
    this.#items = kept;
  }

  /** The list as the model is shown it, under a heading; nothing for an empty list. Indexes are those of `update`. */
  show(): string {
    if (this.#items.length === 0) return '';
    const tiers = [...new Set(this.#items.map(({ target_tier }) => target_tier))];
    const lines = (tier: string | undefined, indent: string): string[] =>
      this.#items.flatMap(({ content, status, target_tier }, index) =>
        target_tier === tier ? [`${indent}${index}. ${MARKS[status]} ${content}`] : [],
      );
    const body =
      tiers.length === 1
        ? lines(tiers[0], '  ')
        : tiers.flatMap((tier) => [tier === undefined ? '  For self:' : `  For ${tier} tier:`, ...lines(tier, '    ')]);
    return [
      '[CURRENT TODO STATE]',
      ...body,
      `Progress: ${this.completed}/${this.#items.length} completed`,
      '[END TODO STATE]',
    ].join('\n');
  }

  #set(items: readonly TodoItem[]): void {
    if (items.length > MAX_ITEMS)
      throw wrong(`the list would have ${items.length} items; the maximum is ${MAX_ITEMS}. Remove completed items.`);
    const active = items.flatMap(({ status }, index) => (status === 'in_progress' ? [index] : []));
    if (active.length > 1)
      throw wrong(
        `Only one task can be in_progress at a time, not items ${active.join(', ')}. Complete one, or set it to pending.`,
      );
    this.#items = items.map((item) => Object.freeze({ ...item }));
    this.#shifted = false;
  }

  #at(index: number): TodoItem {
    if (this.#shifted) {
      this.#shifted = false;
      throw wrong(`the handoff removed items, so index ${index} may be a different one now. The list:\n${this.show()}`);
    }
    const item = this.#items[index];
    if (!item)
      throw wrong(
        this.#items.length === 0
          ? `there is no item ${index}: the list is empty. Add items first.`
          : `there is no item ${index}. Give an index from 0 to ${this.#items.length - 1}.`,
      );
    return item;
  }
}

function shorten(text: string): string {
  const characters = Array.from(text);
  return characters.length <= MAX_SHOWN_CHARS ? text : `${characters.slice(0, MAX_SHOWN_CHARS).join('')}…`;
}

function wrong(message: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `Error: ${message}`);
}
