// Protects what mount masks alone cannot: a mask is lost when the host replaces its file, and most of `.git` is writable.
// Checks while the command runs, and once more after it has ended.

import { deferred } from '../../../call/waiting.js';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import type { GitProgram } from '../../project/git/git-program.js';
import { quote, type ProjectScope } from '../../project/scope/project-scope.js';
import { leftRecords, recordCommand, type CommandRecord } from './command-records.js';
import { gitTracesOf, traceKey, undoTrace } from './git-traces.js';
import { isReplaced, undoReplaced } from './mount-watch.js';
import type { MountMasks } from './mount-masks.js';
import { NestedRepositories } from './nested-repositories.js';
import { tipsOf } from './repository-listing.js';

/** How often masks are checked while a command runs. */
const MASK_CHECK_MS = 50;
/** How often repositories are reviewed. */
const REVIEW_MS = 500;

/** git commands that work through steps. */
const SEQUENCER_COMMANDS: ReadonlySet<string> = new Set(['rebase', 'am', 'cherry-pick', 'revert', 'pull']);

/** Traces that such a git, while it runs, still needs. */
const SEQUENCER_TRACES: ReadonlySet<string> = new Set(['steps', 'resolutions']);

/** Guards one command. */
export class CommandGuard {
  /** Resolves when a mask is lost. The command must then be ended immediately. */
  readonly broken: Promise<void>;
  readonly #review: CommandReview;
  readonly #masks: MountMasks;
  #notices: readonly string[];
  readonly #timers: readonly NodeJS.Timeout[];
  #reviewing: Promise<void> | undefined;

  /**
   * To be called before the command starts.
   *
   * @param notices clauses about earlier commands, for the answer to this one
   */
  static async start(
    scope: ProjectScope,
    git: GitProgram | undefined,
    masks: MountMasks,
    notices: readonly string[],
  ): Promise<CommandGuard> {
    const { all, listed } = masks.repositories;
    const tips: CommandRecord['tips'] = [];
    // If git cannot list them, everything that it lists afterwards counts as new.
    if (git) for (const dotGit of all) tips.push([dotGit, Array.from(await tipsOf(git, dotGit).catch(() => []))]);
    const { traces } = await gitTracesOf(scope, all);
    const record: CommandRecord = {
      projectDir: scope.projectDir,
      all: [...all],
      listed: [...listed],
      tips,
      traces: traces.map(traceKey),
      masked: [...masks.entries.masked],
    };
    const forget = await recordCommand(record);
    return new CommandGuard(scope, new CommandReview(scope, git, record, forget), masks, notices);
  }

  private constructor(scope: ProjectScope, review: CommandReview, masks: MountMasks, notices: readonly string[]) {
    this.#review = review;
    this.#masks = masks;
    this.#notices = notices;
    const entries = masks.entries.masked.concat(masks.entries.pinned);
    const { promise, resolve } = deferred();
    this.broken = promise;
    const maskTimer = setInterval(() => {
      const replaced = entries.find((entry) => isReplaced(entry));
      if (!replaced) return;
      clearInterval(maskTimer);
      const shown = quote(scope.find(replaced.path)?.shown ?? replaced.path);
      this.#add([
        `${shown} was replaced on the host, so that the sandbox no longer protected it: the command was ended`,
      ]);
      resolve();
    }, MASK_CHECK_MS).unref();
    const reviewTimer = setInterval(() => {
      this.#reviewing ??= this.#reviewNow().finally(() => (this.#reviewing = undefined));
    }, REVIEW_MS).unref();
    this.#timers = [maskTimer, reviewTimer];
  }

  async #reviewNow(): Promise<void> {
    this.#add(await this.#review.review(false));
  }

  /** Reviews for the last time, and removes the placeholders. Returns what was undone, a clause each. Never rejects. */
  async stop(): Promise<readonly string[]> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#reviewing;
    this.#add(await this.#review.restoreReplaced());
    await this.#masks.release();
    this.#add(await this.#review.review(true));
    this.#add(await reviewUnread(this.#review));
    return this.#notices;
  }

  #add(notices: readonly string[]): void {
    this.#notices = this.#notices.concat(notices);
  }
}

/** Reviews the commands of killed hosts, before their results count as the user's. Returns what was undone, a clause each. */
export async function reviewLeftCommands(scope: ProjectScope, git: GitProgram | undefined): Promise<readonly string[]> {
  const notices: (readonly string[])[] = [];
  for (const left of await leftRecords(scope.projectDir)) {
    const review = new CommandReview(scope, git, left.record, () => left.remove(), left.endedBy);
    notices.push(await review.restoreReplaced(), await review.review(true));
  }
  notices.push(await reviewUnread());
  return notices.flat();
}

