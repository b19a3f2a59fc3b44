// Looks after what the mounts of the sandbox alone do not hold: they go when the host replaces a file, and most of `.git`
// may be written. It looks while the command runs, and for the last time when it has ended.

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

/** How often what is held is looked at while a command runs. */
const HELD_LOOK_MS = 50;
/** How often the repositories are. */
const LOOK_MS = 500;

/** What git goes through steps for. */
const STEPPING: ReadonlySet<string> = new Set(['rebase', 'am', 'cherry-pick', 'revert', 'pull']);

/** What a git that still runs comes back to. */
const TAKEN_UP: ReadonlySet<string> = new Set(['steps', 'resolutions']);

/** Looks after one command. */
export class CommandGuard {
  /** Resolves when something is held no longer: the command must then end at once. */
  readonly broken: Promise<void>;
  readonly #review: CommandReview;
  readonly #masks: MountMasks;
  #notices: readonly string[];
  readonly #timers: readonly NodeJS.Timeout[];
  #looking: Promise<void> | undefined;

  /**
   * To be called before the command starts.
   *
   * @param notices what was undone before, for the answer to this command
   */
  static async begin(
    scope: ProjectScope,
    git: GitProgram | undefined,
    held: MountMasks,
    notices: readonly string[],
  ): Promise<CommandGuard> {
    const { all, listed } = held.repositories;
    const tips: CommandRecord['tips'] = [];
    // Where git cannot list them, all that it lists afterwards counts as new.
    if (git) for (const dotGit of all) tips.push([dotGit, Array.from(await tipsOf(git, dotGit).catch(() => []))]);
    const { traces } = await gitTracesOf(scope, all);
    const record: CommandRecord = {
      projectDir: scope.projectDir,
      all: [...all],
      listed: [...listed],
      tips,
      traces: traces.map(traceKey),
      masked: [...held.entries.masked],
    };
    const forget = await recordCommand(record);
    return new CommandGuard(scope, new CommandReview(scope, git, record, forget), held, notices);
  }

  private constructor(scope: ProjectScope, judgement: CommandReview, held: MountMasks, notices: readonly string[]) {
    this.#review = judgement;
    this.#masks = held;
    this.#notices = notices;
    const entries = held.entries.masked.concat(held.entries.pinned);
    const { promise, resolve } = deferred();
    this.broken = promise;
    const heldTimer = setInterval(() => {
      const replaced = entries.find((entry) => isReplaced(entry));
      if (!replaced) return;
      clearInterval(heldTimer);
      const shown = quote(scope.find(replaced.path)?.shown ?? replaced.path);
      this.#add([`${shown} was replaced on the host, so the sandbox held it no longer, and the command was ended`]);
      resolve();
    }, HELD_LOOK_MS).unref();
    const lookTimer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    }, LOOK_MS).unref();
    this.#timers = [heldTimer, lookTimer];
  }

  async #look(): Promise<void> {
    this.#add(await this.#review.look(false));
  }

  /** Looks for the last time, and takes the placeholders away. What was undone, a clause each. Never rejects. */
  async stop(): Promise<readonly string[]> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#looking;
    this.#add(await this.#review.restoreReplaced());
    await this.#masks.release();
    this.#add(await this.#review.look(true));
    this.#add(await reviewUnread(this.#review));
    return this.#notices;
  }

  #add(notices: readonly string[]): void {
    this.#notices = this.#notices.concat(notices);
  }
}

/** Judges what the commands of killed hosts made, before it counts as the user's. What was undone, a clause each. */
export async function reviewLeftCommands(scope: ProjectScope, git: GitProgram | undefined): Promise<readonly string[]> {
  const notices: (readonly string[])[] = [];
  for (const left of await leftRecords(scope.projectDir)) {
    const judgement = new CommandReview(scope, git, left.record, () => left.remove(), left.endedBy);
    notices.push(await judgement.restoreReplaced(), await judgement.look(true));
  }
  notices.push(await reviewUnread());
  return notices.flat();
}

