// What the tools ask for, done on the stores of both scopes. It runs in the memory thread, or in the engine's own where
// the caller brings a backend; what goes in and out is plain data.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { ToolError } from '../../../contract/errors.js';
import { ProjectFiles } from '../../project/project-files.js';
import type {
  BackendStats,
  DuplicateRule,
  ListPosition,
  MemoryBackend,
  MemoryDraft,
  MemoryPatch,
  MemoryRecord,
  MemoryScope,
  MemorySort,
  MemoryVersion,
  PutOutcome,
} from '../memory-backend.js';
import { bankEntries, type BankEntry } from './memory-bank.js';
import { exportLines, type ExportFormat } from '../transfer/export-formats.js';
import { importFile, type ImportReport, type Watch } from '../transfer/legacy-import.js';
import { assertStorable, storableContent, type SecretRule } from './private-text.js';
import { projectName } from '../project-name.js';
import type { Embedder } from '../embeddings/embedder.js';
import { Meaning } from '../embeddings/store-embeddings.js';
import { retrieve, type Question, type Ranking, type Retrieved } from './retrieval.js';
import { ScopedStore, storesOnDisk, type ScopedMemory } from './scoped-store.js';
import { similarTo, type SimilarMemory } from './similar-memories.js';
import { openImportFile } from '../transfer/import-file.js';

/** What the thread is started with: plain data. */
export interface MemoryConfig {
  projectDir: string;
  verification: 'descriptor' | 'inode';
  /** Absolute; without it there is no global scope, unless a backend brings one. */
  globalDir: string | undefined;
  durability: 'normal' | 'full';
  secrets: SecretRule;
  ranking: Ranking;
  /** `'own'` comes beside this, as it is no plain data. */
  embedder: 'auto' | 'static' | 'off' | 'own';
  modelPath: string | undefined;
  allowDownload: boolean;
  /** For tests: instead of what the run time has. */
  driver?: 'node:sqlite' | 'libsql' | undefined;
}

/** Scopes as a call names them. */
export type AskedScope = MemoryScope | 'all';

/** An export as an answer; more goes to a file. */
const MAX_EXPORT_CHARS = 40_000;

export class MemoryService {
  readonly #config: MemoryConfig;
  readonly #files: ProjectFiles;
  readonly #stores: readonly ScopedStore[];
  /** What the next answer has to tell. */
  readonly #notices: string[] = [];
  readonly #meaning: Meaning;
  #name: Promise<string> | undefined;

