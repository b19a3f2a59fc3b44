// Which list of tools a replay shows: the one that was in force before the next recorded call that has not been made.

import type { ToolDefinition } from '../contract/tool-definition.js';
import type { Recording } from '../recording/recording-reader.js';
import { ToolIndex } from '../provider/tool-index.js';

const NO_TOOLS: readonly ToolDefinition[] = Object.freeze([]);

export class ReplayLists {
  readonly #recording: Pick<Recording, 'lists' | 'changes'>;
  readonly #indexes = new WeakMap<readonly ToolDefinition[], ToolIndex<ToolDefinition>>();
  #at = 0;
  /** How many reports of a change have been passed. */
  #changes = 0;

  constructor(recording: Pick<Recording, 'lists' | 'changes'>) {
    this.#recording = recording;
  }

  /** The list in force. */
  get tools(): readonly ToolDefinition[] {
    return this.#recording.lists[this.#at]?.tools ?? NO_TOOLS;
  }

  /** The tools of the list in force by name. */
  get index(): ToolIndex<ToolDefinition> {
    return this.#indexOf(this.tools);
  }

  /** The tool in the list in force, else in the last list that has it. */
  definition(name: string): ToolDefinition | undefined {
    const current = this.index.get(name);
    if (current) return current;
    for (const { tools } of this.#recording.lists.toReversed()) {
      const tool = this.#indexOf(tools).get(name);
      if (tool) return tool;
    }
    return undefined;
  }

  /** Moves on to the list before that line. Returns true when the list changed on the way, or was reported as changed. */
  advance(nextLine: number): boolean {
    const { lists, changes } = this.#recording;
    const before = this.#at + this.#changes;
    while ((lists[this.#at + 1]?.line ?? Infinity) < nextLine) this.#at++;
    while ((changes[this.#changes] ?? Infinity) < nextLine) this.#changes++;
    return this.#at + this.#changes !== before;
  }

  #indexOf(tools: readonly ToolDefinition[]): ToolIndex<ToolDefinition> {
    let index = this.#indexes.get(tools);
    if (!index) this.#indexes.set(tools, (index = new ToolIndex(tools.map((tool) => [tool.name, tool] as const))));
    return index;
  }
}
