// Imports the file of earlier memory servers (`memories.json`, an array of records), or JSONL. It is read as a stream, imported
// again only if its content changes, and never modified.

import { isJsonObject } from '../../../contract/json.js';
import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { basename, dirname } from 'node:path';
import { redactSecrets } from '../../project/secret-shapes.js';
import type { MemoryBackend, MemoryDraft, MemoryScope } from '../memory-backend.js';
import { lstatIfPresent } from '../sqlite/store-place.js';
import { jsonElements } from './json-elements.js';
import { RejectedFile } from './rejected-file.js';
import { MAX_CONTENT_CHARS, MAX_TAGS } from '../memory-limits.js';
import type { CallContext } from '../service/call-context.js';
import { isWellFormed, wellFormed } from '../service/plain-text.js';
import { withoutPrivate } from '../service/private-text.js';

/** The result of an import. */
export interface ImportReport {
  /** The file as messages show it. */
  source: string;
  imported: number;
  /** Memories that exist already. */
  skipped: number;
  rejected: number;
  /** The file with the rejected rows, in the directory of the source. */
  rejectedFile?: string;
  /** Why the rejected rows could not be written to that file. */
  rejectedFault?: string;
}

/** Memories imported in one transaction. */
const BATCH = 1_000;

/**
 * Imports a file, unless it was imported with the same content before. Returns undefined if there was nothing to do.
 *
 * @param path absolute; a symbolic link is not followed
 */
export async function importOnce(
  backend: MemoryBackend,
  path: string,
  shown: string,
  scope: MemoryScope,
  call: CallContext,
): Promise<ImportReport | undefined> {
  const stats = lstatIfPresent(path);
  if (!stats?.isFile()) return undefined;
  const note = `imported ${basename(path)}`;
  const known = JSON.parse((await backend.note(note)) ?? '{}') as { size?: number; mtimeMs?: number; digest?: string };
  if (known.size === stats.size && known.mtimeMs === stats.mtimeMs) return undefined;
  const digest = await digestOfFile(path, call.signal);
  const current = JSON.stringify({ size: stats.size, mtimeMs: stats.mtimeMs, digest });
  if (known.digest === digest) {
    await backend.setNote(note, current);
    return undefined;
  }
  const report = await importFile(backend, textOf(path), { path, shown, scope, modifiedMs: stats.mtimeMs }, call);
  await backend.setNote(note, current);
  return report;
}

/** Imports memories from a text. Invalid rows are written, with the reasons, to a file in the source's directory. */
export async function importFile(
  backend: MemoryBackend,
  chunks: AsyncIterable<string>,
  source: { path: string; shown: string; scope: MemoryScope; modifiedMs: number; lines?: boolean },
  call: CallContext,
): Promise<ImportReport> {
  const report: ImportReport = { source: source.shown, imported: 0, skipped: 0, rejected: 0 };
  const rejects = new RejectedFile(dirname(source.path));
  let batch: MemoryDraft[] = [];
  const flush = async (): Promise<void> => {
    call.signal.throwIfAborted();
    const { imported, skipped } = await backend.import(batch);
    report.imported += imported;
    report.skipped += skipped;
    batch = [];
    call.progress(report.imported + report.skipped + report.rejected, `Importing ${source.shown}`);
    await new Promise((resolve) => setImmediate(resolve)); // an abort can arrive here
  };
  const reject = async (row: string | undefined, reason: string): Promise<void> => {
    if (report.rejected++ === 0) await flush(); // creates the directory
    rejects.add({ source: basename(source.path), reason, row: row ?? null });
  };
  try {
    const text = withoutByteOrderMark(chunks);
    for await (const row of source.lines ? jsonLines(text) : jsonElements(text, 'memories')) {
      const draft = draftOf(row, source);
      if (typeof draft === 'string') await reject(row, draft);
      else batch.push(draft);
      if (batch.length >= BATCH) await flush();
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    await reject(undefined, `the file ${error.message}`);
  } finally {
    rejects.close();
  }
  await flush();
  return { ...report, ...rejects.outcome };
}

/** Reads the text of a file in pieces. */
async function* textOf(path: string): AsyncGenerator<string, void> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants as Partial<typeof constants> & { O_RDONLY: number };
  const stream = createReadStream(path, {
    encoding: 'utf8',
    flags: (O_RDONLY | O_NOFOLLOW | O_NONBLOCK) as unknown as string,
    highWaterMark: 256 * 1024,
  });
  yield* stream as AsyncIterable<string>;
}

async function* withoutByteOrderMark(chunks: AsyncIterable<string>): AsyncGenerator<string, void> {
  let isFirst = true;
  for await (const chunk of chunks) {
    yield isFirst ? chunk.replace(/^\u{feff}/u, '') : chunk;
    isFirst = false;
  }
}

async function* jsonLines(chunks: AsyncIterable<string>): AsyncGenerator<string, void> {
  let rest = '';
  for await (const chunk of chunks) {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines.filter((line) => line.trim() !== '');
  }
  if (rest.trim() !== '') yield rest;
}

/** A row as a draft, or the reason to reject it. */
function draftOf(
  text: string | undefined,
  { scope, modifiedMs }: { scope: MemoryScope; modifiedMs: number },
): MemoryDraft | string {
  if (text === undefined) return 'the row is over 4 MiB';
  let row: Record<string, unknown>;
  try {
    row = JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    return `the row is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (!isJsonObject(row)) return 'the row is not an object';
  if (typeof row['content'] !== 'string') return 'content is missing or not a string';
  const content = redactSecrets(withoutPrivate(wellFormed(row['content']).replaceAll('\0', '\u{fffd}')).trim()).text;
  if (content === '') return 'content is empty';
  if ([...content].length > MAX_CONTENT_CHARS) return `content is over ${MAX_CONTENT_CHARS} characters`;
  if (typeof row['category'] !== 'string' || !isShort(row['category'], 100))
    return 'category is missing or not a string of 1 to 100 characters';
  if (row['id'] !== undefined && !isShort(row['id'], 200)) return 'id is not a string of 1 to 200 characters';
  // All projects share the global memories, so a row of one project must not become global.
  if (scope === 'global' && row['scope'] === 'project')
    return 'the row belongs to one project, but the file to all projects';
  const tags = Array.isArray(row['tags']) ? row['tags'].filter((tag) => isShort(tag, 100)) : [];
  const importance = Number(row['importance'] ?? 5);
  const createdMs = Date.parse(String(row['timestamp'] ?? row['created']));
  return {
    id: typeof row['id'] === 'string' ? row['id'] : idOf(content),
    content,
    category: row['category'],
    tags: [...new Set(tags)].slice(0, MAX_TAGS),
    importance: Number.isFinite(importance) ? Math.min(10, Math.max(1, Math.round(importance))) : 5,
    documentationPath: isShort(row['documentation_path'], 1_000) ? row['documentation_path'] : null,
    key: isShort(row['key'], 200) ? row['key'] : null,
    project: isShort(row['project_name'] ?? row['project'], 200)
      ? ((row['project_name'] ?? row['project']) as string)
      : null,
    createdMs: Number.isFinite(createdMs) ? createdMs : Math.round(modifiedMs),
  };
}

function isShort(value: unknown, maxChars: number): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= maxChars &&
    isWellFormed(value) &&
    !value.includes('\0')
  );
}

/** An ID derived from the content, so that an import can be repeated. */
function idOf(content: string): string {
  const hex = createHash('sha256').update(content).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

async function digestOfFile(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of textOf(path)) {
    signal.throwIfAborted();
    hash.update(chunk);
  }
  return hash.digest('hex');
}
