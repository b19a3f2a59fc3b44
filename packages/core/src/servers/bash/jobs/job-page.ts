// A page of a job's output from any position: the answer of job_output and job_input.

import type { ToolOutput } from '../../../contract/result.js';
import type { FromJsonSchema } from '../../../tool/infer-schema.js';
import { objectSchema } from '../../../tool/object-schema.js';
import type { OutputLimits } from '../../project/output-budget.js';
import { endOf, EXIT_CODE, JOB_STATUS } from './command-answer.js';
import type { Job } from './job.js';
import { lastLines } from '../output/head-and-tail.js';
import { showableLength, terminalText } from '../output/terminal-text.js';

/** The `structuredContent` of a page. */
export const pageOutput = objectSchema(
  {
    status: JOB_STATUS,
    cursor: { type: 'integer', description: 'Where this part begins, in bytes of the whole output.' },
    next_cursor: { type: 'integer', description: 'Where the next part begins.' },
    dropped_bytes: { type: 'integer', description: 'Bytes before this part that are no longer stored.' },
  },
  { exit_code: EXIT_CODE },
);
type PageFacts = FromJsonSchema<typeof pageOutput>;

/** Which part of the output to return. */
export interface PageRequest {
  /** In bytes; undefined for the first unread byte. */
  cursor: number | undefined;
  /** The number of last lines, instead of a cursor. */
  tailLines?: number | undefined;
}

/** Returns a part of the present output, and marks it as read. */
export async function jobPage(
  job: Job,
  { cursor, tailLines }: PageRequest,
  limits: OutputLimits,
): Promise<ToolOutput<PageFacts>> {
  const { timeline } = job.output;
  const requested =
    tailLines === undefined
      ? Math.min(cursor ?? job.unreadFrom, timeline.total)
      : Math.max(0, timeline.total - limits.maxBytes);
  const hasEnded = job.status !== 'running'; // read before the output, so that the last part is complete
  const part = await timeline.read(requested, limits.maxBytes);
  const { start } = part;
  let bytes = tailLines === undefined ? firstLines(part.bytes, limits.maxLines) : part.bytes;
  const isLast = hasEnded && start + bytes.length >= timeline.total;
  if (!isLast) bytes = bytes.subarray(0, showableLength(bytes));
  const next = start + bytes.length;
  job.unreadFrom = Math.max(job.unreadFrom, next);
  const shown = bytes.includes(0) ? `[binary output, bytes ${start} to ${next}]` : terminalText(bytes);
  const text = tailLines === undefined ? shown : lastLines(shown, Math.min(tailLines, limits.maxLines));
  const droppedBytes = start - requested;
  const left = timeline.total - next;
  const notes = [
    ...(droppedBytes > 0 ? [`[${droppedBytes} bytes before this are no longer stored]`] : []),
    ...(text === '' ? [] : [text.replace(/\n$/, '')]),
    ...(left > 0 ? [`[${left} more bytes from cursor ${next}]`] : []),
    ...(isLast ? job.sandboxNotices.map((each) => `[${each}]`) : []),
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
 * Waits for output beyond a position, the end of the job, or the time limit.
 *
 * @param from the position in bytes
 */
export async function waitForOutput(job: Job, from: number, waitMs: number, signal: AbortSignal): Promise<void> {
  if (waitMs <= 0 || job.status !== 'running' || job.output.timeline.total > from) return;
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  try {
    await Promise.race([
      job.output.nextOutput(over.signal),
      job.done.catch(() => {}), // the call that started it reports the failure
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