/** The first command of a project after which git could not list everything, until it can. Later ones add nothing to it. */
const unlistedReviews = new Map<string, CommandReview>();

/** Judges again what git could not list before. */
async function reviewUnread(except?: CommandReview): Promise<readonly string[]> {
  const notices: (readonly string[])[] = [];
  for (const judgement of [...unlistedReviews.values()])
    if (judgement !== except) notices.push(await judgement.look(true));
  return notices.flat();
}

/** Compares what is there with what was there before one command. */
class CommandReview {
  readonly #scope: ProjectScope;
  readonly #record: CommandRecord;
  readonly #traces: ReadonlySet<string>;
  readonly #nested: NestedRepositories | undefined;
  readonly #forget: () => Promise<void>;
  readonly #endedBy: number | undefined;

  /** @param endedBy of a command of a killed host: what came into being later, in milliseconds since 1970, is the user's */
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

  /** Once the command has ended: what is held is again as it was. */
  async restoreReplaced(): Promise<readonly string[]> {
    const notices: string[] = [];
    for (const entry of this.#record.masked) {
      const undone = await undoReplaced(this.#scope, entry, this.#endedBy);
      if (undone !== undefined) notices.push(undone);
    }
    return notices;
  }

  /**
   * Undoes what git would run or write through. The last look also judges what was begun and not finished, which somebody
   * else may have done, and all commits; what git could not list is judged again with the next commands, also those of a
   * later host.
   */
  async look(isOver: boolean): Promise<readonly string[]> {
    const notices: string[] = [];
    const { traces, isComplete } = await gitTracesOf(this.#scope, this.#record.all);
    for (const trace of traces) {
      if (this.#traces.has(traceKey(trace))) continue;
      // Under a git that goes through them, they are not taken away.
      if (TAKEN_UP.has(trace.kind) && (!isOver || stepsRunOnHost(this.#scope))) continue;
      const undone = await undoTrace(this.#scope, trace, this.#endedBy);
      if (undone !== undefined) notices.push(undone);
    }
    if (isOver && !isComplete)
      notices.push('.git has more files than could be looked at, so links among them may lead elsewhere');
    const nested = await this.#nested?.look(isOver);
    const unread = isOver ? await this.#keepUnread(nested?.unread ?? new Map<string, string>()) : [];
    return notices.concat(nested?.disabled ?? [], unread);
  }

  async #keepUnread(failures: ReadonlyMap<string, string>): Promise<string[]> {
    const { projectDir } = this.#scope;
    const kept = unlistedReviews.get(projectDir);
    const [failure] = failures;
    if (failure && (kept === undefined || kept === this)) {
      unlistedReviews.set(projectDir, this);
      if (kept === this) return [];
      const [dotGit, why] = failure;
      const shown = quote(this.#scope.find(dotGit)?.shown ?? dotGit);
      return [
        `git cannot list all that ${shown} holds, so submodules that it lists may not be judged yet; they are when it can. It said: ${why}`,
      ];
    }
    if (kept === this) unlistedReviews.delete(projectDir);
    await this.#forget();
    return [];
  }
}

/** True while a git of the user's, which no command can start, goes through the steps of a rebase in the project. */
function stepsRunOnHost(scope: ProjectScope): boolean {
  try {
    const namespace = readlinkSync('/proc/self/ns/pid');
    return readdirSync('/proc').some((pid) => /^\d+$/.test(pid) && isSteppingGit(scope, `/proc/${pid}`, namespace));
  } catch {
    return false; // no /proc
  }
}

function isSteppingGit(scope: ProjectScope, process: string, namespace: string): boolean {
  try {
    const [program = '', ...args] = readFileSync(`${process}/cmdline`, 'utf8').split('\0');
    if (basename(program) !== 'git' || !args.some((arg) => STEPPING.has(arg))) return false;
    return readlinkSync(`${process}/ns/pid`) === namespace && scope.find(readlinkSync(`${process}/cwd`)) !== undefined;
  } catch {
    return false; // ended meanwhile, or of another user
  }
}
