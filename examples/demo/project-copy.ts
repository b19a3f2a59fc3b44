// A throw-away copy of a project: what git does not ignore, links kept, at most 50 MB.

import { copyFile, lstat, mkdir, mkdtemp, readlink, realpath, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ToolError } from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';

const MAX_BYTES = 50 * 1024 * 1024;

export interface ProjectCopy extends AsyncDisposable {
  projectDir: string;
  files: number;
  bytes: number;
  /** Files that the limit left out. */
  leftOut: number;
}

export async function copyProject(source: string): Promise<ProjectCopy> {
  const found = await stat(source).catch(() => undefined); // missing, or not to be read: told below
  if (!found?.isDirectory()) {
    throw new ToolError('INVALID_ARGUMENT', `${source} is not a directory; name a project directory.`);
  }
  const home = await realpath(await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-demo-`)));
  const copy: ProjectCopy = {
    projectDir: join(home, 'project'),
    files: 0,
    bytes: 0,
    leftOut: 0,
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  };
  try {
    await mkdir(copy.projectDir);
    for (const path of await listFiles(source, join(home, 'git'))) await copyOne(source, path, copy);
    return copy;
  } catch (error) {
    await copy[Symbol.asyncDispose]();
    throw error;
  }
}

async function copyOne(source: string, path: string, copy: ProjectCopy): Promise<void> {
  const from = join(source, path);
  const to = join(copy.projectDir, path);
  const found = await lstat(from);
  if (!found.isFile() && !found.isSymbolicLink()) return; // a nested repository, a socket, a device
  if (copy.bytes + found.size > MAX_BYTES) {
    copy.leftOut++;
    return;
  }
  await mkdir(dirname(to), { recursive: true });
  if (found.isSymbolicLink()) await symlink(await readlink(from), to);
  else await copyFile(from, to);
  copy.files++;
  copy.bytes += found.size;
}

/**
 * What git does not ignore, in a repository or not: an empty repository elsewhere looks at the directory, so that
 * nothing of the directory's own git configuration is read.
 */
async function listFiles(source: string, gitDir: string): Promise<string[]> {
  await git(tmpdir(), 'init', '--quiet', '--bare', gitDir);
  const listed = await git(
    source,
    `--git-dir=${gitDir}`,
    `--work-tree=${source}`,
    'ls-files',
    '--others',
    '--exclude-standard',
    '-z',
  );
  return listed.split('\0').filter((path) => path !== '' && !path.endsWith('/'));
}

async function git(cwd: string, ...args: string[]): Promise<string> {
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
