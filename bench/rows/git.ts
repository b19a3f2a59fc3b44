// git.log of 10 in a history of 100,000 commits, against git's own `log -10`.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InProcessToolProvider } from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';
import { createGitServer } from '@toolwright/core/servers';
import { compare, reach, type Row } from '../method.js';

const COMMITS = 100_000;

export async function gitRows(): Promise<Row[]> {
  const projectDir = await mkdtemp(join(tmpdir(), 'toolwright-bench-'));
  try {
    await git(projectDir, 'init', '--quiet', '--initial-branch=main');
    await writeFile(join(projectDir, '.git/history'), history());
    await git(projectDir, '-c', 'alias.load=!git fast-import --quiet < .git/history', 'load');
    await git(projectDir, 'reset', '--quiet', '--hard');
    await using provider = new InProcessToolProvider({ servers: [createGitServer({ projectDir })] });
    const row = await compare(
      'list ten commits of 100,000',
      {
        name: 'git.log, 10 of 100,000 commits',
        run: async () => {
          const { structuredContent } = await provider.callTool('git.log', { max: 10 });
          if ((structuredContent?.commits as unknown[] | undefined)?.length !== 10) throw new Error('not 10 commits');
        },
      },
      { name: 'git log -10', run: () => git(projectDir, 'log', '-10') },
      { rounds: 15, batch: 1, warmUp: 3 },
    );
    return [reach(row, row.differenceUs.median / 1_000, '<=', 100, 'ms more')];
  } finally {
    await rm(projectDir, { recursive: true });
  }
}

/** One file that changes in each commit, as input of `git fast-import`. */
function history(): string {
  const commits = Array.from({ length: COMMITS }, (_, index) => {
    const message = `change ${index}\n`;
    const content = `${index}\n`;
    return (
      `commit refs/heads/main\ncommitter A <a@example.invalid> ${1_700_000_000 + index} +0000\n` +
      `data ${message.length}\n${message}M 100644 inline a.txt\ndata ${content.length}\n${content}`
    );
  });
  return commits.join('');
}

async function git(cwd: string, ...args: string[]): Promise<void> {
  const child = spawnChild({ command: 'git', args, cwd, stdin: 'ignore' });
  child.stdout.resume();
  const { code } = await child.exited;
  if (code !== 0) throw new Error(`git ended with ${code}: ${child.stderrTail()}`);
}
