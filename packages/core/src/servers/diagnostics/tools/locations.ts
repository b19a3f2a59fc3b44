// definition, references and implementation: find where a symbol is defined, used and implemented.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { limitText } from '../../project/output-budget.js';
import { atPlace, placeInput } from '../lsp/requested-place.js';
import { claimPath, type DiagnosticsContext } from '../diagnostics-context.js';
import { locationLine, locationOutput, locationsOf, withPreviews } from '../lsp/location-rows.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = {
  type: 'object',
  properties: {
    ...placeInput,
    limit: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
  },
} as const;

const output = objectSchema(
  {
    locations: { type: 'array', items: locationOutput },
    count: { type: 'integer', description: 'The number of all locations.' },
    truncated: { type: 'boolean' },
  },
  {
    withheld: { type: 'integer', description: 'The number of locations that the policy leaves out; absent if none.' },
  },
);

interface LocationTool {
  name: string;
  title: string;
  description: string;
  method: string;
  capability: 'definitionProvider' | 'referencesProvider' | 'implementationProvider';
  more?: object;
}

/** The tools `definition`, `references` and `implementation`. */
export const LOCATION_TOOLS: readonly ((context: DiagnosticsContext) => Tool)[] = [
  {
    name: 'definition',
    title: 'Go to definition',
    description: 'Find the definition of a symbol, by position or name.',
    method: 'textDocument/definition',
    capability: 'definitionProvider',
  } as const,
  {
    name: 'references',
    title: 'Find references',
    description: 'Find all references to a symbol, by position or name, including its declaration.',
    method: 'textDocument/references',
    capability: 'referencesProvider',
    more: { context: { includeDeclaration: true } },
  } as const,
  {
    name: 'implementation',
    title: 'Find implementations',
    description: 'Find the implementations of an interface or an abstract member, by position or name.',
    method: 'textDocument/implementation',
    capability: 'implementationProvider',
  } as const,
].map((tool) => (context) => locationTool(context, tool));

function locationTool(
  context: DiagnosticsContext,
  { name, title, description, method, capability, more = {} }: LocationTool,
): Tool {
  return defineTool({
    name,
    title,
    description,
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ path }) => claimPath(context, path ?? 'all', 'looks for a symbol'),
    async execute({ limit, ...args }, ctx) {
      return await atPlace(context, args, ctx, async ({ servers, session, document, position, deadline }) => {
        if (session.capabilities[capability] === undefined && session.requests.registered(method).length === 0)
          throw new ToolError('UNAVAILABLE', `${session.launch.name} does not support this.`, { retryable: false });
        const params = { textDocument: { uri: document.uri }, position, ...more };
        const answer = await session.request<unknown>(method, params, deadline.signal);
        const { rows, withheld } = locationsOf(answer, context.files.scope, ctx.permits);
        const locations = await withPreviews(rows.slice(0, limit), servers);
        const truncated = rows.length > limit;
        const lines = [
          ...(rows.length === 0 ? ['None found.'] : locations.map(locationLine)),
          ...(truncated ? [`[${rows.length - limit} more. Raise limit to see them.]`] : []),
          ...(withheld > 0 ? [`The policy leaves out ${withheld}.`] : []),
        ];
        return {
          content: [
            { type: 'text', text: limitText(lines.join('\n'), context.limits, (count) => `[${count} more lines]`) },
          ],
          structuredContent: {
            locations,
            count: rows.length,
            ...(withheld > 0 && { withheld }),
            truncated,
          },
        };
      });
    },
  });
}
