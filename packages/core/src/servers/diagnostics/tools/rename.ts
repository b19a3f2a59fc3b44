// rename: renames a symbol in all files, or in none.

import type { WorkspaceEdit } from 'vscode-languageserver-protocol';
import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { escapeControls, quote } from '../../project/scope/project-scope.js';
import { limitDiffs, unifiedDiff, type DiffText } from '../../project/write/unified-diff.js';
import { atPlace, placeInput, type RequestedPlace } from '../lsp/requested-place.js';
import { claimPath, type DiagnosticsContext } from '../diagnostics-context.js';
import { TextPlaces } from '../lsp/text-places.js';
import { applyEdits, editsByFile, type FileEdits } from '../lsp/workspace-edit.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

/** The number of tries; each opens the files found, so that the edits apply to known texts. */
const MAX_TRIES = 5;

const input = {
  type: 'object',
  properties: {
    ...placeInput,
    new_name: { type: 'string', minLength: 1, maxLength: 500, description: 'Without white space.' },
    dry_run: {
      type: 'boolean',
      default: true,
      description: 'Only show what would change. Set to false to make the change.',
    },
  },
  required: ['new_name'],
} as const;

const output = objectSchema({
  changes: {
    type: 'array',
    items: objectSchema({
      path: { type: 'string' },
      edits: { type: 'integer', description: 'The number of places changed in the file.' },
    }),
  },
  applied: { type: 'boolean' },
});

/** The tool `rename`. */
export function renameTool(context: DiagnosticsContext): Tool {
  const { files } = context;
  return defineTool({
    name: 'rename',
    title: 'Rename symbol',
    description:
      'Rename a symbol in all files, or in none. Use the position of its definition: an imported name may get ' +
      'an alias instead. Unless dry_run is false, only shows the diff.',
    input,
    output,
    annotations: hints('destructive'),
    // The files are unknown before the request, so the claim is the whole project.
    permission: ({ path, dry_run }) =>
      dry_run
        ? claimPath(context, path ?? 'all', 'looks for a symbol')
        : claimPath(context, 'all', 'may change any file'),
    async execute({ new_name: newName, dry_run: dryRun, ...args }, ctx) {
      if (/[\s\p{Cc}\p{Surrogate}]/u.test(newName))
        throw new ToolError('INVALID_ARGUMENT', 'new_name contains white space or a control character.');
      return await atPlace(context, args, ctx, async (place) => {
        const changes = await foundEdits(context, place, newName);
        for (const { shown } of changes) {
          if (!ctx.permits(shown))
            throw new ToolError(
              'PERMISSION_DENIED',
              `The policy does not permit ${quote(shown)}; nothing was changed.`,
            );
          await files.resolve(shown, 'write'); // a link to an outside or protected file
        }
        const textOf = (absolute: string): string => place.session.documents.get(absolute)?.text ?? '';
        const diffs: DiffText[] = [];
        for (const { absolute, shown, edits } of changes) {
          const text = textOf(absolute);
          diffs.push(await unifiedDiff(shown, Buffer.from(text), Buffer.from(new TextPlaces(text).edited(edits))));
        }
        if (!dryRun) await applyEdits(files, changes, textOf, { sessionId: ctx.sessionId, signal: ctx.signal });
        const count = changes.reduce((sum, { edits }) => sum + edits.length, 0);
        const head =
          `${dryRun ? 'Would change' : 'Changed'} ${count} ${count === 1 ? 'place' : 'places'} in ${changes.length} ` +
          `${changes.length === 1 ? 'file' : 'files'}: ${changes.map(({ shown }) => escapeControls(shown)).join(', ')}.`;
        return {
          content: [{ type: 'text', text: limitDiffs(head, diffs, context.limits) }],
          structuredContent: {
            changes: changes.map(({ shown, edits }) => ({ path: shown, edits: edits.length })),
            applied: !dryRun,
          },
        };
      });
    },
  });
}

/** The edits, all of texts that were sent to the server. */
async function foundEdits(
  { files }: DiagnosticsContext,
  { servers, session, document, position, deadline }: RequestedPlace,
  newName: string,
): Promise<FileEdits[]> {
  const params = { textDocument: { uri: document.uri }, position, newName };
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const answer = await session.request<WorkspaceEdit | null>('textDocument/rename', params, deadline.signal);
    const changes = editsByFile(answer, files);
    if (changes.length === 0)
      throw new ToolError('NO_CHANGE', 'There is nothing to rename at that position. Use the position of a name.');
    const unseen = changes.filter(({ absolute }) => !session.documents.get(absolute));
    if (unseen.length === 0) return changes;
    for (const { absolute } of unseen) {
      const language = servers.languageOf(absolute);
      if (!language)
        throw new ToolError('UNAVAILABLE', `The server would change ${quote(absolute)}, whose language is unknown.`);
      await deadline.race(servers.show(session, absolute, language));
    }
  }
  throw new ToolError('TOO_LARGE', 'The symbol is used in more files than can be open; rename it with edits.');
}
