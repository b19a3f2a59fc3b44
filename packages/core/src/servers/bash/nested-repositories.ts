// Repositories that a sandboxed command makes inside the project and lists as submodules. git enters a submodule by
// itself, at a plain `git status`, and runs what its configuration names, so one that names anything is disabled: its
// `.git` is renamed. This is looked at when a command ends, and now and then while it runs.

import { constants, lstatSync, readdirSync, readFileSync, statSync, type Stats } from 'node:fs';
import { open, readlink, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { spawnChild } from '../../process/index.js';
import { commonDirOf, gitDirOf } from '../configured-paths.js';
import type { GitProgram } from '../git-program.js';
import { isInside, quote, type ProjectScope } from '../project-scope.js';

/** How often the index is looked at while a command runs. */
const LOOK_MS = 500;
/** New repositories that are judged; more are disabled unseen. */
const MAX_REPOSITORIES = 200;
const MAX_CONFIG_BYTES = 64 * 1024;
const GITLINK = '160000 ';

/** Looks after the repositories of one command. */
export class NestedRepositories {
  readonly #scope: ProjectScope;
  readonly #git: GitProgram;
  /** The `.git` of each repository that was there before, which the command could not change. */
  readonly #held: ReadonlySet<string>;
  readonly #notices: string[] = [];
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;

  constructor(scope: ProjectScope, git: GitProgram, held: ReadonlySet<string>) {
    this.#scope = scope;
    this.#git = git;
    this.#held = held;
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look(false).finally(() => (this.#looking = undefined));
    }, LOOK_MS).unref();
  }

  /** Looks for the last time. What was disabled, a sentence each. Never rejects. */
  async stop(): Promise<readonly string[]> {
    clearInterval(this.#timer);
    await this.#looking;
    await this.#look(true);
    return this.#notices;
  }

  /** @param isOver the command has ended: repositories that it made are entered too, as their configuration stays as it is */
  async #look(isOver: boolean): Promise<void> {
    const queue = [...this.#held];
    const seen = new Set(queue);
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      for (const directory of await gitlinksOf(this.#git, next)) {
        const made = await this.#disable(directory, seen.size - this.#held.size >= MAX_REPOSITORIES);
        if (made === undefined || seen.has(made)) continue;
        seen.add(made);
        if (isOver) queue.push(made);
      }
    }
  }

  /** Disables the repository in a directory when it is new and names programs; its `.git` when it is new and does not. */
  async #disable(directory: Buffer, isUnseen: boolean): Promise<string | undefined> {
    try {
      // Held open: a link that is swapped in leads nowhere else.
      await using handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
      const address = `/proc/self/fd/${handle.fd}`;
      const real = await readlink(address, 'buffer');
      const path = real.toString('utf8');
      const isText = Buffer.from(path).equals(real);
      const found = this.#scope.find(path);
      if (found?.root.mode !== 'rw' || !lstatOf(join(address, '.git'))) return undefined;
      const dotGit = join(path, '.git');
      if (isText && (this.#held.has(dotGit) || !this.#isProtected(dotGit))) return undefined;
      const why = !isText
        ? 'its name is not UTF-8'
        : isUnseen
          ? `the command made more than ${MAX_REPOSITORIES}`
          : programsOf(dotGit, found.root.path);
      if (why === undefined) return dotGit;
      const name = await freeName(address);
      await rename(join(address, '.git'), join(address, name));
      this.#notices.push(
        `the repository in ${quote(found.shown)} is listed as a submodule, and git would run programs in it at the next git status: ` +
          `${why}. Its .git was renamed to ${name}. Look at it, and rename it back if it is meant to be there`,
      );
      return undefined;
    } catch {
      return undefined; // not there any more, or not ours to enter: then git does not enter it either
    }
  }

  #isProtected(path: string): boolean {
    const found = this.#scope.find(path);
    return found !== undefined && this.#scope.isProtected(found);
  }
}

/** The directories that the index or the last commit of a repository names as submodules. */
export async function gitlinksOf(git: GitProgram, dotGit: string): Promise<readonly Buffer[]> {
  const gitDir = gitDirOf(dotGit);
  if (gitDir === undefined) return [];
  const version = versionOf(gitDir);
  const before = known.get(dotGit);
  if (before?.version === version) return before.directories;
  const top = dirname(dotGit);
  const names = new Map<string, Buffer>();
  for (const args of [
    ['ls-files', '--stage', '-z'],
    ['ls-tree', '-r', '-z', '--full-tree', 'HEAD'],
  ]) {
    for (const name of await runGit(git, top, args)) names.set(name.toString('latin1'), name);
  }
  const directories = [...names.values()].map((name) => Buffer.concat([Buffer.from(`${top}/`), name]));
  known.set(dotGit, { version, directories });
  return directories;
}

const known = new Map<string, { version: string; directories: readonly Buffer[] }>();

/** What tells one state of the index and of the last commit from another. */
function versionOf(gitDir: string): string {
  const common = commonDirOf(gitDir);
  const head = readSmall(join(gitDir, 'HEAD'));
  const [, branch] = /^ref: (refs\/[^\0\n]+)\n?$/.exec(head ?? '') ?? [];
  const files = [join(gitDir, 'index'), join(common, 'packed-refs'), join(common, 'reftable/tables.list')];
  if (branch !== undefined) files.push(join(common, branch));
  return [head, ...files.map(statsOf)].join('\0');
}

function statsOf(file: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return [ino, size, mtimeNs, ctimeNs].join(' ');
  } catch {
    return ''; // not there
  }
}

