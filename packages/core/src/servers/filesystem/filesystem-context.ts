// The context that all tools of this server share, and the permission claims that they make.

import type { PermissionClaim } from '../../contract/claims.js';
import { ToolError } from '../../contract/errors.js';
import type { ToolContext } from '../../tool/define-tool.js';
import type { AfterChangeHook } from '../project/change-report.js';
import type { ProjectFiles } from '../project/project-files.js';
import { escapeControls, quote, type ScopePath } from '../project/scope/project-scope.js';
import type { OutputLimits } from '../project/output-budget.js';
import type { SearchEngineChoice } from './search/search-engine.js';

/** Created once per server, shared by its tools. */
export interface FilesystemContext {
  files: ProjectFiles;
  /** Refuse to change files that the session has not read. */
  requireRead: boolean;
  limits: OutputLimits;
  /** The search engine of grep and glob. */
  search: SearchEngineChoice;
  /** Reports the errors that a change introduced. */
  afterChange?: AfterChangeHook | undefined;
}

/**
 * One claim for the requested path, and one for its real path if that differs: a rule about the target applies to every
 * link to it.
 *
 * @throws {ToolError} OUTSIDE_PROJECT, PROTECTED_PATH and any other error that would fail the call
 */
export async function claimPath(
  files: ProjectFiles,
  path: string,
  mode: 'read' | 'write',
  scope?: 'tree',
): Promise<PermissionClaim[]> {
  const verb = mode === 'read' ? 'reads' : 'writes';
  const reason = scope === 'tree' ? `${verb} it and everything below it` : `${verb} it`;
  const requested = files.scope.parse(path);
  return claimsOf(requested, reason, async () => (await files.resolve(path, mode)).realPath);
}

/**
 * As {@link claimPath}, for a tool that works on the entry itself: a link in the last place is not followed, and may
 * resolve outside the project.
 *
 * @param reason what the tool does, as in "deletes it"
 */
export async function claimEntry(
  files: ProjectFiles,
  path: string,
  mode: 'read' | 'write',
  reason: string,
): Promise<PermissionClaim[]> {
  const { scope } = files;
  const requested = scope.parse(path);
  if (mode === 'write') scope.assertWritable(requested);
  return claimsOf(requested, reason, async () => (await files.resolveEntry(path, mode)).shown);
}

/**
 * A check for paths that the claims cover without naming them: throws for one that the policy does not permit.
 *
 * @throws {ToolError} PERMISSION_DENIED
 */
export function permittedBy(ctx: Pick<ToolContext, 'permits'>): (shown: string) => void {
  const { permits } = ctx;
  return (shown) => {
    if (permits(shown)) return;
    throw new ToolError(
      'PERMISSION_DENIED',
      `The policy does not permit ${quote(shown)}, which this call includes; nothing was changed. Narrow the path.`,
      { details: { path: shown } },
    );
  };
}

/** As JSON Schema. */
export const withheldOutput = {
  type: 'integer',
  description: 'Number of paths that the policy hides; absent if none.',
} as const;

/** The notice that the policy hides entries; empty if it hides none. */
export function withheldNotice(withheld: number): string {
  if (withheld === 0) return '';
  return `The policy hides ${withheld} ${withheld === 1 ? 'path' : 'paths'}; request one by its name.`;
}

/** As JSON Schema. */
export const changedOutput = {
  type: 'integer',
  description: 'Number of rows omitted because their files changed during the search; absent if none.',
} as const;

/** The notice that rows were omitted because their files changed. */
export function changedNotice(changed: number): string {
  return `${changed} ${changed === 1 ? 'row was' : 'rows were'} omitted: the files changed during the search. Search again.`;
}

/**
 * A claim for a move or copy, as `FROM -> TO`: a rule saved for one direction does not permit the other. A rule on a
 * directory that contains both matches as well.
 */
export function claimPair(files: ProjectFiles, source: string, destination: string): PermissionClaim {
  const [from, to] = [files.scope.parse(source).shown, files.scope.parse(destination).shown];
  return { pattern: `${from} -> ${to}`, match: 'glob', understood: true, reason: 'from the one to the other' };
}

async function claimsOf(
  requested: ScopePath,
  reason: string,
  realPathOf: () => Promise<string>,
): Promise<PermissionClaim[]> {
  const claim = (pattern: string, why: string): PermissionClaim => ({
    pattern,
    match: 'glob',
    understood: true,
    reason: why,
  });
  try {
    const realPath = await realPathOf();
    return realPath === requested.shown
      ? [claim(requested.shown, reason)]
      : [
          claim(requested.shown, reason),
          claim(realPath, `${reason}, through the link ${escapeControls(requested.shown)}`),
        ];
  } catch (error) {
    // The path does not exist: the tool reports it, with similar names.
    if (ToolError.isInstance(error) && error.code === 'NOT_FOUND') return [claim(requested.shown, reason)];
    throw error;
  }
}
