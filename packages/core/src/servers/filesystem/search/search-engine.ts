// Which engine searches: ripgrep, or the own walk where there is none that can be trusted.

import { ToolError } from '../../../contract/errors.js';
import type { ProjectScope } from '../../project/scope/project-scope.js';
import { findRipgrep } from './ripgrep.js';

/** What searches: `auto` takes ripgrep where there is one. */
export type SearchEngineChoice = 'auto' | 'rg' | 'js';

/** What an answer names as its engine. */
export type SearchEngine = { name: 'rg'; command: string } | { name: 'js' };

export const engineOutput = {
  type: 'string',
  enum: ['rg', 'js'],
  description: 'rg: ripgrep. js: the slower walk of this server, as there is no ripgrep.',
} as const;

/** @throws {ToolError} UNAVAILABLE when ripgrep is asked for and not there */
export async function resolveEngine(scope: ProjectScope, choice: SearchEngineChoice): Promise<SearchEngine> {
  if (choice === 'js') return { name: 'js' };
  try {
    return { name: 'rg', command: await findRipgrep(scope) };
  } catch (error) {
    if (choice === 'rg' || !ToolError.isInstance(error) || error.code !== 'UNAVAILABLE') throw error;
    return { name: 'js' };
  }
}
