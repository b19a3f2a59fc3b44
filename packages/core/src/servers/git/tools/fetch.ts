// fetch: fetches a remote's commits, without changing local branches and files.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { claimAction, type GitContext } from '../git-context.js';
import { assertNewName } from '../repository/refs.js';
import { assertRemote, REMOTE } from '../repository/remotes.js';
import { Repository } from '../repository/repository.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {},
  {
    remote: REMOTE,
    branch: {
      type: 'string',
      minLength: 1,
      maxLength: 500,
      description: 'Fetch only this branch. Default: all that the remote is configured for.',
    },
    prune: {
      type: 'boolean',
      default: false,
      description: 'Delete remote-tracking branches that no longer exist on the remote.',
    },
  },
);

const output = objectSchema({
  updated: {
    type: 'array',
    items: objectSchema({ ref: { type: 'string' } }, { from: { type: 'string' }, to: { type: 'string' } }),
  },
});

/** The tool `fetch`. */
export function fetchTool(context: GitContext): Tool {
  return defineTool({
    name: 'fetch',
    title: 'Fetch from a remote',
    description: "Fetch a remote's commits. Local branches and files are not changed.",
    input,
    output,
    annotations: hints('idempotent', 'openWorld'),
    permission: ({ remote, branch }) => claimAction(remote, branch),
    execute: ({ remote, branch, prune }, ctx) =>
      Repository.change(context, ctx, async (repository) => {
        const before = await trackingRefs(repository, remote);
        await fetchFrom(repository, remote, branch, prune);
        const after = await trackingRefs(repository, remote);
        const updated = [...new Set([...before.keys(), ...after.keys()])]
          .filter((ref) => before.get(ref) !== after.get(ref))
          .map((ref) => ({ ref, ...optional('from', before.get(ref)), ...optional('to', after.get(ref)) }));
        const lines = updated.map(
          ({ ref, from, to }) =>
            `${escapeControls(ref)} ${from?.slice(0, 12) ?? 'new'} -> ${to?.slice(0, 12) ?? 'gone'}`,
        );
        const text = lines.length === 0 ? 'Already up to date.' : lines.join('\n');
        return { content: [{ type: 'text', text }], structuredContent: { updated } };
      }),
  });
}

/** Fetches. @throws {ToolError} NOT_FOUND for an unknown remote or branch, PERMISSION_DENIED */
export async function fetchFrom(
  repository: Repository,
  remote: string,
  branch: string | undefined,
  prune: boolean,
): Promise<void> {
  await assertRemote(repository, remote);
  if (branch !== undefined) await assertNewName(repository, 'branch', branch);
  const refspec = branch === undefined ? [] : [`+refs/heads/${branch}:refs/remotes/${remote}/${branch}`];
  const options = [
    '--quiet',
    '--no-recurse-submodules',
    '--no-auto-maintenance',
    '--upload-pack=git-upload-pack',
    ...(prune ? ['--prune'] : []),
  ];
  const { protocols } = repository.context;
  await repository.write(['fetch', ...options, '--end-of-options', remote, ...refspec], { protocols });
}

async function trackingRefs(repository: Repository, remote: string): Promise<Map<string, string>> {
  const { stdout } = await repository.read([
    'for-each-ref',
    '--format=%(refname)%00%(objectname)',
    'refs/remotes/',
    'refs/tags/',
  ]);
  const refs = new Map<string, string>();
  for (const row of stdout.toString('utf8').split('\n')) {
    const [ref = '', oid] = row.split('\0');
    if (oid !== undefined && (ref.startsWith('refs/tags/') || ref.startsWith(`refs/remotes/${remote}/`)))
      refs.set(ref, oid);
  }
  return refs;
}

function optional<Key extends string>(key: Key, value: string | undefined): { [K in Key]?: string } {
  return (value === undefined ? {} : { [key]: value }) as { [K in Key]?: string };
}
