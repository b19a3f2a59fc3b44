// Applies a server's edits of several files: all are checked first, then all or none are applied.

import type { TextEdit, WorkspaceEdit } from 'vscode-languageserver-protocol';
import { ToolError } from '../../../contract/errors.js';
import type { ProjectFiles } from '../../project/project-files.js';
import { quote } from '../../project/scope/project-scope.js';
import { encodeText, encodingOf } from '../../project/open/text-encoding.js';
import { decodeDocument } from './language-servers.js';
import { rangeFromLsp } from './lsp-conversion.js';
import { pathOfUri } from './pushed-diagnostics.js';
import { TextPlaces } from './text-places.js';

/** The edits of one file, with the text that they apply to. */
export interface FileEdits {
  absolute: string;
  shown: string;
  edits: TextEdit[];
}

/**
 * The edits by file.
 *
 * @throws {ToolError} OUTSIDE_PROJECT, PROTECTED_PATH or PERMISSION_DENIED for a file that may not be written,
 *   PROTOCOL_VIOLATION for an invalid edit, INVALID_ARGUMENT for files that would be created, moved or deleted
 */
export function editsByFile(edit: WorkspaceEdit | null, { scope }: ProjectFiles): FileEdits[] {
  const found = new Map<string, FileEdits>();
  const add = (uri: unknown, edits: unknown): void => {
    const absolute = pathOfUri(uri);
    if (absolute === undefined || !Array.isArray(edits) || !edits.every(isTextEdit)) throw noEdit();
    const place = scope.find(absolute);
    if (!place) throw scope.outside(absolute, 'would be changed but is outside the project; nothing was changed');
    scope.assertWritable(place);
    const known = found.get(absolute);
    if (known) for (const each of edits) known.edits.push(each);
    else found.set(absolute, { absolute, shown: place.shown, edits: [...edits] });
  };
  const { documentChanges, changes } = Object(edit ?? {}) as WorkspaceEdit;
  if (Array.isArray(documentChanges)) {
    for (const each of documentChanges) {
      if ('kind' in each)
        throw new ToolError(
          'INVALID_ARGUMENT',
          `The edit would also ${each.kind} files, which is not supported; nothing was changed.`,
        );
      add(each?.textDocument?.uri, each?.edits);
    }
  } else for (const [uri, edits] of Object.entries(Object(changes ?? {}) as object)) add(uri, edits);
  return [...found.values()].filter(({ edits }) => edits.length > 0).sort((a, b) => (a.shown < b.shown ? -1 : 1));
}

/**
 * Makes the edits, in all files or in none.
 *
 * @param textOf the text of each file on which the server based the edits
 * @throws {ToolError} FILE_CHANGED when a file has changed since, and as `ProjectFiles.changeTogether`
 */
export async function applyEdits(
  files: ProjectFiles,
  all: readonly FileEdits[],
  textOf: (absolute: string) => string,
  options: { sessionId: string | undefined; signal: AbortSignal },
): Promise<void> {
  await files.changeTogether(
    all.map(({ shown }) => shown),
    options,
    async (fileOf) => {
      for (const { absolute, shown, edits } of all) {
        const file = fileOf(shown);
        await file.assertExists();
        const bytes = file.current?.bytes;
        const text = textOf(absolute);
        if (!bytes || decodeDocument(bytes) !== text)
          throw new ToolError(
            'FILE_CHANGED',
            `${quote(shown)} changed while the edits were computed; nothing was changed. Try again.`,
          );
        file.after = encoded(bytes, new TextPlaces(text).edited(edits), shown);
      }
    },
  );
}

/** Encodes a text like the old content, with its byte order mark. */
function encoded(old: Buffer, text: string, shown: string): Buffer {
  const { encoding, bom } = (old.length > 0 && encodingOf(old)) || ({ encoding: 'utf-8', bom: false } as const);
  const bytes = encodeText(bom ? `\ufeff${text}` : text, encoding);
  if (bytes) return bytes;
  throw new ToolError('INVALID_ARGUMENT', `${quote(shown)} is ${encoding}, which lacks the new characters.`);
}

function isTextEdit(edit: unknown): edit is TextEdit {
  const { range, newText } = Object(edit) as Partial<TextEdit>;
  return rangeFromLsp(range) !== undefined && typeof newText === 'string';
}

function noEdit(): ToolError {
  return new ToolError('PROTOCOL_VIOLATION', 'The server returned an invalid edit; nothing was changed.');
}
