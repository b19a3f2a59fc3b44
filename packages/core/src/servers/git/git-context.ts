// What the git tools share, and the claims that they make.

import { ToolError } from '../../contract/errors.js';
import { quoteWord, quoteWords } from '../../contract/shell-words.js';
import type { PermissionClaim } from '../../contract/claims.js';
import type { OutputLimits } from '../project/output-budget.js';
import type { ProjectFiles } from '../project/project-files.js';

/** The context of one server, shared by its tools. */
export interface GitContext {
  files: ProjectFiles;
  trust: 'untrusted' | 'trusted';
  limits: OutputLimits;
  timeoutMs: number;
  networkTimeoutMs: number;
  /** The transports that the network tools may use. */
  protocols: readonly string[];
}

/**
 * One claim per path, relative to the project as in the filesystem tools; `.` for a tool without paths, which works on the
 * whole tree. git does not follow links, so each path means only itself.
 *
 * @throws {ToolError} OUTSIDE_PROJECT; with `'write'` PROTECTED_PATH
 */
export function claimPaths(
  { files }: GitContext,
  paths: readonly string[] | undefined,
  mode: 'read' | 'write',
  reason: string,
): PermissionClaim[] {
  const requested = paths && paths.length > 0 ? paths : ['.'];
  return requested.map((path) => {
    const place = files.scope.parse(path);
    if (mode === 'write') files.scope.assertWritable(place);
    return { pattern: place.shown, match: 'glob', understood: true, reason };
  });
}

/**
 * A claim for an action, as words with the most significant first, so that denying `delete` or `origin` covers all that
 * follows. The wider pattern is the first word followed by anything.
 */
export function claimAction(...words: (string | undefined)[]): PermissionClaim[] {
  const given = words.filter((word) => word !== undefined);
  const [first] = given;
  return [
    {
      pattern: quoteWords(given),
      match: 'tokens',
      understood: true,
      ...(first !== undefined && given.length > 1 && { widerPattern: `${quoteWord(first)} *` }),
    },
  ];
}

/** Checks a text that is passed to git within an option: no control characters. @throws {ToolError} INVALID_ARGUMENT */
export function assertPlain(name: string, value: string | undefined): void {
  if (value === undefined || !/[\p{Cc}\p{Surrogate}]/u.test(value)) return;
  throw new ToolError('INVALID_ARGUMENT', `${name} contains a control character or an invalid character; remove it.`);
}
