// Resolves remotes, and checks that accessing one runs no program of the repository and uses none of its network settings.

import { ToolError } from '../../../contract/errors.js';
import { quote } from '../../project/scope/project-scope.js';
import { assertRefText } from './refs.js';
import { networkSettings } from '../hardening/repository-config.js';
import type { Repository } from './repository.js';

/** The schema of a remote argument. */
export const REMOTE = {
  type: 'string',
  minLength: 1,
  maxLength: 200,
  default: 'origin',
  description: 'The name of a remote.',
} as const;

/** @throws {ToolError} NOT_FOUND for an unknown remote, PERMISSION_DENIED if the repository changes how it is accessed */
export async function assertRemote(repository: Repository, remote: string): Promise<void> {
  assertRefText(remote);
  const names = (await repository.read(['remote'])).stdout
    .toString('utf8')
    .split('\n')
    .filter((name) => name !== '');
  if (!names.includes(remote))
    throw new ToolError(
      'NOT_FOUND',
      `The remote ${quote(remote)} does not exist. ${names.length > 0 ? `Remotes: ${names.map(quote).join(', ')}.` : 'The repository has none.'}`,
    );
  if (repository.trusted) return;
  const loose = networkSettings(repository.config);
  if (loose.length > 0)
    throw new ToolError(
      'PERMISSION_DENIED',
      `The repository's configuration changes how remotes are accessed (${loose.slice(0, 5).map(quote).join(', ')}), and the repository is not trusted. ` +
        "The operator can remove that configuration, or open the repository with trust: 'trusted'.",
    );
}

/** The upstream of a local branch on the remote; by default the branch of the same name. */
export async function remoteBranch(repository: Repository, remote: string, branch: string): Promise<string> {
  const { code, stdout } = await repository.read(['config', '--get', `branch.${branch}.merge`], { accept: [0, 1] });
  const follows = await repository.read(['config', '--get', `branch.${branch}.remote`], { accept: [0, 1] });
  const merge = stdout.toString('utf8').trim();
  const isFollowed = code === 0 && follows.stdout.toString('utf8').trim() === remote && merge.startsWith('refs/heads/');
  return isFollowed ? merge.slice('refs/heads/'.length) : branch;
}
