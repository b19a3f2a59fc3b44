// Which tools of a list are meant, by globs over their names.

import { ToolError } from '../contract/errors.js';
import { matchesGlob } from './name-pattern.js';

/** Selects tools. Globs match qualified names; a glob without a dot matches servers: `bash` means `bash.*`. */
export interface ToolSelection {
  /** Only tools that match one of these globs. Default: all. */
  include?: readonly string[];
  /** No tools that match one of these globs. Default: none. */
  exclude?: readonly string[];
}

/** Whether a glob matches a qualified name; a glob without a dot also matches servers. */
export function matchesTool(glob: string, name: string): boolean {
  return matchesGlob(glob, name) || (!glob.includes('.') && matchesGlob(`${glob}.*`, name));
}

/** @throws {ToolError} INVALID_ARGUMENT */
export function assertSelection({ include, exclude }: ToolSelection): void {
  for (const [option, globs] of Object.entries({ include, exclude })) {
    if (globs === undefined || (Array.isArray(globs) && globs.every((glob) => typeof glob === 'string'))) continue;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${option} must be an array of globs over tool names, such as ["files.*"].`,
    );
  }
}

/** Whether a tool of that name is selected. */
export function selectsTool(name: string, { include, exclude }: ToolSelection): boolean {
  const matches = (glob: string): boolean => matchesTool(glob, name);
  return (!include || include.some(matches)) && !exclude?.some(matches);
}

/** The selected tools, in their order; the same array if all are meant. */
export function selectTools<Tool extends { readonly name: string }>(
  tools: readonly Tool[],
  selection: ToolSelection,
): readonly Tool[] {
  if (!selection.include && !selection.exclude) return tools;
  return tools.filter(({ name }) => selectsTool(name, selection));
}
