// A page of a job's output, from any place on: what job_output and job_input answer.

import type { ToolOutput } from '../../../contract/result.js';
import type { OutputLimits } from '../../project/output-budget.js';
import { endOf } from './command-answer.js';
import type { Job, JobStatus } from './job.js';
import { lastLines } from '../output/kept-text.js';
import { showableLength, terminalText } from '../output/terminal-text.js';

/** The `structuredContent` of a page. */
export const pageOutput = {
  type: 'object',
  properties: {
    status: { type: 'string', enum: ['running', 'exited', 'killed'] },
    exit_code: { type: ['integer', 'null'], description: 'Once it has ended; null when a signal ended it.' },
    cursor: { type: 'integer', description: 'Where this part begins, in bytes of the whole output.' },
    next_cursor: { type: 'integer', description: 'Where the next one does.' },
    dropped_bytes: { type: 'integer', description: 'Bytes before this part that are not kept any more.' },
  },
  required: ['status', 'cursor', 'next_cursor', 'dropped_bytes'],
  additionalProperties: false,
} as const;

/** That shape. */
interface PageFacts {
  status: JobStatus;
  exit_code?: number | null;
  cursor: number;
  next_cursor: number;
  dropped_bytes: number;
}

/** Which part. */
export interface PageRequest {
  /** In bytes; undefined for what was not given yet. */
  cursor: number | undefined;
  /** Instead of a cursor: the last lines. */
  tailLines?: number | undefined;
}

/** Gives a part of what there is now, and notes that it was given. */
export async function jobPage(
  job: Job,
  { cursor, tailLines }: PageRequest,
  limits: OutputLimits,
): Promise<ToolOutput<PageFacts>> {
  const { timeline } = job.output;
  const asked =
    tailLines === undefined
      ? Math.min(cursor ?? job.unreadFrom, timeline.total)
      : Math.max(0, timeline.total - limits.maxBytes);
  const isOver = job.status !== 'running'; // before the look, so that what is called the end is one
  const part = await timeline.read(asked, limits.maxBytes);
  const { start } = part;
  let bytes = tailLines === undefined ? firstLines(part.bytes, limits.maxLines) : part.bytes;
  const isLast = isOver && start + bytes.length >= timeline.total;
  if (!isLast) bytes = bytes.subarray(0, showableLength(bytes));
  const next = start + bytes.length;
  job.unreadFrom = Math.max(job.unreadFrom, next);
  const shown = bytes.includes(0) ? `[binary output, bytes ${start} to ${next}]` : terminalText(bytes);
  const text = tailLines === undefined ? shown : lastLines(shown, Math.min(tailLines, limits.maxLines));
  const droppedBytes = start - asked;
  const left = timeline.total - next;
  const notes = [
    ...(droppedBytes > 0 ? [`[${droppedBytes} bytes before this are not kept any more]`] : []),
    ...(text === '' ? [] : [text.replace(/\n$/, '')]),
    ...(left > 0 ? [`[${left} bytes more: cursor ${next}]`] : []),
    ...(isLast ? job.undone.map((each) => `[${each}]`) : []),
    ...(isLast || job.status === 'running' ? [endOf(job)] : []),
  ];
  return {
    content: [{ type: 'text', text: notes.join('\n') }],
    structuredContent: {
      status: job.status,
      ...(job.status !== 'running' && { exit_code: job.exit?.code ?? null }),
      cursor: start,
      next_cursor: next,
      dropped_bytes: droppedBytes,
    },
  };
}

/**
 * Waits until there is more than was given, the job has ended, or the time is over.
 *
 * @param from where what is waited for begins
 */
export async function waitForOutput(job: Job, from: number, waitMs: number, signal: AbortSignal): Promise<void> {
  if (waitMs <= 0 || job.status !== 'running' || job.output.timeline.total > from) return;
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  try {
    await Promise.race([
      job.output.more(over.signal),
      job.done.catch(() => {}), // its failure is told where it was started
      new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { signal: over.signal })),
      new Promise<void>((resolve) => (timer = setTimeout(resolve, waitMs))),
    ]);
  } finally {
    clearTimeout(timer);
    over.abort();
  }
  signal.throwIfAborted();
}

function firstLines(bytes: Buffer, count: number): Buffer {
  let end = -1;
  for (let lines = 0; lines < count; lines++) {
    end = bytes.indexOf(0x0a, end + 1);
    if (end < 0) return bytes;
  }
  return bytes.subarray(0, end + 1);
}
