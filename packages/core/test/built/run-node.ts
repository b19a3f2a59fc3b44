// Runs a script with this Node where the packages resolve as they do for a user.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnChild } from '@toolwright/core/process';

const PACKAGE_DIR = fileURLToPath(new URL('../../', import.meta.url));

/** The output of a script that exits with 0; otherwise rejects with its stderr. */
export async function runNode(
  source: string,
  type: 'module' | 'commonjs' = 'module',
): Promise<{ stdout: string; stderr: string }> {
  const directory = await mkdtemp(join(PACKAGE_DIR, 'node_modules-run-'));
  try {
    const file = join(directory, type === 'module' ? 'script.mjs' : 'script.cjs');
    await writeFile(file, source);
    const child = spawnChild({
      command: process.execPath,
      args: ['--no-warnings', file],
      cwd: directory,
      stdin: 'ignore',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const { code } = await child.exited;
    if (code !== 0) throw new Error(`The script ended with ${code}:\n${stderr}`);
    return { stdout, stderr };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
