// Carries out the tools' calls on the stores of both scopes. It runs in the memory thread, or in the host's thread when the
// host provides a backend. Arguments and results are plain data.

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
import { sortValue } from './list-cursor.js';
import { bankEntries, type BankEntry } from './memory-bank.js';
import { exportLines, type ExportFormat } from '../transfer/export-formats.js';
import { importFile, type ImportReport } from '../transfer/legacy-import.js';
import type { CallContext } from './call-context.js';
import { assertStorable, storableContent, type SecretRule } from './private-text.js';
import { projectName } from '../project-name.js';
import type { Embedder } from '../embeddings/embedder.js';
import { StoreEmbeddings } from '../embeddings/store-embeddings.js';
import { retrieve, type Question, type Ranking, type Retrieved } from './retrieval.js';
import { ScopedStore, storesOnDisk, type ScopedMemory } from './scoped-store.js';
import { similarTo, type SimilarMemory } from './similar-memories.js';
import { openImportFile } from '../transfer/import-file.js';

/** The options of the service, as plain data. */
export interface MemoryConfig {
  projectDir: string;
  verification: 'descriptor' | 'inode';
  /** Absolute. Without it the scope `global` is unavailable, unless a backend provides it. */
  globalDir: string | undefined;
  durability: 'normal' | 'full';
  secrets: SecretRule;
  ranking: Ranking;
  /** `'custom'`: the host's embedder, which is passed separately, as it is not plain data. */
  embedder: 'auto' | 'static' | 'off' | 'custom';
  modelPath: string | undefined;
  allowDownload: boolean;
  /** For tests. Default: the library of this Node version. */
  driver?: 'node:sqlite' | 'libsql' | undefined;
}

/** The scopes that a call includes. */
export type ScopeFilter = MemoryScope | 'all';

/** The length of an export that is returned directly; a longer one needs a file. */
const MAX_EXPORT_CHARS = 40_000;

export class MemoryService {
  readonly #config: MemoryConfig;
  readonly #files: ProjectFiles;
  readonly #stores: readonly ScopedStore[];
  /** Notices for the next result. */
  readonly #notices: string[] = [];
  readonly #embeddings: StoreEmbeddings;
  readonly #hasBackends: boolean;
  #name: Promise<string> | undefined;

