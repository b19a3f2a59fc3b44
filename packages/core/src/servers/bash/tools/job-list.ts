// job_list: the jobs of this session.

import { defineTool, type Tool, type ToolContext } from '../../../tool/define-tool.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import type { BashState } from '../bash-context.js';
import type { Job } from '../jobs/job.js';

const SHOWN_COMMAND_CHARS = 200;

const output = {
  type: 'object',
  properties: {
    jobs: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          job_id: { type: 'string' },
          command: { type: 'string' },
          cwd: { type: 'string' },
          status: { type: 'string', enum: ['running', 'exited', 'killed'] },
          exit_code: { type: ['integer', 'null'], description: 'Once it has ended; null when a signal ended it.' },
          started_at: { type: 'string', description: 'ISO 8601.' },
          duration_ms: { type: 'integer' },
          output_bytes: { type: 'integer' },
          unread_bytes: { type: 'integer', description: 'What job_output has not given yet.' },
          sandboxed: { type: 'boolean' },
        },
        required: ['job_id', 'command', 'cwd', 'status', 'started_at', 'duration_ms', 'output_bytes', 'unread_bytes'],
        additionalProperties: false,
      },
    },
  },
  required: ['jobs'],
  additionalProperties: false,
} as const;

/** The tool `job_list`. */
export function jobListTool(): Tool {
  return defineTool({
    name: 'job_list',
    title: 'Jobs',
    description: 'List the commands of this session that run in the background, and the last that have ended.',
    input: { type: 'object', properties: {} },
    output,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    execute: (_args, ctx: ToolContext<BashState>) => {
      const jobs = ctx.state.jobs.list(ctx.sessionId);
      const text = jobs.length === 0 ? 'There are no jobs.' : jobs.map(lineOf).join('\n');
      return { content: [{ type: 'text', text }], structuredContent: { jobs: jobs.map(rowOf) } };
    },
  });
}

function rowOf(job: Job) {
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
