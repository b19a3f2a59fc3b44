// A page of a file as tools answer with it: its text within a budget, what is known of the file, and how to read on.

import { ToolError } from '../../errors.js';
import type { ToolContext } from '../../tool.js';
import { fileFailure } from '../file-failure.js';
import type { ProjectFiles } from '../project-files.js';
import { escapeControls, quote, type ScopePath } from '../project-scope.js';
import { readPage, type FilePage } from './file-pages.js';
import { LineBudget, type OutputLimits } from '../output-budget.js';
import { binaryFile } from '../text-encoding.js';

const MAX_LINE_CHARS = 2_000;
/** Reading so much takes long enough for somebody to want to know, or to stop it. */
const PROGRESS_BYTES = 32 * 1024 * 1024;

/** The `structuredContent` of a page, in JSON Schema. */
export const PAGE_PROPERTIES = {
  path: { type: 'string' },
  start_line: { type: 'integer' },
  end_line: { type: 'integer', description: 'start_line - 1 for an empty file.' },
  total_lines: { type: 'integer', description: 'Absent for a file that was not read to its end (above 64 MiB).' },
  size: { type: 'integer', description: 'In bytes.' },
  etag: {
    type: 'string',
    description: 'Names this version, for if_match: of the content up to 64 MiB, else of size and time.',
  },
  encoding: { type: 'string', enum: ['utf-8', 'utf-16le', 'utf-16be', 'latin1'] },
  bom: { type: 'boolean' },
  eol: { type: 'string', enum: ['lf', 'crlf', 'mixed', 'none'] },
  truncated: { type: 'boolean', description: 'More lines follow, or a long line was cut.' },
  next_offset: { type: 'integer', description: 'The offset to read on with.' },
} as const;

/** A page that was read, and where. */
export interface ReadPage {
  path: string;
  page: FilePage;
  offset: number;
  size: number;
}

/**
 * Reads a page of a file, and notes that the session has seen this version.
 *
 * @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, BINARY_FILE; INVALID_ARGUMENT past the end or for no regular file
 */
export async function readPageOf(
  files: ProjectFiles,
  asked: ScopePath,
  { offset, limit }: { offset: number; limit: number },
  ctx: ToolContext,
): Promise<ReadPage> {
  const { handle, stats, path: real } = await files.openFile(asked);
  try {
    const size = Number(stats.size);
    let reportedAt = 0;
    const page = await readPage(handle, stats, {
      offset,
      limit,
      maxLineChars: MAX_LINE_CHARS,
      onProgress: (bytes) => {
        if (bytes - reportedAt < PROGRESS_BYTES) return;
        reportedAt = bytes;
        ctx.signal.throwIfAborted();
        ctx.progress({ progress: bytes, total: size, message: `Reading ${escapeControls(asked.shown)}` });
      },
    });
    if (!page)
      throw binaryFile(asked.shown, size, (await handle.read(Buffer.alloc(32), 0, 32, 0)).buffer.subarray(0, size));
    if (offset > Math.max(1, page.linesSeen)) throw pastTheEnd(asked.shown, offset, page.linesSeen);
    files.tracker.note(ctx.sessionId, { path: real.absolute, dev: stats.dev, ino: stats.ino }, page.etag, page.content);
    return { path: asked.shown, page, offset, size };
  } catch (error) {
    throw fileFailure(error, 'read', asked.shown);
  } finally {
    await handle.close();
  }
}

/** The lines of a page as they are shown, numbered if wanted. */
export function shownLines({ page, offset }: ReadPage, lineNumbers: boolean): string[] {
  return page.lines.map(({ text, cutBytes }, index) => {
    const shown = cutBytes > 0 ? `${text}... [${cutBytes} more bytes of this line]` : text;
    return lineNumbers ? `${String(offset + index).padStart(6)}\t${shown}` : shown;
  });
}

/** What a page answers when its text may have so much: the text, notices (empty when there is nothing to say), facts. */
export function pageAnswer(read: ReadPage, lines: readonly string[], limits: OutputLimits) {
  const { path, page, offset, size } = read;
  const budget = new LineBudget(limits);
  const cut: number[] = [];
  for (const [index, line] of lines.entries()) {
    if (!budget.add(line)) break;
    if ((page.lines[index]?.cutBytes ?? 0) > 0) cut.push(offset + index);
  }
  const endLine = offset + budget.count - 1;
  const more = !page.complete || endLine < page.linesSeen;
  const notices: string[] = [];
  if (page.linesSeen === 0) notices.push('The file is empty.');
  if (more) {
    const of = page.complete ? ` of ${page.linesSeen}` : '';
    notices.push(`Lines ${offset} to ${endLine}${of}. Read on with offset=${endLine + 1}.`);
  }
  if (cut.length > 0)
    notices.push(
      `Cut at ${MAX_LINE_CHARS} characters: ${cut.length === 1 ? 'line' : 'lines'} ${cut.slice(0, 10).join(', ')}${cut.length > 10 ? ', ...' : ''}.`,
    );
  if (page.encoding === 'latin1')
    notices.push('It is not UTF-8; each byte is shown as one latin1 character, and edited as that.');
  return {
    text: budget.text(),
    notice: notices.length > 0 ? `[${notices.join(' ')}]` : '',
    facts: {
      path,
      start_line: offset,
      end_line: endLine,
      ...(page.complete && { total_lines: page.linesSeen }),
      size,
      etag: page.etag,
      encoding: page.encoding,
      bom: page.bom,
      eol: page.eol,
      truncated: more || cut.length > 0,
      ...(more && { next_offset: endLine + 1 }),
    },
  };
}

function pastTheEnd(path: string, offset: number, lines: number): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    `offset ${offset} is past the end: ${quote(path)} has ${lines} ${lines === 1 ? 'line' : 'lines'}.`,
    {
      details: { total_lines: lines },
    },
  );
}
