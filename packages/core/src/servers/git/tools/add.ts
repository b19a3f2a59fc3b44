// add: stages the current content of files.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { limitText } from '../../project/output-budget.js';
import { claimPaths, type GitContext } from '../git-context.js';
import { statText } from '../repository/patch-pages.js';
import { PATHS } from '../git-paths.js';
import { Repository } from '../repository/repository.js';
import { STAGED, stagedFiles } from '../repository/staged.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {},
  {
    paths: {
      ...PATHS,
      description: 'Files or directories, relative to the project, including deleted ones. Not patterns.',
    },
    all: { type: 'boolean', default: false, description: 'Stage everything that has changed, instead of paths.' },
    intent: {
      type: 'boolean',
      default: false,
      description: 'Only record that new files will be added, so that diff shows them.',
    },
  },
);

const output = objectSchema({ staged: STAGED });

/** The tool `add`. */
export function addTool(context: GitContext): Tool {
  return defineTool({
    name: 'add',
    title: 'Stage files',
    description: 'Stage the current content of files for the next commit. Ignored files are refused.',
    input,
    output,
    annotations: hints('idempotent'),
    permission: ({ paths, all }) => claimPaths(context, all ? [] : paths, 'read', 'stages it for the next commit'),
    execute: ({ paths = [], all, intent }, ctx) =>
      Repository.change(context, ctx, async (repository) => {
        if (all === paths.length > 0) throw new ToolError('INVALID_ARGUMENT', 'Set either paths or all, not both.');
        const requested = all ? ['.'] : paths;
        // Without any file, "." matches nothing, which git treats as an error.
        const pathInput = await repository.paths(requested);
        if (!all || !(await isEmpty(repository)))
          await repository.write(['add', ...(intent ? ['--intent-to-add'] : [])], { pathInput });
        const staged = await stagedFiles(repository, pathInput);
        const text =
          staged.length === 0
            ? 'These files do not differ from the last commit.'
            : statText(staged.length, staged, false);
        return {
          content: [{ type: 'text', text: limitText(text, context.limits, (more) => `[${more} more files]`) }],
          structuredContent: { staged },
        };
      }),
  });
}

async function isEmpty(repository: Repository): Promise<boolean> {
  const { stdout } = await repository.read(['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
  return stdout.length === 0;
}
