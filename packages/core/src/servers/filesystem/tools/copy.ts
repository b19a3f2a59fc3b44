// copy: a second file with the same bytes, or a second directory with the same entries.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { copyEntry } from '../../project/entries/copy-entry.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { claimEntry, claimPair, permittedBy, type FilesystemContext } from '../filesystem-context.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {
    source: { type: 'string', description: 'What is copied, relative to the project.' },
    destination: { type: 'string', description: 'The whole path of the copy. Missing directories above it are made.' },
  },
  {
    overwrite: { type: 'boolean', default: false, description: 'Replace a file that is at the destination.' },
    recursive: { type: 'boolean', default: false, description: 'Also a directory, with everything in it.' },
  },
);

const output = objectSchema({
  source: { type: 'string' },
  destination: { type: 'string' },
  files: { type: 'integer', description: 'How many files and links were copied.' },
  bytes: { type: 'integer' },
  overwritten: { type: 'boolean', description: 'Something was replaced.' },
});

/** The tool `copy`. */
export function copyTool({ files }: FilesystemContext): Tool {
  return defineTool({
    name: 'copy',
    title: 'Copy',
    description:
      'Copy a file, or with recursive a directory. Modes are kept, links are copied as links. Nothing is replaced unless overwrite is set.',
    input,
    output,
    annotations: hints('destructive'),
    permission: async ({ source, destination }) => [
      ...(await claimEntry(files, source, 'read', 'reads it, and what is below it')),
      ...(await claimEntry(files, destination, 'write', 'puts a copy there')),
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
