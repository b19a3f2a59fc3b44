// Reads a diff as a parsed list of files and a patch in pages. Each page runs git again and skips to its offset, so that a patch is
// never held in memory as a whole.

import { NO_DIFF_HELPERS } from '../hardening/git-settings.js';
import { createHash } from 'node:crypto';
import { ToolError } from '../../../contract/errors.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { nulFields } from './nul-records.js';
import type { GitPath } from '../git-paths.js';
import type { Repository } from './repository.js';
import { objectSchema } from '../../../tool/object-schema.js';

const MAX_FILES = 1_000;
/** Options that prevent programs named by the repository from running for a diff. */
const PLAIN = [...NO_DIFF_HELPERS, '--no-color', '-M'];

/** The input properties of all tools that return a patch. */
export const PATCH_INPUT = {
  context: {
    type: 'integer',
    minimum: 0,
    maximum: 1_000,
    default: 3,
    description: 'Unchanged lines around each change.',
  },
  stat_only: {
    type: 'boolean',
    default: false,
    description: 'Only files and line counts, no patch.',
  },
  max_bytes: {
    type: 'integer',
    minimum: 1_000,
    maximum: 1_000_000,
    default: 50_000,
    description: 'Of the patch.',
  },
  cursor: { type: 'string', maxLength: 200, description: 'Of the previous result, to continue it.' },
} as const;

/** Their output properties. */
export const PATCH_OUTPUT = {
  files: {
    type: 'array',
    items: objectSchema(
      {
        path: { type: 'string' },
        status: {
          type: 'string',
          enum: ['added', 'copied', 'deleted', 'modified', 'renamed', 'type_changed', 'unmerged'],
        },
        binary: { type: 'boolean' },
      },
      {
        old_path: { type: 'string', description: 'The path before the rename or copy.' },
        added: { type: 'integer', description: 'Lines. Absent for a binary file.' },
        removed: { type: 'integer', description: 'Lines. Absent for a binary file.' },
      },
    ),
  },
  file_count: { type: 'integer' },
  truncated: { type: 'boolean', description: 'There is more: call again with this cursor, or restrict paths.' },
  cursor: { type: 'string' },
} as const;

/** A file of a diff. */
export interface ChangedFile {
  path: string;
  old_path?: string;
  status: 'added' | 'copied' | 'deleted' | 'modified' | 'renamed' | 'type_changed' | 'unmerged';
  added?: number;
  removed?: number;
  binary: boolean;
}

/** One page of a diff. */
export interface PatchPage {
  files: ChangedFile[];
  file_count: number;
  truncated: boolean;
  cursor?: string;
  /** The text for the model: the files with line counts, or a part of the patch. */
  text: string;
}

/** What to compare, and which part to return. */
export interface PatchRequest {
  /** A git diff command with its revisions, without paths. */
  args: readonly string[];
  paths: readonly GitPath[];
  context: number;
  stat_only: boolean;
  max_bytes: number;
  cursor?: string;
}

/** Compares, and returns the page of the cursor. @throws {ToolError} INVALID_ARGUMENT for a cursor of a different diff */
export async function readPatch(repository: Repository, request: PatchRequest): Promise<PatchPage> {
  const { paths } = request;
  const list = [...request.args, ...PLAIN, '--raw', '--numstat', '--no-abbrev', '-z'];
  const { stdout, cut } = await repository.read(list, { paths });
  const all = parseChangedFiles(nulFields(stdout), (path) => repository.shown(path));
  const files = all.slice(0, MAX_FILES);
  const version = createHash('sha256').update(stdout).digest('hex').slice(0, 12);
  const offset = offsetOf(request.cursor, version);
  const page = { files, file_count: all.length };
  if (request.stat_only || all.length === 0) {
    const more = cut || all.length > files.length;
    return { ...page, truncated: more, text: statText(all.length, files, more) };
  }
  const patch = [...request.args, ...PLAIN, '--patch', `--unified=${request.context}`];
  const { text, next } = await readPart(repository, patch, offset, request.max_bytes, paths);
  if (next === undefined) return { ...page, truncated: false, text };
  const cursor = `${version}.${next}`;
  const notice = `[The patch continues. Call again with cursor "${cursor}", or restrict paths.]`;
  return { ...page, truncated: true, cursor, text: `${text}\n${notice}` };
}

