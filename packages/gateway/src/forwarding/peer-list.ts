// One kind of thing as one MCP server lists it: read when it is first needed and after each change, and kept when a later
// reading fails.

import { createHash } from 'node:crypto';
import type { JsonObject, McpPeer } from '@toolwright/core';
import { messageOf } from '../rpc-error.js';
import { UNASKED } from './forwarding-client.js';

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

/** One entry, with its name at the server. */
export interface Item {
  readonly name: string;
  readonly item: JsonObject;
}

const MAX_PAGES = 1_000;
const MAX_ITEMS = 10_000;
/** What all entries together may hold, in characters of JSON, as with tools. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
/** One entry; a hundred are a page of a client's, which is one message. */
const MAX_ITEM_CHARACTERS = 128 * 1024;

export class PeerList {
  readonly peer: McpPeer;
  /** As they were read last; undefined before. */
  items: readonly Item[] | undefined;
  /** True from the moment that a reading took too long until one comes to its end: nobody waits for it meanwhile. */
  isLate = false;
  readonly #kind: Kind;
  readonly #peerName: string;
  readonly #options: { warn: (message: string) => void; onLate: () => void };
  /** Of the connection that the list was read from. */
  #capabilities: JsonObject | undefined;
  /** Of the items. */
  #digest: string | undefined;
  #isFresh = false;
  #reading: Promise<void> | undefined;

  /** @param options `onLate` runs when a reading that was late has changed the list */
  constructor(
    kind: Kind,
    peerName: string,
    peer: McpPeer,
    options: { warn: (message: string) => void; onLate: () => void },
  ) {
    this.#kind = kind;
    this.#peerName = peerName;
    this.peer = peer;
    this.#options = options;
  }

  /** Where a page of this kind has its entries. */
  static fieldOf(kind: Kind): string {
    return KINDS[kind].field;
  }

  static isOffered(kind: Kind, { capabilities }: McpPeer): boolean {
    return KINDS[kind].capability in capabilities;
  }

  invalidate(): void {
    this.#isFresh = false;
  }

  markLate(): void {
    if (this.#reading) this.isLate = true;
  }

  /** True where the list says whose something is: the server has reported no change since, or never does. */
  get isKnown(): boolean {
    return this.items !== undefined && (this.#isCurrent || !this.#reportsChanges);
  }

  /** Reads the list where it may have changed: a server that does not report changes is asked each time. Never rejects. */
  refresh(): Promise<void> {
    if (this.#isCurrent && this.#reportsChanges) return Promise.resolve();
    return (this.#reading ??= this.#read().finally(() => (this.#reading = undefined)));
  }

  get #isCurrent(): boolean {
    return this.#isFresh && this.#capabilities === this.peer.capabilities;
  }

  get #reportsChanges(): boolean {
    const offered = this.peer.capabilities[KINDS[this.#kind].capability] as { listChanged?: unknown } | null;
    return offered?.listChanged === true;
  }

  async #read(): Promise<void> {
    try {
      this.#isFresh = true;
      let { items, digest } = await this.#pages();
      if (!this.#isFresh) {
        this.#isFresh = true; // it changed while it was read; another change makes it stale again
        ({ items, digest } = await this.#pages());
      }
      this.#capabilities = this.peer.capabilities; // the request itself may have connected
      const isSame = digest === this.#digest;
      this.#digest = digest;
      if (!isSame) this.items = items;
      if (this.isLate && !isSame) this.#options.onLate();
      this.isLate = false;
    } catch (thrown) {
      this.#isFresh = false; // it is asked again the next time
      this.#options.warn(`"${this.#peerName}" did not list its ${this.#kind}: ${messageOf(thrown)}`);
    }
  }

  async #pages(): Promise<{ items: Item[]; digest: string }> {
    const { method, field, nameField } = KINDS[this.#kind];
    const items: Item[] = [];
    const hash = createHash('sha256');
    const cursors = new Set<unknown>();
    let tooLarge = 0;
    let characters = 0;
    let isFull = false;
    let cursor: unknown;
    while (!isFull && cursors.size < MAX_PAGES) {
      const page = await this.peer.request(method, cursor === undefined ? {} : { cursor }, UNASKED);
      const listed: unknown = page[field];
      if (!Array.isArray(listed)) break;
      for (const each of listed as (JsonObject | null)[]) {
        const name = each?.[nameField];
        if (!each || typeof name !== 'string') continue;
        const item = withinSize(each);
        if (!item) {
          tooLarge++;
          continue;
        }
        characters += item.text.length;
        isFull = items.length >= MAX_ITEMS || characters > MAX_CHARACTERS;
        if (isFull) break;
        items.push({ name, item: item.value });
        hash.update(`${item.text}\n`);
      }
      cursor = page.nextCursor;
      if (typeof cursor !== 'string' || cursors.has(cursor)) break;
      cursors.add(cursor);
    }
    const of = `"${this.#peerName}" lists ${this.#kind}`;
    if (isFull) this.#options.warn(`${of} without end: all beyond the first ${items.length} were left out.`);
    if (tooLarge > 0) this.#options.warn(`${of} of over ${MAX_ITEM_CHARACTERS} characters: ${tooLarge} were left out.`);
    return { items, digest: hash.digest('base64') };
  }
}

/** An entry with its JSON, without its icons where they are too large; undefined where it is. */
function withinSize(item: JsonObject): { value: JsonObject; text: string } | undefined {
  const text = JSON.stringify(item);
  if (text.length <= MAX_ITEM_CHARACTERS) return { value: item, text };
  const { icons, ...value } = item;
  return icons === undefined ? undefined : withinSize(value);
}
