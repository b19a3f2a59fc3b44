// A provider that passes everything on to another one. Wrappers extend it and change what they are for.

import { ToolError } from '../contract/errors.js';
import type { JsonObject } from '../contract/json.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import type { ToolResult } from '../contract/result.js';
import type { CallOptions, McpPeer, PreparedCall, ToolProvider } from '../contract/tool-provider.js';
import { START_OUTPUT, startOutputOf, type StartOutput } from '../provider/start-output.js';

/** The options of `listTools`. */
export type ListingOptions = NonNullable<Parameters<ToolProvider['listTools']>[0]>;
/** The options of `connect`. */
export type ConnectOptions = NonNullable<Parameters<ToolProvider['connect']>[0]>;

/**
 * The base of wrappers. It has the optional members that the wrapped provider has: they are declared only, not set to undefined. It is not given call scopes: wrappers read
 * the options of a call as the plain object that they are documented to be.
 */
export class WrappedProvider implements ToolProvider {
  readonly name: string;
  readonly kind: ToolProvider['kind'];
  declare readonly callTimeoutMs?: number;
  declare readonly mcp?: McpPeer;
  /** There when the wrapped provider has it. */
  declare readonly prepareCall?: NonNullable<ToolProvider['prepareCall']>;
  /** There when the wrapped provider has it. */
  declare readonly endSession?: NonNullable<ToolProvider['endSession']>;
  /** There when the wrapped provider has it. */
  declare readonly health?: NonNullable<ToolProvider['health']>;
  /** There when the wrapped provider has it. */
  declare readonly ping?: NonNullable<ToolProvider['ping']>;
  /** There when the wrapped provider has it. */
  declare readonly onEvent?: NonNullable<ToolProvider['onEvent']>;
  /** @internal */
  protected readonly inner: ToolProvider;

  /** @param where the function that wraps, for errors */
  constructor(where: string, inner: ToolProvider) {
    if (typeof (inner as Partial<ToolProvider> | undefined)?.callTool !== 'function')
      throw new ToolError('INVALID_ARGUMENT', `${where} takes a provider to wrap.`);
    this.inner = inner;
    this.name = inner.name;
    this.kind = inner.kind;
    if (inner.callTimeoutMs !== undefined) this.callTimeoutMs = inner.callTimeoutMs;
    if (inner.mcp) this.mcp = inner.mcp;
    if (inner.prepareCall) this.prepareCall = (name, args, options) => this.prepare(name, args, options);
    if (inner.endSession) this.endSession = inner.endSession.bind(inner);
    if (inner.health) this.health = inner.health.bind(inner);
    if (inner.ping) this.ping = inner.ping.bind(inner);
    if (inner.onEvent) this.onEvent = inner.onEvent.bind(inner);
  }

  get servers(): readonly string[] {
    return this.inner.servers;
  }

  /** As the wrapped provider says; empty where it says nothing. */
  get sessionServers(): readonly string[] {
    return this.inner.sessionServers ?? [];
  }

  get toolsTtlMs(): number | undefined {
    return this.inner.toolsTtlMs;
  }

  get sourceHash(): string | undefined {
    return this.inner.sourceHash;
  }

  connect(options?: ConnectOptions): Promise<void> {
    return this.inner.connect(options);
  }

  listTools(options?: ListingOptions): Promise<readonly ToolDefinition[]> {
    return this.inner.listTools(options);
  }

  callTool(name: string, args?: JsonObject, options?: CallOptions): Promise<ToolResult> {
    return this.inner.callTool(name, args, options);
  }

  /** @internal Prepares a call, where the wrapped provider does. */
  protected prepare(name: string, args: JsonObject, options?: CallOptions): PreparedCall | Promise<PreparedCall> {
    const prepared = this.inner.prepareCall?.(name, args, options);
    if (!prepared) throw new ToolError('INTERNAL', `The provider "${this.name}" no longer prepares calls.`);
    return prepared;
  }

  disconnect(): Promise<void> {
    return this.inner.disconnect();
  }

  /** Disconnects, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
  }

  onToolsChanged(listener: () => void): () => void {
    return this.inner.onToolsChanged(listener);
  }

  /** Reports the losses of the wrapped provider, if it reports any. */
  onLost(listener: (failure: ToolError) => void): () => void {
    return this.inner.onLost?.(listener) ?? (() => undefined);
  }

  /** @internal */
  [START_OUTPUT](): StartOutput | undefined {
    return startOutputOf(this.inner);
  }
}
