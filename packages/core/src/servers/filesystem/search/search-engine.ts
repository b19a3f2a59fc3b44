// Selects the search engine: ripgrep, or the built-in walk if no trusted ripgrep is installed.

import { ToolError } from '../../../contract/errors.js';
import type { ProjectScope } from '../../project/scope/project-scope.js';
import { findRipgrep } from './ripgrep.js';

/** The engine to use: `auto` uses ripgrep if available. */
export type SearchEngineChoice = 'auto' | 'rg' | 'js';

/** The engine that an answer reports. */
export type SearchEngine = { name: 'rg'; command: string } | { name: 'js' };

export const engineOutput = {
  type: 'string',
  enum: ['rg', 'js'],
  description: 'rg: ripgrep. js: the slower built-in search, used when ripgrep is not installed.',
} as const;

/** @throws {ToolError} UNAVAILABLE when ripgrep is required and not found */
export async function resolveEngine(scope: ProjectScope, choice: SearchEngineChoice): Promise<SearchEngine> {
  if (choice === 'js') return { name: 'js' };
  try {
    return { name: 'rg', command: await findRipgrep(scope) };
  } catch (error) {
    if (choice === 'rg' || !ToolError.isInstance(error) || error.code !== 'UNAVAILABLE') throw error;
    return { name: 'js' };
  }
}
