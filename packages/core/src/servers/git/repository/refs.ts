// Resolves revisions: a caller's name is verified once, and git receives only the object's id.

import { ToolError } from '../../../contract/errors.js';
import { nearestNames } from '../../../contract/nearest-names.js';
import { escapeControls, quote } from '../../project/scope/project-scope.js';
import type { Repository } from './repository.js';

const MAX_NAMES_COMPARED = 2_000;

/** The schema of a revision argument. */
export const REF = { type: 'string', minLength: 1, maxLength: 1_000 } as const;

/**
 * Resolves a revision to an object id.
 *
 * @param kind the required type, after following tags
 * @throws {ToolError} INVALID_ARGUMENT for an invalid revision, NOT_FOUND with similar branches and tags
 */
export async function resolveRef(
  repository: Repository,
  ref: string,
  kind: 'commit' | 'object' | 'tree' = 'commit',
): Promise<string> {
  const oid = await findRef(repository, ref, kind);
  if (oid === undefined) throw await unknownRef(repository, ref, kind);
  return oid;
}

/** Like {@link resolveRef}, but undefined if it does not exist. */
export async function findRef(
  repository: Repository,
  ref: string,
  kind: 'commit' | 'object' | 'tree' = 'commit',
): Promise<string | undefined> {
  assertRefText(ref);
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{${kind}}`];
  const { code, stdout } = await repository.read(args, { accept: [0, 1, 128] });
  const oid = stdout.toString('latin1').trim();
  return code === 0 && /^[0-9a-f]{40,64}$/.test(oid) ? oid : undefined;
}

/** The id of the branch or tag with this full name; undefined if it does not exist. */
export async function exactRef(repository: Repository, full: string): Promise<string | undefined> {
  assertRefText(full);
  const { code, stdout } = await repository.read(['show-ref', '--verify', '--hash', full], { accept: [0, 1, 128] });
  return code === 0 ? stdout.toString('latin1').trim() : undefined;
}

/** The commit of HEAD; undefined before the first commit. */
export function headOf(repository: Repository): Promise<string | undefined> {
  return findRef(repository, 'HEAD');
}

/** The current branch, even before its first commit; undefined when HEAD is detached. */
export async function currentBranch(repository: Repository): Promise<string | undefined> {
  const { code, stdout } = await repository.read(['symbolic-ref', '--quiet', 'HEAD'], { accept: [0, 1] });
  return code === 0
    ? stdout
        .toString('utf8')
        .trim()
        .replace(/^refs\/heads\//, '')
    : undefined;
}

/** @throws {ToolError} INVALID_ARGUMENT for a text that git could read as an option or as several revisions */
export function assertRefText(ref: string): void {
  if (ref.startsWith('-')) throw wrong(ref, 'begins with "-"');
  if (ref.startsWith(':')) throw wrong(ref, 'begins with ":"');
  if (/[\p{Cc}\p{Surrogate}]/u.test(ref)) throw wrong(ref, 'contains a control character');
}

/** Checks the name of a new branch or tag. @throws {ToolError} INVALID_ARGUMENT */
export async function assertNewName(repository: Repository, kind: 'branch' | 'tag', name: string): Promise<void> {
  assertRefText(name);
  const full = `${kind === 'branch' ? 'refs/heads' : 'refs/tags'}/${name}`;
  const { code } = await repository.read(['check-ref-format', full], { accept: [0, 1] });
  if (code !== 0 || name === 'HEAD' || name === '@')
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${quote(name)} is not a valid name of a ${kind}: it must not contain spaces, "..", "~", "^", ":", "?", "*", "[", "\\", "@{", or end in "/" or ".lock".`,
    );
}

function wrong(ref: string, why: string): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    `${quote(ref)} ${why}, which is not valid in a revision. Use a branch, a tag or a commit id.`,
  );
}

async function unknownRef(repository: Repository, ref: string, kind: string): Promise<ToolError> {
  if (/^(HEAD|@)$/.test(ref) || (await headOf(repository)) === undefined)
    return new ToolError('NOT_FOUND', `${quote(ref)} does not exist: the repository has no commits yet.`);
  const format = [
    'for-each-ref',
    `--count=${MAX_NAMES_COMPARED}`,
    '--format=%(refname:short)',
    'refs/heads',
    'refs/tags',
    'refs/remotes',
  ];
  const names = (await repository.read(format)).stdout
    .toString('utf8')
    .split('\n')
    .filter((name) => name !== '');
  const nearest = nearestNames(ref, names);
  const next =
    nearest.length > 0 ? ` Did you mean ${nearest.map((name) => `"${escapeControls(name)}"`).join(', ')}?` : '';
  return new ToolError('NOT_FOUND', `${quote(ref)} is not a ${kind} of this repository.${next}`, {
    details: { ref, nearest },
  });
}
