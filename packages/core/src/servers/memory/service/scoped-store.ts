// The store of one scope: its backend, and the import of an earlier server's memories before its first use.

import { join } from 'node:path';
import type { MemoryBackend, MemoryRecord, MemoryScope, QuarantinedFile } from '../memory-backend.js';
import { importNotice } from '../transfer/import-notice.js';
import { importOnce, type ImportReport } from '../transfer/legacy-import.js';
import type { CallContext } from './call-context.js';
import { SqliteBackend } from '../sqlite/sqlite-backend.js';

/** A memory with its scope. */
export type ScopedMemory = MemoryRecord & { scope: MemoryScope };

/** Where a store's files are. */
export interface StoreLocation {
  scope: MemoryScope;
  /** Absolute. */
  directory: string;
  /** The directory as messages show it. */
  shown: string;
  /** The name of the file that an earlier memory server may have left there. */
  legacyName: string;
}

export class ScopedStore {
  readonly scope: MemoryScope;
  readonly backend: MemoryBackend;
  readonly location: StoreLocation | undefined;
  readonly #notices: string[];
  /** By record, as a backend returns the same record until it changes. */
  readonly #scoped = new WeakMap<MemoryRecord, ScopedMemory>();
  #importing: Promise<void> | undefined;
  #imported: ImportReport | undefined;

  /** @param notices collects the notices for the next result */
  constructor(scope: MemoryScope, backend: MemoryBackend, location: StoreLocation | undefined, notices: string[]) {
    this.scope = scope;
    this.backend = backend;
    this.location = location;
    this.#notices = notices;
  }

  static onDisk(
    location: StoreLocation,
    options: { durability: 'normal' | 'full'; driver?: 'node:sqlite' | 'libsql' | undefined },
    notices: string[],
  ): ScopedStore {
    const backend = new SqliteBackend({
      ...options,
      directory: location.directory,
      shown: location.shown,
      onQuarantine: (record) => void notices.push(quarantineNotice(location, record)),
    });
    return new ScopedStore(location.scope, backend, location, notices);
  }

  /** A memory of this store, with its scope. */
  scoped(memory: MemoryRecord): ScopedMemory {
    let scoped = this.#scoped.get(memory);
    // With the spread first, this takes four times as long.
    if (!scoped) this.#scoped.set(memory, (scoped = { scope: this.scope, ...memory }));
    return scoped;
  }

  /** The last import by this thread. */
  get imported(): ImportReport | undefined {
    return this.#imported;
  }

  /** Imports the memories of an earlier server, once. The next call tries again if that fails. */
  ready(call: CallContext): Promise<void> {
    return (this.#importing ??= this.#import(call).catch((error: unknown) => {
      this.#importing = undefined;
      throw error;
    }));
  }

  async #import(call: CallContext): Promise<void> {
    if (!this.location) return;
    const { directory, shown, legacyName, scope } = this.location;
    const report = await importOnce(this.backend, join(directory, legacyName), `${shown}/${legacyName}`, scope, call);
    if (!report) return;
    this.#imported = report;
    this.#notices.push(importNotice(report));
  }
}

/** The project's store, and the one for all projects if it has a directory. */
export function storesOnDisk(
  projectDir: string,
  globalDir: string | undefined,
  options: Parameters<typeof ScopedStore.onDisk>[1],
  notices: string[],
): ScopedStore[] {
  const project: StoreLocation = {
    scope: 'project',
    directory: `${projectDir}/.mcp-memory`,
    shown: '.mcp-memory',
    legacyName: 'memories.json',
  };
  const stores = [ScopedStore.onDisk(project, options, notices)];
  if (globalDir === undefined) return stores;
  const global: StoreLocation = {
    scope: 'global',
    directory: globalDir,
    shown: globalDir,
    legacyName: 'global-memories.json',
  };
  return [...stores, ScopedStore.onDisk(global, options, notices)];
}

function quarantineNotice({ shown }: StoreLocation, { file, reason, recovered }: QuarantinedFile): string {
  return `The memory file ${shown}/memory.db could not be read (${reason}). It was renamed to ${shown}/${file}; ${recovered} memories were recovered from it into a new file.`;
}
