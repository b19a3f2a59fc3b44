// What every tool of this server stands on, and what every tool claims before it runs.

import type { PermissionClaim } from '../../contract/claims.js';
import { ToolError } from '../../contract/errors.js';
import type { ToolContext } from '../../tool/define-tool.js';
import type { AfterChangeHook } from '../project/change-report.js';
import type { ProjectFiles } from '../project/project-files.js';
import { escapeControls, quote, type ScopePath } from '../project/scope/project-scope.js';
import type { OutputLimits } from '../project/output-budget.js';
import type { SearchEngineChoice } from './search/search-engine.js';

/** Made once a server, shared by its tools. */
export interface FilesystemContext {
  files: ProjectFiles;
  /** Refuse to change what the session has not read. */
  requireRead: boolean;
  limits: OutputLimits;
  /** What grep and glob search with. */
  search: SearchEngineChoice;
  /** Says which errors a change brought. */
  afterChange?: AfterChangeHook | undefined;
}

/**
 * One claim for the path as it was asked for, and one for the file that it really is when that is another: a rule
 * about the target holds for every link to it.
 *
 * @throws {ToolError} OUTSIDE_PROJECT, PROTECTED_PATH and whatever else makes the call impossible
 */
export async function claimPath(
  files: ProjectFiles,
  path: string,
  mode: 'read' | 'write',
  scope?: 'tree',
): Promise<PermissionClaim[]> {
  const verb = mode === 'read' ? 'reads' : 'writes';
  const reason = scope === 'tree' ? `${verb} it and everything below it` : `${verb} it`;
  const asked = files.scope.parse(path);
  return claimsOf(asked, reason, async () => (await files.resolve(path, mode)).realPath);
}

/**
 * As {@link claimPath}, for a tool that works on the entry itself: a link in the last place is not followed, and may
 * lead outside.
 *
 * @param reason what is done with it, as in "deletes it"
 */
export async function claimEntry(
  files: ProjectFiles,
  path: string,
  mode: 'read' | 'write',
  reason: string,
): Promise<PermissionClaim[]> {
  const { scope } = files;
  const asked = scope.parse(path);
  if (mode === 'write') scope.assertWritable(asked);
  return claimsOf(asked, reason, async () => (await files.resolveEntry(path, mode)).shown);
}

/**
 * Refuses what the policy does not let the call touch, of what its claims cover without naming it.
 *
 * @throws {ToolError} PERMISSION_DENIED
 */
export function permittedBy(ctx: Pick<ToolContext, 'permits'>): (shown: string) => void {
  const { permits } = ctx;
  return (shown) => {
    if (permits(shown)) return;
    throw new ToolError(
      'PERMISSION_DENIED',
      `The policy does not permit ${quote(shown)}, which this call covers; nothing was changed. Name what is meant more narrowly.`,
      { details: { path: shown } },
    );
  };
}

/** In JSON Schema. */
export const withheldOutput = {
  type: 'integer',
  description: 'How many paths the policy leaves out; absent for none.',
} as const;

/** How an answer says that entries were left out because the policy does not permit them; empty when none was. */
export function withheldNotice(withheld: number): string {
  if (withheld === 0) return '';
  return `The policy leaves out ${withheld} ${withheld === 1 ? 'path' : 'paths'}; ask for one by its own name.`;
}

/** In JSON Schema. */
export const changedOutput = {
  type: 'integer',
  description: 'How many rows are left out because their files changed during the search; absent for none.',
} as const;

/** How an answer says that rows were left out because they are no more what they were when they were found. */
export function changedNotice(changed: number): string {
  return `${changed} ${changed === 1 ? 'row is' : 'rows are'} left out: the files changed during the search. Search again for them.`;
}

/**
 * Which path goes where, as `FROM -> TO`: a rule that was saved for one direction is none for the other. A rule on a
 * directory that holds both matches it as well.
 */
export function claimPair(files: ProjectFiles, source: string, destination: string): PermissionClaim {
  const [from, to] = [files.scope.parse(source).shown, files.scope.parse(destination).shown];
  return { pattern: `${from} -> ${to}`, match: 'glob', understood: true, reason: 'from the one to the other' };
}

async function claimsOf(
  asked: ScopePath,
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
    return realPath === asked.shown
      ? [claim(asked.shown, reason)]
      : [claim(asked.shown, reason), claim(realPath, `${reason}, through the link ${escapeControls(asked.shown)}`)];
  } catch (error) {
    // Nothing there: the tool says so itself, with the nearest names.
    if (ToolError.isInstance(error) && error.code === 'NOT_FOUND') return [claim(asked.shown, reason)];
    throw error;
  }
}
