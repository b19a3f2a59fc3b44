// What is listed under which name: the names of a gateway, read from the provider's and never split again.

import { ToolError, type JsonObject, type ToolDefinition, type ToolProvider } from '@toolwright/core';
import { aliasOf } from '@toolwright/core/adapters';
import { INVALID_PARAMS, messageOf, rpcError } from './rpc-error.js';

/** How tools and prompts are named: by alias (`server__tool`), as they are (`server.tool`), or by a function. */
export type Naming = 'alias' | 'qualified' | ((qualifiedName: string) => string);

/** The names of a gateway, checked. @throws {ToolError} INVALID_ARGUMENT */
export function namerOf(naming: Naming): (qualifiedName: string) => string {
  if (naming === 'alias') return aliasOf;
  if (naming === 'qualified') return (name) => name;
  if (typeof naming === 'function') return naming;
  throw new ToolError('INVALID_ARGUMENT', `naming must be "alias", "qualified" or a function, not ${String(naming)}.`);
}

/** Of one page: the clients take 16 MiB of UTF-8, or 4 MiB, at once. */
const MAX_PAGE_CHARACTERS = 1024 * 1024;

/** Things under the names that clients use, in the order of those names. */
export class NamedList<Entry> {
  /** As they are sent, sorted: a page goes on after a name, so a change between two pages costs no other entry. */
  readonly items: readonly (JsonObject & { key: string; size: number })[] = [];
  readonly #byKey: ReadonlyMap<string, Entry>;

  /** @param entries the first that has a key keeps it; `refused` is told of the others */
  constructor(
    entries: Iterable<{ key: string; item: object; entry: Entry }>,
    refused: (key: string, entry: Entry) => void,
  ) {
    const byKey = new Map<string, Entry>();
    const items: (JsonObject & { key: string; size: number })[] = [];
    for (const { key, item, entry } of entries) {
      if (byKey.has(key)) refused(key, entry);
      else {
        byKey.set(key, entry);
        items.push({ key, item, size: JSON.stringify(item).length });
      }
    }
    this.#byKey = byKey;
    this.items = items.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  get(key: string): Entry | undefined {
    return this.#byKey.get(key);
  }

  /** One page: at most `size` entries, and one at least. @throws an error of JSON-RPC for a cursor that is none of ours */
  page(cursor: unknown, size: number): { items: unknown[]; nextCursor?: string } {
    const after = parseCursor(cursor);
    const start = after === undefined ? 0 : this.items.findIndex(({ key }) => key > after);
    if (start < 0) return { items: [] };
    let [end, characters] = [start, 0];
    while (end < Math.min(start + size, this.items.length)) {
      characters += this.items[end]?.size ?? 0;
      if (end > start && characters > MAX_PAGE_CHARACTERS) break;
      end++;
    }
    const page = this.items.slice(start, end);
    const last = page.at(-1);
    const isLast = end >= this.items.length;
    return {
      items: page.map(({ item }) => item),
      ...(!isLast && last && { nextCursor: Buffer.from(`after:${last.key}`).toString('base64url') }),
    };
  }
}

function parseCursor(cursor: unknown): string | undefined {
  if (cursor === undefined) return undefined;
  const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : '';
  if (text.startsWith('after:')) return text.slice('after:'.length);
  throw rpcError(INVALID_PARAMS, 'The cursor is none that this server gave.');
}

/** The provider's tools under the gateway's names, read when they are asked for and again after a change. */
export class ToolCatalog {
  readonly #provider: ToolProvider;
  readonly #nameOf: (qualifiedName: string) => string;
  readonly #warn: (message: string) => void;
  #definitions: readonly ToolDefinition[] | undefined;
  #list: NamedList<ToolDefinition> | undefined;
  #isFresh = false;

  constructor(provider: ToolProvider, nameOf: (qualifiedName: string) => string, warn: (message: string) => void) {
    this.#provider = provider;
    this.#nameOf = nameOf;
    this.#warn = warn;
  }

  invalidate(): void {
    this.#isFresh = false;
  }

  /** @throws {ToolError} what the provider rejects with */
  async read(): Promise<NamedList<ToolDefinition>> {
    this.#isFresh = true; // a change that comes while it is read makes it stale again
    let definitions: readonly ToolDefinition[];
    try {
      definitions = await this.#provider.listTools();
    } catch (thrown) {
      this.#isFresh = false;
      throw ToolError.from(thrown, 'UNAVAILABLE');
    }
    if (this.#list && definitions === this.#definitions) return this.#list;
    this.#definitions = definitions;
    return (this.#list = new NamedList(this.#entries(definitions), (key, { name }) =>
      this.#warn(`The tool "${name}" is left out: another is listed as "${key}" already.`),
    ));
  }

  /** The tool of a listed name, at once where the list is fresh. */
  find(name: string): ToolDefinition | Promise<ToolDefinition | undefined> {
    const known = this.#isFresh ? this.#list?.get(name) : undefined;
    return known ?? this.read().then((list) => list.get(name));
  }

  *#entries(definitions: readonly ToolDefinition[]): Iterable<{ key: string; item: object; entry: ToolDefinition }> {
    for (const entry of definitions) {
      try {
        const key: unknown = this.#nameOf(entry.name);
        if (typeof key !== 'string' || key === '') throw new Error('naming gave no text');
        yield { key, item: wireTool(entry, key), entry };
      } catch (thrown) {
        this.#warn(`The tool "${entry.name}" is left out: ${messageOf(thrown)}.`);
      }
    }
  }
}

/** A tool as it is listed. Schemas are the author's, but for the root type that the protocol asks for. */
function wireTool(tool: ToolDefinition, name: string): object {
  const { inputSchema, outputSchema } = tool;
  const { type = 'object' } = inputSchema;
  if (type !== 'object') throw new Error('its inputSchema is of no object');
  const wire: Record<string, unknown> = { ...tool, name };
  if (inputSchema.type === undefined) wire.inputSchema = { type, ...inputSchema };
  if (outputSchema && outputSchema.type === undefined) wire.outputSchema = { type: 'object', ...outputSchema };
  else if (outputSchema && outputSchema.type !== 'object') delete wire.outputSchema; // clients would refuse the whole list
  return wire;
}
