// The project's repository, opened for one call: located, checked to be the project's, and with its configured programs
// overridden.

import { lstat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import type { ToolContext } from '../../../tool/define-tool.js';
import { commonDirOf, gitDirOf } from '../../project/scope/configured-paths.js';
import { showName } from '../../project/open/directory-entries.js';
import { withLock } from '../../project/write/file-lock.js';
import { quote } from '../../project/scope/project-scope.js';
import type { GitContext } from '../git-context.js';
import { findGit, type GitProgram } from '../../project/git/git-program.js';
import { waitForIndexLock } from './index-lock.js';
import { assertNoLinksOut } from '../hardening/metadata-links.js';
import { GitPath } from '../git-paths.js';
import {
  carriedSettings,
  includesOf,
  neutralSettings,
  parseConfig,
  type ConfigEntry,
} from '../hardening/repository-config.js';
import { locateRepository, type RepositoryPlace } from './repository-place.js';
import { runGit, type GitOutcome, type GitRun } from '../../project/git/run-git.js';
import { configEnvironment, gitEnvironment, type Setting } from '../hardening/git-settings.js';
import { submoduleEntries } from '../hardening/submodules.js';

/** Options of a git command. */
export interface RunOptions extends Pick<GitRun, 'stdin' | 'accept' | 'onOutput'> {
  /** Passed as arguments, after `--`. */
  paths?: readonly GitPath[];
  /** Passed through stdin, for commands that support it, so that no list is too long. Not empty. */
  pathInput?: readonly GitPath[];
  /** The allowed transports; also sets the network timeout. Default: none. */
  protocols?: readonly string[];
  /** True if it runs hooks, which need the longer timeout. */
  hooks?: boolean;
  /** True if it creates pathspec patterns itself and receives no paths. */
  patterns?: boolean;
}

/** The project's repository, for one call. */
export class Repository {
  readonly context: GitContext;
  /** The top level of the working tree: the project, or a directory in it. */
  readonly top: string;
  /** The git directory of this working tree. */
  readonly gitDir: string;
  readonly commonDir: string;
  /** The whole configuration; empty for a trusted repository, where it is not needed. */
  readonly config: readonly ConfigEntry[];
  readonly #program: GitProgram;
  readonly #settings: readonly Setting[];
  readonly #includes: ReturnType<typeof includesOf>;
  readonly #ctx: Pick<ToolContext, 'signal' | 'progress'>;

  private constructor(
    context: GitContext,
    ctx: Pick<ToolContext, 'signal' | 'progress'>,
    program: GitProgram,
    place: RepositoryPlace,
    config: readonly ConfigEntry[],
    settings: readonly Setting[],
    includes: ReturnType<typeof includesOf>,
  ) {
    this.context = context;
    this.#ctx = ctx;
    this.#program = program;
    this.top = place.top;
    this.gitDir = place.gitDir;
    this.commonDir = place.commonDir;
    this.config = config;
    this.#settings = settings;
    this.#includes = includes;
  }

  /**
   * Opens the project's repository.
   *
   * @throws {ToolError} NOT_A_REPOSITORY; OUTSIDE_PROJECT when its working tree or its data is elsewhere;
   *   PERMISSION_DENIED when git refuses its owner; UNAVAILABLE without git
   */
  static async open(context: GitContext, ctx: Pick<ToolContext, 'signal' | 'progress'>): Promise<Repository> {
    const { scope } = context.files;
    const { projectDir } = scope;
    const program = await findGit(scope);
    const trusted = context.trust === 'trusted';
    await assertReadable(projectDir);
    const config = trusted ? [] : await readConfig(context, ctx.signal, program, projectDir);
    const settings = [...carriedSettings(config), ...neutralSettings(config)];
    const env = gitEnvironment({ program, projectDir, trusted, settings, readOnly: true });
    const place = await locateRepository(projectDir, (args) =>
      run(context, ctx.signal, program, projectDir, env, args),
    );
    let below: readonly ConfigEntry[] = [];
    if (!trusted) {
      await assertNoLinksOut(scope, place.gitDir, place.commonDir);
      // Applies to submodules too, which git enters by itself.
      const inside = (cwd: string): Record<string, string> => (cwd === place.top ? env : { ...env, GIT_DIR: '.git' });
      below = await submoduleEntries({
        top: place.top,
        list: (cwd, onOutput) =>
          run(context, ctx.signal, program, cwd, inside(cwd), ['ls-files', '--stage', '-z'], onOutput),
        topOf: async (cwd) =>
          (await run(context, ctx.signal, program, cwd, inside(cwd), ['rev-parse', '--show-toplevel'])).stdout
            .toString('utf8')
            .replace(/\n$/, ''),
        config: (cwd) => readConfig(context, ctx.signal, program, cwd, { GIT_DIR: '.git' }),
      });
      for (const setting of neutralSettings(below)) settings.push(setting);
    }
    return new Repository(context, ctx, program, place, config, settings, includesOf([...config, ...below]));
  }

  /** Like {@link open}, for a change: one at a time per repository, and not while the index is locked. */
  static async change<T>(
    context: GitContext,
    ctx: Pick<ToolContext, 'signal' | 'progress'>,
    change: (repository: Repository) => Promise<T>,
  ): Promise<T> {
    return withLock(`git ${context.files.scope.projectDir}`, async () => {
      ctx.signal.throwIfAborted();
      const repository = await Repository.open(context, ctx);
      await waitForIndexLock(repository.gitDir, ctx.signal);
      return change(repository);
    });
  }

  get trusted(): boolean {
    return this.context.trust === 'trusted';
  }

  get signal(): AbortSignal {
    return this.#ctx.signal;
  }

  /** Runs a read-only git command, which takes no lock. */
  read(args: readonly string[], options: RunOptions = {}): Promise<GitOutcome> {
    return this.#run(args, options, true);
  }

  /** Runs a git command that changes something. */
  write(args: readonly string[], options: RunOptions = {}): Promise<GitOutcome> {
    return this.#run(args, options, false);
  }

  #run(
    args: readonly string[],
    { protocols, hooks, patterns, paths, pathInput, ...options }: RunOptions,
    readOnly: boolean,
  ): Promise<GitOutcome> {
    // Paths after `--` must be checked.
    if (args.includes('--')) throw new ToolError('INTERNAL', 'The paths of a git run must be passed as `paths`.');
    const { context, trusted } = this;
    const { projectDir } = context.files.scope;
    // Otherwise a change of several steps would enter submodules that its first step added.
    const settings =
      readOnly || trusted ? this.#settings : [...this.#settings, ['diff.ignoreSubmodules', 'dirty'] as const];
    return runGit({
      ...options,
      ...(pathInput && { stdin: Buffer.from(pathInput.map(({ name }) => `${name}\0`).join('')) }),
      command: this.#program.command,
      args: [
        ...args,
        ...(pathInput ? ['--pathspec-from-file=-', '--pathspec-file-nul'] : []),
        ...(paths ? ['--', ...paths.map(({ name }) => name)] : []),
      ],
      cwd: this.top,
      env: gitEnvironment({ program: this.#program, projectDir, trusted, settings, readOnly, patterns, protocols }),
      timeoutMs: protocols || (hooks && trusted) ? context.networkTimeoutMs : context.timeoutMs,
      signal: this.#ctx.signal,
      onProgress: (bytes) =>
        this.#ctx.progress({ progress: bytes, message: `git ${args[0]} is at work, ${bytes} bytes so far` }),
    });
  }

  /** Converts a path of git, relative to the top level, to one relative to the project, as shown in results. */
  shown(path: Buffer | string): string {
    const name = typeof path === 'string' ? path : showName(path);
    const prefix = relative(this.context.files.scope.projectDir, this.top).split(sep).join('/');
    return prefix === '' ? name : `${prefix}/${name}`;
  }

  /**
   * Checks a caller's paths, for git.
   *
   * @throws {ToolError} OUTSIDE_PROJECT, INVALID_ARGUMENT as {@link GitPath.check}
   */
  async paths(given: readonly string[]): Promise<GitPath[]> {
    const paths: GitPath[] = [];
    for (const path of given) paths.push(await this.path(path));
    return paths;
  }

  /** Like {@link paths}, for one path. */
  path(given: string): Promise<GitPath> {
    return GitPath.check(this.context.files.scope, this.top, given);
  }

  /**
   * Refuses an operation of several git commands when the configuration includes files that the first command could
   * change.
   *
   * @throws {ToolError} PERMISSION_DENIED
   */
  assertConfigStays(kind: 'one-git' | 'several-gits'): void {
    const includes = this.#includes;
    if (includes === 'none' || (includes === 'fixed' && kind === 'one-git')) return;
    throw new ToolError(
      'PERMISSION_DENIED',
      "The repository's configuration includes other files, which may change meanwhile and name programs to run. " +
        "The operator can remove the include, or open it with trust: 'trusted'.",
    );
  }
}

/** Checks the files that git reads first: on a FIFO it would hang. @throws {ToolError} NOT_A_REPOSITORY */
async function assertReadable(projectDir: string): Promise<void> {
  const gitDir = gitDirOf(join(projectDir, '.git'));
  if (gitDir === undefined) return; // git reports it
  const files = ['commondir', 'config.worktree', 'HEAD', 'index', 'packed-refs'].map((name) => join(gitDir, name));
  for (const file of [join(projectDir, '.git'), ...files, join(commonDirOf(gitDir), 'config')]) {
    const stats = await lstat(file).catch(() => undefined); // git reports what is missing
    if (!stats || stats.isFile() || stats.isDirectory() || stats.isSymbolicLink()) continue;
    throw new ToolError(
      'NOT_A_REPOSITORY',
      `${quote(file)} is not a regular file. Ask the operator to replace it with one.`,
    );
  }
}

async function run(
  context: GitContext,
  signal: AbortSignal,
  program: GitProgram,
  cwd: string,
  env: Record<string, string>,
  args: readonly string[],
  onOutput?: (chunk: Buffer) => boolean,
): Promise<GitOutcome> {
  return runGit({ command: program.command, args, cwd, env, timeoutMs: context.timeoutMs, signal, onOutput });
}

async function readConfig(
  context: GitContext,
  signal: AbortSignal,
  program: GitProgram,
  cwd: string,
  extraEnv: Record<string, string> = {},
): Promise<ConfigEntry[]> {
  const env = { ...configEnvironment(program, cwd), ...extraEnv };
  const { stdout, cut } = await run(context, signal, program, cwd, env, ['config', '--list', '--show-scope', '-z']);
  if (cut) throw new ToolError('TOO_LARGE', "The repository's configuration is larger than 8 MiB and was not read.");
  return parseConfig(stdout);
}
