// Shared by the tests of the sandbox with git: a repository with a working tree and a submodule, and the user's git.

import { expect } from 'vitest';
import { spawnChild } from '../../../../src/process/index.js';
import { createBubblewrap } from '../../../../src/servers/bash/sandbox/bubblewrap.js';
import { ProjectScope } from '../../../../src/servers/project/scope/project-scope.js';
import { createTestProject } from '../../../../src/testing/project.js';
import { openTools, type Tools } from '../bash-tools.js';

/** Why the sandbox does not work on this machine, which is printed; undefined when it does. */
export async function whyNoSandbox(): Promise<string | undefined> {
  await using project = await createTestProject();
  const scope = new ProjectScope({ projectDir: project.projectDir });
  const sample = { command: '/bin/bash', args: ['-c', ':'], cwd: project.projectDir, env: { PATH: '/usr/bin:/bin' } };
  try {
    await (await createBubblewrap(scope)).check?.({ scope, network: false, readable: [] }, sample);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Runs a script on the host, as the user would. */
export async function onHost(cwd: string, script: string): Promise<string> {
  await using child = spawnChild({
    command: 'bash',
    args: [
      '-c',
      `set -e; git() { command git -c user.name=T -c user.email=t@e.x -c protocol.file.allow=always "$@"; }; ${script}`,
    ],
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd, GIT_CONFIG_NOSYSTEM: '1' },
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const { code } = await child.exited;
  expect(code, child.stderrTail()).toBe(0);
  return text;
}

/** A project with a linked working tree `wt` and a submodule `sub`, and its tools. */
export async function openRepository(options = {}): Promise<Tools> {
  const tools = await openTools(
    { 'a.txt': 'a\n', 'evil.sh': { content: '#!/bin/sh\ntouch "$MARK"\n', mode: 0o755 } as never },
    { sandbox: 'require', ...options },
  );
  await onHost(
    tools.projectDir,
    `git init -q -b main . && git add -A && git commit -qm One
     git init -q -b main ../library && git -C ../library commit -q --allow-empty -m One
     git submodule --quiet add ../library sub && git commit -qm Sub && git worktree add -q wt -b side && rm -f evil-ran`,
  );
  return tools;
}
