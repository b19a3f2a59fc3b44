// symbols: lists the declarations of a file, or finds declarations by name.

import type { SymbolInformation } from 'vscode-languageserver-protocol';
import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { limitText } from '../../project/output-budget.js';
import { escapeControls, quote } from '../../project/scope/project-scope.js';
import { flatSymbols, inFile, inWorkspace } from '../lsp/requested-place.js';
import { requestedPath, claimPath, type DiagnosticsContext } from '../diagnostics-context.js';
import { rangeFromLsp } from '../lsp/lsp-conversion.js';
import { Deadline } from '../call-deadline.js';
import { pathOfUri } from '../lsp/pushed-diagnostics.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {},
  {
    path: { type: 'string', description: 'A file, for its outline.' },
    query: { type: 'string', description: 'Instead of path: a name, or a part of one, to find in the project.' },
    depth: {
      type: 'integer',
      minimum: 1,
      maximum: 20,
      default: 2,
      description: 'Levels of the outline; 1 leaves out members.',
    },
    limit: { type: 'integer', minimum: 1, maximum: 2_000, default: 200 },
  },
);

const output = objectSchema({
  symbols: {
    type: 'array',
    items: objectSchema(
      {
        name: { type: 'string' },
        kind: { type: 'string' },
        path: { type: 'string' },
        line: { type: 'integer' },
        column: { type: 'integer' },
        end_line: { type: 'integer' },
      },
      {
        container: { type: 'string', description: 'The symbol that contains it; absent at the top level.' },
      },
    ),
  },
  count: { type: 'integer' },
  truncated: { type: 'boolean' },
});

interface SymbolRow {
  name: string;
  kind: string;
  path: string;
  line: number;
  column: number;
  end_line: number;
  container?: string;
}

/** https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#symbolKind, from 1 */
const KINDS =
  'file module namespace package class method property field constructor enum interface function variable constant string number boolean array object key null enum_member struct event operator type_parameter'.split(
    ' ',
  );

/** The tool `symbols`. */
export function symbolsTool(context: DiagnosticsContext): Tool {
  return defineTool({
    name: 'symbols',
    title: 'Symbols',
    description: 'List what a file declares (path), or find declarations by name in the whole project (query).',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ path }) => claimPath(context, path ?? 'all', 'lists its symbols'),
    async execute({ path, query, depth, limit }, ctx) {
      if ((path === undefined) === (query === undefined))
        throw new ToolError('INVALID_ARGUMENT', 'Set path for the outline of a file, or query to search the project.');
      using deadline = new Deadline(context.requestTimeoutMs, ctx.signal);
      const all =
        path === undefined
          ? await declared(context, query ?? '', deadline, ctx.permits)
          : await outline(context, path, depth, deadline);
      const symbols = all.slice(0, limit);
      const truncated = all.length > limit;
      const lines = symbols.map(({ name, kind, path: shown, line, column, container }) =>
        escapeControls(`${shown}:${line}:${column} ${kind} ${container === undefined ? name : `${container}.${name}`}`),
      );
      if (all.length === 0) lines.push('None found.');
      if (truncated) lines.push(`[${all.length - limit} more. Raise limit, or narrow the query.]`);
      return {
        content: [
          { type: 'text', text: limitText(lines.join('\n'), context.limits, (more) => `[${more} more lines]`) },
        ],
        structuredContent: { symbols, count: all.length, truncated },
      };
    },
  });
}

async function outline(
  context: DiagnosticsContext,
  path: string,
  depth: number,
  deadline: Deadline,
): Promise<SymbolRow[]> {
  const requested = await requestedPath(context, path);
  if (requested.isDirectory)
    throw new ToolError('INVALID_ARGUMENT', `${quote(requested.shown)} is a directory; use query instead.`);
  return await inFile(context, requested.absolute, deadline, async ({ session }, { uri }) => {
    const params = { textDocument: { uri } };
    const answer = await session.request<unknown>('textDocument/documentSymbol', params, deadline.signal);
    return flatSymbols(answer)
      .filter(({ names }) => names.length <= depth)
      .map(({ names, kind, start, range }): SymbolRow => {
        const container = names.slice(0, -1).join('.');
        return {
          name: names.at(-1) ?? '',
          kind: KINDS[kind - 1] ?? 'symbol',
          path: requested.shown,
          line: start.line + 1,
          column: start.character + 1,
          end_line: rangeFromLsp(range)?.end_line ?? start.line + 1,
          ...(container !== '' && { container }),
        };
      });
  });
}

async function declared(
  context: DiagnosticsContext,
  query: string,
  deadline: Deadline,
  permits: (shown: string) => boolean,
): Promise<SymbolRow[]> {
  const answers = await inWorkspace(context, deadline, ({ session }) =>
    session.request<SymbolInformation[] | null>('workspace/symbol', { query }, deadline.signal),
  );
  const rows = answers
    .flatMap((answer) => (Array.isArray(answer) ? answer : []))
    .flatMap((each): SymbolRow[] => {
      const { name, kind, location, containerName } = Object(each) as Partial<SymbolInformation>;
      const absolute = pathOfUri(location?.uri);
      const at = rangeFromLsp(location?.range);
      const place = absolute === undefined ? undefined : context.files.scope.find(absolute);
      if (typeof name !== 'string' || !at || !place || !permits(place.shown)) return [];
      return [
        {
          name,
          kind: KINDS[(kind ?? 0) - 1] ?? 'symbol',
          path: place.shown,
          line: at.line,
          column: at.column,
          end_line: at.end_line,
          ...(containerName && { container: containerName }),
        },
      ];
    });
  const isOwn = ({ path }: SymbolRow): number => Number(path.includes('node_modules/'));
  return rows.sort((a, b) => isOwn(a) - isOwn(b) || (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line));
}
