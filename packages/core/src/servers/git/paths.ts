// Paths as arguments: their schema, and how they reach git without being read as patterns or options.

import { ToolError } from '../../errors.js';
import { escapeControls } from '../project-scope.js';
import type { Repository, RunOptions } from './repository.js';

/** The schema of an argument with paths. */
export const PATHS = {
  type: 'array',
  items: { type: 'string', minLength: 1 },
  maxItems: 1_000,
  description: 'Files or directories, relative to the project. Not patterns.',
} as const;

/** The options that make git take literal paths from its input: no list is too long, no name an option. */
export const FROM_INPUT = ['--pathspec-from-file=-', '--pathspec-file-nul'] as const;

/** The input for {@link FROM_INPUT}. @throws {ToolError} OUTSIDE_PROJECT, INVALID_ARGUMENT */
export function pathInput(repository: Repository, paths: readonly string[]): Pick<RunOptions, 'stdin'> {
  if (paths.length === 0)
    throw new ToolError('INVALID_ARGUMENT', 'paths is empty. Name files, or "." for all of them.');
  return { stdin: Buffer.from(paths.map((path) => `${repository.relative(path)}\0`).join('')) };
}

/** A list of paths for a model, the first few of many. */
export function nameList(paths: readonly string[], most = 20): string {
  const shown = paths.slice(0, most).map(escapeControls).join('\n');
  return paths.length > most ? `${shown}\n[and ${paths.length - most} more]` : shown;
}
