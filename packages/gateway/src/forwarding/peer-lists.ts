// The merged lists of all MCP servers: resources, templates and prompts by the names that clients use, each with its
// server. A slow server delays a list by a few seconds at most; its entries are added when they arrive.

import { settledWithin } from '@toolwright/core/internal';
import type { JsonObject, McpPeer } from '@toolwright/core';
import { NamedList } from '../catalog.js';
import { PeerList, type Item, type Kind } from './peer-list.js';
import { messageOf } from '../rpc-error.js';

/** The servers whose lists are merged, and how. */
export interface PeerListsOptions {
  peers: () => ReadonlyMap<string, McpPeer>;
  nameOf: (qualifiedName: string) => string;
  limits: { pageSize: number };
  warn: (message: string) => void;
  /** Called when a list that was returned without a slow server's entries has them. */
  onLate: (kind: Kind) => void;
}

/** An entry with the server that has it. */
export interface OwnedEntry {
  peerName: string;
  peer: McpPeer;
  /** The name that the server gave it. */
  name: string;
}

/** How long a list request waits for slow servers. */
const LIST_TIMEOUT_MS = 3_000;
/** How long a request waits for lists before it is looked up in those that have arrived. */
const LOOKUP_TIMEOUT_MS = 500;

/** The merged lists. */
export class PeerLists {
  readonly #options: PeerListsOptions;
  readonly #lists = new Map<McpPeer, Map<Kind, PeerList>>();
  /** The last merged list of each kind. A URI or name stays with its server until that server no longer lists it. */
  readonly #merged = new Map<Kind, { parts: readonly (readonly Item[])[]; list: NamedList<OwnedEntry> }>();

  constructor(options: PeerListsOptions) {
    this.#options = options;
  }

  /** The peer's lists are read again on their next use. */
  invalidate(peer: McpPeer, ...kinds: Kind[]): void {
    for (const kind of kinds) this.#lists.get(peer)?.get(kind)?.invalidate();
  }

  /** Drops the lists of a removed peer. */
  forget(peer: McpPeer): void {
    this.#lists.delete(peer);
  }

  /** One page as it is sent to a client. */
  async page(kind: Kind, { cursor }: JsonObject): Promise<JsonObject> {
    // Only the first page reads the lists, so that the pages of one listing are consistent.
    if (cursor === undefined || !this.#merged.has(kind)) await this.#read([kind], LIST_TIMEOUT_MS);
    const { items, ...next } = this.#list(kind).page(cursor, this.#options.limits.pageSize);
    return { [PeerList.fieldOf(kind)]: items, ...next };
  }

  /** How long and by whom the pages of one kind may be kept: as the strictest of their servers says. */
  cacheHints(kind: Kind, ttlMs: number): { ttlMs: number; cacheScope: 'public' | 'private' } {
    const hints = this.#of(kind).map(([, list]) => list.cacheHints(ttlMs));
    const isPublic = hints.length > 0 && hints.every((hint) => hint.isPublic);
    const shortest = hints.reduce((least, hint) => Math.min(least, hint.ttlMs), ttlMs);
    return { ttlMs: shortest, cacheScope: isPublic ? 'public' : 'private' };
  }

  /** The result of `find` on the known lists, else after reading them again, else after waiting for slow servers too. */
  async find(kinds: readonly Kind[], find: () => OwnedEntry | undefined): Promise<OwnedEntry | undefined> {
    const lists = kinds.flatMap((kind) => this.#of(kind).map(([, list]) => list));
    if (lists.every(({ isKnown, isLate }) => isKnown || isLate)) {
      const known = find();
      if (known) return known;
    }
    await this.#read(kinds, LOOKUP_TIMEOUT_MS);
    const found = find();
    if (found) return found;
    await Promise.all(lists.filter(({ isLate }) => isLate).map((list) => list.refresh()));
    return find();
  }

  get(kind: Kind, key: string): OwnedEntry | undefined {
    return this.#list(kind).get(key);
  }

  keys(kind: Kind): readonly string[] {
    return this.#list(kind).items.map(({ key }) => key);
  }

  /** Reads lists that may have changed, waiting for all but the servers known to be slow. */
  async #read(kinds: readonly Kind[], timeoutMs: number): Promise<void> {
    const lists = kinds.flatMap((kind) => this.#of(kind).map(([, list]) => list));
    const readings = lists.map((list) => [list, list.refresh()] as const).filter(([list]) => !list.isLate);
    const promises = readings.map(([, reading]) => reading);
    if (!(await settledWithin(promises, timeoutMs))) for (const [list] of readings) list.markLate();
  }

  /** The lists of this kind of all peers that offer it, in the order of the peers. */
  #of(kind: Kind): [string, PeerList][] {
    const lists: [string, PeerList][] = [];
    for (const [peerName, peer] of this.#options.peers()) {
      if (!PeerList.isOffered(kind, peer)) continue;
      const byKind = this.#lists.get(peer) ?? new Map<Kind, PeerList>();
      this.#lists.set(peer, byKind);
      let list = byKind.get(kind);
      if (!list) {
        const { warn, onLate } = this.#options;
        list = new PeerList(kind, peerName, peer, { warn, onLate: () => onLate(kind) });
        byKind.set(kind, list);
      }
      lists.push([peerName, list]);
    }
    return lists;
  }

  /** All entries of one kind, by the names that clients use. */
  #list(kind: Kind): NamedList<OwnedEntry> {
    const lists = this.#of(kind);
    const parts = lists.map(([, { items = NO_ITEMS }]) => items);
    const merged = this.#merged.get(kind);
    if (merged && merged.parts.length === parts.length && parts.every((part, at) => part === merged.parts[at]))
      return merged.list;
    const { nameOf, warn } = this.#options;
    const entries: { key: string; item: JsonObject; entry: OwnedEntry }[] = [];
    for (const [peerName, { peer, items = NO_ITEMS }] of lists) {
      for (const { name, item } of items) {
        const entry = { peerName, peer, name };
        if (kind !== 'prompts') entries.push({ key: name, item, entry });
        else {
          try {
            const key = nameOf(`${peerName}.${name}`);
            entries.push({ key, item: { ...item, name: key }, entry });
          } catch (thrown) {
            warn(`Prompt "${name}" of "${peerName}" is not listed: ${messageOf(thrown)}.`);
          }
        }
      }
    }
    // A name that was listed to a client stays with its server, even when an earlier server lists it later.
    const isOwner = ({ key, entry }: (typeof entries)[number]): boolean => merged?.list.get(key)?.peer === entry.peer;
    entries.sort((a, b) => Number(isOwner(b)) - Number(isOwner(a)));
    const list = new NamedList<OwnedEntry>(entries, (key, { peerName }) =>
      warn(`"${key}" of "${peerName}" is not listed: another server has an entry of that name.`),
    );
    this.#merged.set(kind, { parts, list });
    return list;
  }
}

const NO_ITEMS: readonly Item[] = [];