/** By project: the first command after which git could not list everything, until it can. Later ones add nothing. */
const unlistedReviews = new Map<string, CommandReview>();

/** Reviews again what git could not list before. */
async function reviewUnread(except?: CommandReview): Promise<readonly string[]> {
  const notices: (readonly string[])[] = [];
  for (const review of [...unlistedReviews.values()]) if (review !== except) notices.push(await review.review(true));
  return notices.flat();
}

/** Compares masked entries and repositories with their state before one command. */
class CommandReview {
  readonly #scope: ProjectScope;
  readonly #record: CommandRecord;
  readonly #traces: ReadonlySet<string>;
  readonly #nested: NestedRepositories | undefined;
  readonly #forget: () => Promise<void>;
  readonly #endedBy: number | undefined;

  /** @param endedBy for a killed host: files created after this time, in milliseconds since 1970, are the user's */
  constructor(
    scope: ProjectScope,
    git: GitProgram | undefined,
    record: CommandRecord,
    forget: () => Promise<void>,
    endedBy?: number,
  ) {
    this.#scope = scope;
    this.#record = record;
    this.#forget = forget;
    this.#endedBy = endedBy;
    this.#traces = new Set(record.traces);
    const before = { all: new Set(record.all), listed: new Set(record.listed) };
    const tips = new Map(record.tips.map(([dotGit, each]) => [dotGit, new Set(each)]));
    this.#nested = git && new NestedRepositories(scope, git, before, tips);
  }

  /** Restores masked entries after the command has ended. */
  async restoreReplaced(): Promise<readonly string[]> {
    const notices: string[] = [];
    for (const entry of this.#record.masked) {
      const undone = await undoReplaced(this.#scope, entry, this.#endedBy);
      if (undone !== undefined) notices.push(undone);
    }
    return notices;
  }

  /**
   * Undoes traces by which git would run programs or write elsewhere. The last review also covers unfinished steps, which
   * another git may be working through, and all commits. What git cannot list is reviewed again with the next commands,
   * even by a later host.
   */
  async review(isOver: boolean): Promise<readonly string[]> {
    const notices: string[] = [];
    const { traces, isComplete } = await gitTracesOf(this.#scope, this.#record.all);
    for (const trace of traces) {
      if (this.#traces.has(traceKey(trace))) continue;
      // A git that works through them still needs them.
      if (SEQUENCER_TRACES.has(trace.kind) && (!isOver || sequencerRunsOnHost(this.#scope))) continue;
      const undone = await undoTrace(this.#scope, trace, this.#endedBy);
      if (undone !== undefined) notices.push(undone);
    }
    if (isOver && !isComplete) notices.push('.git has too many files to check, so links among them may lead elsewhere');
    const nested = await this.#nested?.review(isOver);
    const unlisted = isOver ? await this.#retainUnlisted(nested?.unlisted ?? new Map<string, string>()) : [];
    return notices.concat(nested?.disabled ?? [], unlisted);
  }

  async #retainUnlisted(failures: ReadonlyMap<string, string>): Promise<string[]> {
    const { projectDir } = this.#scope;
    const retained = unlistedReviews.get(projectDir);
    const [failure] = failures;
    if (failure && (retained === undefined || retained === this)) {
      unlistedReviews.set(projectDir, this);
      if (retained === this) return [];
      const [dotGit, why] = failure;
      const shown = quote(this.#scope.find(dotGit)?.shown ?? dotGit);
      return [
        `git cannot list everything in ${shown}, so new submodules may not have been checked; they will be when it can. Its message: ${why}`,
      ];
    }
    if (retained === this) unlistedReviews.delete(projectDir);
    await this.#forget();
    return [];
  }
}

/** True while a git outside the sandbox works through steps, such as those of a rebase, in the project. */
function sequencerRunsOnHost(scope: ProjectScope): boolean {
  try {
    const namespace = readlinkSync('/proc/self/ns/pid');
    return readdirSync('/proc').some((pid) => /^\d+$/.test(pid) && isSequencerGit(scope, `/proc/${pid}`, namespace));
  } catch {
    return false; // no /proc
  }
}

function isSequencerGit(scope: ProjectScope, process: string, namespace: string): boolean {
  try {
    const [program = '', ...args] = readFileSync(`${process}/cmdline`, 'utf8').split('\0');
    if (basename(program) !== 'git' || !args.some((arg) => SEQUENCER_COMMANDS.has(arg))) return false;
    return readlinkSync(`${process}/ns/pid`) === namespace && scope.find(readlinkSync(`${process}/cwd`)) !== undefined;
  } catch {
    return false; // ended meanwhile, or another user's
  }
}
