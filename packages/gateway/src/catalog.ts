// The names under which a gateway lists tools. They are made from the provider's names and looked up, never parsed back.

import { ToolError, type JsonObject, type ToolDefinition, type ToolProvider } from '@toolwright/core';
import { bareName, isForViewsOnly, isJsonObject, shownValue } from '@toolwright/core/internal';
import { aliasOf } from '@toolwright/core/adapters';
import { INVALID_PARAMS, messageOf, rpcError } from './rpc-error.js';

/** How tools and prompts are named: `'alias'` is `server__tool`, `'qualified'` is `server.tool`; or a function. */
export type Naming = 'alias' | 'qualified' | ((qualifiedName: string) => string);

/** The function that names tools and prompts. @throws {ToolError} INVALID_ARGUMENT */
export function parseNaming(naming: Naming): (qualifiedName: string) => string {
  if (naming === 'alias') return aliasOf;
  if (naming === 'qualified') return (name) => name;
  if (typeof naming === 'function') return naming;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `naming must be "alias", "qualified" or a function, not ${shownValue(naming)}.`,
  );
}

/** The client capability to show views. https://modelcontextprotocol.io/seps/1865-mcp-apps-interactive-user-interfaces-for-mcp */
const VIEWS_EXTENSION = 'io.modelcontextprotocol/ui';

/** The size of one page. Clients accept messages of 4 or 16 MiB of UTF-8. */
const MAX_PAGE_CHARACTERS = 1024 * 1024;

/** Entries by the names that clients use, sorted by name. */
export class NamedList<Entry> {
  /** The entries as they are sent. A cursor is a name, so a change between two pages skips or repeats no other entry. */
  readonly items: readonly (JsonObject & { key: string; size: number })[] = [];
  readonly #byKey: ReadonlyMap<string, Entry>;

