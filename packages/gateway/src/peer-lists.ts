// What MCP servers list beyond tools, together: resources, templates and prompts under the names that clients use, each
// with the server that it belongs to.

import type { JsonObject, McpPeer } from '@toolwright/core';
import { NamedList } from './catalog.js';
import { messageOf } from './rpc-error.js';

/** What lists are made of. */
export interface PeerListsOptions {
  peers: () => ReadonlyMap<string, McpPeer>;
  nameOf: (qualifiedName: string) => string;
  limits: { pageSize: number };
  warn: (message: string) => void;
}

/** Something that a server has. */
export interface Owned {
  peerName: string;
  peer: McpPeer;
  /** Its name at the peer. */
  name: string;
}

const KINDS = {
  resources: { method: 'resources/list', capability: 'resources', field: 'resources', nameField: 'uri' },
  templates: {
    method: 'resources/templates/list',
    capability: 'resources',
    field: 'resourceTemplates',
    nameField: 'uriTemplate',
  },
  prompts: { method: 'prompts/list', capability: 'prompts', field: 'prompts', nameField: 'name' },
} as const;
export type Kind = keyof typeof KINDS;

const MAX_PAGES = 1_000;
const MAX_ITEMS = 10_000;

export class PeerLists {
  readonly #options: PeerListsOptions;
  readonly #lists = new Map<Kind, Promise<NamedList<Owned>>>();

  constructor(options: PeerListsOptions) {
    this.#options = options;
  }

  /** They are read anew when they are next asked for; all of them where none is named. */
  invalidate(...kinds: Kind[]): void {
    if (kinds.length === 0) this.#lists.clear();
    for (const kind of kinds) this.#lists.delete(kind);
  }

  /** One page as it is sent. */
  async page(kind: Kind, { cursor }: JsonObject): Promise<JsonObject> {
    const { items, ...next } = (await this.owned(kind)).page(cursor, this.#options.limits.pageSize);
    return { [KINDS[kind].field]: items, ...next };
  }

  /** All of one kind, under the names that clients use. */
  owned(kind: Kind): Promise<NamedList<Owned>> {
    let list = this.#lists.get(kind);
    if (!list) {
      list = Promise.resolve().then(() => this.#gather(kind)); // which may take it out again
      this.#lists.set(kind, list);
    }
    return list;
  }

  async #gather(kind: Kind): Promise<NamedList<Owned>> {
    const { capability, nameField } = KINDS[kind];
    const peers = [...this.#options.peers()].filter(([, { capabilities }]) => capability in capabilities);
    // One that never tells of changes is asked each time.
    const tells = ({ capabilities }: McpPeer): boolean =>
      (capabilities[capability] as { listChanged?: unknown } | null)?.listChanged === true;
    if (!peers.every(([, peer]) => tells(peer))) this.#lists.delete(kind);
    const perPeer = await Promise.all(
      peers.map(async ([peerName, peer]) => {
        try {
          return (await this.#pages(peer, kind)).map((item) => ({ peerName, peer, item }));
        } catch (thrown) {
          this.#lists.delete(kind); // it is asked again the next time
          this.#options.warn(`"${peerName}" did not list its ${kind}: ${messageOf(thrown)}`);
          return [];
        }
      }),
    );
    const { nameOf } = this.#options;
    const entries = perPeer.flat().map(({ peerName, peer, item }) => {
      const name = item[nameField] as string;
      const key = kind === 'prompts' ? nameOf(`${peerName}.${name}`) : name;
      return { key, item: kind === 'prompts' ? { ...item, name: key } : item, entry: { peerName, peer, name } };
    });
    return new NamedList<Owned>(entries, (key, { peerName }) =>
      this.#options.warn(`"${key}" of "${peerName}" is left out: another server has it already.`),
    );
  }

  async #pages(peer: McpPeer, kind: Kind): Promise<JsonObject[]> {
    const { method, field, nameField } = KINDS[kind];
    const items: JsonObject[] = [];
    let cursor: unknown;
    for (let pages = 0; pages < MAX_PAGES && items.length < MAX_ITEMS; pages++) {
      const page = await peer.request(method, cursor === undefined ? {} : { cursor });
      const listed: unknown = page[field];
      if (!Array.isArray(listed)) break;
      for (const item of listed as JsonObject[]) if (typeof item?.[nameField] === 'string') items.push(item);
      const next = page.nextCursor;
      if (typeof next !== 'string' || next === cursor) break;
      cursor = next;
    }
    return items;
  }
}
