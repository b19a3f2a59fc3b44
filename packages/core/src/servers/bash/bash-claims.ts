// The claims of a command before it runs. Loads the analyzer on first use.

import type { PermissionClaim } from '../../contract/claims.js';
import type { ProjectFiles } from '../project/project-files.js';

/** A command to analyze. */
export interface ClaimedCommand {
  command: string;
  cwd: string;
  env: Readonly<Record<string, string>> | undefined;
}

/**
 * The claims of a command and of the variables that are set for it.
 *
 * @throws {ToolError} OUTSIDE_PROJECT for a working directory outside the project
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
