// check_errors: whether a file has errors.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { diagnosticLine } from '../../project/diagnostic-rows.js';
import { limitText } from '../../project/output-budget.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { checkPath } from '../files/check-path.js';
import { requestedPath, claimPath, type DiagnosticsContext } from '../diagnostics-context.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const WAIT_MS = 5_000;

const input = objectSchema({ path: { type: 'string', description: 'A file, a directory, or "all" for the project.' } });

const output = objectSchema({
  has_errors: { type: 'boolean' },
  count: { type: 'integer' },
  complete: { type: 'boolean', description: 'If false, "no errors" does not mean that there are none.' },
});

/** The tool `check_errors`. */
export function checkErrorsTool(context: DiagnosticsContext): Tool {
  return defineTool({
    name: 'check_errors',
    title: 'Check for errors',
    description:
      'Report whether a file has errors, according to its language server. Warnings do not count; diagnostics lists them.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ path }) => claimPath(context, path, 'checks it'),
    async execute({ path }, ctx) {
      const requested = await requestedPath(context, path);
      const checked = await checkPath(context, requested, {
        waitMs: WAIT_MS,
        signal: ctx.signal,
        permits: ctx.permits,
      });
      const pending = checked.answers.filter((answer) => answer.pending !== undefined);
      const lines = checked.answers.flatMap(({ absolute, diagnostics }) =>
        diagnostics
          .filter(({ severity }) => severity === 'error')
          .map((each) => diagnosticLine(context.files.scope.find(absolute)?.shown ?? absolute, each)),
      );
      const complete = pending.length === 0;
      const shown = escapeControls(requested.shown);
      const head =
        lines.length > 0
          ? `Yes, ${shown} has ${lines.length} ${lines.length === 1 ? 'error' : 'errors'}${complete ? '' : ', possibly more'}:`
          : complete
            ? `No, ${shown} has no errors.`
            : `It is not known whether ${shown} has errors.`;
      const why = pending.slice(0, 5).map((answer) => answer.pending ?? '');
      return {
        content: [
          {
            type: 'text',
            text: limitText(
              [head, ...lines, ...new Set(why)].join('\n'),
              context.limits,
              (more) => `[${more} more lines]`,
            ),
          },
        ],
        structuredContent: { has_errors: lines.length > 0, count: lines.length, complete },
      };
    },
  });
}
