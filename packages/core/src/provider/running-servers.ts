// The tool servers of one connection: started together, their tools bound to their state, stopped together.

import { ToolError } from '../contract/errors.js';
import { Listeners } from '../call/host-callbacks.js';
import { noteListing } from './delegation.js';
import { ToolIndex } from './tool-index.js';
import { settledWithin, untilAborted } from '../call/waiting.js';
import type { PermissionClaim } from '../contract/claims.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import type { ServerContext, ToolServer } from '../tool/define-server.js';
import { listingOf, prepareTool, type Tool } from '../tool/define-tool.js';

/** A tool with the state of its server, ready to be called. */
export interface BoundTool {
  /** The connection that it belongs to. */
  readonly servers: RunningServers;
  readonly tool: Tool;
  readonly definition: ToolDefinition;
  readonly state: unknown;
  /** The claim of a tool without a `permission` function: its bare name. */
  readonly nameClaim: readonly PermissionClaim[];
}

interface Started {
  readonly server: ToolServer;
  readonly state: unknown;
}

/** How long a server's `stop` may take before it is abandoned. */
const STOP_TIMEOUT_MS = 5_000;

export class RunningServers {
  tools: ToolIndex<BoundTool>;
  definitions: readonly ToolDefinition[];
  /** Set while the list is rebuilt because a tool was added or removed. */
  refreshing: Promise<void> | undefined;
  readonly changed = new Listeners();
  readonly #context: ServerContext;
  readonly #started: readonly Started[];
  readonly #unsubscribes: (() => void)[];
  #dirty = false;

  private constructor(context: ServerContext, started: readonly Started[]) {
    this.#context = context;
    this.#started = started;
    ({ tools: this.tools, definitions: this.definitions } = this.#index());
    this.#unsubscribes = started.map(({ server }) => server.onToolsChanged(() => this.#refresh()));
  }

  /**
   * Compiles the schemas of all tools and starts all servers in parallel. When a server fails, or `context.signal` is
   * aborted, the started servers are stopped.
   *
   * @throws {ToolError} INVALID_ARGUMENT for a schema that does not compile, else the server's failure
   */
  static async start(servers: readonly ToolServer[], context: ServerContext): Promise<RunningServers> {
    await Promise.all(servers.flatMap(({ tools }) => tools).map(prepareTool));
    const outcomes = await Promise.allSettled(servers.map((server) => startOne(server, context)));
    const started = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (!failed && !context.signal.aborted) return new RunningServers(context, started);
    await stopAll(started, context);
    throw ToolError.from(failed ? failed.reason : context.signal.reason);
  }

  /** The names of the servers that keep state between the calls of a session. */
  get sessionServers(): readonly string[] {
    return this.#started.filter(({ server }) => server.keepsSessionState).map(({ server }) => server.name);
  }

  /** Ends every server's state of one session. Never rejects. */
  async endSession(sessionId: string): Promise<void> {
    const ends = this.#started.map(async ({ server, state }) => {
      const ending = server.endSession(state, sessionId).catch((thrown: unknown) => {
        const { message } = ToolError.from(thrown);
        this.#context.logger.error(`The server "${server.name}" did not end a session cleanly: ${message}`);
      });
      await settledWithin([ending], STOP_TIMEOUT_MS);
    });
    await Promise.all(ends);
  }

  /** Stops every server. Never rejects. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
    await stopAll(this.#started, this.#context);
  }

  /** Rebuilds the list, with the schemas of new tools compiled first; concurrent changes share one rebuild. */
  #refresh(): void {
    this.#dirty = true;
    this.refreshing ??= this.#reindex().finally(() => (this.refreshing = undefined));
  }

  async #reindex(): Promise<void> {
    while (this.#dirty) {
      await Promise.resolve(); // coalesces changes of the same turn
      this.#dirty = false;
      for (const { server } of this.#started) await this.#prepareTools(server);
    }
    ({ tools: this.tools, definitions: this.definitions } = this.#index());
    this.changed.emit(this.#context.logger);
  }

  #index(): Pick<RunningServers, 'tools' | 'definitions'> {
    const bound = this.#started.flatMap(({ server, state }) =>
      server.tools.filter(({ input }) => input.ready).map((tool) => bind(this, server, tool, state)),
    );
    return {
      tools: new ToolIndex(bound.map((tool) => [tool.definition.name, tool] as const)),
      definitions: Object.freeze(bound.map(({ definition }) => definition)),
    };
  }

  async #prepareTools(server: ToolServer): Promise<void> {
    for (const tool of server.tools) {
      try {
        await prepareTool(tool);
      } catch (error) {
        this.#context.logger.error(ToolError.from(error).message);
        server.removeTool(tool.name);
      }
    }
  }
}

/** Stops waiting when the signal is aborted; a server that starts after that is stopped. */
async function startOne(server: ToolServer, context: ServerContext): Promise<Started> {
  const { signal, provider } = context;
  const starting = server.start(context);
  try {
    return { server, state: await untilAborted(starting, signal) };
  } catch (thrown) {
    if (signal.aborted) starting.then((state) => stopAll([{ server, state }], context)).catch(() => undefined); // it failed by itself
    const { code, message } = ToolError.from(thrown);
    throw new ToolError(code, `The server "${server.name}" did not start: ${message}`, { provider, cause: thrown });
  }
}

async function stopAll(started: readonly Started[], { logger }: ServerContext): Promise<void> {
  const stops = started.map(async ({ server, state }) => {
    const failed = (why: string): void => logger.error(`The server "${server.name}" did not stop cleanly: ${why}`);
    const stopping = server.stop(state).catch((thrown: unknown) => failed(ToolError.from(thrown).message));
    if (!(await settledWithin([stopping], STOP_TIMEOUT_MS))) failed(`it took longer than ${STOP_TIMEOUT_MS} ms`);
  });
  await Promise.all(stops);
}

function bind(servers: RunningServers, server: ToolServer, tool: Tool, state: unknown): BoundTool {
  const nameClaim = Object.freeze({ pattern: tool.name, match: 'glob', understood: true } as const);
  const definition = listingOf(server.name, tool);
  noteListing(tool, definition);
  return {
    servers,
    tool,
    state,
    definition,
    nameClaim: Object.freeze([nameClaim]),
  };
}
