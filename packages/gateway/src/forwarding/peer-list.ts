// One list of one MCP server: its resources, templates or prompts. Read on first use and after each change; the last list
// stays in use when a later read fails.

import { createHash } from 'node:crypto';
import type { JsonObject, McpPeer } from '@toolwright/core';
import { messageOf } from '../rpc-error.js';
import { DECLINE_REQUESTS } from './forwarding-client.js';

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

/** One entry, with the name that the server gave it. */
export interface Item {
  readonly name: string;
  readonly item: JsonObject;
}

const MAX_PAGES = 1_000;
const MAX_ITEMS = 10_000;
/** The most that all entries together may hold, in characters of JSON; the same limit as for tools. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
/** The largest entry. A page for a client is one message with a hundred of them. */
const MAX_ITEM_CHARACTERS = 128 * 1024;

/** One list of one server. */
export class PeerList {
  readonly peer: McpPeer;
  /** The entries of the last successful read; undefined before it. */
  items: readonly Item[] | undefined;
  /** True from when a read exceeds its timeout until one completes. Meanwhile no request waits for this list. */
  isLate = false;
  readonly #kind: Kind;
  readonly #peerName: string;
  readonly #options: { warn: (message: string) => void; onLate: () => void };
  /** When the list expires, if its server says so, and whether anyone may keep it. */
  #hints: { until: number | undefined; isPublic: boolean } = { until: undefined, isPublic: false };
  /** The capabilities object of the connection that the list was read from; another connection has another object. */
  #capabilities: JsonObject | undefined;
  /** Hash of the items. */
  #digest: string | undefined;
  #isFresh = false;
  #reading: Promise<void> | undefined;

  /** @param options `onLate` is called when a late read has changed the list */
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

  /** The field of a page that holds the entries. */
  static fieldOf(kind: Kind): string {
    return KINDS[kind].field;
  }

  static isOffered(kind: Kind, { capabilities }: McpPeer): boolean {
    return KINDS[kind].capability in capabilities;
  }

  invalidate(): void {
    this.#isFresh = false;
  }

  /** How long and by whom the list may be kept: no longer, and by no others, than its server says. */
  cacheHints(ttlMs: number): { ttlMs: number; isPublic: boolean } {
    const { until, isPublic } = this.#hints;
    const declared = until === undefined ? undefined : Math.max(0, Math.floor(until - performance.now()));
    const allowed = declared ?? (this.#reportsChanges ? ttlMs : 0);
    return { ttlMs: Math.min(ttlMs, allowed), isPublic: isPublic && !this.isLate };
  }

  markLate(): void {
    if (this.#reading) this.isLate = true;
  }

  /** True when a name can be looked up without a read: the server has reported no change since, or never reports any. */
  get isKnown(): boolean {
    return this.items !== undefined && (this.#isCurrent || !this.#reportsChanges);
  }

  /** Reads the list if it may have changed: each time for a server that does not report changes. Never rejects. */
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
      let { items, digest, hints } = await this.#pages();
      if (!this.#isFresh) {
        this.#isFresh = true; // changed while it was read: read it once more
        ({ items, digest, hints } = await this.#pages());
      }
      this.#capabilities = this.peer.capabilities; // after the requests: the first of them may have connected
      this.#hints = hints;
      const isSame = digest === this.#digest;
      this.#digest = digest;
      if (!isSame) this.items = items;
      if (this.isLate && !isSame) this.#options.onLate();
      this.isLate = false;
    } catch (thrown) {
      this.#isFresh = false; // the next use reads it again
      this.#options.warn(`Listing the ${this.#kind} of "${this.#peerName}" failed: ${messageOf(thrown)}`);
    }
  }

  async #pages(): Promise<{ items: Item[]; digest: string; hints: { until: number | undefined; isPublic: boolean } }> {
    const { method, field, nameField } = KINDS[this.#kind];
    const items: Item[] = [];
    const hash = createHash('sha256');
    const cursors = new Set<unknown>();
    let tooLarge = 0;
    let characters = 0;
    let isFull = false;
    let cursor: unknown;
    const hints: { until: number | undefined; isPublic: boolean } = { until: undefined, isPublic: true };
    while (!isFull && cursors.size < MAX_PAGES) {
      const page = await this.peer.request(method, cursor === undefined ? {} : { cursor }, DECLINE_REQUESTS);
      const { ttlMs, cacheScope } = page;
      if (typeof ttlMs === 'number')
        hints.until = Math.min(hints.until ?? Infinity, performance.now() + Math.max(0, ttlMs));
      hints.isPublic &&= cacheScope === 'public';
      const listed: unknown = page[field];
      if (!Array.isArray(listed)) break;
      for (const entry of listed as (JsonObject | null)[]) {
        const name = entry?.[nameField];
        if (!entry || typeof name !== 'string') continue;
        const item = withinSize(entry);
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
    const subject = `"${this.#peerName}" lists`;
    if (isFull) this.#options.warn(`${subject} too many ${this.#kind}: only the first ${items.length} are forwarded.`);
    if (tooLarge > 0)
      this.#options.warn(
        `${subject} ${tooLarge} ${this.#kind} of more than ${MAX_ITEM_CHARACTERS} characters: they are not forwarded.`,
      );
    return { items, digest: hash.digest('base64'), hints };
  }
}

/** An entry with its JSON; without its icons when it is too large with them, undefined when it is too large without. */
function withinSize(item: JsonObject): { value: JsonObject; text: string } | undefined {
  const text = JSON.stringify(item);
  if (text.length <= MAX_ITEM_CHARACTERS) return { value: item, text };
  const { icons, ...value } = item;
  return icons === undefined ? undefined : withinSize(value);
}