/** Lines of "+1 -2 path" for a model. */
export function statText(count: number, files: readonly ChangedFile[], more: boolean): string {
  if (count === 0) return 'No differences.';
  const lines = files.map(({ path, old_path, status, added, removed, binary }) => {
    const numbers = binary ? 'binary' : added === undefined ? '' : `+${added} -${removed}`;
    const name = old_path === undefined ? path : `${old_path} -> ${path}`;
    return [status, numbers, escapeControls(name)].filter((part) => part !== '').join(' ');
  });
  return [...lines, ...(more ? [`[${count - files.length} or more further files. Restrict paths.]`] : [])].join('\n');
}

/** A part of a command's output from an offset, cut at the end of a line if possible. */
export async function readPart(
  repository: Repository,
  args: readonly string[],
  offset: number,
  maxBytes: number,
  paths?: readonly GitPath[],
): Promise<{ text: string; next: number | undefined; bytes: Buffer }> {
  let skip = offset;
  let held = 0;
  const kept: Buffer[] = [];
  await repository.read(args, {
    ...(paths && { paths }),
    onOutput: (chunk) => {
      const rest = chunk.subarray(Math.min(skip, chunk.length));
      skip -= chunk.length - rest.length;
      kept.push(Buffer.from(rest));
      held += rest.length;
      return held <= maxBytes; // one more byte shows whether there is more
    },
  });
  const bytes = Buffer.concat(kept);
  if (bytes.length <= maxBytes) return { text: bytes.toString('utf8').replace(/\n$/, ''), next: undefined, bytes };
  const line = bytes.lastIndexOf(0x0a, maxBytes - 1);
  const end = line >= 0 ? line + 1 : characterStart(bytes, maxBytes);
  const part = bytes.subarray(0, end);
  return { text: part.toString('utf8').replace(/\n$/, ''), next: offset + end, bytes: part };
}

function characterStart(bytes: Buffer, end: number): number {
  let start = end;
  while (start > end - 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--;
  return start > 0 ? start : end;
}

/** The offset of a cursor. @throws {ToolError} INVALID_ARGUMENT for a cursor of a different version */
export function offsetOf(cursor: string | undefined, version: string): number {
  if (cursor === undefined) return 0;
  const [, of, offset] = /^([0-9a-f]{12,64})\.(\d{1,15})$/.exec(cursor) ?? [];
  if (of === version && offset !== undefined) return Number(offset);
  throw new ToolError(
    'INVALID_ARGUMENT',
    'The cursor belongs to a different diff, or the files have changed since. Start again without a cursor.',
  );
}

const STATUS: Readonly<Record<string, ChangedFile['status']>> = {
  A: 'added',
  C: 'copied',
  D: 'deleted',
  M: 'modified',
  R: 'renamed',
  T: 'type_changed',
  U: 'unmerged',
};

/**
 * Parses `--raw --numstat -z`: first all files with their status, then all files with their line counts. A rename has two names
 * after the first kind of record, and an empty name before its two in the second.
 */
export function parseChangedFiles(fields: readonly Buffer[], show: (path: Buffer) => string): ChangedFile[] {
  const files = new Map<string, ChangedFile>();
  let index = 0;
  const next = (): Buffer => fields[index++] ?? Buffer.alloc(0);
  while (index < fields.length) {
    const head = next();
    if (head[0] === 0x3a) {
      const letter = /\s([A-Z])\d*$/.exec(head.toString('latin1'))?.[1] ?? 'M';
      const first = next();
      const path = letter === 'R' || letter === 'C' ? next() : first;
      const known = files.get(path.toString('latin1'));
      // An unmerged file is listed twice: as unmerged and as modified.
      if (known?.status === 'unmerged') continue;
      files.set(path.toString('latin1'), {
        path: show(path),
        ...(path !== first && { old_path: show(first) }),
        status: STATUS[letter] ?? 'modified',
        binary: false,
      });
      continue;
    }
    const tab = head.indexOf(0x09);
    const secondTab = head.indexOf(0x09, tab + 1);
    if (tab < 0 || secondTab < 0) continue;
    const [added, removed] = head.toString('latin1', 0, secondTab).split('\t');
    let path = head.subarray(secondTab + 1);
    if (path.length === 0) {
      next();
      path = next();
    }
    const file = files.get(path.toString('latin1'));
    if (!file) continue;
    if (added === '-') file.binary = true;
    else Object.assign(file, { added: Number(added), removed: Number(removed) });
  }
  return [...files.values()];
}
