// hub.search(): checks its options, and keeps the index of a list of tools until there is another.

import { CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import { assertOptions, shownValue, type OptionNames } from '../../contract/options.js';
import type { ToolDefinition } from '../../contract/tool-definition.js';
import { delegationOf } from '../../provider/delegation.js';
import { assertSelection, selectsTool, type ToolSelection } from '../../provider/tool-selection.js';
import { ToolSearch, type FoundTool } from './tool-search.js';

/** Options of {@link ToolHub.search}. */
export interface SearchOptions extends ToolSelection {
  /** The most tools to return, 1 to 100. Default: 10. */
  limit?: number;
  /** Cancels the search. */
  signal?: AbortSignal;
}

const SEARCH_OPTIONS: OptionNames<SearchOptions> = { limit: true, signal: true, include: true, exclude: true };
const DEFAULT_LIMIT = 10;
/** The most tools that one search returns. */
export const MAX_FOUND = 100;

/** Searches the latest list. Nothing is loaded or indexed before the first search. */
export class SearchIndex {
  #of: readonly ToolDefinition[] | undefined;
  #index: Promise<ToolSearch> | undefined;

  /**
   * @param list the tools of the hub; the index is kept while it returns the same array
   * @throws {ToolError} INVALID_ARGUMENT for a wrong option, CANCELLED
   */
  async search(
    query: string,
    options: SearchOptions,
    list: (options: { signal?: AbortSignal }) => Promise<readonly ToolDefinition[]>,
  ): Promise<FoundTool[]> {
    assertOptions('search()', options, SEARCH_OPTIONS);
    assertSelection(options);
    const { limit = DEFAULT_LIMIT, signal } = options;
    if (typeof query !== 'string' || query.trim() === '')
      throw new ToolError('INVALID_ARGUMENT', 'search(): the query must be text that says what the tool should do.');
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_FOUND)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `search(): limit must be an integer from 1 to ${MAX_FOUND}, not ${shownValue(limit)}.`,
      );
    const scope = new CallScope(signal && { signal });
    try {
      const tools = await scope.race(list(signal ? { signal } : {}));
      const index = await scope.race(this.#indexOf(tools));
      // Whoever can search has the tools that search.
      return index.find(query, limit, (tool) => !delegationOf(tool) && selectsTool(tool.name, options));
    } finally {
      scope.close();
    }
  }

  #indexOf(tools: readonly ToolDefinition[]): Promise<ToolSearch> {
    if (this.#of !== tools || !this.#index) {
      this.#of = tools;
      const index = ToolSearch.of(tools);
      this.#index = index;
      // A later search tries again.
      index.catch(() => {
        if (this.#index === index) this.#index = undefined;
      });
    }
    return this.#index;
  }
}
