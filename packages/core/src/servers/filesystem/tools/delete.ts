// delete: removes a file, a link or a directory permanently.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { deleteEntry } from '../../project/entries/delete-entry.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { claimEntry, permittedBy, type FilesystemContext } from '../filesystem-context.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {
    path: { type: 'string', description: 'The file, link or directory, relative to the project.' },
  },
  {
    recursive: {
      type: 'boolean',
      default: false,
      description: 'Delete a directory with everything in it.',
    },
  },
);

const output = objectSchema({
  path: { type: 'string' },
  removed: { type: 'integer', description: 'Number of files, links and directories deleted.' },
});

/** The tool `delete`. */
export function deleteTool({ files }: FilesystemContext): Tool {
  return defineTool({
    name: 'delete',
    title: 'Delete',
    description:
      'Delete a file, or a directory and everything in it if recursive is set. This cannot be undone. For a link, only the link is deleted.',
    input,
    output,
    annotations: hints('destructive', 'idempotent'),
    permission: ({ path, recursive }) =>
      claimEntry(files, path, 'write', recursive ? 'deletes it and everything below it' : 'deletes it'),
    async execute({ path, recursive }, ctx) {
      const { shown } = files.scope.parse(path);
      const removed = await deleteEntry(files, path, {
        recursive,
        signal: ctx.signal,
        assertPermitted: permittedBy(ctx),
        onProgress: (count) =>
          ctx.progress({ progress: count, message: `Deleted ${count} entries of ${escapeControls(shown)}` }),
      });
      const count = removed === 1 ? '' : ` (${removed} entries)`;
      return {
        content: [{ type: 'text', text: `Deleted ${escapeControls(shown)}${count}.` }],
        structuredContent: { path: shown, removed },
      };
    },
  });
}
