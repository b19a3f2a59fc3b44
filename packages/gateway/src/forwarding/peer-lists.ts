// What MCP servers list beyond tools, together: resources, templates and prompts under the names that clients use, each
// with the server that it belongs to. A slow server delays nobody for long: what it lists is added when it comes.

import { settledWithin } from '@toolwright/core/internal';
import type { JsonObject, McpPeer } from '@toolwright/core';
import { NamedList } from '../catalog.js';
import { PeerList, type Item, type Kind } from './peer-list.js';
import { messageOf } from '../rpc-error.js';

/** What lists are made of. */
export interface PeerListsOptions {
  peers: () => ReadonlyMap<string, McpPeer>;
  nameOf: (qualifiedName: string) => string;
  limits: { pageSize: number };
  warn: (message: string) => void;
  /** Run when a list that was given out without a server has that server's part now. */
  onLate: (kind: Kind) => void;
}

/** Something that a server has. */
export interface Owned {
  peerName: string;
  peer: McpPeer;
  /** Its name at the peer. */
  name: string;
}

/** How long a client's list waits for a server, and how long a request waits for the owner of what it names. */
const LIST_TIMEOUT_MS = 3_000;
const LOOKUP_TIMEOUT_MS = 500;

export class PeerLists {
  readonly #options: PeerListsOptions;
  readonly #lists = new Map<McpPeer, Map<Kind, PeerList>>();
  /** Which server has an URI or a name, from the first time that it was listed until it is listed no more. */
  readonly #merged = new Map<Kind, { parts: readonly (readonly Item[])[]; list: NamedList<Owned> }>();

  constructor(options: PeerListsOptions) {
    this.#options = options;
  }

  /** The lists of one peer are read anew when they are next asked for. */
  invalidate(peer: McpPeer, ...kinds: Kind[]): void {
    for (const kind of kinds) this.#lists.get(peer)?.get(kind)?.invalidate();
  }

  /** The peer is served no more. */
  forget(peer: McpPeer): void {
    this.#lists.delete(peer);
  }

  /** One page as it is sent. */
  async page(kind: Kind, { cursor }: JsonObject): Promise<JsonObject> {
    // The pages of one list are of one reading, where nothing has changed meanwhile.
    if (cursor === undefined || !this.#merged.has(kind)) await this.#read([kind], LIST_TIMEOUT_MS);
    const { items, ...next } = this.#list(kind).page(cursor, this.#options.limits.pageSize);
    return { [PeerList.fieldOf(kind)]: items, ...next };
  }

  /** What `find` finds in the lists as they are known, else in those that are read now, the slow servers' last. */
  async find(kinds: readonly Kind[], find: () => Owned | undefined): Promise<Owned | undefined> {
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

  get(kind: Kind, key: string): Owned | undefined {
    return this.#list(kind).get(key);
  }

  keys(kind: Kind): readonly string[] {
    return this.#list(kind).items.map(({ key }) => key);
  }

  /** Reads what has to be read, and waits for servers that are not known to be slow. */
  async #read(kinds: readonly Kind[], timeoutMs: number): Promise<void> {
    const lists = kinds.flatMap((kind) => this.#of(kind).map(([, list]) => list));
    const readings = lists.map((list) => [list, list.refresh()] as const).filter(([list]) => !list.isLate);
    const promises = readings.map(([, reading]) => reading);
    if (!(await settledWithin(promises, timeoutMs))) for (const [list] of readings) list.markLate();
  }

  /** The lists of this kind of all peers that have one, in the order of the peers. */
  #of(kind: Kind): [string, PeerList][] {
    const lists: [string, PeerList][] = [];
    for (const [peerName, peer] of this.#options.peers()) {
      if (!PeerList.isOffered(kind, peer)) continue;
      const own = this.#lists.get(peer) ?? new Map<Kind, PeerList>();
      this.#lists.set(peer, own);
      let list = own.get(kind);
      if (!list) {
        const { warn, onLate } = this.#options;
        list = new PeerList(kind, peerName, peer, { warn, onLate: () => onLate(kind) });
        own.set(kind, list);
      }
      lists.push([peerName, list]);
    }
    return lists;
  }

  /** All of one kind, under the names that clients use. */
  #list(kind: Kind): NamedList<Owned> {
    const lists = this.#of(kind);
    const parts = lists.map(([, { items = NO_ITEMS }]) => items);
    const merged = this.#merged.get(kind);
    if (merged && merged.parts.length === parts.length && parts.every((part, at) => part === merged.parts[at]))
      return merged.list;
    const { nameOf, warn } = this.#options;
    const entries: { key: string; item: JsonObject; entry: Owned }[] = [];
    for (const [peerName, { peer, items = NO_ITEMS }] of lists) {
      for (const { name, item } of items) {
        const entry = { peerName, peer, name };
        if (kind !== 'prompts') entries.push({ key: name, item, entry });
        else {
          try {
            const key = nameOf(`${peerName}.${name}`);
            entries.push({ key, item: { ...item, name: key }, entry });
          } catch (thrown) {
            warn(`The prompt "${name}" of "${peerName}" is left out: ${messageOf(thrown)}.`);
          }
        }
      }
    }
    // What a client was told of stays with its server, also where one that comes first lists it later.
    const isOwner = ({ key, entry }: (typeof entries)[number]): boolean => merged?.list.get(key)?.peer === entry.peer;
    entries.sort((a, b) => Number(isOwner(b)) - Number(isOwner(a)));
    const list = new NamedList<Owned>(entries, (key, { peerName }) =>
      warn(`"${key}" of "${peerName}" is left out: another server has it already.`),
    );
    this.#merged.set(kind, { parts, list });
    return list;
  }
}

const NO_ITEMS: readonly Item[] = [];
