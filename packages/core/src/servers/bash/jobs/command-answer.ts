// What a command's answer says, in words and in numbers.

import { ToolError } from '../../../contract/errors.js';
import type { ToolOutput } from '../../../contract/result.js';
import type { Job, JobStatus } from './job.js';

/** The `structuredContent` of `execute`. */
export const executeOutput = {
  type: 'object',
  properties: {
    exit_code: { type: ['integer', 'null'], description: 'Null while it runs, and when a signal ended it.' },
    signal: { type: ['string', 'null'], description: 'The signal that ended it.' },
    timed_out: { type: 'boolean' },
    duration_ms: { type: 'integer' },
    stdout_bytes: { type: 'integer' },
    stderr_bytes: { type: 'integer' },
    truncated: { type: 'boolean', description: 'A part of the output is not in the text.' },
    output_path: { type: 'string', description: 'The whole output as it came, absolute. job_output pages it.' },
    job_id: { type: 'string', description: 'For the job_ tools: while it runs, and where the output was too long.' },
    status: { type: 'string', enum: ['running', 'exited', 'killed'] },
    sandboxed: { type: 'boolean', description: 'It ran in a sandbox.' },
    leftover: { type: 'array', items: { type: 'integer' }, description: 'Processes that it left running.' },
  },
  required: [
    ...['exit_code', 'signal', 'timed_out', 'duration_ms', 'stdout_bytes', 'stderr_bytes', 'truncated', 'status'],
    ...['sandboxed', 'leftover'],
  ],
  additionalProperties: false,
} as const;

/** That shape. */
export interface ExecuteFacts {
  exit_code: number | null;
  signal: string | null;
  timed_out: boolean;
  duration_ms: number;
  stdout_bytes: number;
  stderr_bytes: number;
  truncated: boolean;
  output_path?: string;
  job_id?: string;
  status: JobStatus;
  sandboxed: boolean;
  leftover: number[];
}

/** Why a command was ended before it was done. */
export type EarlyEnd = { code: 'TIMED_OUT'; timeoutMs: number } | { code: 'CANCELLED' };

/** What {@link executeAnswer} tells beside the job. */
export interface AnswerOptions {
  early?: EarlyEnd | undefined;
  /** Why it did not run in a sandbox although it was to; undefined when it did, or was not to. */
  unsandboxed?: string | undefined;
}

/**
 * The answer to `execute`: the output, then what is to be known of it, then how it ended.
 * A job whose output is not all in the text is listed, so that the rest can be paged.
 */
export async function executeAnswer(
  job: Job,
  { early, unsandboxed }: AnswerOptions,
): Promise<ToolOutput<ExecuteFacts>> {
  const { output, exit } = job;
  const { timeline } = output;
  const { head, tail, omittedBytes, isBinary } = output.parts();
  const truncated = omittedBytes > 0 || timeline.droppedBytes > 0 || isBinary;
  if (truncated) {
    await timeline.spill();
    job.isListed = true;
  }
  const more = `job_output with job_id "${job.id}" and cursor 0 pages all of it`;
  const body = isBinary
    ? `[binary output, ${timeline.total} bytes; ${more}]`
    : omittedBytes > 0
      ? `${withNewline(head)}[... ${omittedBytes} bytes are left out here; ${more} ...]\n${tail}`
      : head + tail;
  const notes = [
    ...(timeline.droppedBytes > 0
      ? [`${timeline.droppedBytes} bytes of the output were dropped: it was too long`]
      : []),
    ...(job.leftover.length > 0 ? [`left running: ${job.leftover.join(', ')}`] : []),
    ...job.undone,
    ...(unsandboxed === undefined ? [] : [`not sandboxed: ${unsandboxed}`]),
  ];
  const text = [
    ...(body === '' ? [] : [body.replace(/\n$/, '')]),
    ...notes.map((note) => `[${note}]`),
    endOf(job, early),
  ];
  return {
    content: [{ type: 'text', text: text.join('\n') }],
    structuredContent: {
      exit_code: job.status === 'running' ? null : (exit?.code ?? null),
      signal: job.status === 'running' ? null : (exit?.signal ?? null),
      timed_out: job.timedOut,
      duration_ms: Math.round(job.durationMs),
      stdout_bytes: output.stdoutBytes,
      stderr_bytes: output.stderrBytes,
      truncated,
      ...(timeline.path !== undefined && { output_path: timeline.path }),
      ...(job.isListed && { job_id: job.id }),
      status: job.status,
      sandboxed: job.sandboxed,
      leftover: [...job.leftover],
    },
    ...(early && { isError: true, error: new ToolError(early.code, reasonOf(early)) }),
  };
}

/** How a command stands, as the last line of a text. */
export function endOf(job: Job, early?: EarlyEnd): string {
  if (early) return `[${early.code}] ${reasonOf(early)}`;
  if (job.status === 'running') {
    return `[running as job ${job.id}: job_output reads on, job_kill ends it]`;
  }
  if (job.timedOut) return '[ended: it ran longer than its timeout_ms]';
  const { code = null, signal = null } = job.exit ?? {};
  return code === null ? `[ended by ${signal ?? 'a signal'}]` : `[exit code: ${code}]`;
}

function reasonOf(early: EarlyEnd): string {
  return early.code === 'TIMED_OUT'
    ? `The command was ended after ${early.timeoutMs} ms. Give it a longer timeout_ms, or run it with background: true.`
    : 'The command was ended, as its call was cancelled.';
}

function withNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
