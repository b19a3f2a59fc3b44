// The tools that a supervised provider listed last: kept while nothing runs, read again when the provider says so, and told
// of when it is another.

import { ToolError, type Logger, type ToolDefinition } from '@toolwright/core';
import { Listeners, ToolIndex } from '@toolwright/core/internal';
import type { Life } from './provider-instance.js';

/** What a {@link KeptList} needs of the supervisor. */
export interface KeptListOptions {
  name: string;
  logger: Logger;
  isCurrent: (life: Life) => boolean;
}

export class KeptList {
  readonly changed = new Listeners();
  readonly #options: KeptListOptions;
  #definitions: readonly ToolDefinition[] | undefined;
  #index = new ToolIndex<ToolDefinition>([]);
  #isDirty = false;
  #reading: Promise<void> | undefined;

  constructor(options: KeptListOptions) {
    this.#options = options;
  }

  /** Undefined before the first life. */
  get definitions(): readonly ToolDefinition[] | undefined {
    return this.#definitions;
  }

  /** Defined while the list is read again. */
  get reading(): Promise<void> | undefined {
    return this.#reading;
  }

  get(name: string): ToolDefinition | undefined {
    return this.#index.get(name);
  }

  /** Takes the list of a life that became ready, and reads it again when it changed meanwhile. */
  start(life: Life): void {
    this.#adopt(life);
    if (this.#isDirty) this.refresh(life);
  }

  /** Reads the list again; a burst of changes is one. */
  refresh(life: Life): void {
    this.#isDirty = true;
    if (this.#reading || !this.#options.isCurrent(life)) return;
    this.#reading = this.#read(life).finally(() => (this.#reading = undefined));
  }

  #adopt({ definitions }: Life): void {
    const before = this.#definitions;
    if (before && isSame(before, definitions)) return;
    this.#definitions = definitions;
    this.#index = new ToolIndex(definitions.map((tool) => [tool.name, tool] as const));
    if (before) this.changed.emit(this.#options.logger);
  }

  async #read(life: Life): Promise<void> {
    const { name, logger, isCurrent } = this.#options;
    while (this.#isDirty && isCurrent(life)) {
      this.#isDirty = false;
      try {
        await life.list();
        if (isCurrent(life)) this.#adopt(life);
      } catch (thrown) {
        if (!isCurrent(life)) return;
        const why = ToolError.from(thrown).message;
        logger.warn(`The tools of "${name}" could not be read again, the old list stands: ${why}`);
      }
    }
  }
}

function isSame(before: readonly ToolDefinition[], after: readonly ToolDefinition[]): boolean {
  try {
    return JSON.stringify(before) === JSON.stringify(after);
  } catch {
    return false; // a list that has no JSON form is told of each time
  }
}
