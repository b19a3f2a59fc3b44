// restore: restores files from the index or from a commit; uncommitted changes are lost.

import { NO_DIFF_HELPERS } from '../hardening/git-settings.js';
import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { claimPaths, type GitContext } from '../git-context.js';
import { assertSome, nameList, PATHS, type GitPath } from '../git-paths.js';
import { headOf, REF, resolveRef } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import { assertTreeWritable, changeTree, differingPaths } from '../repository/tree-changes.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {
    paths: { ...PATHS, minItems: 1 },
  },
  {
    source: {
      ...REF,
      description: 'The commit to restore from. Default: the index; with staged, the last commit.',
    },
    staged: { type: 'boolean', default: false, description: 'Restore the index.' },
    worktree: {
      type: 'boolean',
      description: 'Restore the files in the working tree. Default: true; false with staged.',
    },
  },
);

const output = objectSchema({
  restored: { type: 'array', items: { type: 'string' }, description: 'The files that were restored.' },
  restored_count: { type: 'integer' },
});

const MAX_LISTED = 1_000;

/** The tool `restore`. */
export function restoreTool(context: GitContext): Tool {
  return defineTool({
    name: 'restore',
    title: 'Discard changes',
    description: 'Restore files from the index or from a commit. Their later changes are lost.',
    input,
    output,
    annotations: hints('destructive', 'idempotent'),
    permission: ({ paths, staged, worktree = !staged }) =>
      claimPaths(context, paths, worktree ? 'write' : 'read', worktree ? 'overwrites it' : 'restores it in the index'),
    execute: ({ paths, source, staged, worktree = !staged }, ctx) =>
      Repository.change(context, ctx, async (repository) => {
        if (!staged && !worktree)
          throw new ToolError('INVALID_ARGUMENT', 'Nothing to restore: set staged or worktree.');
        repository.assertConfigStays('one-git');
        assertSome(paths);
        const given = await repository.paths(paths);
        const from = source === undefined ? [] : [await resolveRef(repository, source)];
        if (staged && from.length === 0 && (await headOf(repository)) === undefined)
          throw new ToolError('NOT_FOUND', 'The repository has no commits to restore from. Use unstage.');
        // As arguments, because diff cannot read paths from stdin.
        const specs = [...NO_DIFF_HELPERS, ...(staged && from.length === 0 ? ['HEAD'] : from)];
        const different = await differing(repository, specs, given, worktree);
        if (worktree) {
          for (const path of paths) context.files.scope.assertWritable(context.files.scope.parse(path));
          assertTreeWritable(repository, different);
        }
        const args = ['restore', '--quiet', '--no-recurse-submodules'];
        const options = [
          ...from.map((oid) => `--source=${oid}`),
          ...(staged ? ['--staged'] : []),
          ...(worktree ? ['--worktree'] : []),
        ];
        const run = (): Promise<unknown> => repository.write([...args, ...options], { pathInput: given });
        if (worktree) await changeTree(repository, run);
        else await run();
        const still = new Set(
          (await differing(repository, specs, given, worktree)).map((path) => path.toString('latin1')),
        );
        const restored = different
          .filter((path) => !still.has(path.toString('latin1')))
          .map((path) => repository.shown(path));
        const text = restored.length === 0 ? 'No file differed.' : `Restored:\n${nameList(restored)}`;
        return {
          content: [{ type: 'text', text }],
          structuredContent: { restored: restored.slice(0, MAX_LISTED), restored_count: restored.length },
        };
      }),
  });
}

function differing(
  repository: Repository,
  specs: readonly string[],
  paths: readonly GitPath[],
  worktree: boolean,
): Promise<Buffer[]> {
  return differingPaths(repository, ['diff', ...(worktree ? [] : ['--cached']), ...specs], paths);
}
