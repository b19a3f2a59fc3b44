// Shared by merge, rebase, cherry_pick and revert, which may stop at conflicts and are then continued, skipped or aborted.

import { join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import type { ToolReturn } from '../../../tool/define-tool.js';
import { UNFINISHED_DIRECTORIES, unfinishedText, unusualSteps } from '../../project/git/unfinished-work.js';
import { conflictsOf } from './conflicts.js';
import { operationOf, type Operation } from './operation.js';
import { nameList } from '../git-paths.js';
import { findRef, headOf, resolveRef } from './refs.js';
import type { Repository } from './repository.js';
import { gitFailure } from '../../project/git/run-git.js';
import { allPaths, assertTreeWritable, changeTree, differingPaths, treeDiff } from './tree-changes.js';
import { objectSchema } from '../../../tool/object-schema.js';

/** The schema of their results. */
export const SEQUENCE_OUTPUT = objectSchema(
  {
    status: {
      type: 'string',
      enum: ['done', 'up_to_date', 'conflicts', 'stopped', 'aborted'],
      description: 'The files with conflicts: resolve them, stage them with add, then continue; or abort.',
    },
    changed: {
      type: 'array',
      items: { type: 'string' },
      description: 'Files of the working tree that were written or deleted.',
    },
    conflicts: { type: 'array', items: { type: 'string' } },
  },
  {
    oid: { type: 'string', description: 'The commit of HEAD afterwards.' },
  },
);

interface SequenceAnswer {
  status: 'done' | 'up_to_date' | 'conflicts' | 'stopped' | 'aborted';
  oid?: string;
  changed: string[];
  conflicts: string[];
}

/** How to proceed with the operation in progress. */
export type Step = 'continue' | 'skip' | 'abort';

/**
 * Before git 2.50 the default strategy detects renames regardless of the settings, but `recursive` respects them; since then they
 * are the same.
 */
const WITHOUT_RENAMES = ['--strategy=recursive', '--strategy-option=no-renames'];

/**
 * Starts a merge, rebase, cherry-pick or revert. In an untrusted repository renames are not detected, as they apply a change to a
 * path that the commits do not list, which may be protected.
 */
export function startSequence(
  repository: Repository,
  operation: Operation,
  [subcommand = '', ...args]: readonly string[],
): Promise<ToolReturn<SequenceAnswer>> {
  const strategy = repository.trusted ? [] : WITHOUT_RENAMES;
  return runSequence(repository, operation, [subcommand, ...strategy, ...args]);
}

/** Runs a step of an operation, and returns its state. */
async function runSequence(
  repository: Repository,
  operation: Operation,
  args: readonly string[],
  { aborts = false }: { aborts?: boolean } = {},
): Promise<ToolReturn<SequenceAnswer>> {
  repository.assertConfigStays('several-gits');
  const { result, before, after, changed } = await changeTree(repository, () =>
    repository.write(args, { accept: [0, 1], hooks: true }),
  );
  const conflicts = await conflictsOf(repository);
  const isUnderWay = (await operationOf(repository)) === operation;
  // git also exits with 1 when it has not started.
  if (result.code === 1 && !isUnderWay && conflicts.length === 0)
    throw gitFailure(args[0] ?? '', `${result.stderr}\n${result.stdout.toString('utf8', 0, 2_000)}`, 1);
  const unchanged = before.oid === after.oid && before.branch === after.branch;
  const status = aborts
    ? 'aborted'
    : conflicts.length > 0
      ? 'conflicts'
      : isUnderWay
        ? 'stopped'
        : unchanged && changed.length === 0
          ? 'up_to_date'
          : 'done';
  const text = {
    aborted: 'Aborted; the state before is restored.',
    conflicts: `Conflicts in:\n${nameList(conflicts)}\nResolve them, stage them with add, then call again with step continue; or abort.`,
    stopped: 'It stopped before the end. Check status, then call again with step continue, skip or abort.',
    up_to_date: 'Already up to date.',
    done: `Done; HEAD is now ${after.oid}. Changed files:\n${nameList(changed)}`,
  }[status];
  return {
    content: [{ type: 'text', text }],
    structuredContent: { status, ...(after.oid !== undefined && { oid: after.oid }), changed, conflicts },
  };
}

/**
 * Continues, skips or aborts a stopped operation.
 *
 * @throws {ToolError} INVALID_ARGUMENT when there is none; PERMISSION_DENIED when its state in .git would run a program
 */
export async function goOn(
  repository: Repository,
  operation: Operation,
  subcommand: string,
  step: Step,
): Promise<ToolReturn<SequenceAnswer>> {
  const current = await operationOf(repository);
  if (current !== operation)
    throw new ToolError(
      'INVALID_ARGUMENT',
      current === 'none'
        ? `No ${operation} is in progress.`
        : `A ${current} is in progress, not a ${operation}. Use the tool for ${current}.`,
    );
  if (step !== 'abort') await assertHarmlessState(repository);
  await assertStateWritable(repository, step);
  if (step !== 'abort') await assertNoRenames(repository);
  return runSequence(repository, operation, [subcommand, `--${step}`], { aborts: step === 'abort' });
}

/** @throws {ToolError} INVALID_ARGUMENT when another operation is in progress */
export async function assertNothingUnderWay(repository: Repository): Promise<void> {
  const current = await operationOf(repository);
  if (current === 'none' || current === 'bisect') return;
  throw new ToolError('INVALID_ARGUMENT', `A ${current} is in progress. Continue or abort it first.`);
}

/** The limit of merge bases; a history with criss-cross merges has several. */
const MAX_BASES = 20;

/** The paths that the operation would write: those changed since the merge base. */
export async function assertCommitsWritable(repository: Repository, target: string): Promise<void> {
  const head = await headOf(repository);
  if (head === undefined) return assertTreeWritable(repository, await allPaths(repository, target));
  for (const base of await mergeBases(repository, head, target))
    assertTreeWritable(repository, await differingPaths(repository, treeDiff(base, target)));
}

/**
 * The merge bases of two commits: a path that is equal in all of them and in the target is not written. Without a merge
 * base, or with too many, every differing path may be written.
 */
export async function mergeBases(repository: Repository, head: string, target: string): Promise<string[]> {
  const { stdout } = await repository.read(['merge-base', '--all', head, target], { accept: [0, 1] });
  const bases = stdout.toString('latin1').split('\n').filter(Boolean);
  return bases.length === 0 || bases.length > MAX_BASES ? [head] : bases;
}

/** Checks the state in .git, which another program may have written: its steps may run programs. */
async function assertHarmlessState(repository: Repository): Promise<void> {
  if (repository.trusted) return;
  for (const directory of UNFINISHED_DIRECTORIES) {
    if ((await unusualSteps(join(repository.gitDir, directory))).length === 0) continue;
    throw new ToolError(
      'PERMISSION_DENIED',
      `The operation in progress does more than pick commits, and may run programs (.git/${directory}). Abort it, or ask the operator to continue it.`,
    );
  }
}

/** Checks that the state in .git does not detect renames for the remaining commits: see {@link startSequence}. */
async function assertNoRenames(repository: Repository): Promise<void> {
  if (repository.trusted) return;
  for (const directory of UNFINISHED_DIRECTORIES) {
    const text = (name: string): Promise<string> => unfinishedText(join(repository.gitDir, directory, name));
    const steps = `${await text('git-rebase-todo')}\n${await text('todo')}`;
    const options = `${await text('strategy_opts')}\n${await text('opts')}`;
    if (!/^\s*(?!(?:noop|break|b|drop|d)\b)[a-z]/m.test(steps) || /\bno-renames\b/.test(options)) continue;
    throw new ToolError(
      'PERMISSION_DENIED',
      'The operation in progress detects renames, so the remaining commits may change protected files. Abort it and start it again with this server, or ask the operator to continue it.',
    );
  }
}

const STATE_COMMITS = [
  ...['MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD', 'sequencer/head'],
  ...['rebase-merge/onto', 'rebase-merge/orig-head'],
];
const STATE_STEPS = ['rebase-merge/git-rebase-todo', 'sequencer/todo'];

/** Checks the remaining commits like the first ones. */
async function assertStateWritable(repository: Repository, step: Step): Promise<void> {
  for (const name of STATE_COMMITS) {
    const [oid = ''] = (await unfinishedText(join(repository.gitDir, name))).split('\n');
    if (await isCommit(repository, oid)) await assertCommitsWritable(repository, oid);
  }
  if (step === 'abort') return; // the rest is not applied
  for (const name of STATE_STEPS) {
    for (const step of (await unfinishedText(join(repository.gitDir, name))).split('\n')) {
      const [, oid = ''] = /^\s*[a-z]+\s+(?:-[cC]\s+)?([0-9a-f]{4,64})\b/.exec(step) ?? [];
      if (!(await isCommit(repository, oid))) continue;
      const parent = await findRef(repository, `${oid}^1`);
      const commit = await resolveRef(repository, oid);
      assertTreeWritable(
        repository,
        await (parent === undefined
          ? allPaths(repository, commit)
          : differingPaths(repository, treeDiff(parent, commit))),
      );
    }
  }
}

async function isCommit(repository: Repository, oid: string): Promise<boolean> {
  return /^[0-9a-f]{4,64}$/.test(oid) && (await findRef(repository, oid)) !== undefined;
}
