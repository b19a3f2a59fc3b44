// Caches a server's list of tools: reads it on first use and after each change, and keeps the old list when reading fails.

import { CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import type { McpSession } from '../session/mcp-session.js';
import { SessionLostError, RpcError } from '../session/mcp-session.js';
import type { WithSession } from '../session/mcp-peer.js';
import type { ToolDefinition } from '../../contract/tool-definition.js';
import type { JsonSchemaValidator } from '../../tool/json-schema-validator.js';
import { readListedSchema } from '../../tool/listed-schema-validator.js';
import { ToolIndex } from '../../provider/tool-index.js';
import type { JsonObject } from '../../contract/json.js';
import { readToolList } from './list-tools.js';
import { headersOf, paramHeadersOf, type ParamHeader } from './param-headers.js';
import { plainText } from '../../contract/sanitize.js';

/** One list of tools, indexed by name, with the validators of their outputs. */
export class ToolCatalog {
  readonly definitions: readonly ToolDefinition[];
  readonly #index: ToolIndex<ToolDefinition>;
  readonly #outputs = new Map<ToolDefinition, JsonSchemaValidator | undefined>();

  constructor(definitions: readonly ToolDefinition[]) {
    this.definitions = Object.freeze([...definitions]);
    this.#index = new ToolIndex(definitions.map((tool) => [tool.name, tool] as const));
  }

  /** The tool of this qualified name. */
  get(name: string): ToolDefinition | undefined {
    return this.#index.get(name);
  }

  /** The error for a name that is not in the list. */
  notFound(name: unknown, where: string): ToolError {
    return this.#index.notFound(name, where);
  }

  /** The validator of the output; undefined without an output schema that can be enforced. */
  outputValidator(tool: ToolDefinition): JsonSchemaValidator | undefined {
    if (!tool.outputSchema) return undefined;
    if (!this.#outputs.has(tool)) {
      let validator: JsonSchemaValidator | undefined;
      try {
        validator = readListedSchema(tool.outputSchema);
      } catch {
        // A malformed schema is not enforced.
      }
      this.#outputs.set(tool, validator);
    }
    return this.#outputs.get(tool);
  }

  /** The HTTP headers that mirror arguments of a call. */
  headersFor(tool: ToolDefinition, args: JsonObject): Readonly<Record<string, string>> | undefined {
    const params = mirroredParamsOf(tool);
    return typeof params === 'string' || params.length === 0 ? undefined : headersOf(params, args);
  }

  /** True when both lists have equal definitions. */
  equals(other: ToolCatalog): boolean {
    return JSON.stringify(this.definitions) === JSON.stringify(other.definitions);
  }
}

/** The mirrored arguments of tools. A list may have been read on a session without headers, and stay the same on one with them. */
const mirrored = new WeakMap<ToolDefinition, ReturnType<typeof paramHeadersOf>>();

function mirroredParamsOf(tool: ToolDefinition): readonly ParamHeader[] | string {
  const params = mirrored.get(tool) ?? paramHeadersOf(tool.inputSchema);
  mirrored.set(tool, params);
  return params;
}

/** The tools without those whose mirrored arguments are malformed, which must not be called over HTTP. */
function withMirroredParams(
  definitions: readonly ToolDefinition[],
  warn: (message: string) => void,
): readonly ToolDefinition[] {
  return definitions.filter((tool) => {
    const params = mirroredParamsOf(tool);
    if (typeof params === 'string') warn(`the tool "${plainText(tool.name, 80)}" was left out: ${params}`);
    return typeof params !== 'string';
  });
}

/** Options of {@link ToolListCache}. */
export interface ToolListCacheOptions {
  name: string;
  listTimeoutMs: number;
  /** Runs a request on the open session, opening one first if needed. */
  withSession: WithSession;
  warn: (message: string) => void;
  /** True while the server reports changes, so that the list does not expire. */
  isWatched: () => boolean;
  /** Called when the list has changed. */
  onChanged: () => void;
}

/** How often a list that changes while it is read is read again without a pause. */
const EAGER_READINGS = 2;
/** A server cannot make a list valid for longer. */
const MAX_TTL_MS = 24 * 60 * 60_000;
const PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** The cached list of one server. */
export class ToolListCache {
  readonly #options: ToolListCacheOptions;
  #catalog: ToolCatalog | undefined;
  #reading: Promise<ToolCatalog> | undefined;
  #dirty = false;
  /** The number of delayed readings in a row. */
  #delayed = 0;
  #later: NodeJS.Timeout | undefined;
  #lifetime = new AbortController();
  /** How long the server lets the list be kept, in milliseconds. Servers of the legacy era set no time. */
  #ttlMs = Infinity;
  /** When that began, as a time of `performance.now()`. */
  #readAt = 0;
  /** True when reading the list again failed. */
  isStale = false;

  constructor(options: ToolListCacheOptions) {
    this.#options = options;
  }

  /** The latest list. */
  get current(): ToolCatalog | undefined {
    return this.#catalog;
  }

  /** How long the list may be kept by others, in milliseconds; undefined where the server says nothing. */
  get ttlMs(): number | undefined {
    if (this.#ttlMs === Infinity) return undefined;
    return this.#options.isWatched() ? this.#ttlMs : Math.max(0, this.#readAt + this.#ttlMs - performance.now());
  }

  /** Returns the list; reads it if there is none or the last reading failed. @throws {ToolError} when there is no list at all */
  async read(): Promise<ToolCatalog> {
    const isFresh = !this.isStale && (performance.now() < this.#readAt + this.#ttlMs || this.#options.isWatched());
    if (this.#catalog && !this.#reading && isFresh) return this.#catalog;
    const known = this.#catalog;
    try {
      return await this.#read();
    } catch (thrown) {
      if (known && this.#catalog === known) return known; // the old list is better than none
      throw thrown;
    }
  }

  /** Marks the list as outdated, and reads it again if it was read before. */
  invalidate(): void {
    this.#dirty = true;
    if (!this.#catalog || this.#reading || this.#later) return;
    this.#read().catch(() => undefined); // already reported
  }

  /** Forgets the list; the next connection reads it again. */
  clear(): void {
    this.#lifetime.abort();
    clearTimeout(this.#later);
    this.#later = undefined;
    this.#delayed = 0;
    this.#lifetime = new AbortController();
    this.#catalog = undefined;
    this.#ttlMs = Infinity;
    this.#reading = undefined;
    this.isStale = false;
    this.#dirty = false;
  }

  #read(): Promise<ToolCatalog> {
    if (this.#reading) return this.#reading;
    const reading = this.#readUntilClean().finally(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    return (this.#reading = reading);
  }

  async #readUntilClean(): Promise<ToolCatalog> {
    const { signal } = this.#lifetime;
    const { name, warn, onChanged } = this.#options;
    for (let reading = 1; ; reading++) {
      this.#dirty = false;
      let catalog: ToolCatalog;
      try {
        catalog = await this.#readOnce();
      } catch (thrown) {
        if (!signal.aborted && this.#catalog) {
          this.isStale = true;
          warn(
            `The tools of the MCP server "${name}" could not be listed again; the previous list is used: ${ToolError.from(thrown).message}`,
          );
        }
        throw thrown;
      }
      if (signal.aborted) return catalog;
      const before = this.#catalog;
      this.isStale = false;
      // An equal list stays the same object, with its compiled validators.
      if (!before || !before.equals(catalog)) this.#catalog = catalog;
      if (before && this.#catalog !== before) onChanged();
      if (!this.#dirty) this.#delayed = 0;
      else if (reading < EAGER_READINGS) continue;
      else this.#readLater();
      return this.#catalog ?? catalog;
    }
  }

  /** Schedules the next reading of a list that changes at every reading. */
  #readLater(): void {
    const pause = Math.min(PAUSE_MS * 2 ** this.#delayed++, LONGEST_PAUSE_MS);
    this.#later = setTimeout(() => {
      this.#later = undefined;
      this.#read().catch(() => undefined); // already reported
    }, pause);
    this.#later.unref();
  }

  #readOnce(): Promise<ToolCatalog> {
    return this.#options.withSession(new CallScope(), (session) => this.#readFrom(session));
  }

  async #readFrom(session: McpSession): Promise<ToolCatalog> {
    const { name, listTimeoutMs, warn } = this.#options;
    const isModern = session.era === 'modern';
    const readAt = performance.now();
    let ttlMs = isModern ? MAX_TTL_MS : Infinity;
    if (session.capabilities.tools === undefined) return new ToolCatalog([]);
    const scope = new CallScope();
    scope.setDeadline(listTimeoutMs, listTimeoutMs);
    try {
      const warnOfTool = (message: string): void => warn(`In the tools of the MCP server "${name}", ${message}.`);
      const readPage = async (cursor: string | undefined): Promise<JsonObject> => {
        const page = await session.request('tools/list', cursor === undefined ? {} : { cursor }, scope);
        if (isModern) ttlMs = Math.min(ttlMs, typeof page.ttlMs === 'number' && page.ttlMs > 0 ? page.ttlMs : 0);
        return page;
      };
      const definitions = await readToolList(name, readPage, warnOfTool);
      this.#readAt = readAt;
      this.#ttlMs = ttlMs;
      return new ToolCatalog(session.usesHeaders ? withMirroredParams(definitions, warnOfTool) : definitions);
    } catch (thrown) {
      if (scope.error) {
        throw new ToolError(
          'TIMED_OUT',
          `The MCP server "${name}" did not list its tools within ${listTimeoutMs} ms; check the server, or raise listTimeoutMs.`,
          { provider: name },
        );
      }
      if (thrown instanceof RpcError) throw thrown.toToolError(`The MCP server "${name}" did not list its tools`);
      if (thrown instanceof SessionLostError) throw thrown.failure;
      throw ToolError.from(thrown, 'INTERNAL');
    } finally {
      scope.close();
    }
  }
}
