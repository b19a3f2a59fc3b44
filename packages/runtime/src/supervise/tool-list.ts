// The tools of a supervised provider's last listing: kept while it does not run, read again when the provider reports a
// change, and reported when they differ.

import { ToolError, type Logger, type ToolDefinition } from '@toolwright/core';
import { Listeners, ToolIndex } from '@toolwright/core/internal';
import type { ProviderInstance } from './provider-instance.js';

/** What a {@link ToolListCache} needs from the supervisor. */
export interface ToolListCacheOptions {
  name: string;
  logger: Logger;
  isCurrent: (instance: ProviderInstance) => boolean;
}

export class ToolListCache {
  readonly changed = new Listeners();
  readonly #options: ToolListCacheOptions;
  #definitions: readonly ToolDefinition[] | undefined;
  #index = new ToolIndex<ToolDefinition>([]);
  #isDirty = false;
  #reading: Promise<void> | undefined;

  constructor(options: ToolListCacheOptions) {
    this.#options = options;
  }

  /** Undefined before the first instance. */
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

  /** Adopts the list of an instance that became ready, and reads it again if it changed meanwhile. */
  start(instance: ProviderInstance): void {
    this.#adopt(instance);
    if (this.#isDirty) this.refresh(instance);
  }

  /** Reads the list again, once for several changes in quick succession. */
  refresh(instance: ProviderInstance): void {
    this.#isDirty = true;
    if (this.#reading || !this.#options.isCurrent(instance)) return;
    this.#reading = this.#read(instance).finally(() => (this.#reading = undefined));
  }

  #adopt({ definitions }: ProviderInstance): void {
    const before = this.#definitions;
    if (before && isSame(before, definitions)) return;
    this.#definitions = definitions;
    this.#index = new ToolIndex(definitions.map((tool) => [tool.name, tool] as const));
    if (before) this.changed.emit(this.#options.logger);
  }

  async #read(instance: ProviderInstance): Promise<void> {
    const { name, logger, isCurrent } = this.#options;
    while (this.#isDirty && isCurrent(instance)) {
      this.#isDirty = false;
      try {
        await instance.list();
        if (isCurrent(instance)) this.#adopt(instance);
      } catch (thrown) {
        if (!isCurrent(instance)) return;
        const why = ToolError.from(thrown).message;
        logger.warn(`The tools of "${name}" could not be read again; the previous list remains: ${why}`);
      }
    }
  }
}

function isSame(before: readonly ToolDefinition[], after: readonly ToolDefinition[]): boolean {
  try {
    return JSON.stringify(before) === JSON.stringify(after);
  } catch {
    return false; // a list without a JSON form is reported each time
  }
}
