// move: moves or renames a file, a link or a directory.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { moveEntry } from '../../project/entries/move-entry.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { claimEntry, claimPair, permittedBy, type FilesystemContext } from '../filesystem-context.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {
    source: { type: 'string', description: 'The file or directory to move, relative to the project.' },
    destination: { type: 'string', description: 'The full new path. Missing parent directories are created.' },
  },
  {
    overwrite: { type: 'boolean', default: false, description: 'Replace an existing file at the destination.' },
  },
);

const output = objectSchema({
  source: { type: 'string' },
  destination: { type: 'string' },
  overwritten: { type: 'boolean', description: 'An existing file was replaced.' },
});

/** The tool `move`. */
export function moveTool({ files }: FilesystemContext): Tool {
  return defineTool({
    name: 'move',
    title: 'Move or rename',
    description: 'Move or rename a file or a directory. Nothing is replaced unless overwrite is true.',
    input,
    output,
    annotations: hints('destructive'),
    permission: async ({ source, destination }) => [
      ...(await claimEntry(files, source, 'write', 'moves it and everything below it')),
      ...(await claimEntry(files, destination, 'write', 'creates something there')),
      claimPair(files, source, destination),
    ],
    async execute({ source, destination, overwrite }, ctx) {
      const from = files.scope.parse(source).shown;
      const to = files.scope.parse(destination).shown;
      const { overwritten } = await moveEntry(files, source, destination, {
        overwrite,
        signal: ctx.signal,
        assertPermitted: permittedBy(ctx),
      });
      const what = `Moved ${escapeControls(from)} to ${escapeControls(to)}`;
      return {
        content: [{ type: 'text', text: overwritten ? `${what}, replacing the existing file.` : `${what}.` }],
        structuredContent: { source: from, destination: to, overwritten },
      };
    },
  });
}
