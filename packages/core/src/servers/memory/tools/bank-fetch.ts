// bank_fetch: reads sections of the project's MEMORY_BANK.md, which people write.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import {
  callMemory,
  memoryResult,
  NOTICE,
  QUOTED,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { quotation, safeText } from '../service/plain-text.js';
import { BANK_FILE } from '../service/memory-bank.js';

const ENTRY = objectSchema({ heading: { type: 'string' }, text: { type: 'string' }, line: { type: 'integer' } });

/** The tool `bank_fetch`. */
export function bankFetchTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('bank_fetch'),
    title: 'Read the memory bank',
    description: `Read sections of the project's ${BANK_FILE}: all of them, those whose heading contains a text, or those that match a query.`,
    input: objectSchema(
      {},
      {
        query: { type: 'string', minLength: 1, maxLength: 1_000, description: 'Return the best matches first.' },
        section: { type: 'string', minLength: 1, maxLength: 200, description: 'Part of the heading.' },
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
      },
    ),
    output: objectSchema({ entries: { type: 'array', items: ENTRY } }, { notice: NOTICE }),
    annotations: hints('readOnly', 'idempotent'),
    permission: () => [{ pattern: `read ${BANK_FILE}`, match: 'glob', understood: true, reason: 'reads the file' }],
    async execute({ query, section, limit }, ctx: MemoryToolContext) {
      const { result: entries, notice } = await callMemory(ctx, 'bank', { query, section, limit });
      const blocks = entries.map(
        ({ heading, text, line }) => `${BANK_FILE}:${line} ${safeText(heading) || '(beginning)'}\n${quotation(text)}`,
      );
      const summary = entries.length === 0 ? `No section of ${BANK_FILE} matches.` : QUOTED;
      const data = { entries: entries.map((entry) => ({ ...entry })) };
      return memoryResult(context, [summary, ...blocks].join('\n\n'), data, notice);
    },
  });
}
