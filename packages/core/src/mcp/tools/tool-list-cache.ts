// The list that one provider holds: read when it is first needed, read again when the server says that it has changed,
// and kept when that fails.

import { CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import type { McpSession } from '../session/mcp-session.js';
import { LostSession, RpcFailure } from '../session/mcp-session.js';
import type { SessionAsker } from '../session/mcp-peer.js';
import { readCatalog, ToolCatalog } from './list-tools.js';

/** What a list is read with. */
export interface ListedToolsOptions {
  name: string;
  listTimeoutMs: number;
  /** Asks the open session, opened where there is none. */
  ask: SessionAsker;
  warn: (message: string) => void;
  /** Told when the list that was shown is another one now. */
  onChanged: () => void;
}

/** A server that says at each reading that the list has changed is read ever more slowly. */
const EAGER_READINGS = 2;
const PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

export class ListedTools {
  readonly #options: ListedToolsOptions;
  #catalog: ToolCatalog | undefined;
  #reading: Promise<ToolCatalog> | undefined;
  #dirty = false;
  /** Readings that were put off one after the other, and the one that is. */
  #delayed = 0;
  #later: NodeJS.Timeout | undefined;
  #life = new AbortController();
  /** True when the list is from before a failure. */
  isStale = false;

  constructor(options: ListedToolsOptions) {
    this.#options = options;
  }

  /** The list as it was read last. */
  get current(): ToolCatalog | undefined {
    return this.#catalog;
  }

  /** The list, read where there is none or the last reading failed, and awaited where it is being read. @throws {ToolError} */
  async read(): Promise<ToolCatalog> {
    if (this.#catalog && !this.#reading && !this.isStale) return this.#catalog;
    const known = this.#catalog;
    try {
      return await this.#read();
    } catch (thrown) {
      if (known && this.#catalog === known) return known; // the old list is better than none
      throw thrown;
    }
  }

  /** The server has, or may have, other tools now. Nothing is read that nobody has asked for. */
  invalidate(): void {
    this.#dirty = true;
    if (!this.#catalog || this.#reading || this.#later) return;
    this.#read().catch(() => undefined); // told where it failed
  }

  /** Forgets the list: the next connection reads it anew. */
  clear(): void {
    this.#life.abort();
    clearTimeout(this.#later);
    this.#later = undefined;
    this.#delayed = 0;
    this.#life = new AbortController();
    this.#catalog = undefined;
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
    const { signal } = this.#life;
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
            `The tools of the MCP server "${name}" could not be read again, the old list stands: ${ToolError.from(thrown).message}`,
          );
        }
        throw thrown;
      }
      if (signal.aborted) return catalog;
      const before = this.#catalog;
      this.isStale = false;
      // An equal list stays the same object, with what was compiled of it.
      if (!before || !before.equals(catalog)) this.#catalog = catalog;
      if (before && this.#catalog !== before) onChanged();
      if (!this.#dirty) this.#delayed = 0;
      else if (reading < EAGER_READINGS) continue;
      else this.#readLater();
      return this.#catalog ?? catalog;
    }
  }

  /** Nobody waits for a list that changes with each reading. */
  #readLater(): void {
    const pause = Math.min(PAUSE_MS * 2 ** this.#delayed++, LONGEST_PAUSE_MS);
    this.#later = setTimeout(() => {
      this.#later = undefined;
      this.#read().catch(() => undefined); // told where it failed
    }, pause);
    this.#later.unref();
  }

  #readOnce(): Promise<ToolCatalog> {
    return this.#options.ask(new CallScope(), (session) => this.#readFrom(session));
  }

  async #readFrom(session: McpSession): Promise<ToolCatalog> {
    const { name, listTimeoutMs, warn } = this.#options;
    if (session.capabilities.tools === undefined) return new ToolCatalog([]);
    const scope = new CallScope();
    scope.setDeadline(listTimeoutMs, listTimeoutMs);
    try {
      return await readCatalog(
        name,
        (cursor) => session.request('tools/list', cursor === undefined ? {} : { cursor }, scope),
        (what) => warn(`Of the MCP server "${name}" ${what}.`),
      );
    } catch (thrown) {
      if (scope.error) {
        throw new ToolError(
          'TIMED_OUT',
          `The MCP server "${name}" did not list its tools within ${listTimeoutMs} ms; raise listTimeoutMs, or see why.`,
          {
            provider: name,
          },
        );
      }
      if (thrown instanceof RpcFailure) throw thrown.toToolError(`The MCP server "${name}" did not list its tools`);
      if (thrown instanceof LostSession) throw thrown.failure;
      throw ToolError.from(thrown, 'INTERNAL');
    } finally {
      scope.close();
    }
  }
}
