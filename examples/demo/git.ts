// git as the demo itself uses it, beside the tools: to copy a project, and to hold their answers against.

import { ToolError } from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';

/** The output of a git command that ends with 0. Nothing of the user's own configuration is read. */
export async function gitIn(cwd: string, ...args: string[]): Promise<string> {
  const child = spawnChild({
    command: 'git',
    args,
    cwd,
    stdin: 'ignore',
    extraEnv: { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const { code } = await child.exited;
  if (code !== 0) throw new ToolError('PROCESS_EXITED', `git ended with ${code}: ${child.stderrTail()}`);
  return Buffer.concat(chunks).toString();
}
