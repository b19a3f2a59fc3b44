// apply_patch: creates, changes, moves and deletes several files by one patch, all of them or none.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import type { TogetherFile } from '../../project/project-files.js';
import { escapeControls, quote } from '../../project/scope/project-scope.js';
import { afterChangeOutput, afterChangeText, lookAfterChange } from '../../project/change-report.js';
import { claimPath, type FilesystemContext } from '../filesystem-context.js';
import { binaryFileOf } from '../read/media-type.js';
import { parsePatch, type PatchHunk, type PatchOperation } from '../edit/patch-format.js';
import { applyHunks } from '../edit/patch-text.js';
import { assertNoPlaceholder } from '../edit/elision-comments.js';
import { asUtf8, encodeText, encodingOf, SAMPLE_BYTES } from '../../project/open/text-encoding.js';
import {
  diffStat,
  diffStatOutput,
  limitDiffs,
  unifiedDiff,
  type DiffStat,
  type DiffText,
} from '../../project/write/unified-diff.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {
    patch: { type: 'string', description: 'From "*** Begin Patch" to "*** End Patch".' },
  },
  {
    dry_run: { type: 'boolean', default: false, description: 'Only show the diff, without changing anything.' },
  },
);

const output = objectSchema(
  {
    changes: {
      type: 'array',
      description: 'In the order of the patch.',
      items: objectSchema(
        {
          op: { type: 'string', enum: ['add', 'update', 'delete', 'move'] },
          path: { type: 'string' },
        },
        {
          move_path: { type: 'string', description: 'The new path of the file.' },
          diff_stat: diffStatOutput,
        },
      ),
    },
  },
  {
    diagnostics: afterChangeOutput,
  },
);

interface Change {
  op: 'add' | 'update' | 'delete' | 'move';
  path: string;
  move_path?: string;
  diff_stat?: DiffStat;
}

const NOTHING = Buffer.alloc(0);

/** The tool `apply_patch`. */
export function applyPatchTool({ files, requireRead, limits, afterChange }: FilesystemContext): Tool {
  return defineTool({
    name: 'apply_patch',
    title: 'Apply patch',
    description:
      'Change several files in one call, all of them or none. The patch is "*** Begin Patch", then for each file "*** Add File: PATH" with lines ' +
      'that begin with "+", "*** Delete File: PATH", or "*** Update File: PATH" (then perhaps "*** Move to: PATH") with hunks, then ' +
      '"*** End Patch". A hunk begins with "@@", or "@@ " and a line above the place, such as the first line of the function; its lines begin with " " (context), ' +
      '"-" (removed) or "+" (added). It has no line numbers: give about 3 lines of context, so that the place is unique. ' +
      '"*** End of File" after a hunk places it at the end; a hunk that only adds lines and has no line after "@@" is appended. Text files that are updated or deleted must have been read.',
    input,
    output,
    annotations: hints('destructive'),
    permission: async ({ patch }) => {
      const claims = await Promise.all(pathsOf(parsePatch(patch)).map((path) => claimPath(files, path, 'write')));
      return claims.flat();
    },
    async execute({ patch, dry_run }, ctx) {
      const operations = parsePatch(patch);
      const changes: Change[] = [];
      const diffs: DiffText[] = [];
      const replaced = new Map<string, Buffer>();
      await files.changeTogether(
        pathsOf(operations),
        { sessionId: ctx.sessionId, requireRead, signal: ctx.signal },
        async (fileOf) => {
          changes.length = diffs.length = 0; // planned again when a file was moved before it was locked
          const touched = new Set<TogetherFile>();
          for (const operation of operations) {
            const { change, before, after } = await plan(operation, fileOf, touched, ctx.signal);
            const [old, now] = [before && asUtf8(before), asUtf8(after)];
            const isText = old !== undefined && now !== undefined;
            changes.push({ ...change, ...(isText && { diff_stat: await diffStat(old, now) }) });
            const shown = change.move_path ?? change.path;
            if (before && change.op !== 'add' && !replaced.has(shown)) replaced.set(shown, before);
            diffs.push(
              isText
                ? await unifiedDiff(shown, old, now, MISSING[change.op])
                : { text: `${escapeControls(shown)} is not shown as text`, omitted: 0 },
            );
            await nextTurn(undefined, { signal: ctx.signal });
          }
          if (dry_run) for (const file of touched) file.after = undefined;
        },
      );
      const head = `${dry_run ? 'Would make' : 'Made'} ${changes.length} ${changes.length === 1 ? 'change' : 'changes'}:`;
      const names = changes.map(({ op, path, move_path: to }) =>
        escapeControls(`${op} ${path}${to === undefined ? '' : ` to ${to}`}`),
      );
      const paths = dry_run ? [] : [...new Set(changes.map(({ path, move_path: to }) => to ?? path))];
      const diagnostics = await lookAfterChange(afterChange, paths, { signal: ctx.signal, before: replaced });
      const shownText = limitDiffs([head, ...names].join('\n'), diffs, limits);
      return {
        content: [{ type: 'text', text: shownText + afterChangeText(diagnostics, paths[0] ?? '') }],
        structuredContent: { changes, ...(diagnostics && { diagnostics }) },
      };
    },
  });
}

