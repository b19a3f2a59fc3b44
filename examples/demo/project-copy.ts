// A temporary copy of a project without ignored files, at most 50 MB, as a repository with one commit. Links stay links.

import { copyFile, lstat, mkdir, mkdtemp, readlink, realpath, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ToolError } from '@toolwright/core';
import { gitIn } from './git.js';

const MAX_BYTES = 50 * 1024 * 1024;

export interface ProjectCopy extends AsyncDisposable {
  projectDir: string;
  files: number;
  bytes: number;
  /** The number of files left out because of the limit. */
  leftOut: number;
}

export async function copyProject(source: string): Promise<ProjectCopy> {
  const found = await stat(source).catch(() => undefined); // missing or unreadable: reported below
  if (!found?.isDirectory()) {
    throw new ToolError('INVALID_ARGUMENT', `${source} is not a directory; pass a project directory.`);
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
    await commitCopy(copy.projectDir);
    return copy;
  } catch (error) {
    await copy[Symbol.asyncDispose]();
    throw error;
  }
}

async function commitCopy(projectDir: string): Promise<void> {
  await gitIn(projectDir, 'init', '--quiet', '--initial-branch=main');
  await gitIn(projectDir, 'config', 'user.name', 'Toolwright demo');
  await gitIn(projectDir, 'config', 'user.email', 'demo@example.invalid');
  await gitIn(projectDir, 'add', '--all');
  await gitIn(projectDir, 'commit', '--quiet', '--allow-empty', '--message=Copy of the project');
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
 * Lists the files that git does not ignore, in a repository or not. An empty repository elsewhere uses the directory as its
 * working tree, so that the directory's git configuration is not read.
 */
async function listFiles(source: string, gitDir: string): Promise<string[]> {
  await gitIn(tmpdir(), 'init', '--quiet', '--bare', gitDir);
  const listed = await gitIn(
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