/** The names of the submodules that git prints. None when git fails: then it enters none either. */
async function runGit({ command, searchPath }: GitProgram, top: string, args: readonly string[]): Promise<Buffer[]> {
  await using child = spawnChild({
    command,
    // Neither listing looks at files; this keeps a repository made by the command from naming anything all the same.
    args: ['-c', 'safe.directory=*', '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', ...args],
    cwd: top,
    env: {
      PATH: searchPath,
      LC_ALL: 'C',
      GIT_CEILING_DIRECTORIES: dirname(top),
      GIT_OPTIONAL_LOCKS: '0',
      GIT_ALLOW_PROTOCOL: 'none',
      GIT_NO_LAZY_FETCH: '1',
      GIT_TERMINAL_PROMPT: '0',
    },
    stdin: 'ignore',
  });
  const names: Buffer[] = [];
  let rest = '';
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    const records = (rest + chunk.toString('latin1')).split('\0');
    rest = records.pop() ?? '';
    for (const record of records) {
      if (record.startsWith(GITLINK)) names.push(Buffer.from(record.slice(record.indexOf('\t') + 1), 'latin1'));
    }
  }
  return names;
}

/** What git would run in a repository, or what keeps this from being told; undefined when it is as git itself makes it. */
function programsOf(dotGit: string, root: string): string | undefined {
  if (lstatOf(dotGit)?.isSymbolicLink()) return 'its .git is a link';
  const gitDir = gitDirOf(dotGit);
  if (gitDir === undefined || !lstatOf(gitDir)) return undefined; // leads nowhere
  if (!isInside(root, gitDir)) return 'its .git leads out of the project';
  for (const name of ['commondir', 'config.worktree']) if (lstatOf(join(gitDir, name))) return `it has a ${name}`;
  const hook = hooksIn(join(gitDir, 'hooks'));
  if (hook !== undefined) return `it has the hook ${quote(hook)}`;
  const config = join(gitDir, 'config');
  if (!lstatOf(config)) return undefined;
  const text = readSmall(config);
  if (text === undefined) return 'its config is not a small file';
  const line = text.split('\n').find((each) => !isHarmless(each));
  return line === undefined ? undefined : `its config says ${quote(line.trim().slice(0, 200))}`;
}

/** The first file among the hooks that git does not put there as an example. */
function hooksIn(directory: string): string | undefined {
  const stats = lstatOf(directory);
  if (!stats) return undefined;
  if (!stats.isDirectory()) return '';
  return readdirSync(directory).find((name) => !name.endsWith('.sample'));
}

const HARMLESS_HEADER = /^\[(?:core|user|init|extensions|(?:remote|branch|submodule) "[^"\\]*")\]$/;
/**
 * What git itself writes into a new repository. Only whole lines of this form count as read: what could continue on the
 * next line, or stands beside a header, could be read in another way by git.
 */
const HARMLESS_LINE =
  /^\t(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|worktree|objectformat|url|fetch|pushurl|active|remote|merge|rebase|name|email|defaultBranch) = [^\\"#;]*$/i;

function isHarmless(line: string): boolean {
  return line === '' || HARMLESS_HEADER.test(line) || HARMLESS_LINE.test(line);
}

async function freeName(address: string): Promise<string> {
  for (let number = 1; ; number++) {
    const name = number === 1 ? '.git.disabled' : `.git.disabled-${number}`;
    if (!lstatOf(join(address, name))) return name;
  }
}

function lstatOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined; // not there
  }
}

/** The text of a small regular file. A FIFO is not waited for. */
function readSmall(file: string): string | undefined {
  try {
    const stats = statSync(file);
    if (!stats.isFile() || stats.size > MAX_CONFIG_BYTES) return undefined;
    return readFileSync(file, { encoding: 'utf8', flag: (constants.O_RDONLY | constants.O_NONBLOCK) as never });
  } catch {
    return undefined; // not there
  }
}