  /** @param onDuplicate called with each entry whose key an earlier entry has */
  constructor(
    entries: Iterable<{ key: string; item: object; entry: Entry }>,
    onDuplicate: (key: string, entry: Entry) => void,
  ) {
    const byKey = new Map<string, Entry>();
    const items: (JsonObject & { key: string; size: number })[] = [];
    for (const { key, item, entry } of entries) {
      if (byKey.has(key)) onDuplicate(key, entry);
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

  /**
   * One page of at most `size` entries, and of at least one where any are left.
   *
   * @throws a JSON-RPC error when the cursor is not one that a page returned
   */
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
  throw rpcError(INVALID_PARAMS, 'Invalid cursor: pass nextCursor of an earlier page, or none for the first page.');
}

/** The provider's tools by the gateway's names. Lists are read on demand and again after a change. */
export class ToolCatalog {
  readonly #provider: ToolProvider;
  readonly #nameOf: (qualifiedName: string) => string;
  readonly #warn: (message: string) => void;
  /** The provider's last listing; an equal one is the same array. */
  #listed: readonly ToolDefinition[] | undefined;
  /** The tools of it that are served. */
  #definitions: readonly ToolDefinition[] = [];
  #list: NamedList<ToolDefinition> | undefined;
  /** The list without the tools for views only; undefined if there are none. */
  #modelList: NamedList<ToolDefinition> | undefined;
  readonly #isReplica: boolean;
  #isFresh = false;

  /** @param options `isReplica` leaves out the tools of servers that keep state per session */
  constructor(
    provider: ToolProvider,
    options: { nameOf: (qualifiedName: string) => string; warn: (message: string) => void; isReplica: boolean },
  ) {
    this.#provider = provider;
    this.#nameOf = options.nameOf;
    this.#warn = options.warn;
    this.#isReplica = options.isReplica;
  }

  invalidate(): void {
    this.#isFresh = false;
  }

  /** The current list for a client: without the tools for views if it has none. @throws {ToolError} as the provider does */
  async readFor(clientCapabilities: JsonObject): Promise<NamedList<ToolDefinition>> {
    const list = await this.read();
    return showsViews(clientCapabilities) ? list : (this.#modelList ?? list);
  }

  /** The current list of all tools. @throws {ToolError} with which the provider rejects */
  async read(): Promise<NamedList<ToolDefinition>> {
    this.#isFresh = true; // a change while the list is read makes it stale again
    let definitions: readonly ToolDefinition[];
    try {
      // Other providers need not know the option.
      definitions = await this.#provider.listTools(
        this.#provider.kind === 'hub' ? { includeViewTools: true } : undefined,
      );
    } catch (thrown) {
      this.#isFresh = false;
      throw ToolError.from(thrown, 'UNAVAILABLE');
    }
    if (this.#list && definitions === this.#listed) return this.#list;
    this.#listed = definitions;
    if (this.#isReplica) definitions = this.#withoutSessions(definitions);
    this.#definitions = definitions;
    const warn = (key: string, { name }: ToolDefinition): void =>
      this.#warn(`Tool "${name}" is not listed: another tool has the name "${key}".`);
    this.#list = new NamedList(this.#entries(definitions), warn);
    const forModels = definitions.filter((tool) => !isForViewsOnly(tool));
    this.#modelList =
      forModels.length < definitions.length ? new NamedList(this.#entries(forModels), () => undefined) : undefined;
    return this.#list;
  }

  /** The tool that a client means by a name, synchronously when the list is fresh and has it. */
  find(name: string, clientCapabilities: JsonObject): ToolDefinition | Promise<ToolDefinition | undefined> {
    const known = this.#isFresh ? this.#list?.get(name) : undefined;
    return (
      known ??
      this.read().then(
        (list) => list.get(name) ?? (showsViews(clientCapabilities) ? this.#toolOfView(name) : undefined),
      )
    );
  }

  /**
   * The tool that a view means: a view of MCP Apps knows its server's tools by their own names, and the gateway cannot know
   * whose view it is. Undefined unless exactly one tool of all servers has the name, and that one belongs to a view.
   */
  #toolOfView(name: string): ToolDefinition | undefined {
    const [only, ...others] = this.#definitions.filter((tool) => bareName(tool.name) === name);
    return only?._meta?.ui !== undefined && others.length === 0 ? only : undefined;
  }

  /** The tools of servers without state per session: each replica would have its own state of a session. */
  #withoutSessions(definitions: readonly ToolDefinition[]): readonly ToolDefinition[] {
    const servers = this.#provider.sessionServers ?? [];
    if (servers.length === 0) return definitions;
    this.#warn(
      `The tools of ${servers.join(', ')} are not served: these servers keep state per session, of which each replica would have its own.`,
    );
    return definitions.filter(({ name }) => !servers.some((server) => name.startsWith(`${server}.`)));
  }

  *#entries(definitions: readonly ToolDefinition[]): Iterable<{ key: string; item: object; entry: ToolDefinition }> {
    for (const entry of definitions) {
      try {
        const key: unknown = this.#nameOf(entry.name);
        if (typeof key !== 'string' || key === '') throw new Error('naming() returned no name');
        yield { key, item: wireTool(entry, key), entry };
      } catch (thrown) {
        this.#warn(`Tool "${entry.name}" is not listed: ${messageOf(thrown)}.`);
      }
    }
  }
}

/** True for a client that shows the views of MCP Apps. */
function showsViews({ extensions }: JsonObject): boolean {
  return isJsonObject(extensions) && VIEWS_EXTENSION in extensions;
}

/** A tool as it is listed. Schemas are the author's, with the root type that the protocol requires. */
function wireTool(tool: ToolDefinition, name: string): object {
  const { inputSchema, outputSchema } = tool;
  const { type = 'object' } = inputSchema;
  if (type !== 'object') throw new Error('the type of its inputSchema is not "object"');
  const wire: Record<string, unknown> = { ...tool, name };
  if (inputSchema.type === undefined) wire.inputSchema = { type, ...inputSchema };
  if (outputSchema && outputSchema.type === undefined) wire.outputSchema = { type: 'object', ...outputSchema };
  else if (outputSchema && outputSchema.type !== 'object') delete wire.outputSchema; // clients would reject the whole list
  return wire;
}
