// What a command claims before it runs.

import type { PermissionClaim } from '../../tool-provider.js';
import type { ProjectFiles } from '../project-files.js';

/** What is judged. */
export interface ClaimedCommand {
  command: string;
  cwd: string;
  env: Readonly<Record<string, string>> | undefined;
}

/**
 * The claims of a command; variables that it is given are one of their own, as they can change what any program does.
 *
 * @throws {ToolError} OUTSIDE_PROJECT for a working directory that is
 */
export async function claimCommand(
  files: ProjectFiles,
  { command, cwd, env }: ClaimedCommand,
  signal: AbortSignal,
): Promise<PermissionClaim[]> {
  files.scope.parse(cwd);
  signal.throwIfAborted();
  const claims: PermissionClaim[] = [
    { pattern: command, match: 'tokens', understood: false, reason: 'commands are not judged yet' },
  ];
  const names = Object.keys(env ?? {});
  if (names.length > 0) {
    claims.push({
      pattern: `env ${names.map((name) => `${name}=${env?.[name] ?? ''}`).join(' ')}`,
      match: 'tokens',
      understood: false,
      reason: 'variables can change what a program does',
    });
  }
  return claims;
}
