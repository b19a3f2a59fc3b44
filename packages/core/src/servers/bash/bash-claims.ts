// What a command claims before it runs: what the judge makes of its text, in the directory that it runs in.

import type { PermissionClaim } from '../../contract/claims.js';
import type { ProjectFiles } from '../project/project-files.js';

/** What is judged. */
export interface ClaimedCommand {
  command: string;
  cwd: string;
  env: Readonly<Record<string, string>> | undefined;
}

/**
 * The claims of a command, and of the variables that it is given.
 *
 * @throws {ToolError} OUTSIDE_PROJECT for a working directory that is
 */
export async function claimCommand(
  files: ProjectFiles,
  { command, cwd, env }: ClaimedCommand,
  signal: AbortSignal,
): Promise<PermissionClaim[]> {
  files.scope.parse(cwd);
  const { analyzeCommand } = await import('./policy/analyze-command.js'); // an engine without a policy never needs it
  return analyzeCommand(command, { files, cwd, env, signal });
}
