// read_file: one page of a text file, with what is needed to read on and to edit it.

import { defineTool, type Tool } from '../../tool.js';
import { claimPath, type FilesystemContext } from './context.js';
import { PAGE_PROPERTIES, pageAnswer, readPageOf, shownLines } from './page-answer.js';

const input = {
  type: 'object',
  properties: {
    path: { type: 'string', description: 'The file, relative to the project.' },
    offset: { type: 'integer', minimum: 1, default: 1, description: 'The first line to read, from 1.' },
    limit: { type: 'integer', minimum: 1, default: 2_000, description: 'How many lines at most.' },
    line_numbers: { type: 'boolean', default: true, description: 'Put the line number and a tab before each line.' },
  },
  required: ['path'],
} as const;

const output = {
  type: 'object',
  properties: PAGE_PROPERTIES,
  required: ['path', 'start_line', 'end_line', 'size', 'etag', 'encoding', 'bom', 'eol', 'truncated'],
  additionalProperties: false,
} as const;

/** The tool `read_file`. */
export function readFileTool({ files, limits }: FilesystemContext): Tool {
  return defineTool({
    name: 'read_file',
    title: 'Read file',
    description:
      'Read a text file, or a part of it. Lines are numbered; up to 2,000 lines or 50 KiB come at once, and the answer says how to read on. ' +
      'Read a file before changing it.',
    input,
    output,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    permission: ({ path }) => claimPath(files, path, 'read'),
    async execute({ path, offset, limit, line_numbers }, ctx) {
      const asked = files.scope.parse(path);
      const read = await readPageOf(files, asked, { offset, limit: Math.min(limit, limits.maxLines) }, ctx);
      const { text, notice, facts } = pageAnswer(read, shownLines(read, line_numbers), limits);
      const content = [{ type: 'text' as const, text }];
      // A block of its own, so that without line numbers the first block is the file's text and nothing else.
      if (notice !== '') content.push({ type: 'text', text: notice });
      return { content, structuredContent: facts };
    },
  });
}
