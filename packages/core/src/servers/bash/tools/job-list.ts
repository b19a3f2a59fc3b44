// job_list: lists the jobs of this session.

import { defineTool, type Tool, type ToolContext } from '../../../tool/define-tool.js';
import type { FromJsonSchema } from '../../../tool/infer-schema.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import type { BashState } from '../bash-context.js';
import { EXIT_CODE, JOB_STATUS } from '../jobs/command-answer.js';
import type { Job } from '../jobs/job.js';

const SHOWN_COMMAND_CHARS = 200;

const row = objectSchema(
  {
    job_id: { type: 'string' },
    command: { type: 'string' },
    cwd: { type: 'string' },
    status: JOB_STATUS,
    started_at: { type: 'string', description: 'ISO 8601.' },
    duration_ms: { type: 'integer' },
    output_bytes: { type: 'integer' },
    unread_bytes: { type: 'integer', description: 'Output that job_output has not returned yet.' },
  },
  {
    exit_code: EXIT_CODE,
    sandboxed: { type: 'boolean' },
  },
);
const output = objectSchema({ jobs: { type: 'array', items: row } });

/** The tool `job_list`. */
export function jobListTool(): Tool {
  return defineTool({
    name: 'job_list',
    title: 'Jobs',
    description: 'List the background commands of this session, and the most recent ones that have ended.',
    input: objectSchema({}),
    output,
    annotations: hints('readOnly', 'idempotent'),
    execute: (_args, ctx: ToolContext<BashState>) => {
      const jobs = ctx.state.jobs.list(ctx.sessionId);
      const text = jobs.length === 0 ? 'No jobs.' : jobs.map(lineOf).join('\n');
      return { content: [{ type: 'text', text }], structuredContent: { jobs: jobs.map(rowOf) } };
    },
  });
}

function rowOf(job: Job): FromJsonSchema<typeof row> {
  const { total } = job.output.timeline;
  return {
    job_id: job.id,
    command: cut(job.command),
    cwd: job.cwd,
    status: job.status,
    ...(job.status !== 'running' && { exit_code: job.exit?.code ?? null }),
    started_at: job.startedAt.toISOString(),
    duration_ms: Math.round(job.durationMs),
    output_bytes: total,
    unread_bytes: total - job.unreadFrom,
    sandboxed: job.sandboxed,
  };
}

function lineOf(job: Job): string {
  const end = job.status === 'running' ? '' : ` (exit code ${job.exit?.code ?? 'none'})`;
  return `${job.id}  ${job.status}${end}  ${Math.round(job.durationMs / 1000)} s  ${escapeControls(cut(job.command))}`;
}

function cut(command: string): string {
  return command.length <= SHOWN_COMMAND_CHARS ? command : `${command.slice(0, SHOWN_COMMAND_CHARS)}...`;
}
