// job_input: types to a job that was started in the background.

import { quoteWords } from '../../../contract/shell-words.js';
import { defineTool, type Tool, type ToolContext } from '../../../tool/define-tool.js';
import type { BashContext, BashState } from '../bash-context.js';
import { jobPage, pageOutput, waitForOutput } from '../jobs/job-page.js';

const MAX_INPUT_CHARS = 1024 * 1024;
const MAX_WAIT_MS = 300_000;

const input = {
  type: 'object',
  properties: {
    job_id: { type: 'string' },
    input: { type: 'string', maxLength: MAX_INPUT_CHARS, description: 'Sent as it is: end a line with \\n.' },
    eof: { type: 'boolean', default: false, description: 'Close its standard input afterwards.' },
    wait_ms: {
      type: 'integer',
      minimum: 0,
      maximum: MAX_WAIT_MS,
      default: 250,
      description: 'Wait so long for what it answers.',
    },
  },
  required: ['job_id', 'input'],
} as const;

/** The tool `job_input`. */
export function jobInputTool({ limits }: BashContext): Tool {
  return defineTool({
    name: 'job_input',
    title: 'Input for a job',
    description: 'Write to the standard input of a job that was started with background, and read what it prints then.',
    input,
    output: pageOutput,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    timeoutMs: MAX_WAIT_MS + 5_000,
    // A shell or an interpreter that was allowed once runs whatever it is fed.
    permission: ({ input: text }) => [
      {
        pattern: quoteWords(['job_input', text]),
        match: 'tokens',
        understood: false,
        reason: 'what the program of the job does with its input cannot be told',
      },
    ],
    async execute({ job_id: id, input: text, eof, wait_ms: waitMs }, ctx: ToolContext<BashState>) {
      const job = ctx.state.jobs.get(id, ctx.sessionId);
      const { total } = job.output.timeline;
      await job.write(text, { eof, signal: ctx.signal });
      await waitForOutput(job, total, waitMs, ctx.signal);
      return jobPage(job, { cursor: undefined }, limits);
    },
  });
}
