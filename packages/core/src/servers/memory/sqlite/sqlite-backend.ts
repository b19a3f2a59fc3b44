// Implements MemoryBackend with one SQLite file.

import { ToolError } from '../../../contract/errors.js';
import type {
  BackendStats,
  DuplicateRule,
  ImportOutcome,
  ListPosition,
  MemoryBackend,
  MemoryChange,
  MemoryDraft,
  MemoryFilter,
  MemoryPatch,
  MemoryRecord,
  MemorySort,
  MemoryVector,
  MemoryVersion,
  PutOutcome,
  QuarantinedFile,
  VectorCodes,
  WordHit,
} from '../memory-backend.js';
import { queryWords } from '../service/words.js';
import { condition } from './conditions.js';
import { driverName, type SqliteDriverName } from './driver.js';
import { type SqliteConnection } from './sqlite-connection.js';
import { MemoryRows, rowsAfter } from './memory-rows.js';
import { RecordCache } from './record-cache.js';
import { recover } from './recovery.js';
import { asBytes, COLUMNS, foldTag, recordOf, textOf, VERSION_COLUMNS, versionOf } from './rows.js';
import { countsOf } from './store-counts.js';
import { StoreFile } from './store-file.js';
import { readNote, quarantinedFiles, writeNote } from './store-notes.js';
import { StorePlace } from './store-place.js';
import { pendingVectors, setVectors, vectorFloats, vectorsSince } from './vector-rows.js';
import { WordSearch } from './word-search.js';

export interface SqliteBackendOptions {
  /** The directory of `memory.db`, absolute. The first write creates it. */
  directory: string;
  /** The directory as messages show it. */
  shown: string;
  /** Default: the library of this Node version. */
  driver?: SqliteDriverName | undefined;
  /** Default: `'normal'`. */
  durability?: 'normal' | 'full' | undefined;
  /** Called when a file could not be read and was quarantined. */
  onQuarantine?: ((record: QuarantinedFile) => void) | undefined;
}

/** Columns of the table, as SQLite's indexes do not apply to aliases of a result. */
const SORT_COLUMNS: Readonly<Record<MemorySort, string>> = {
  created: 'memory.created_ms',
  updated: 'memory.updated_ms',
  importance: 'memory.importance',
};

/** Near duplicates must share this many of the longest words. */
const ALIKE_WORDS = 3;

export class SqliteBackend implements MemoryBackend {
  readonly #file: StoreFile;
  readonly #engine: string;
  readonly #searches = new WeakMap<SqliteConnection, WordSearch>();
  readonly #records = new WeakMap<SqliteConnection, RecordCache>();

