// The store of one scope: its backend, and what is imported into it before its first use.

import { join } from 'node:path';
import type { MemoryBackend, MemoryRecord, MemoryScope, SetAsideRecord } from '../memory-backend.js';
import { importNotice } from './import-notice.js';
import { importOnce, type ImportReport, type Watch } from '../transfer/legacy-import.js';
import { SqliteBackend } from '../sqlite/sqlite-backend.js';

/** A memory with the scope that it is in. */
export type ScopedMemory = MemoryRecord & { scope: MemoryScope };

/** Where the store of a scope lies. */
export interface StoreLocation {
  scope: MemoryScope;
  /** Absolute. */
  directory: string;
  /** How messages name it. */
  shown: string;
  /** The file of an earlier memory server that may be there. */
  legacyName: string;
}

export class ScopedStore {
  readonly scope: MemoryScope;
  readonly backend: MemoryBackend;
  readonly location: StoreLocation | undefined;
  readonly #notices: string[];
  /** Of records that a backend gives again, as they were not changed. */
  readonly #scoped = new WeakMap<MemoryRecord, ScopedMemory>();
  #importing: Promise<void> | undefined;
  #imported: ImportReport | undefined;

  /** @param notices gets what the next answer has to tell */
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
      onSetAside: (record) => void notices.push(setAsideNotice(location, record)),
    });
    return new ScopedStore(location.scope, backend, location, notices);
  }

  /** A memory of this store, told apart from those of the other. */
  scoped(memory: MemoryRecord): ScopedMemory {
    let scoped = this.#scoped.get(memory);
    // The other way round takes four times as long.
    if (!scoped) this.#scoped.set(memory, (scoped = { scope: this.scope, ...memory }));
    return scoped;
  }

  /** The last import of this thread. */
  get imported(): ImportReport | undefined {
    return this.#imported;
  }

  /** Takes over the memories of an earlier server, once. One that fails is tried again by the next call. */
  ready(watch: Watch): Promise<void> {
    return (this.#importing ??= this.#import(watch).catch((error: unknown) => {
      this.#importing = undefined;
      throw error;
    }));
  }

  async #import(watch: Watch): Promise<void> {
    if (!this.location) return;
    const { directory, shown, legacyName, scope } = this.location;
    const report = await importOnce(this.backend, join(directory, legacyName), `${shown}/${legacyName}`, scope, watch);
    if (!report) return;
    this.#imported = report;
    this.#notices.push(importNotice(report));
  }
}

/** The project's store, and the one for all projects where it has a directory. */
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

function setAsideNotice({ shown }: StoreLocation, { file, reason, recovered }: SetAsideRecord): string {
  return `The memory file ${shown}/memory.db could not be read (${reason}). It is kept as ${shown}/${file}; ${recovered} memories were taken over from it into a new one.`;
}
