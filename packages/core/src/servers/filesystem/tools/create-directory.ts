// create_directory: creates a directory and its missing parents.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { entryPath } from '../../project/open/directory-entries.js';
import { MadeDirectories } from '../../project/write/made-directories.js';
import { openFailure, openOrMake } from '../../project/open/path-lookup.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { claimPath, type FilesystemContext } from '../filesystem-context.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema({
  path: { type: 'string', description: 'The directory, relative to the project.' },
});

const output = objectSchema({
  path: { type: 'string' },
  created: { type: 'boolean', description: 'False if it existed already.' },
});

/** The tool `create_directory`. */
export function createDirectoryTool({ files }: FilesystemContext): Tool {
  return defineTool({
    name: 'create_directory',
    title: 'Create directory',
    description:
      'Create a directory and its missing parents. An existing one is left unchanged. write_file creates the directories that it needs.',
    input,
    output,
    annotations: hints('idempotent'),
    permission: ({ path }) => claimPath(files, path, 'write'),
    async execute({ path }) {
      const { scope } = files;
      const requested = scope.parse(path);
      scope.assertWritable(requested);
      const made = new MadeDirectories();
      try {
        await (await openOrMake(scope, requested, requested.absolute, made)).close();
      } catch (error) {
        await made.undo();
        throw openFailure(error, requested, 'create');
      } finally {
        await made.close();
      }
      const { first } = made;
      if (first) {
        const { shown, absolute } = entryPath(scope, first.parent, first.name);
        files.announce({ path: shown, absolute, kind: 'created', directory: true });
      }
      const created = first !== undefined;
      const name = escapeControls(requested.shown);
      return {
        content: [{ type: 'text', text: created ? `Created ${name}/.` : `${name}/ already exists.` }],
        structuredContent: { path: requested.shown, created },
      };
    },
  });
}
