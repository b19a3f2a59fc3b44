// job_output: returns what a job has printed, from a cursor on.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool, type ToolContext } from '../../../tool/define-tool.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import type { BashContext, BashState } from '../bash-context.js';
import { jobPage, pageOutput, waitForOutput } from '../jobs/job-page.js';

const MAX_WAIT_MS = 300_000;

const input = objectSchema(
  { job_id: { type: 'string' } },
  {
    cursor: { type: 'integer', minimum: 0, description: 'Start at this byte. Default: the first unread byte.' },
    tail_lines: {
      type: 'integer',
      minimum: 1,
      maximum: 2_000,
      description: 'Return only the last lines, instead of a cursor.',
    },
    wait_ms: {
      type: 'integer',
      minimum: 0,
      maximum: MAX_WAIT_MS,
      default: 0,
      description: 'How long to wait for new output or the end of the job.',
    },
  },
);

/** The tool `job_output`. */
export function jobOutputTool({ limits }: BashContext): Tool {
  return defineTool({
    name: 'job_output',
    title: 'Output of a job',
    description: 'Read the output of a job, or of a command whose output was too long for its answer, page by page.',
    input,
    output: pageOutput,
    annotations: hints('readOnly'),
    timeoutMs: MAX_WAIT_MS + 5_000,
    async execute({ job_id: id, cursor, tail_lines: tailLines, wait_ms: waitMs }, ctx: ToolContext<BashState>) {
      if (cursor !== undefined && tailLines !== undefined)
        throw new ToolError('INVALID_ARGUMENT', 'Give cursor or tail_lines, not both.');
      const job = ctx.state.jobs.get(id, ctx.sessionId);
      const { total } = job.output.timeline;
      if (cursor !== undefined && cursor > total) {
        throw new ToolError(
          'INVALID_ARGUMENT',
          `The cursor ${cursor} is past the end: the job has printed ${total} bytes.`,
        );
      }
      const from = tailLines === undefined ? (cursor ?? job.unreadFrom) : total;
      await waitForOutput(job, from, waitMs, ctx.signal);
      return jobPage(job, { cursor, tailLines }, limits);
    },
  });
}