  /**
   * @param backends used instead of files
   * @param customEmbedder the host's embedder, if `config.embedder` is `'custom'`
   */
  constructor(config: MemoryConfig, backends?: Partial<Record<MemoryScope, MemoryBackend>>, customEmbedder?: Embedder) {
    this.#config = config;
    const { modelPath, allowDownload } = config;
    const embedder = config.embedder === 'custom' ? customEmbedder : config.embedder;
    this.#embeddings = new StoreEmbeddings({ embedder, modelPath, allowDownload });
    this.#files = new ProjectFiles({ projectDir: config.projectDir, verification: config.verification });
    this.#hasBackends = backends !== undefined;
    this.#stores = backends
      ? (['project', 'global'] as const).flatMap((scope) => {
          const backend = backends[scope];
          return backend ? [new ScopedStore(scope, backend, undefined, this.#notices)] : [];
        })
      : storesOnDisk(this.#files.scope.projectDir, config.globalDir, config, this.#notices);
  }

  /** What happened to the files since the last result. */
  takeNotices(): string[] {
    return this.#notices.splice(0);
  }

  async store(
    draft: MemoryDraft & { scope: MemoryScope; onDuplicate: DuplicateRule },
    call: CallContext,
  ): Promise<PutOutcome & { project: string; notice?: string; similar: SimilarMemory[] }> {
    const { scope, onDuplicate, ...given } = draft;
    const { content, notice } = storableContent(given.content, this.#config.secrets);
    assertFields(given);
    const store = await this.#ready(scope, call);
    const project = await this.#projectName();
    const tags = distinct(given.tags);
    const embedding = this.#embeddings.embedding(content);
    const put = await store.backend.put({ ...given, content, tags, project }, onDuplicate);
    // The vector of an embedder that resolves immediately; storing does not wait for a slower one.
    const vector = await Promise.race([embedding?.catch(() => undefined), nextTurn(undefined)]);
    this.#embeddings.stored(store.backend, put.memory, put.outcome === 'created' ? vector : undefined);
    const similar = await similarTo(store, put.memory, this.#embeddings, embedding, call);
    return { ...put, project, ...(notice !== undefined && { notice }), similar };
  }

  async retrieve(
    question: Question & { scope: ScopeFilter },
    call: CallContext,
  ): Promise<Retrieved & { project: string }> {
    const stores = await this.#readyAll(question.scope, call);
    const retrieved = await retrieve(stores, question, this.#config.ranking, this.#embeddings, call);
    return { ...retrieved, project: await this.#projectName() };
  }

  /** Returns up to `limit + 1` memories, so that the caller sees whether there are more. */
  async list(
    request: {
      scope: ScopeFilter;
      category?: string | undefined;
      tags?: readonly string[] | undefined;
      sort: MemorySort;
      limit: number;
      after?: ListPosition | undefined;
    },
    call: CallContext,
  ): Promise<ScopedMemory[]> {
    const { scope, category, tags, sort, limit, after } = request;
    const pages: ScopedMemory[] = [];
    const stores = await this.#readyAll(scope, call);
    for (const store of stores) {
      const rows = await store.backend.list({ category, tags }, sort, limit + 1, after);
      for (const memory of rows) pages.push(store.scoped(memory));
    }
    if (stores.length === 1) return pages; // sorted already
    return pages.sort((a, b) => sortValue(b, sort) - sortValue(a, sort) || (a.id < b.id ? 1 : -1)).slice(0, limit + 1);
  }

  async get({ ids }: { ids: readonly string[] }, call: CallContext): Promise<ScopedMemory[]> {
    const found = new Map<string, ScopedMemory>();
    for (const store of await this.#readyAll('all', call)) {
      for (const memory of await store.backend.get(ids))
        if (!found.has(memory.id)) found.set(memory.id, store.scoped(memory));
    }
    return ids.flatMap((id) => found.get(id) ?? []);
  }

  async update(
    { id, patch, expectedRev }: { id: string; patch: MemoryPatch; expectedRev?: number | undefined },
    call: CallContext,
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
    const memory = await this.#inEither(id, call, (backend) =>
      this.#embedded(backend, backend.update(id, checked, expectedRev)),
    );
    return { memory, ...(notice !== undefined && { notice }) };
  }

  async delete({ id, hard }: { id: string; hard: boolean }, call: CallContext): Promise<ScopedMemory> {
    return this.#inEither(id, call, (backend) => backend.delete(id, hard));
  }

  async restore({ id, rev }: { id: string; rev?: number | undefined }, call: CallContext): Promise<ScopedMemory> {
    return this.#inEither(id, call, (backend) => this.#embedded(backend, backend.restore(id, rev)), rev);
  }

  async history(
    { id }: { id: string },
    call: CallContext,
  ): Promise<{ scope: MemoryScope; memory?: ScopedMemory; versions: MemoryVersion[] }> {
    for (const store of await this.#readyAll('all', call)) {
      const versions = await store.backend.history(id);
      const [memory] = await store.backend.get([id]);
      if (versions.length > 0 || memory)
        return { scope: store.scope, ...(memory && { memory: store.scoped(memory) }), versions };
    }
    throw notFound(id);
  }

  /** The scope that has a memory, deleted or not: for the claims of a call with its ID. */
  async scopeOf({ id }: { id: string }, call: CallContext): Promise<MemoryScope | undefined> {
    for (const store of await this.#readyAll('all', call)) {
      if ((await store.backend.get([id])).length > 0 || (await store.backend.history(id)).length > 0)
        return store.scope;
    }
    return undefined;
  }

  async import({ path, scope }: { path: string; scope: MemoryScope }, call: CallContext): Promise<ImportReport> {
    const store = await this.#ready(scope, call);
    const source = await openImportFile(this.#files, path);
    try {
      const directory = store.location?.directory ?? this.#files.scope.projectDir;
      const lines = /\.(?:jsonl|ndjson)$/i.test(path);
      const report = await importFile(
        store.backend,
        source.text(),
        { path: `${directory}/${source.name}`, shown: source.shown, scope, modifiedMs: source.modifiedMs, lines },
        call,
      );
      this.#embeddings.written(store.backend);
      return report;
    } finally {
      await source.close();
    }
  }

  /** Writes a file of the project, or returns the text if no path is given. */
  async export(
    {
      format,
      scope,
      path,
      overwrite,
    }: { format: ExportFormat; scope: ScopeFilter; path?: string | undefined; overwrite: boolean },
    call: CallContext,
  ): Promise<{ count: number; text?: string; path?: string; bytes: number }> {
    const stores = await this.#readyAll(scope, call);
    let count = 0;
    let size = 0;
    const chunks: string[] = [];
    const { projectDir } = this.#files.scope;
    for await (const { line, isMemory } of exportLines(format, stores, projectDir)) {
      call.signal.throwIfAborted();
      if (isMemory && ++count % 1_000 === 0) {
        call.progress(count, 'Exporting');
        await new Promise((resolve) => setImmediate(resolve)); // an abort can arrive here
      }
      chunks.push(line);
      size += line.length;
      if (path === undefined && size > MAX_EXPORT_CHARS) {
        throw new ToolError(
          'TOO_LARGE',
          `The export is over ${MAX_EXPORT_CHARS} characters, too long for a result. Set path to write it to a file of the project.`,
        );
      }
    }
    const text = chunks.join('');
    if (path === undefined) return { count, text, bytes: Buffer.byteLength(text) };
    const target = await this.#files.resolve(path, 'write');
    if (target.exists && !overwrite)
      throw new ToolError('INVALID_ARGUMENT', `${target.path} exists. Use another path, or set overwrite to true.`);
    const bytes = Buffer.from(text);
    await this.#files.write(path, bytes, { createDirs: true });
    return { count, path: target.path, bytes: bytes.length };
  }

  async stats(
    { check }: { check: boolean },
    call: CallContext,
  ): Promise<{
    project: string;
    stores: (BackendStats & { scope: MemoryScope; file?: string; imported?: ImportReport })[];
  }> {
    const stores = [];
    for (const store of await this.#readyAll('all', call)) {
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

  async bank(request: {
    query?: string | undefined;
    section?: string | undefined;
    limit: number;
  }): Promise<BankEntry[]> {
    return bankEntries(this.#files, request);
  }

  async close(): Promise<void> {
    await this.#embeddings.close();
    for (const store of this.#stores) await store.backend.close();
  }

  /** Waits for a change, and schedules a new vector for what changed. */
  async #embedded(
    backend: MemoryBackend,
    change: Promise<MemoryRecord | undefined>,
  ): Promise<MemoryRecord | undefined> {
    const changed = await change;
    if (changed) this.#embeddings.written(backend);
    return changed;
  }

  #projectName(): Promise<string> {
    return (this.#name ??= projectName(this.#files));
  }

  async #ready(scope: MemoryScope, call: CallContext): Promise<ScopedStore> {
    const store = this.#stores.find((candidate) => candidate.scope === scope);
    if (!store) {
      const other = this.#stores[0] ? ` Use scope "${this.#stores[0].scope}".` : '';
      const option = this.#hasBackends ? 'backend' : 'globalDir';
      const why = this.#hasBackends
        ? 'the option backend returns no store for it'
        : 'the server was created without the option globalDir, the directory for memories of all projects';
      throw new ToolError('INVALID_ARGUMENT', `scope "${scope}" is unavailable: ${why}.${other}`, {
        details: { field: 'scope', option },
      });
    }
    await store.ready(call);
    return store;
  }

  async #readyAll(scope: ScopeFilter, call: CallContext): Promise<ScopedStore[]> {
    if (scope !== 'all') return [await this.#ready(scope, call)];
    const ready: ScopedStore[] = [];
    for (const store of this.#stores) ready.push(await this.#ready(store.scope, call));
    return ready;
  }

  /** Tries the project's store first: an ID that both scopes have means that memory. */
  async #inEither(
    id: string,
    call: CallContext,
    action: (backend: MemoryBackend) => Promise<MemoryRecord | undefined>,
    rev?: number,
  ): Promise<ScopedMemory> {
    for (const store of await this.#readyAll('all', call)) {
      const memory = await action(store.backend);
      if (memory) return store.scoped(memory);
    }
    throw notFound(id, rev);
  }
}

/** Calls a method by name. The arguments were validated by the caller's thread. */
export function performMethod(
  service: MemoryService,
  method: Exclude<keyof MemoryService, 'close' | 'takeNotices'>,
  args: unknown,
  call: CallContext,
): Promise<unknown> {
  return (service[method] as (this: MemoryService, args: unknown, call: CallContext) => Promise<unknown>).call(
    service,
    args,
    call,
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
