// job_kill: ends a job and all that it started.

import { defineTool, type Tool, type ToolContext } from '../../../tool/define-tool.js';
import { endOf } from '../jobs/command-answer.js';
import type { BashState } from '../bash-context.js';

const MAX_GRACE_MS = 60_000;

/** Signals that ask a program to do something, and not to end. */
const MESSAGES: ReadonlySet<string> = new Set(['SIGUSR1', 'SIGUSR2']);

const input = {
  type: 'object',
  properties: {
    job_id: { type: 'string' },
    signal: {
      type: 'string',
      enum: ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGKILL', 'SIGUSR1', 'SIGUSR2'],
      default: 'SIGTERM',
      description: 'SIGUSR1 and SIGUSR2 are only sent; after the others what still runs is killed.',
    },
    grace_ms: {
      type: 'integer',
      minimum: 0,
      maximum: MAX_GRACE_MS,
      default: 2_000,
      description: 'From the signal to SIGKILL.',
    },
  },
  required: ['job_id'],
} as const;

const output = {
  type: 'object',
  properties: { status: { type: 'string', enum: ['running', 'exited', 'killed'] } },
  required: ['status'],
  additionalProperties: false,
} as const;

/** The tool `job_kill`. */
export function jobKillTool(): Tool {
  return defineTool({
    name: 'job_kill',
    title: 'End a job',
    description:
      'End a job and everything it started. A job that has ended stays as it is; what it left running is ended.',
    input,
    output,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    timeoutMs: MAX_GRACE_MS + 10_000,
    async execute({ job_id: id, signal, grace_ms: graceMs }, ctx: ToolContext<BashState>) {
      const job = ctx.state.jobs.get(id, ctx.sessionId);
      if (MESSAGES.has(signal)) {
        if (job.status === 'running') job.signal(signal, { isToEnd: false });
      } else if (job.mayRun) {
        if (signal !== 'SIGTERM') job.signal(signal, { isToEnd: true });
        const isPolite = signal === 'SIGTERM' || signal === 'SIGKILL';
        if (!isPolite) await job.endsWithin(graceMs);
        await job.end(isPolite ? graceMs : 0);
      }
      return {
        content: [{ type: 'text', text: `${id}: ${job.status} ${endOf(job)}` }],
        structuredContent: { status: job.status },
      };
    },
  });
}
