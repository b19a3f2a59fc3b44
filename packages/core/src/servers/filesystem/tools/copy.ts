// copy: copies a file, a link or a directory.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { copyEntry } from '../../project/entries/copy-entry.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { claimEntry, claimPair, permittedBy, type FilesystemContext } from '../filesystem-context.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {
    source: { type: 'string', description: 'The file or directory to copy, relative to the project.' },
    destination: { type: 'string', description: 'The full path of the copy. Missing parent directories are created.' },
  },
  {
    overwrite: { type: 'boolean', default: false, description: 'Replace an existing file at the destination.' },
    recursive: { type: 'boolean', default: false, description: 'Copy a directory and everything in it.' },
  },
);

const output = objectSchema({
  source: { type: 'string' },
  destination: { type: 'string' },
  files: { type: 'integer', description: 'Number of files and links copied.' },
  bytes: { type: 'integer' },
  overwritten: { type: 'boolean', description: 'An existing file was replaced.' },
});

/** The tool `copy`. */
export function copyTool({ files }: FilesystemContext): Tool {
  return defineTool({
    name: 'copy',
    title: 'Copy',
    description:
      'Copy a file, or a directory if recursive is set. Modes are preserved, links are copied as links. Nothing is replaced unless overwrite is set.',
    input,
    output,
    annotations: hints('destructive'),
    permission: async ({ source, destination }) => [
      ...(await claimEntry(files, source, 'read', 'reads it, and what is below it')),
      ...(await claimEntry(files, destination, 'write', 'creates a copy there')),
      claimPair(files, source, destination),
    ],
    async execute({ source, destination, overwrite, recursive }, ctx) {
      const from = files.scope.parse(source).shown;
      const to = files.scope.parse(destination).shown;
      const outcome = await copyEntry(files, source, destination, {
        overwrite,
        recursive,
        signal: ctx.signal,
        assertPermitted: permittedBy(ctx),
        onProgress: (done) =>
          ctx.progress({ progress: done.bytes, message: `Copied ${done.files} files, ${done.bytes} bytes` }),
      });
      const count = `${outcome.files} ${outcome.files === 1 ? 'file' : 'files'}, ${outcome.bytes} bytes`;
      return {
        content: [{ type: 'text', text: `Copied ${escapeControls(from)} to ${escapeControls(to)} (${count}).` }],
        structuredContent: { source: from, destination: to, ...outcome },
      };
    },
  });
}