  /**
   * @param backends instead of files in the project; they need no directory
   * @param own the caller's embedder
   */
  constructor(config: MemoryConfig, backends?: Partial<Record<MemoryScope, MemoryBackend>>, own?: Embedder) {
    this.#config = config;
    const { embedder, modelPath, allowDownload } = config;
    this.#meaning = new Meaning({ embedder: embedder === 'own' ? own : embedder, modelPath, allowDownload });
    this.#files = new ProjectFiles({ projectDir: config.projectDir, verification: config.verification });
    this.#stores = backends
      ? (['project', 'global'] as const).flatMap((scope) => {
          const backend = backends[scope];
          return backend ? [new ScopedStore(scope, backend, undefined, this.#notices)] : [];
        })
      : storesOnDisk(this.#files.scope.projectDir, config.globalDir, config, this.#notices);
  }

  /** What happened to the files since the last answer. */
  takeNotices(): string[] {
    return this.#notices.splice(0);
  }

  async store(
    draft: MemoryDraft & { scope: MemoryScope; onDuplicate: DuplicateRule },
    watch: Watch,
  ): Promise<PutOutcome & { project: string; notice?: string; similar: SimilarMemory[] }> {
    const { scope, onDuplicate, ...given } = draft;
    const { content, notice } = storableContent(given.content, this.#config.secrets);
    assertFields(given);
    const store = await this.#ready(scope, watch);
    const project = await this.#projectName();
    const tags = distinct(given.tags);
    const embedding = this.#meaning.embedding(content);
    const put = await store.backend.put({ ...given, content, tags, project }, onDuplicate);
    // Of an embedder that answers at once; for another one nothing waits.
    const vector = await Promise.race([embedding?.catch(() => undefined), nextTurn(undefined)]);
    this.#meaning.stored(store.backend, put.memory, put.outcome === 'created' ? vector : undefined);
    const similar = await similarTo(store, put.memory, this.#meaning, embedding, watch);
    return { ...put, project, ...(notice !== undefined && { notice }), similar };
  }

  async retrieve(question: Question & { scope: AskedScope }, watch: Watch): Promise<Retrieved & { project: string }> {
    const stores = await this.#readyAll(question.scope, watch);
    const retrieved = await retrieve(stores, question, this.#config.ranking, this.#meaning, watch);
    return { ...retrieved, project: await this.#projectName() };
  }

  /** One more than `limit` where there are more. */
  async list(
    asked: {
      scope: AskedScope;
      category?: string | undefined;
      tags?: readonly string[] | undefined;
      sort: MemorySort;
      limit: number;
      after?: ListPosition | undefined;
    },
    watch: Watch,
  ): Promise<ScopedMemory[]> {
    const { scope, category, tags, sort, limit, after } = asked;
    const pages: ScopedMemory[] = [];
    const stores = await this.#readyAll(scope, watch);
    for (const store of stores) {
      const rows = await store.backend.list({ category, tags }, sort, limit + 1, after);
      for (const memory of rows) pages.push(store.scoped(memory));
    }
    if (stores.length === 1) return pages; // in order
    const value = ({ createdMs, updatedMs, importance }: MemoryRecord): number =>
      sort === 'created' ? createdMs : sort === 'updated' ? updatedMs : importance;
    return pages.sort((a, b) => value(b) - value(a) || (a.id < b.id ? 1 : -1)).slice(0, limit + 1);
  }

  async get({ ids }: { ids: readonly string[] }, watch: Watch): Promise<ScopedMemory[]> {
    const found = new Map<string, ScopedMemory>();
    for (const store of await this.#readyAll('all', watch)) {
      for (const memory of await store.backend.get(ids))
        if (!found.has(memory.id)) found.set(memory.id, store.scoped(memory));
    }
    return ids.flatMap((id) => found.get(id) ?? []);
  }

  async update(
    { id, patch, expectedRev }: { id: string; patch: MemoryPatch; expectedRev?: number | undefined },
    watch: Watch,
  ): Promise<{ memory: ScopedMemory; notice?: string }> {
    let notice: string | undefined;
    const checked = { ...patch };
    if (patch.content !== undefined) {
      const storable = storableContent(patch.content, this.#config.secrets);
      notice = storable.notice;
      checked.content = storable.content;
    }
    if (patch.tags !== undefined) checked.tags = distinct(patch.tags);
    assertFields(patch);
    const memory = await this.#inEither(id, watch, (backend) =>
      this.#embedded(backend, backend.update(id, checked, expectedRev)),
    );
    return { memory, ...(notice !== undefined && { notice }) };
  }

  async delete({ id, hard }: { id: string; hard: boolean }, watch: Watch): Promise<ScopedMemory> {
    return this.#inEither(id, watch, (backend) => backend.delete(id, hard));
  }

  async restore({ id, rev }: { id: string; rev?: number | undefined }, watch: Watch): Promise<ScopedMemory> {
    return this.#inEither(id, watch, (backend) => this.#embedded(backend, backend.restore(id, rev)), rev);
  }

  async history({ id }: { id: string }, watch: Watch): Promise<{ memory?: ScopedMemory; versions: MemoryVersion[] }> {
    for (const store of await this.#readyAll('all', watch)) {
      const versions = await store.backend.history(id);
      const [memory] = await store.backend.get([id]);
      if (versions.length > 0 || memory) return { ...(memory && { memory: store.scoped(memory) }), versions };
    }
    throw notFound(id);
  }

  /** Which scopes have a memory, also a deleted one: for the claims of a call that names it by its id. */
  async scopeOf({ id }: { id: string }, watch: Watch): Promise<MemoryScope | undefined> {
    for (const store of await this.#readyAll('all', watch)) {
      if ((await store.backend.get([id])).length > 0 || (await store.backend.history(id)).length > 0)
        return store.scope;
    }
    return undefined;
  }

  async import({ path, scope }: { path: string; scope: MemoryScope }, watch: Watch): Promise<ImportReport> {
    const store = await this.#ready(scope, watch);
    const source = await openImportFile(this.#files, path);
    try {
      const beside = store.location?.directory ?? this.#files.scope.projectDir;
      const lines = /\.(?:jsonl|ndjson)$/i.test(path);
      const report = await importFile(
        store.backend,
        source.text(),
        { path: `${beside}/${source.name}`, shown: source.shown, scope, modifiedMs: source.modifiedMs, lines },
        watch,
      );
      this.#meaning.written(store.backend);
      return report;
    } finally {
      await source.close();
    }
  }

  /** To a file of the project, or as text when there is no path. */
  async export(
    {
      format,
      scope,
      path,
      overwrite,
    }: { format: ExportFormat; scope: AskedScope; path?: string | undefined; overwrite: boolean },
    watch: Watch,
  ): Promise<{ count: number; text?: string; path?: string; bytes: number }> {
    const stores = await this.#readyAll(scope, watch);
    let count = 0;
    let size = 0;
    const chunks: string[] = [];
    const { projectDir } = this.#files.scope;
    for await (const { line, isMemory } of exportLines(format, stores, projectDir)) {
      watch.signal.throwIfAborted();
      if (isMemory && ++count % 1_000 === 0) {
        watch.progress(count, 'Exporting');
        await new Promise((resolve) => setImmediate(resolve)); // lets an abort be heard
      }
      chunks.push(line);
      size += line.length;
      if (path === undefined && size > MAX_EXPORT_CHARS) {
        throw new ToolError(
          'TOO_LARGE',
          `The export is over ${MAX_EXPORT_CHARS} characters, too much for an answer. Give path, a file of the project to write it to.`,
        );
      }
    }
    const text = chunks.join('');
    if (path === undefined) return { count, text, bytes: Buffer.byteLength(text) };
    const place = await this.#files.resolve(path, 'write');
    if (place.exists && !overwrite)
      throw new ToolError('INVALID_ARGUMENT', `${place.path} exists. Give another path, or overwrite: true.`);
    const bytes = Buffer.from(text);
    await this.#files.write(path, bytes, { createDirs: true });
    return { count, path: place.path, bytes: bytes.length };
  }

  async stats(
    { check }: { check: boolean },
    watch: Watch,
  ): Promise<{
    project: string;
    stores: (BackendStats & { scope: MemoryScope; file?: string; imported?: ImportReport })[];
  }> {
    const stores = [];
    for (const store of await this.#readyAll('all', watch)) {
      const stats = await store.backend.stats({ check });
      stores.push({
        scope: store.scope,
        ...(store.location && { file: `${store.location.shown}/memory.db` }),
        ...(store.imported && { imported: store.imported }),
        ...stats,
      });
    }
    return { project: await this.#projectName(), stores };
  }

  async bank(asked: { query?: string | undefined; section?: string | undefined; limit: number }): Promise<BankEntry[]> {
    return bankEntries(this.#files, asked);
  }

  async close(): Promise<void> {
    await this.#meaning.close();
    for (const store of this.#stores) await store.backend.close();
  }

  /** What was changed gets another vector, when the call is done. */
  async #embedded(
    backend: MemoryBackend,
    change: Promise<MemoryRecord | undefined>,
  ): Promise<MemoryRecord | undefined> {
    const changed = await change;
    if (changed) this.#meaning.written(backend);
    return changed;
  }

  #projectName(): Promise<string> {
    return (this.#name ??= projectName(this.#files));
  }

  async #ready(scope: MemoryScope, watch: Watch): Promise<ScopedStore> {
    const store = this.#stores.find((each) => each.scope === scope);
    if (!store) {
      throw new ToolError(
        'INVALID_ARGUMENT',
        `scope "global" needs the option globalDir, the directory for memories of all projects, which this server was not given. Use scope "project".`,
        { details: { field: 'scope', option: 'globalDir' } },
      );
    }
    await store.ready(watch);
    return store;
  }

  async #readyAll(scope: AskedScope, watch: Watch): Promise<ScopedStore[]> {
    if (scope !== 'all') return [await this.#ready(scope, watch)];
    const ready: ScopedStore[] = [];
    for (const store of this.#stores) ready.push(await this.#ready(store.scope, watch));
    return ready;
  }

  /** The project's own first: an id that both scopes have means that one. */
  async #inEither(
    id: string,
    watch: Watch,
    action: (backend: MemoryBackend) => Promise<MemoryRecord | undefined>,
    rev?: number,
  ): Promise<ScopedMemory> {
    for (const store of await this.#readyAll('all', watch)) {
      const memory = await action(store.backend);
      if (memory) return store.scoped(memory);
    }
    throw notFound(id, rev);
  }
}

/** Calls a method by its name, with arguments that came as plain data and were checked where they were sent. */
export function performMethod(
  service: MemoryService,
  method: Exclude<keyof MemoryService, 'close' | 'takeNotices'>,
  args: unknown,
  watch: Watch,
): Promise<unknown> {
  return (service[method] as (this: MemoryService, args: unknown, watch: Watch) => Promise<unknown>).call(
    service,
    args,
    watch,
  );
}

function notFound(id: string, rev?: number): ToolError {
  const what = rev === undefined ? '' : ` at revision ${rev}`;
  return new ToolError('NOT_FOUND', `Memory with ID ${id}${what} not found`, { details: { memory_id: id } });
}

function assertFields({ tags, key, documentationPath, category }: MemoryPatch & Pick<MemoryDraft, 'key'>): void {
  for (const tag of tags ?? []) assertStorable('tags', tag);
  assertStorable('category', category);
  assertStorable('key', key);
  assertStorable('documentation_path', documentationPath);
}

function distinct(tags: readonly string[]): string[] {
  return [...new Set(tags.map((tag) => tag.trim()).filter((tag) => tag !== ''))];
}
