// job_kill: ends a job and every process that it started.

import { defineTool, type Tool, type ToolContext } from '../../../tool/define-tool.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import { endOf, JOB_STATUS } from '../jobs/command-answer.js';
import type { BashState } from '../bash-context.js';

const MAX_GRACE_MS = 60_000;

/** Signals that are not meant to end a program. */
const USER_SIGNALS: ReadonlySet<string> = new Set(['SIGUSR1', 'SIGUSR2']);

const input = objectSchema(
  { job_id: { type: 'string' } },
  {
    signal: {
      type: 'string',
      enum: ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGKILL', 'SIGUSR1', 'SIGUSR2'],
      default: 'SIGTERM',
      description: 'SIGUSR1 and SIGUSR2 are only sent. Any other signal is followed by SIGKILL after grace_ms.',
    },
    grace_ms: {
      type: 'integer',
      minimum: 0,
      maximum: MAX_GRACE_MS,
      default: 2_000,
      description: 'Time from the signal to SIGKILL.',
    },
  },
);

const output = objectSchema({ status: JOB_STATUS });

/** The tool `job_kill`. */
export function jobKillTool(): Tool {
  return defineTool({
    name: 'job_kill',
    title: 'End a job',
    description:
      'End a job and every process that it started. For a job that has ended, the processes that it left running are ended.',
    input,
    output,
    annotations: hints('destructive', 'idempotent'),
    timeoutMs: MAX_GRACE_MS + 10_000,
    async execute({ job_id: id, signal, grace_ms: graceMs }, ctx: ToolContext<BashState>) {
      const job = ctx.state.jobs.get(id, ctx.sessionId);
      if (USER_SIGNALS.has(signal)) {
        if (job.status === 'running') job.signal(signal, { ends: false });
      } else if (job.mayRun) {
        if (signal !== 'SIGTERM') job.signal(signal, { ends: true });
        const isLadder = signal === 'SIGTERM' || signal === 'SIGKILL';
        if (!isLadder) await job.endsWithin(graceMs);
        await job.end(isLadder ? graceMs : 0);
      }
      return {
        content: [{ type: 'text', text: `${id}: ${job.status} ${endOf(job)}` }],
        structuredContent: { status: job.status },
      };
    },
  });
}
