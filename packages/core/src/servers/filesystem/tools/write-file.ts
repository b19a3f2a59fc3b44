// write_file: creates a file, or replaces one that the session has read.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { ToolError } from '../../../contract/errors.js';
import { afterChangeOutput, afterChangeText, lookAfterChange } from '../../project/change-report.js';
import { claimPath, type FilesystemContext } from '../filesystem-context.js';
import { MAX_WHOLE_FILE_BYTES } from '../../project/project-files.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { asUtf8, encodeText, encodingOf, type TextEncoding } from '../../project/open/text-encoding.js';
import { diffStat, diffStatOutput, type DiffStat } from '../../project/write/unified-diff.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {
    path: { type: 'string', description: 'The file, relative to the project.' },
    content: { type: 'string', description: 'The complete content.' },
  },
  {
    if_match: { type: 'string', description: 'Write only if the file still has this etag.' },
    create_only: { type: 'boolean', default: false, description: 'Refuse if the file exists.' },
    create_dirs: { type: 'boolean', default: true, description: 'Create missing parent directories.' },
  },
);

const output = objectSchema(
  {
    path: { type: 'string' },
    created: { type: 'boolean' },
    bytes_written: { type: 'integer' },
    etag: { type: 'string' },
  },
  {
    encoding: { type: 'string', description: 'Absent for UTF-8.' },
    diff_stat: diffStatOutput,
    diagnostics: afterChangeOutput,
  },
);

/** The tool `write_file`. */
export function writeFileTool({ files, requireRead, afterChange }: FilesystemContext): Tool {
  return defineTool({
    name: 'write_file',
    title: 'Write file',
    description:
      'Create a file, or replace the content of one that was read before. Line endings and final newline are written as given. A new file is ' +
      'UTF-8; an existing one keeps its encoding and byte order mark. To change a part of a file use edit_file.',
    input,
    output,
    annotations: hints('destructive', 'idempotent'),
    permission: ({ path }) => claimPath(files, path, 'write'),
    async execute({ path, content, if_match, create_only, create_dirs }, ctx) {
      const asUtf8Text = encodeText(content, 'utf-8');
      if (!asUtf8Text)
        throw new ToolError(
          'INVALID_ARGUMENT',
          'content contains half of a surrogate pair, which cannot be encoded. Write the whole character.',
        );
      if (asUtf8Text.length > MAX_WHOLE_FILE_BYTES)
        throw new ToolError(
          'TOO_LARGE',
          `content has ${asUtf8Text.length} bytes; the maximum is 64 MiB. Nothing was written. Create the file with a program.`,
        );
      let stat: DiffStat | undefined;
      let old: Buffer | undefined;
      let written: EncodedContent = { bytes: asUtf8Text, encoding: 'utf-8' };
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
          old = current && before;
          written = encodedLike(before, content) ?? { bytes: asUtf8Text, encoding: 'utf-8' };
          const [was, now] = [before && asUtf8(before), asUtf8(written.bytes)];
          stat = was && now && (await diffStat(was, now));
          return written.bytes;
        },
      );
      const { shown } = files.scope.parse(path);
      const { bytes, encoding } = written;
      const before = new Map(old && [[shown, old]]);
      const diagnostics = await lookAfterChange(afterChange, [shown], { signal: ctx.signal, before });
      const lines = stat ? `, ${stat.added} lines added, ${stat.removed} removed` : '';
      return {
        content: [
          {
            type: 'text',
            text: `${created ? 'Created' : 'Replaced'} ${escapeControls(shown)} (${bytes.length} bytes${encoding === 'utf-8' ? '' : ` in ${encoding}`}${lines}).${afterChangeText(diagnostics, shown)}`,
          },
        ],
        structuredContent: {
          path: shown,
          created,
          bytes_written: bytes.length,
          etag,
          ...(encoding !== 'utf-8' && { encoding }),
          ...(stat && { diff_stat: stat }),
          ...(diagnostics && { diagnostics }),
        },
      };
    },
  });
}

interface EncodedContent {
  bytes: Buffer;
  encoding: TextEncoding;
}

/**
 * The content in the encoding of the old file, with its byte order mark. Undefined, which means plain UTF-8, when the old
 * file is not text, its encoding lacks one of the characters, or the content is empty.
 */
function encodedLike(old: Buffer | undefined, content: string): EncodedContent | undefined {
  const detected = old && encodingOf(old);
  if (!detected || content === '') return undefined;
  const { encoding, bom } = detected;
  const bytes = encodeText(bom && !content.startsWith('\ufeff') ? `\ufeff${content}` : content, encoding);
  // Some latin1 bytes would be detected as UTF-8, and read as other characters.
  if (!bytes || (encoding === 'latin1' && encodingOf(bytes)?.encoding !== 'latin1')) return undefined;
  return { bytes, encoding };
}
