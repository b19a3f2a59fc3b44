// unstage: removes changes from the index; files are not changed.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { claimPaths, type GitContext } from '../git-context.js';
import { assertSome, nameList, PATHS } from '../git-paths.js';
import { Repository } from '../repository/repository.js';
import { stagedFiles } from '../repository/staged.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {},
  {
    paths: { ...PATHS, description: 'Files or directories, relative to the project. Default: everything.' },
  },
);

const output = objectSchema({ unstaged: { type: 'array', items: { type: 'string' } } });

/** The tool `unstage`. */
export function unstageTool(context: GitContext): Tool {
  return defineTool({
    name: 'unstage',
    title: 'Unstage files',
    description: 'Unstage files. The files themselves are not changed.',
    input,
    output,
    annotations: hints('idempotent'),
    permission: ({ paths }) => claimPaths(context, paths, 'read', 'unstages it'),
    execute: ({ paths = ['.'] }, ctx) =>
      Repository.change(context, ctx, async (repository) => {
        assertSome(paths);
        const pathInput = await repository.paths(paths);
        const before = await stagedFiles(repository, pathInput);
        // With a path, even ".", a merge in progress is kept.
        if (before.length > 0) await repository.write(['reset', '--quiet'], { pathInput });
        const left = new Set((await stagedFiles(repository, pathInput)).map(({ path }) => path));
        const unstaged = before.map(({ path }) => path).filter((path) => !left.has(path));
        const text = unstaged.length === 0 ? 'None of these files was staged.' : `Unstaged:\n${nameList(unstaged)}`;
        return { content: [{ type: 'text', text }], structuredContent: { unstaged } };
      }),
  });
}
