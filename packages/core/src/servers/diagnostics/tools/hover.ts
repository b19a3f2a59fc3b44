// hover: shows the type and the documentation of a symbol.

import type { Hover } from 'vscode-languageserver-protocol';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { cutText, limitText } from '../../project/output-budget.js';
import { atPlace, placeInput } from '../lsp/requested-place.js';
import { claimPath, type DiagnosticsContext } from '../diagnostics-context.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const MAX_BYTES = 16 * 1024;

const output = objectSchema({ markdown: { type: 'string', description: 'Empty when there is no information.' } });

/** The tool `hover`. */
export function hoverTool(context: DiagnosticsContext): Tool {
  return defineTool({
    name: 'hover',
    title: 'Hover',
    description: 'Show the type and the documentation of a symbol, by position or name.',
    input: { type: 'object', properties: placeInput } as const,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ path }) => claimPath(context, path ?? 'all', 'looks for a symbol'),
    async execute(args, ctx) {
      return await atPlace(context, args, ctx, async ({ session, document, position, deadline }) => {
        const params = { textDocument: { uri: document.uri }, position };
        const answer = await session.request<Hover | null>('textDocument/hover', params, deadline.signal);
        const markdown = cutText(markdownOf(answer?.contents), MAX_BYTES);
        const text = markdown === '' ? 'There is no information at that position.' : markdown;
        return {
          content: [{ type: 'text', text: limitText(text, context.limits, (lines) => `[${lines} more lines]`) }],
          structuredContent: { markdown },
        };
      });
    },
  });
}

/** The text of a hover, in all formats of the protocol. */
function markdownOf(contents: unknown): string {
  if (typeof contents === 'string') return contents.trim();
  if (Array.isArray(contents)) return contents.map(markdownOf).filter(Boolean).join('\n\n');
  const { value, language } = Object(contents) as { value?: unknown; language?: unknown };
  if (typeof value !== 'string') return '';
  return typeof language === 'string' ? `\`\`\`${language}\n${value}\n\`\`\`` : value.trim();
}
