// edit_file: replaces parts of a file that the session has read, and changes no other byte.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { ToolError } from '../../../contract/errors.js';
import { afterChangeOutput, afterChangeText, lookAfterChange } from '../../project/change-report.js';
import { claimPath, type FilesystemContext } from '../filesystem-context.js';
import { MATCH_STRATEGIES } from '../edit/match-ladder.js';
import { binaryFileOf } from '../read/media-type.js';
import { decodeText, encodingOf, SAMPLE_BYTES } from '../../project/open/text-encoding.js';
import { applyEdits, insertAfterLine, type EditableText, type EditOutcome, type TextEdit } from '../edit/text-edit.js';
import { limitDiffs, unifiedDiff } from '../../project/write/unified-diff.js';
import { escapeControls, quote } from '../../project/scope/project-scope.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const texts = {
  old_string: {
    type: 'string',
    description: 'The text to replace, exactly as it is in the file, without line numbers.',
  },
  new_string: {
    type: 'string',
    description: 'The replacement, or the lines to insert. Line endings are converted to those of the file.',
  },
} as const;

const options = {
  replace_all: { type: 'boolean', description: 'Replace every occurrence. Default: old_string must be unique.' },
  expected_count: { type: 'integer', minimum: 1, description: 'Replace exactly this many occurrences, or nothing.' },
} as const;

const input = {
  type: 'object',
  properties: {
    path: { type: 'string', description: 'The file, relative to the project.' },
    edits: {
      type: 'array',
      minItems: 1,
      maxItems: 200,
      description: 'Several replacements in order, all or none.',
      // Described above, once.
      items: objectSchema(
        { old_string: { type: 'string' }, new_string: { type: 'string' } },
        { replace_all: { type: 'boolean' }, expected_count: { type: 'integer', minimum: 1 } },
      ),
    },
    ...texts,
    ...options,
    insert_line: {
      type: 'integer',
      minimum: 0,
      description: 'Instead of old_string: insert new_string after this line, 0 at the beginning.',
    },
    if_match: { type: 'string', description: 'Edit only if the file still has this etag.' },
    dry_run: { type: 'boolean', default: false, description: 'Show the diff without changing the file.' },
  },
  required: ['path'],
} as const;

const output = objectSchema(
  {
    path: { type: 'string' },
    applied: {
      type: 'array',
      items: objectSchema({
        line: { type: 'integer', description: 'The line of the first replacement, before this edit.' },
        count: { type: 'integer' },
        strategy: { type: 'string', enum: MATCH_STRATEGIES },
      }),
    },
    etag: { type: 'string', description: 'The etag of the new content; with dry_run, of the unchanged file.' },
  },
  {
    diagnostics: afterChangeOutput,
  },
);

type Change = (text: EditableText, signal: AbortSignal) => EditOutcome | Promise<EditOutcome>;

/** The tool `edit_file`. */
export function editFileTool({ files, requireRead, limits, afterChange }: FilesystemContext): Tool {
  return defineTool({
    name: 'edit_file',
    title: 'Edit file',
    description:
      'Replace text in a file that was read before. old_string must match exactly, white space included, and be unique unless replace_all or ' +
      'expected_count is given. A unique match that differs only in line endings, indentation, other white space or typographic characters is ' +
      'accepted too; strategy says so. Give old_string and new_string, or edits, or insert_line and new_string.',
    input,
    output,
    annotations: hints('destructive'),
    permission: ({ path }) => claimPath(files, path, 'write'),
    async execute(args, ctx) {
      const change = changeOf(args);
      const { shown } = files.scope.parse(args.path);
      let before: EditableText | undefined;
      let after: EditOutcome | undefined;
      const { etag } = await files.change(
        args.path,
        { sessionId: ctx.sessionId, requireRead, ifMatch: args.if_match, mustExist: true, signal: ctx.signal },
        async (current) => {
          if (!current?.bytes)
            throw new ToolError('TOO_LARGE', `${quote(shown)} is larger than 64 MiB; edit it with a program.`);
          const detected = encodingOf(current.bytes);
          if (!detected) throw binaryFileOf(shown, current.size, current.bytes.subarray(0, SAMPLE_BYTES), 'edit');
          before = { path: shown, bytes: current.bytes, ...detected };
          after = await change(before, ctx.signal);
          return args.dry_run ? undefined : after.bytes;
        },
      );
      if (!before || !after) throw new ToolError('INTERNAL', 'The file was not changed.');
      const { encoding } = before;
      const asUtf8 = (bytes: Buffer): Buffer =>
        encoding === 'utf-8' ? bytes : Buffer.from(decodeText(bytes, encoding));
      const diff = await unifiedDiff(shown, asUtf8(before.bytes), asUtf8(after.bytes));
      const count = after.applied.reduce((sum, each) => sum + each.count, 0);
      const head = `${args.dry_run ? 'Would change' : 'Changed'} ${escapeControls(shown)} in ${count} ${count === 1 ? 'place' : 'places'}.`;
      const options = { signal: ctx.signal, before: new Map([[shown, before.bytes]]) };
      const diagnostics = await lookAfterChange(afterChange, args.dry_run ? [] : [shown], options);
      return {
        content: [{ type: 'text', text: limitDiffs(head, [diff], limits) + afterChangeText(diagnostics, shown) }],
        structuredContent: { path: shown, applied: after.applied, etag, ...(diagnostics && { diagnostics }) },
      };
    },
  });
}

interface EditArguments extends Partial<TextEdit> {
  edits?: TextEdit[];
  insert_line?: number;
}

/** @throws {ToolError} INVALID_ARGUMENT unless the arguments are one of the three forms */
function changeOf({
  edits,
  insert_line: line,
  old_string: oldText,
  new_string: newText,
  replace_all,
  expected_count,
}: EditArguments): Change {
  const forms = [edits !== undefined, line !== undefined, oldText !== undefined].filter(Boolean).length;
  const flat = newText !== undefined && (oldText !== undefined || line !== undefined);
  if (forms !== 1 || (edits ? newText !== undefined : !flat)) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      'Set one of: old_string and new_string; edits; insert_line and new_string.',
    );
  }
  if (edits) return (text, signal) => applyEdits(text, edits, signal);
  if (line !== undefined) return (text) => insertAfterLine(text, line, newText ?? '');
  const flatEdit = { old_string: oldText ?? '', new_string: newText ?? '', replace_all, expected_count };
  return (text, signal) => applyEdits(text, [flatEdit], signal);
}
