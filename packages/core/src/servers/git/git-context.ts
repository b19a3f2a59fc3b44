// What every tool of this server stands on, and what tools claim before they run.

import { ToolError } from '../../contract/errors.js';
import { quoteWord, quoteWords } from '../../contract/shell-words.js';
import type { PermissionClaim } from '../../contract/claims.js';
import type { OutputLimits } from '../project/output-budget.js';
import type { ProjectFiles } from '../project/project-files.js';

/** Made once a server, shared by its tools. */
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
 * One claim for each path, project-relative as filesystem tools claim theirs; `.` where a tool was given none and works
 * on the whole tree. git follows no links, so a path is only what it says.
 *
 * @throws {ToolError} OUTSIDE_PROJECT; with `'write'` PROTECTED_PATH
 */
export function claimPaths(
  { files }: GitContext,
  paths: readonly string[] | undefined,
  mode: 'read' | 'write',
  reason: string,
): PermissionClaim[] {
  const asked = paths && paths.length > 0 ? paths : ['.'];
  return asked.map((path) => {
    const place = files.scope.parse(path);
    if (mode === 'write') files.scope.assertWritable(place);
    return { pattern: place.shown, match: 'glob', understood: true, reason };
  });
}

/**
 * A claim for an action: its words, the one that says most first, so that denying `delete` or `origin` covers what
 * follows. The wider pattern is that word with whatever follows.
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

/** A text that is given to git as part of an option: no line of its own, no NUL. @throws {ToolError} INVALID_ARGUMENT */
export function assertPlain(name: string, value: string | undefined): void {
  if (value === undefined || !/[\p{Cc}\p{Surrogate}]/u.test(value)) return;
  throw new ToolError('INVALID_ARGUMENT', `${name} contains a control character or an invalid character; remove it.`);
}
