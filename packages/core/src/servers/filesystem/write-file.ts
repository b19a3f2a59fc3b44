// write_file: a whole file, new or in place of an old one that the session has read.

import { defineTool, type Tool } from '../../tool.js';
import { ToolError } from '../../errors.js';
import { claimPath, type FilesystemContext } from './context.js';
import { encodeText } from '../text-encoding.js';
import { diffStat, type DiffStat } from '../unified-diff.js';
import { escapeControls } from '../project-scope.js';

const input = {
  type: 'object',
  properties: {
    path: { type: 'string', description: 'The file, relative to the project.' },
    content: { type: 'string', description: 'The whole content, written exactly as given, in UTF-8.' },
    if_match: { type: 'string', description: 'Write only if the file still has this etag.' },
    create_only: { type: 'boolean', default: false, description: 'Refuse if the file exists.' },
    create_dirs: { type: 'boolean', default: true, description: 'Make missing directories above it.' },
  },
  required: ['path', 'content'],
} as const;

const output = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    created: { type: 'boolean' },
    bytes_written: { type: 'integer' },
    etag: { type: 'string' },
    diff_stat: {
      type: 'object',
      description: 'Lines added and removed; absent where the old content was too large to compare (above 64 MiB).',
      properties: { added: { type: 'integer' }, removed: { type: 'integer' } },
      required: ['added', 'removed'],
      additionalProperties: false,
    },
  },
  required: ['path', 'created', 'bytes_written', 'etag'],
  additionalProperties: false,
} as const;

/** The tool `write_file`. */
export function writeFileTool({ files, requireRead }: FilesystemContext): Tool {
  return defineTool({
    name: 'write_file',
    title: 'Write file',
    description:
      'Create a file, or replace the whole content of one that was read before. The content is written as given: line ends, byte order mark and ' +
      'final newline of an old file are not carried over. To change a part of a file use edit_file.',
    input,
    output,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    permission: ({ path }) => claimPath(files, path, 'write'),
    async execute({ path, content, if_match, create_only, create_dirs }, ctx) {
      const bytes = encodeText(content, 'utf-8');
      if (!bytes)
        throw new ToolError(
          'INVALID_ARGUMENT',
          'content holds half of a surrogate pair, which has no place in a UTF-8 file. Write the whole character.',
        );
      let stat: DiffStat | undefined;
      const { etag, created } = await files.change(
        path,
        {
          sessionId: ctx.sessionId,
          requireRead,
          ifMatch: if_match,
          createOnly: create_only,
          createDirs: create_dirs,
          signal: ctx.signal,
        },
        async (current) => {
          const before = current ? current.bytes : Buffer.alloc(0);
          stat = before && (await diffStat(before, bytes));
          return bytes;
        },
      );
      const { shown } = files.scope.parse(path);
      const lines = stat ? `, ${stat.added} lines added, ${stat.removed} removed` : '';
      return {
        content: [
          {
            type: 'text',
            text: `${created ? 'Created' : 'Replaced'} ${escapeControls(shown)} (${bytes.length} bytes${lines}).`,
          },
        ],
        structuredContent: {
          path: shown,
          created,
          bytes_written: bytes.length,
          etag,
          ...(stat && { diff_stat: stat }),
        },
      };
    },
  });
}