/** The version in which the file does not exist. */
const MISSING = { add: 'before', delete: 'after', update: undefined, move: undefined } as const;

function pathsOf(operations: readonly PatchOperation[]): string[] {
  return operations.flatMap((each) =>
    each.op === 'update' && each.movePath !== undefined ? [each.path, each.movePath] : [each.path],
  );
}

interface Planned {
  change: Omit<Change, 'diff_stat'>;
  /** Undefined above 64 MiB. */
  before: Buffer | undefined;
  after: Buffer;
}

/** Sets the new content of the files of one operation, after the operations before it. */
async function plan(
  operation: PatchOperation,
  fileOf: (path: string) => TogetherFile,
  touched: Set<TogetherFile>,
  signal: AbortSignal,
): Promise<Planned> {
  const file = fileOf(operation.path);
  const { path } = file;
  touched.add(file);
  if (operation.op === 'add') {
    assertNoPlaceholder(operation.text, '', `${quote(path)}: `, 'the patch');
    const after = encodeText(operation.text, 'utf-8');
    if (!after)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `${quote(path)}: the patch contains half of a surrogate pair. Write the whole character.`,
      );
    assertFree(file, 'Update it instead, or delete it first.');
    file.after = after;
    return { change: { op: 'add', path }, before: NOTHING, after };
  }
  if (operation.op === 'delete') {
    const removed = await removedContent(file);
    file.after = 'delete';
    return { change: { op: 'delete', path }, before: removed, after: NOTHING };
  }
  const before = await contentOf(file, operation.movePath !== undefined);
  const after = operation.hunks.length === 0 ? before : await patched(path, before, operation.hunks, signal);
  if (operation.movePath === undefined) {
    if (after.equals(before)) throw new ToolError('NO_CHANGE', `The patch would change nothing in ${quote(path)}.`);
    file.after = after;
    return { change: { op: 'update', path }, before, after };
  }
  const moved = fileOf(operation.movePath);
  touched.add(moved);
  assertFree(moved, 'Move to a different name, or delete it first.');
  file.after = 'delete';
  moved.after = after;
  moved.modeOf = file;
  return { change: { op: 'move', path, move_path: moved.path }, before, after };
}

function assertFree({ path, current, after }: TogetherFile, next: string): void {
  if (after === 'delete' || (after === undefined && !current)) return;
  throw new ToolError('INVALID_ARGUMENT', `${quote(path)} already exists; nothing was changed. ${next}`);
}

async function patched(path: string, bytes: Buffer, hunks: readonly PatchHunk[], signal: AbortSignal): Promise<Buffer> {
  const detected = encodingOf(bytes);
  if (!detected) throw binaryFileOf(path, bytes.length, bytes.subarray(0, SAMPLE_BYTES), 'edit');
  return await applyHunks({ path, bytes, ...detected }, hunks, signal);
}

/** The content of the file at this point of the patch. */
async function contentOf(file: TogetherFile, isMoved: boolean): Promise<Buffer> {
  const { path, after } = file;
  if (after === 'delete') throw new ToolError('NOT_FOUND', `${quote(path)} is deleted or moved earlier in the patch.`);
  if (after) return Buffer.from(after);
  await file.assertSeen();
  if (file.current?.bytes) return file.current.bytes;
  const next = isMoved ? 'Rename it with move' : 'Change it with a program';
  throw new ToolError('TOO_LARGE', `${quote(path)} is larger than 64 MiB, which is too large for a patch. ${next}.`);
}

/** As {@link contentOf}, for a file to delete: one that read_file cannot show need not have been read. */
async function removedContent(file: TogetherFile): Promise<Buffer | undefined> {
  const { current } = file;
  if (file.after !== undefined) return contentOf(file, false);
  await file.assertExists();
  if (!current?.bytes) return undefined;
  if (encodingOf(current.bytes)) await file.assertSeen();
  return current.bytes;
}