  constructor(options: SqliteBackendOptions) {
    const driver = options.driver ?? driverName();
    this.#engine = `sqlite (${driver})`;
    this.#file = new StoreFile({
      place: new StorePlace(options.directory, options.shown),
      driver,
      durability: options.durability ?? 'normal',
      recover,
      onQuarantine: (record) => options.onQuarantine?.(record),
    });
  }

  put(draft: MemoryDraft, onDuplicate: DuplicateRule = 'merge'): Promise<PutOutcome> {
    const nowMs = Date.now();
    const complete = { ...draft, id: draft.id ?? crypto.randomUUID() }; // the same ID if the transaction runs again
    let mayExist = draft.id !== undefined;
    return this.#file.write((connection) => {
      const rows = new MemoryRows(connection);
      const existing = mayExist ? rows.byId(complete.id) : undefined;
      if (existing) return { memory: existing.record, outcome: 'created' };
      const sameKey = typeof complete.key !== 'string' ? undefined : rows.byKey(complete.key);
      if (sameKey) {
        const { content, category, tags, importance, documentationPath = null } = complete;
        const change = { content, category, tags: [...tags], importance, documentationPath };
        if (isSame(sameKey.record, change)) return { memory: sameKey.record, outcome: 'updated' };
        return { memory: rows.replace(sameKey, change, 'update', nowMs), outcome: 'updated' };
      }
      const same = onDuplicate === 'merge' ? rows.byContent(complete.content) : undefined;
      if (same && (typeof complete.key !== 'string' || same.record.key === null)) {
        const { record } = same;
        const change = {
          tags: unionOf(record.tags, complete.tags),
          importance: Math.max(record.importance, complete.importance),
          documentationPath: record.documentationPath ?? complete.documentationPath ?? null,
          key: record.key ?? complete.key ?? null,
        };
        if (isSame(record, change)) return { memory: record, outcome: 'merged' };
        return { memory: rows.replace(same, change, 'merge', nowMs), outcome: 'merged' };
      }
      if (mayExist) rows.forgetErased(complete.id);
      mayExist = true; // if the transaction runs again
      return { memory: rows.insert(complete, nowMs), outcome: 'created' };
    });
  }

  import(drafts: readonly MemoryDraft[]): Promise<ImportOutcome> {
    const nowMs = Date.now();
    return this.#file.write((connection) => {
      const rows = new MemoryRows(connection);
      let imported = 0;
      for (const draft of drafts) {
        if (draft.id !== undefined && (rows.byId(draft.id) || rows.isGone(draft.id))) continue;
        if (rows.byContent(draft.content)) continue;
        const isTaken = typeof draft.key === 'string' && rows.byKey(draft.key) !== undefined;
        rows.insert(isTaken ? { ...draft, key: null } : draft, nowMs);
        imported++;
      }
      return { imported, skipped: drafts.length - imported };
    });
  }

  async get(ids: readonly string[]): Promise<MemoryRecord[]> {
    const found = await this.#file.read((connection) =>
      this.#recordsOf(connection).read(
        'FROM json_each(?) AS each CROSS JOIN memory ON memory.id = each.value WHERE memory.deleted_ms IS NULL',
        JSON.stringify(ids),
      ),
    );
    const records = new Map((found ?? []).map((record) => [record.id, record]));
    return ids.flatMap((id) => records.get(id) ?? []);
  }

  async update(id: string, patch: MemoryPatch, expectedRev?: number): Promise<MemoryRecord | undefined> {
    const nowMs = Date.now();
    if ((await this.get([id])).length === 0) return undefined; // does not create the file
    return this.#file.write((connection) => {
      const rows = new MemoryRows(connection);
      const current = rows.byId(id);
      if (!current || current.record.deletedMs !== null) return undefined;
      const { record } = current;
      if (expectedRev !== undefined && record.rev !== expectedRev) {
        throw new ToolError(
          'FILE_CHANGED',
          `Memory with ID ${id} is at revision ${record.rev}, not ${expectedRev}: it has changed since you read it. Get it again, then update it with expected_rev ${record.rev}.`,
          { details: { rev: record.rev, expected_rev: expectedRev } },
        );
      }
      const change: Partial<MemoryRecord> = Object.fromEntries(
        Object.entries(patch).filter(([, value]) => value !== undefined),
      );
      return isSame(record, change) ? record : rows.replace(current, change, 'update', nowMs);
    });
  }

  async delete(id: string, hard = false): Promise<MemoryRecord | undefined> {
    const nowMs = Date.now();
    const exists = await this.#file.read((connection) => new MemoryRows(connection).byId(id) !== undefined);
    if (!exists) return undefined;
    return this.#file.write((connection) => {
      const rows = new MemoryRows(connection);
      const current = rows.byId(id);
      if (!current || (current.record.deletedMs !== null && !hard)) return undefined;
      if (!hard) rows.replace(current, { deletedMs: nowMs }, 'delete', nowMs);
      else {
        connection.exec('PRAGMA secure_delete = ON'); // overwrites the freed pages
        rows.erase(current);
      }
      return current.record;
    });
  }

  async restore(id: string, rev?: number): Promise<MemoryRecord | undefined> {
    const nowMs = Date.now();
    const exists = await this.#file.read((connection) => new MemoryRows(connection).byId(id) !== undefined);
    if (!exists) return undefined;
    return this.#file.write((connection) => {
      const rows = new MemoryRows(connection);
      const current = rows.byId(id);
      if (!current) return undefined;
      const { record } = current;
      const change: Partial<MemoryRecord> = record.deletedMs === null ? {} : { deletedMs: null };
      if (rev !== undefined && rev !== record.rev) {
        const row = connection
          .prepare(`SELECT ${VERSION_COLUMNS} FROM version WHERE place = ? AND rev = ?`)
          .get(current.place, rev);
        const version = row && versionOf(row);
        if (!version) return undefined;
        const { content, category, tags, importance, documentationPath } = version.before;
        Object.assign(change, { content, category, tags, importance, documentationPath });
      }
      const holder = record.deletedMs !== null && record.key !== null ? rows.byKey(record.key) : undefined;
      if (holder) {
        throw new ToolError(
          'NAME_CONFLICT',
          `Memory with ID ${id} has the key ${JSON.stringify(record.key)}, which memory ${holder.record.id} uses now. Delete that one first.`,
        );
      }
      return isSame(record, change) ? record : rows.replace(current, change, 'restore', nowMs);
    });
  }

  async history(id: string): Promise<MemoryVersion[]> {
    const versions = await this.#file.read((connection) =>
      connection
        .prepare(
          `SELECT ${VERSION_COLUMNS} FROM version JOIN memory ON memory.place = version.place
            WHERE memory.id = ? ORDER BY version.rev DESC`,
        )
        .all(id)
        .flatMap((row) => versionOf(row) ?? []),
    );
    return versions ?? [];
  }

  async idsOf(filter: MemoryFilter, limit: number, among?: readonly string[]): Promise<string[]> {
    const rows = await this.#file.read((connection) => {
      const { sql, values } = condition(connection, filter);
      const from = among ? 'json_each(?) AS each CROSS JOIN memory ON memory.id = each.value' : 'memory';
      return connection
        .prepare(`SELECT ${asBytes('memory.id', 'id')} FROM ${from} WHERE ${sql} ORDER BY memory.place DESC LIMIT ?`)
        .all(...(among ? [JSON.stringify(among)] : []), ...values, limit);
    });
    return (rows ?? []).map(({ id }) => textOf(id));
  }

  async list(filter: MemoryFilter, sort: MemorySort, limit: number, after?: ListPosition): Promise<MemoryRecord[]> {
    const column = SORT_COLUMNS[sort];
    const found = await this.#file.read((connection) => {
      const { sql, values } = condition(connection, filter);
      const from = after ? ` AND (${column}, memory.id) < (?, ?)` : '';
      return this.#recordsOf(connection).read(
        `FROM memory WHERE ${sql}${from} ORDER BY ${column} DESC, memory.id DESC LIMIT ?`,
        ...values,
        ...(after ? [after.value, after.id] : []),
        limit,
      );
    });
    return found ?? [];
  }

  async search(words: readonly string[], filter: MemoryFilter, limit: number): Promise<WordHit[]> {
    const hits = await this.#file.read((connection) => this.#searchOf(connection).find(words, filter, limit));
    return hits ?? [];
  }

  async alike(content: string, limit: number): Promise<MemoryRecord[]> {
    const longest = queryWords(content, 200)
      .sort((a, b) => b.length - a.length)
      .slice(0, ALIKE_WORDS);
    const found = await this.#file.read((connection) => {
      const places = this.#searchOf(connection).withAll(longest, limit);
      const from = 'FROM json_each(?) AS each CROSS JOIN memory ON memory.place = each.value';
      return places.length === 0 ? [] : this.#recordsOf(connection).read(from, JSON.stringify(places));
    });
    return found ?? [];
  }

  async *all(): AsyncIterable<MemoryRecord> {
    for (let place = 0; ;) {
      const rows = await this.#file.read((connection) => rowsAfter(connection, place));
      if (!rows || rows.length === 0) return;
      yield* rows.map(recordOf);
      place = Number(rows.at(-1)?.['place']);
    }
  }

  async changesSince(seq: number, limit: number): Promise<MemoryChange[]> {
    const changes = await this.#file.read((connection) => {
      const changed = connection
        .prepare(`SELECT ${COLUMNS} FROM memory WHERE memory.seq > ? ORDER BY memory.seq LIMIT ?`)
        .all(seq, limit)
        .map((row): MemoryChange => {
          const memory = recordOf(row);
          return { seq: memory.seq, id: memory.id, memory: memory.deletedMs === null ? memory : null };
        });
      const gone = connection
        .prepare(`SELECT ${asBytes('id')}, seq FROM gone WHERE seq > ? ORDER BY seq LIMIT ?`)
        .all(seq, limit)
        .map((row): MemoryChange => ({ seq: Number(row['seq']), id: textOf(row['id']), memory: null }));
      return [...changed, ...gone].sort((a, b) => a.seq - b.seq).slice(0, limit);
    });
    return changes ?? [];
  }

  async pendingVectors(embedder: string, limit: number): Promise<MemoryRecord[]> {
    return (await this.#file.read((connection) => pendingVectors(connection, embedder, limit))) ?? [];
  }

  async setVectors(embedder: string, vectors: readonly MemoryVector[]): Promise<number> {
    return this.#file.write((connection) => setVectors(connection, embedder, vectors));
  }

  async vectorsSince(embedder: string, seq: number, limit: number): Promise<VectorCodes[]> {
    return (await this.#file.read((connection) => vectorsSince(connection, embedder, seq, limit))) ?? [];
  }

  async vectorFloats(embedder: string, ids: readonly string[]): Promise<Map<string, Float32Array>> {
    return (await this.#file.read((connection) => vectorFloats(connection, embedder, ids))) ?? new Map();
  }

  async lastSeq(): Promise<number> {
    const row = await this.#file.read((connection) => connection.prepare('SELECT seq FROM counter').get());
    return Number(row?.['seq'] ?? 0);
  }

  async note(name: string): Promise<string | undefined> {
    const row = await this.#file.read((connection) => readNote(connection, name));
    return row;
  }

  async setNote(name: string, value: string): Promise<void> {
    await this.#file.write((connection) => writeNote(connection, name, value));
  }

  async stats({ check = false }: { check?: boolean | undefined } = {}): Promise<BackendStats> {
    const stats = await this.#file.read((connection) => {
      const counted = countsOf(connection, check);
      return { ...counted, quarantined: quarantinedFiles(connection) };
    });
    const none = { memories: 0, deleted: 0, byCategory: {}, vectors: {}, seq: 0, bytes: 0, quarantined: [] };
    return { engine: this.#engine, ...(stats ?? none) };
  }

  async close(): Promise<void> {
    this.#file.close();
  }

  #searchOf(connection: SqliteConnection): WordSearch {
    let search = this.#searches.get(connection);
    if (!search) this.#searches.set(connection, (search = new WordSearch(connection)));
    return search;
  }

  #recordsOf(connection: SqliteConnection): RecordCache {
    let records = this.#records.get(connection);
    if (!records) this.#records.set(connection, (records = new RecordCache(connection)));
    return records;
  }
}

function unionOf(tags: readonly string[], more: readonly string[]): string[] {
  const known = new Set(tags.map(foldTag));
  return [...tags, ...more.filter((tag) => !known.has(foldTag(tag)) && known.add(foldTag(tag)))];
}

function isSame(record: MemoryRecord, change: Partial<MemoryRecord>): boolean {
  return Object.entries(change).every(
    ([name, value]) => JSON.stringify(record[name as keyof MemoryRecord]) === JSON.stringify(value),
  );
}
