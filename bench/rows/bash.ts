// bash.execute of `true`, without and in the sandbox, against a bare spawn of `bash -c true`.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InProcessToolProvider } from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';
import { createBashServer, type SandboxMode } from '@toolwright/core/servers';
import { compare, reach, type Row } from '../method.js';

const FEW = { rounds: 25, batch: 3, warmUp: 3 };

export async function bashRows(): Promise<Row[]> {
  const projectDir = await mkdtemp(join(tmpdir(), 'toolwright-bench-'));
  const bare = {
    name: 'spawn bash -c true',
    run: async () => {
      const child = spawnChild({
        command: '/bin/bash',
        args: ['--noprofile', '--norc', '-c', 'true'],
        cwd: projectDir,
      });
      child.stdout.resume();
      await child.exited;
    },
  };
  try {
    const rows = [await measure(projectDir, 'off', bare, 20)];
    // Without bubblewrap there is nothing to measure.
    const sandboxed = await measure(projectDir, 'require', bare, 60).catch(() => undefined);
    return sandboxed ? [...rows, sandboxed] : rows;
  } finally {
    await rm(projectDir, { recursive: true });
  }
}

async function measure(
  projectDir: string,
  sandbox: SandboxMode,
  bare: Parameters<typeof compare>[2],
  boundMs: number,
): Promise<Row> {
  await using provider = new InProcessToolProvider({ servers: [createBashServer({ projectDir, sandbox })] });
  const run = async (): Promise<void> => {
    const { isError, content } = await provider.callTool('bash.execute', { command: 'true' });
    if (isError) throw new Error(JSON.stringify(content));
  };
  await run();
  const name = `bash.execute true${sandbox === 'off' ? '' : ', sandboxed'}`;
  const row = await compare('run a command', { name, run }, bare, FEW);
  return reach(row, row.differenceUs.median / 1_000, '<=', boundMs, 'ms more');
}
