// bank_fetch: what people wrote into the project's MEMORY_BANK.md.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { answer, ask, NOTICE, QUOTED, type MemoryContext, type MemoryToolContext } from '../memory-context.js';
import { quotation, safeText } from '../service/plain-text.js';
import { BANK_FILE } from '../service/memory-bank.js';

const output = {
  type: 'object',
  properties: {
    entries: {
      type: 'array',
      items: {
        type: 'object',
        properties: { heading: { type: 'string' }, text: { type: 'string' }, line: { type: 'integer' } },
        required: ['heading', 'text', 'line'],
        additionalProperties: false,
      },
    },
    notice: NOTICE,
  },
  required: ['entries'],
  additionalProperties: false,
} as const;

/** The tool `bank_fetch`. */
export function bankFetchTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('bank_fetch'),
    title: 'Read the memory bank',
    description: `Read the project's ${BANK_FILE} by sections: all, those whose heading has a text, or those that fit a query.`,
    input: {
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 1, maxLength: 1_000, description: 'The best sections first.' },
        section: { type: 'string', minLength: 1, maxLength: 200, description: 'A part of the heading.' },
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
      },
    },
    output,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    permission: () => [{ pattern: `read ${BANK_FILE}`, match: 'glob', understood: true, reason: 'reads it' }],
    async execute({ query, section, limit }, ctx: MemoryToolContext) {
      const { result: entries, notice } = await ask(ctx, 'bank', { query, section, limit });
      const blocks = entries.map(
        ({ heading, text, line }) => `${BANK_FILE}:${line} ${safeText(heading) || '(beginning)'}\n${quotation(text)}`,
      );
      const heading = entries.length === 0 ? `No section of ${BANK_FILE} fits.` : QUOTED;
      return answer(
        context,
        [heading, ...blocks].join('\n\n'),
        { entries: entries.map((each) => ({ ...each })) },
        notice,
      );
    },
  });
}
