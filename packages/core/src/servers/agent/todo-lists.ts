// A list a session: conversations that share a server do not see each other's plans.

import { TodoList } from './todo-list.js';

/** A server that runs for months meets any number of sessions; the ones used least recently are forgotten. */
const MAX_SESSIONS = 1_000;

/** The lists of all sessions; calls without a session share one. */
export class TodoLists {
  readonly #lists = new Map<string | undefined, TodoList>();

  /** Made when there is none. */
  of(sessionId: string | undefined): TodoList {
    const list = this.#lists.get(sessionId) ?? new TodoList();
    this.#lists.delete(sessionId);
    this.#lists.set(sessionId, list); // the last is the one used most recently
    if (this.#lists.size > MAX_SESSIONS) {
      const [oldest] = this.#lists.keys();
      this.#lists.delete(oldest);
    }
    return list;
  }
}
