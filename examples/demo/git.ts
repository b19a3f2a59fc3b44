// git for the demo itself, without the tools: it copies the project and checks the tools' results.

import { ToolError } from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';

/** The output of a git command that exits with 0. The user's configuration is not read. */
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
  if (code !== 0) throw new ToolError('PROCESS_EXITED', `git exited with ${code}: ${child.stderrTail()}`);
  return Buffer.concat(chunks).toString();
}
