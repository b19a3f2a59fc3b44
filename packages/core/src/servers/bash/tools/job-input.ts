// job_input: writes to the standard input of a background job.

import { quoteWords } from '../../../contract/shell-words.js';
import { defineTool, type Tool, type ToolContext } from '../../../tool/define-tool.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import type { BashContext, BashState } from '../bash-context.js';
import { jobPage, pageOutput, waitForOutput } from '../jobs/job-page.js';

const MAX_INPUT_CHARS = 1024 * 1024;
const MAX_WAIT_MS = 300_000;

const input = objectSchema(
  {
    job_id: { type: 'string' },
    input: { type: 'string', maxLength: MAX_INPUT_CHARS, description: 'Written unchanged: end a line with \\n.' },
  },
  {
    eof: { type: 'boolean', default: false, description: 'Close its standard input afterwards.' },
    wait_ms: {
      type: 'integer',
      minimum: 0,
      maximum: MAX_WAIT_MS,
      default: 250,
      description: 'How long to wait for output.',
    },
  },
);

/** The tool `job_input`. */
export function jobInputTool({ limits }: BashContext): Tool {
  return defineTool({
    name: 'job_input',
    title: 'Input for a job',
    description: 'Write to the standard input of a job that was started with background, and return what it prints.',
    input,
    output: pageOutput,
    annotations: hints('destructive', 'openWorld'),
    timeoutMs: MAX_WAIT_MS + 5_000,
    // A shell or an interpreter runs whatever it reads.
    permission: ({ input: text }) => [
      {
        pattern: quoteWords(['job_input', text]),
        match: 'tokens',
        understood: false,
        reason: 'it is not known what the program of the job does with its input',
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
