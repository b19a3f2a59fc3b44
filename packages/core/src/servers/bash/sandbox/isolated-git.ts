// git over the data of a repository that a command could write, without anything that the repository says: its
// configuration could name programs (to check signatures, for one), which would run on the host, and its grafts and
// replaced objects could hide a commit. git gets a directory of its own, with links to the references and the index.

import { constants, lstatSync, readdirSync, readFileSync, readlinkSync, statSync, type Stats } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import type { GitProgram } from '../../project/git/git-program.js';
import { runGit } from '../../project/git/run-git.js';
import { commonDirOf } from '../../project/scope/configured-paths.js';
import { quote } from '../../project/scope/project-scope.js';

/** For one run. What git does not list by then is not judged. */
const TIMEOUT_MS = 5_000;
const MAX_SMALL_BYTES = 64 * 1024;

/** git in the directory made for one repository. */
export interface IsolatedGit {
  /** Outside the project. */
  directory: string;
  /**
   * Gives the records that git prints, each ended by NUL, as Latin-1.
   *
   * @param env beside what every run gets
   * @throws {ToolError} when git does not list to the end
   */
  list: (
    args: readonly string[],
    take: (record: string) => void,
    options?: { stdin?: Buffer; env?: Record<string, string> },
  ) => Promise<void>;
}

/**
 * Runs git for a repository, given by the directory of its data.
 *
 * @throws {ToolError} NOT_A_REPOSITORY where git would find none; what `use` throws
 */
export async function withIsolatedGit<T>(
  git: GitProgram,
  gitDir: string,
  use: (isolated: IsolatedGit) => Promise<T>,
): Promise<T> {
  const common = commonDirOf(gitDir);
  const head = headOf(gitDir);
  if (head === undefined || !isDirectory(join(common, 'objects')) || !isDirectory(join(common, 'refs')))
    throw new ToolError('NOT_A_REPOSITORY', `${quote(gitDir)} is not the data of a repository.`);
  const directory = await mkdtemp(join(tmpdir(), 'toolwright-git-'));
  try {
    await writeFile(join(directory, 'HEAD'), head);
    await writeFile(join(directory, 'config'), configFor(common));
    await mkdir(join(directory, 'objects'));
    await symlink(join(common, 'refs'), join(directory, 'refs'));
    for (const name of ['packed-refs', 'reftable', 'shallow'])
      if (statsOf(join(common, name))) await symlink(join(common, name), join(directory, name));
    for (const name of sharedIndexes(gitDir)) await symlink(join(gitDir, name), join(directory, name));
    return await use({
      directory,
      list: (args, take, options) => list(git, { directory, gitDir, common }, args, take, options),
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The parts of a split index. https://git-scm.com/docs/git-update-index#_split_index */
export function sharedIndexes(gitDir: string): string[] {
  try {
    return readdirSync(gitDir).filter((name) => name.startsWith('sharedindex.'));
  } catch {
    return []; // not there
  }
}

/** What HEAD says, as a text; undefined when git would not read it. It may be a link, as git made it long ago. */
export function headOf(gitDir: string): string | undefined {
  const file = join(gitDir, 'HEAD');
  try {
    const stats = lstatSync(file);
    const text = stats.isSymbolicLink() ? `ref: ${readlinkSync(file)}` : readSmall(file);
    return text !== undefined && /^(?:ref:\s*refs\/[^\0\n]+|[0-9a-f]{40,64})\s*$/.test(text)
      ? `${text.trim()}\n`
      : undefined;
  } catch {
    return undefined; // not there
  }
}

/** The text of a small regular file. A FIFO is not waited for. */
export function readSmall(file: string): string | undefined {
  const stats = statsOf(file);
  if (!stats?.isFile() || stats.size > MAX_SMALL_BYTES) return undefined;
  try {
    return readFileSync(file, { encoding: 'utf8', flag: (constants.O_RDONLY | constants.O_NONBLOCK) as never });
  } catch {
    return undefined; // gone meanwhile, or not ours to read
  }
}

/** How the repository's data is kept, and nothing else of its configuration. */
function configFor(common: string): string {
  const given = readSmall(join(common, 'config')) ?? '';
  const extensions = [...given.matchAll(/^\s*(objectformat|refstorage)\s*=\s*(\w+)\s*$/gim)].map(
    ([, name, value]) => `\t${name} = ${value}\n`,
  );
  const version = extensions.length > 0 ? 1 : 0;
  return `[core]\n\trepositoryformatversion = ${version}\n\tbare = true\n[extensions]\n${extensions.join('')}`;
}

async function list(
  { command, searchPath }: GitProgram,
  { directory, gitDir, common }: { directory: string; gitDir: string; common: string },
  args: readonly string[],
  take: (record: string) => void,
  { stdin, env }: { stdin?: Buffer; env?: Record<string, string> } = {},
): Promise<void> {
  let rest = '';
  await runGit({
    command,
    args,
    cwd: directory,
    env: {
      PATH: searchPath,
      LC_ALL: 'C',
      GIT_DIR: directory,
      GIT_OBJECT_DIRECTORY: join(common, 'objects'),
      GIT_INDEX_FILE: join(gitDir, 'index'),
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_ATTR_NOSYSTEM: '1',
      GIT_NO_REPLACE_OBJECTS: '1',
      GIT_OPTIONAL_LOCKS: '0',
      GIT_ALLOW_PROTOCOL: 'none',
      GIT_NO_LAZY_FETCH: '1',
      GIT_TERMINAL_PROMPT: '0',
      ...env,
    },
    stdin,
    timeoutMs: TIMEOUT_MS,
    signal: new AbortController().signal,
    onOutput(chunk) {
      const records = (rest + chunk.toString('latin1')).split('\0');
      rest = records.pop() ?? '';
      for (const record of records) take(record);
      return true;
    },
  });
}

function isDirectory(path: string): boolean {
  return statsOf(path)?.isDirectory() ?? false;
}

function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // a link in a circle, a file for a directory
  }
}
