// Runs git on the data of a repository that a command could write, without its configuration, grafts and replaced objects:
// the configuration could run programs on the host (to check signatures, for example), the others could hide a commit. git
// gets a temporary directory with links to the references and the index.

import { constants, lstatSync, readdirSync, readFileSync, readlinkSync, statSync, type Stats } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import type { GitProgram } from '../../project/git/git-program.js';
import { runGit } from '../../project/git/run-git.js';
import { commonDirOf } from '../../project/scope/configured-paths.js';
import { quote } from '../../project/scope/project-scope.js';

/** For one run of git. */
const TIMEOUT_MS = 5_000;
const MAX_SMALL_BYTES = 64 * 1024;

/** git in a temporary directory for one repository. */
export interface IsolatedGit {
  /** Outside the project. */
  directory: string;
  /**
   * Passes the NUL-terminated records that git prints to a function, as Latin-1.
   *
   * @param env added to the environment of every run
   * @throws {ToolError} when git fails or exceeds its time
   */
  list: (
    args: readonly string[],
    onRecord: (record: string) => void,
    options?: { stdin?: Buffer; env?: Record<string, string> },
  ) => Promise<void>;
}

/**
 * Calls a function with git for a repository, given by the directory of its data.
 *
 * @throws {ToolError} NOT_A_REPOSITORY when git would not find a repository
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
      list: (args, onRecord, options) => list(git, { directory, gitDir, common }, args, onRecord, options),
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
    return []; // missing
  }
}

/** The text of HEAD; undefined when git would not accept it. It may be a link, as early versions of git made it. */
export function headOf(gitDir: string): string | undefined {
  const file = join(gitDir, 'HEAD');
  try {
    const stats = lstatSync(file);
    const text = stats.isSymbolicLink() ? `ref: ${readlinkSync(file)}` : readSmall(file);
    return text !== undefined && /^(?:ref:\s*refs\/[^\0\n]+|[0-9a-f]{40,64})\s*$/.test(text)
      ? `${text.trim()}\n`
      : undefined;
  } catch {
    return undefined; // missing
  }
}

/** The text of a small regular file; undefined for anything else. Does not hang on a FIFO. */
export function readSmall(file: string): string | undefined {
  const stats = statsOf(file);
  if (!stats?.isFile() || stats.size > MAX_SMALL_BYTES) return undefined;
  try {
    return readFileSync(file, { encoding: 'utf8', flag: (constants.O_RDONLY | constants.O_NONBLOCK) as never });
  } catch {
    return undefined; // deleted meanwhile, or not readable
  }
}

/** The format of the repository's data, and nothing else of its configuration. */
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
  onRecord: (record: string) => void,
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
      for (const record of records) onRecord(record);
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
    return undefined; // a cycle of links, or a file in place of a directory
  }
}
