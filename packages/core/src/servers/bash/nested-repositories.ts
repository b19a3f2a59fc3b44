// Repositories that a sandboxed command makes inside the project and lists as submodules. git enters a submodule by
// itself, at a plain `git status`, and runs what its configuration names, so one that names anything is disabled: its
// `.git` is renamed. This is looked at when a command ends, and now and then while it runs. What counts as listed is what
// the index, the last commit and every commit that the command made list: the user may switch to any of them.

import { constants, lstatSync, readdirSync, readFileSync, statSync, type Stats } from 'node:fs';
import { open, readlink, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { spawnChild } from '../../process/index.js';
import { commonDirOf, gitDirOf } from '../configured-paths.js';
import type { GitProgram } from '../git-program.js';
import { isInside, quote, type ProjectScope } from '../project-scope.js';
import { isStandIn } from './stand-ins.js';
import { leftRecords, recordCommand } from './command-records.js';
import type { HeldRepositories } from './held-paths.js';

/** How often the index is looked at while a command runs. */
const LOOK_MS = 500;
/** New repositories that are judged; more are disabled unseen. */
const MAX_REPOSITORIES = 200;
const MAX_CONFIG_BYTES = 64 * 1024;
/** Of directories of references in each other. */
const MAX_DEPTH = 20;
/** Branches of which the last commit is listed by itself, as well as by the history of all. */
const MAX_TIPS = 200;
const GITLINK = '160000 ';

/** Looks after the repositories of one command. */
export class NestedRepositories {
  readonly #scope: ProjectScope;
  readonly #git: GitProgram;
  readonly #before: HeldRepositories;
  /** What the references of each repository led to when the command started. */
  readonly #tips: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #notices: string[];
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;

  readonly #forget: () => Promise<void>;

  /**
   * To be called before the command starts.
   *
   * @param notices what was disabled before, for the answer to this command
   */
  static async begin(
    scope: ProjectScope,
    git: GitProgram,
    before: HeldRepositories,
    notices: readonly string[],
  ): Promise<NestedRepositories> {
    const tips = new Map<string, ReadonlySet<string>>();
    for (const dotGit of before.all) tips.set(dotGit, await tipsOf(git, dotGit));
    const forget = await recordCommand({
      projectDir: scope.projectDir,
      all: [...before.all],
      listed: [...before.listed],
      tips: [...tips].map(([dotGit, each]) => [dotGit, [...each]]),
    });
    return new NestedRepositories(scope, git, before, tips, forget, [...notices]);
  }

  /** Judges what the commands of killed hosts made, before it counts as the user's. What was disabled, a sentence each. */
  static async judgeLeft(scope: ProjectScope, git: GitProgram): Promise<readonly string[]> {
    let notices: readonly string[] = [];
    for (const left of await leftRecords(scope.projectDir)) {
      const { record } = left;
      const before = { all: new Set(record.all), listed: new Set(record.listed) };
      const tips = new Map(record.tips.map(([dotGit, each]) => [dotGit, new Set(each)]));
      notices = await new NestedRepositories(scope, git, before, tips, () => left.remove(), [...notices]).stop();
    }
    return notices;
  }

  private constructor(
    scope: ProjectScope,
    git: GitProgram,
    before: HeldRepositories,
    tips: ReadonlyMap<string, ReadonlySet<string>>,
    forget: () => Promise<void>,
    notices: string[],
  ) {
    this.#scope = scope;
    this.#git = git;
    this.#before = before;
    this.#tips = tips;
    this.#forget = forget;
    this.#notices = notices;
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look(false).finally(() => (this.#looking = undefined));
    }, LOOK_MS).unref();
  }

  /** Looks for the last time. What was disabled, a sentence each. Never rejects. */
  async stop(): Promise<readonly string[]> {
    clearInterval(this.#timer);
    await this.#looking;
    await this.#look(true);
    await this.#forget();
    return this.#notices;
  }

  /** @param isOver the command has ended: repositories that it made are entered too, as their configuration stays as it is */
  async #look(isOver: boolean): Promise<void> {
    const queue = [...this.#before.all].map((dotGit) => ({ dotGit, isNew: false }));
    const made = new Set<string>();
    for (let next = queue.shift(); next; next = queue.shift()) {
      if (isOver) await readNewCommits(this.#git, next.dotGit, this.#tips.get(next.dotGit) ?? new Set());
      for (const directory of await gitlinksOf(this.#git, next.dotGit)) {
        const dotGit = await this.#disable(directory, next.isNew, made.size >= MAX_REPOSITORIES);
        if (dotGit === undefined || made.has(dotGit)) continue;
        made.add(dotGit);
        if (isOver) queue.push({ dotGit, isNew: true });
      }
    }
  }

  /**
   * Disables the repository in a directory when it is newly listed and names programs; its `.git` when it does not.
   *
   * @param inNew what lists it is newly listed itself: then git did not enter it before, whoever listed it
   */
  async #disable(directory: Buffer, inNew: boolean, isUnseen: boolean): Promise<string | undefined> {
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
      if (isText && ((!inNew && this.#before.listed.has(dotGit)) || !this.#isProtected(dotGit))) return undefined;
      const why = !isText
        ? 'its name is not UTF-8'
        : isUnseen
          ? `the command made more than ${MAX_REPOSITORIES}`
          : await this.#programsOf(dotGit, found.root.path);
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

  /** A linked working tree of the project's own repository has the configuration of that one. */
  async #programsOf(dotGit: string, root: string): Promise<string | undefined> {
    const gitDir = lstatOf(dotGit)?.isFile() ? gitDirOf(dotGit) : undefined;
    const common = gitDir === undefined ? undefined : commonDirOf(gitDir);
    const isOwn = this.#scope.roots.some(({ path }) => gitDirOf(join(path, '.git')) === common);
    if (gitDir !== undefined && gitDir !== common && isOwn && !(await isThere(join(gitDir, 'config.worktree'))))
      return undefined;
    return programsOf(dotGit, root);
  }

  #isProtected(path: string): boolean {
    const found = this.#scope.find(path);
    return found !== undefined && this.#scope.isProtected(found);
  }
}

/** The directories that the index, the last commit or a commit that a command made names as submodules. */
export async function gitlinksOf(git: GitProgram, dotGit: string): Promise<readonly Buffer[]> {
  const gitDir = gitDirOf(dotGit);
  if (gitDir === undefined) return [];
  const version = versionOf(gitDir);
  let links = known.get(dotGit);
  if (links?.version !== version) {
    const names = new Map<string, Buffer>();
    for (const args of [['ls-files', '--stage', '-z'], treeOf('HEAD')])
      await addGitlinks(names, runGit(git, dirname(dotGit), args));
    links = { version, names };
    known.set(dotGit, links);
  }
  const names = new Map([...links.names, ...(committed.get(dotGit) ?? [])]);
  return [...names.values()].map((name) => Buffer.concat([Buffer.from(`${dirname(dotGit)}/`), name]));
}

const known = new Map<string, { version: string; names: ReadonlyMap<string, Buffer> }>();
/** What commits that commands made name, wherever they are: a later command may come back to it. */
const committed = new Map<string, Map<string, Buffer>>();
const knownTips = new Map<string, { version: string; tips: ReadonlySet<string> }>();

/** Remembers the submodules of all commits that were not to be reached before. */
async function readNewCommits(git: GitProgram, dotGit: string, before: ReadonlySet<string>): Promise<void> {
  const top = dirname(dotGit);
  const made = [...(await tipsOf(git, dotGit))].filter((tip) => !before.has(tip));
  if (made.length === 0) return;
  const names = committed.get(dotGit) ?? new Map<string, Buffer>();
  committed.set(dotGit, names);
  // By themselves too: a commit whose parent is missing can be checked out, and has no history.
  for (const tip of made.slice(0, MAX_TIPS)) await addGitlinks(names, runGit(git, top, treeOf(tip)));
  const history = ['log', '--stdin', '--format=', '--raw', '--no-abbrev', '--no-renames', '--root', '-z'];
  const range = [...made, ...[...before].map((tip) => `^${tip}`)].map((each) => `${each}\n`).join('');
  let isGitlink = false; // the name comes in the next record
  for await (const record of runGit(git, top, [...history, '--diff-merges=first-parent', '--ignore-missing'], range)) {
    if (isGitlink) names.set(record, Buffer.from(record, 'latin1'));
    isGitlink = !isGitlink && /^\n*:\d+ 160000 /.test(record);
  }
}

/** What the references of a repository lead to. */
async function tipsOf(git: GitProgram, dotGit: string): Promise<ReadonlySet<string>> {
  const gitDir = gitDirOf(dotGit);
  if (gitDir === undefined) return new Set();
  const common = commonDirOf(gitDir);
  const files = ['packed-refs', 'reftable/tables.list'].map((file) => statsOf(join(common, file)));
  const version = [...files, ...referencesIn(join(common, 'refs'))].join('\0');
  const before = knownTips.get(common);
  if (before?.version === version) return before.tips;
  const tips = new Set<string>();
  for await (const tip of runGit(git, dirname(dotGit), ['for-each-ref', '--format=%(objectname)%00']))
    tips.add(tip.trim());
  knownTips.set(common, { version, tips });
  return tips;
}

/** What tells one state of the references that are files from another. Links are as good as what they lead to. */
function referencesIn(directory: string, depth = 0): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
      const path = join(directory, entry.name);
      const isDirectory = entry.isSymbolicLink() ? statSync(path).isDirectory() : entry.isDirectory();
      return isDirectory && depth < MAX_DEPTH ? referencesIn(path, depth + 1) : [path, statsOf(path)];
    });
  } catch {
    return []; // not there, or a link that leads nowhere: no reference to git either
  }
}

function treeOf(tip: string): string[] {
  return ['ls-tree', '-r', '-z', '--full-tree', tip];
}

async function addGitlinks(names: Map<string, Buffer>, records: AsyncIterable<string>): Promise<void> {
  for await (const record of records) {
    if (!record.startsWith(GITLINK)) continue;
    const name = record.slice(record.indexOf('\t') + 1);
    names.set(name, Buffer.from(name, 'latin1'));
  }
}

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

/** The records that git prints, each ended by NUL, as Latin-1. As many as it gives when it fails. */
async function* runGit(
  { command, searchPath }: GitProgram,
  top: string,
  args: readonly string[],
  stdin?: string,
): AsyncGenerator<string> {
  await using child = spawnChild({
    command,
    // No listing looks at files; this keeps a repository made by the command from naming anything all the same.
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
    stdin: stdin === undefined ? 'ignore' : 'pipe',
  });
  child.stdin?.on('error', () => {}); // it ended before it read all
  child.stdin?.end(stdin);
  let rest = '';
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    const records = (rest + chunk.toString('latin1')).split('\0');
    rest = records.pop() ?? '';
    yield* records;
  }
}

/** What git would run in a repository, or what keeps this from being told; undefined when it is as git itself makes it. */
async function programsOf(dotGit: string, root: string): Promise<string | undefined> {
  if (lstatOf(dotGit)?.isSymbolicLink()) return 'its .git is a link';
  const gitDir = gitDirOf(dotGit);
  if (gitDir === undefined || !lstatOf(gitDir)) return undefined; // leads nowhere
  if (!isInside(root, gitDir)) return 'its .git leads out of the project';
  for (const name of ['commondir', 'config.worktree']) if (await isThere(join(gitDir, name))) return `it has a ${name}`;
  const hook = hooksIn(join(gitDir, 'hooks'));
  if (hook !== undefined) return `it has the hook ${quote(hook)}`;
  const config = join(gitDir, 'config');
  if (!lstatOf(config)) return undefined;
  const text = readSmall(config);
  if (text === undefined) return 'its config is not a small file';
  const line = text.split('\n').find((each) => !isHarmless(each));
  return line === undefined ? undefined : `its config says ${quote(line.trim().slice(0, 200))}`;
}

/** False for a placeholder of a command that runs, too. */
async function isThere(path: string): Promise<boolean> {
  return lstatOf(path) !== undefined && !(await isStandIn(path));
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
