// The answer to a command: its text and its structured content.

import { ToolError } from '../../../contract/errors.js';
import type { ToolOutput } from '../../../contract/result.js';
import type { FromJsonSchema } from '../../../tool/infer-schema.js';
import { objectSchema } from '../../../tool/object-schema.js';
import type { Job } from './job.js';

export const JOB_STATUS = { type: 'string', enum: ['running', 'exited', 'killed'] } as const;
export const EXIT_CODE = {
  type: ['integer', 'null'],
  description: 'Present once it has ended; null when a signal ended it.',
} as const;

/** The `structuredContent` of `execute`. */
export const executeOutput = objectSchema(
  {
    exit_code: { type: ['integer', 'null'], description: 'Null while it runs, and when a signal ended it.' },
    signal: { type: ['string', 'null'], description: 'The signal that ended it.' },
    timed_out: { type: 'boolean' },
    duration_ms: { type: 'integer' },
    stdout_bytes: { type: 'integer' },
    stderr_bytes: { type: 'integer' },
    truncated: { type: 'boolean', description: 'A part of the output is not in the text.' },
    status: JOB_STATUS,
    sandboxed: { type: 'boolean', description: 'It ran in a sandbox.' },
    leftover: { type: 'array', items: { type: 'integer' }, description: 'Processes that it left running.' },
  },
  {
    output_path: { type: 'string', description: 'Absolute path of the whole output, which job_output pages.' },
    job_id: { type: 'string', description: 'For the job_ tools, while it runs or when the output was too long.' },
  },
);
export type ExecuteFacts = FromJsonSchema<typeof executeOutput>;

/** Why a command was ended early. */
export type EarlyEnd = { code: 'TIMED_OUT'; timeoutMs: number } | { code: 'CANCELLED' };

/** What {@link executeAnswer} needs besides the job. */
export interface AnswerOptions {
  early?: EarlyEnd | undefined;
  /** Why it did not run in a sandbox; undefined when it did, or when the sandbox is off. */
  unsandboxed?: string | undefined;
}

/**
 * The answer to `execute`: the output, then notes, then how the command ended. When the text lacks a part of the output, the
 * job is listed, so that job_output can page it.
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
      ? [`${timeline.droppedBytes} bytes of the output were dropped, as it was too long`]
      : []),
    ...(job.leftover.length > 0 ? [`left running: ${job.leftover.join(', ')}`] : []),
    ...job.sandboxNotices,
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

/** The last line of an answer: how the command ended, or that it runs. */
export function endOf(job: Job, early?: EarlyEnd): string {
  if (early) return `[${early.code}] ${reasonOf(early)}`;
  if (job.status === 'running') {
    return `[running as job ${job.id}: job_output returns its output, job_kill ends it]`;
  }
  if (job.timedOut) return '[ended after its timeout_ms]';
  const { code = null, signal = null } = job.exit ?? {};
  return code === null ? `[ended by ${signal ?? 'a signal'}]` : `[exit code: ${code}]`;
}

function reasonOf(early: EarlyEnd): string {
  return early.code === 'TIMED_OUT'
    ? `The command was ended after ${early.timeoutMs} ms. Set a longer timeout_ms, or run it with background: true.`
    : 'The command was ended because its call was cancelled.';
}

function withNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
