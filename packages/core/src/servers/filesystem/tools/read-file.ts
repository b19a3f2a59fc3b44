// read_file: returns one page of a text file, with the values needed to read the next page and to edit the file.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { claimPath, type FilesystemContext } from '../filesystem-context.js';
import { LinePlaces } from '../read/line-places.js';
import { PAGE_PROPERTIES, pageAnswer, readPageOf } from '../read/page-answer.js';
import { READ_ENCODINGS } from '../read/text-stream.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {
    path: { type: 'string', description: 'The file, relative to the project.' },
  },
  {
    offset: { type: 'integer', minimum: 1, description: 'The first line to read, from 1. Default: 1.' },
    column: {
      type: 'integer',
      minimum: 1,
      description:
        'The first column of the line at offset, from 1, in UTF-16 units. If given, long lines are not cut at 2,000 characters: continue with ' +
        'next_offset and next_column.',
    },
    tail: {
      type: 'integer',
      minimum: 1,
      description: 'Read this many of the last lines, instead of offset and column.',
    },
    limit: { type: 'integer', minimum: 1, default: 2_000, description: 'Maximum number of lines.' },
    encoding: {
      type: 'string',
      enum: READ_ENCODINGS,
      default: 'auto',
      description: 'auto: detected from the content. Set another if the detection is wrong.',
    },
    line_numbers: { type: 'boolean', default: true, description: 'Prefix each line with its number and a tab.' },
  },
);

const { path, size, etag, encoding, bom, eol, truncated, ...optional } = PAGE_PROPERTIES;

const output = objectSchema({ path, size, etag, encoding, bom, eol, truncated }, optional);

/** The tool `read_file`. */
export function readFileTool({ files, limits }: FilesystemContext): Tool {
  const places = new LinePlaces();
  return defineTool({
    name: 'read_file',
    title: 'Read file',
    description:
      'Read a text file, or a part of it. Lines are numbered; a page has up to 2,000 lines or 50 KiB, long lines are cut, and the answer ' +
      'says how to continue. tail reads the end. Read a file before changing it.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ path }) => claimPath(files, path, 'read'),
    async execute({ path, line_numbers: lineNumbers, ...requested }, ctx) {
      if (requested.tail !== undefined && (requested.offset !== undefined || requested.column !== undefined))
        throw new ToolError('INVALID_ARGUMENT', 'Give either tail, or offset and column.');
      const read = await readPageOf(files, files.scope.parse(path), { ...requested, places }, limits, ctx);
      const { text, notice, facts } = pageAnswer(read, lineNumbers, limits);
      const content = [{ type: 'text' as const, text }];
      // In a separate block, so that without line numbers the first block is exactly the file's text.
      if (notice !== '') content.push({ type: 'text', text: notice });
      return { content, structuredContent: facts };
    },
  });
}
