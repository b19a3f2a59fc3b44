// Path arguments: their schema, and the checked form in which they are passed to git.

import { dirname, relative, sep } from 'node:path';
import { ToolError } from '../../contract/errors.js';
import { reachOf } from '../project/open/path-lookup.js';
import { escapeControls, isInside, quote, type ProjectScope } from '../project/scope/project-scope.js';

/** The schema of an argument with paths. */
export const PATHS = {
  type: 'array',
  items: { type: 'string', minLength: 1 },
  maxItems: 1_000,
  description: 'Files or directories. Not patterns.',
} as const;

/** A path that passed the project scope. git commands accept only this form, so no tool can pass on an unchecked path. */
export class GitPath {
  /** Relative to the working tree's top; `.` for all of it. */
  readonly name: string;

  private constructor(name: string) {
    this.name = name;
  }

  /**
   * Checks a path as a caller wrote it. Nothing in it is expanded. As git does, it names the entry itself: a link in the
   * last place is not followed, and the directories above it must be inside the project, links resolved.
   *
   * @param top of the working tree
   * @throws {ToolError} OUTSIDE_PROJECT; INVALID_ARGUMENT for one that is in the project and not in the working tree
   */
  static async check(scope: ProjectScope, top: string, path: string): Promise<GitPath> {
    const requested = scope.parse(path);
    // The project itself means the whole working tree.
    if (requested.absolute === scope.projectDir) return new GitPath('.');
    if (
      !isInside(top, requested.absolute) ||
      (!requested.root.isProject && !isInside(scope.projectDir, requested.absolute))
    )
      throw new ToolError(
        'INVALID_ARGUMENT',
        `${quote(requested.shown)} is not in the repository's working tree, ${quote(scope.find(top)?.shown ?? '.')}.`,
      );
    if (requested.absolute !== top) {
      const { opened } = await reachOf(scope, requested, dirname(requested.absolute));
      await opened.close();
    }
    return new GitPath(relative(top, requested.absolute).split(sep).join('/') || '.');
  }
}

/** @throws {ToolError} INVALID_ARGUMENT for an empty list, which git would read as all paths */
export function assertSome(paths: readonly string[]): void {
  if (paths.length === 0) throw new ToolError('INVALID_ARGUMENT', 'paths is empty. List files, or "." for all.');
}

/** Lists the first paths for a model, and counts the others. */
export function nameList(paths: readonly string[], most = 20): string {
  const shown = paths.slice(0, most).map(escapeControls).join('\n');
  return paths.length > most ? `${shown}\n[and ${paths.length - most} more]` : shown;
}
