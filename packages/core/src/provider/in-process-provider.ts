// InProcessToolProvider: runs tool servers in this process. Owns their lifecycle and settles each call once.

import { setMaxListeners } from 'node:events';
import { CallCounters } from '../call/call-counters.js';
import { assertTimeout, CallScope, MAX_TOTAL_TIMEOUT_MS, outcomeUnknown, TAKES_SCOPES } from '../call/call-scope.js';
import { parseClaims } from '../contract/claims.js';
import { ToolError } from '../contract/errors.js';
import { copyAsJson, copyJson, snapshot } from '../contract/json-copy.js';
import type { JsonObject } from '../contract/json.js';
import { Listeners, safeLogger } from '../call/host-callbacks.js';
import { WARNING_LOGGER, type Logger } from '../contract/logger.js';
import { assertOptions, type OptionNames } from '../contract/options.js';
import { delegatedCall, delegationOf } from './delegation.js';
import { staleCallError, rejectedCall } from './prepared-call.js';
import { errorResult, nameAsCalled, type ToolResult, type UntimedResult } from '../contract/result.js';
import { RunningServers, type BoundTool } from './running-servers.js';
import type { BuiltinServersOptions } from '../servers/index.js';
import { ProjectScope } from '../servers/project/scope/project-scope.js';
import {
  CallContext,
  claimsOf,
  executionFailed,
  finishTool,
  isThenable,
  ownTimeoutMs,
  parseArguments,
  startTool,
  type ParsedArguments,
} from '../tool/run-call.js';
import type { CallOptions, PreparedCall, ProviderHealth, ToolProvider } from '../contract/tool-provider.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import type { ToolServer } from '../tool/define-server.js';
import { nameFault, type Tool } from '../tool/define-tool.js';
import { settledWithin } from '../call/waiting.js';

/** Options of {@link InProcessToolProvider}. */
export interface InProcessToolProviderOptions {
  /** Default: a name that is unique in this process. */
  name?: string;
  /** The servers whose tools it lists and runs. */
  servers: readonly ToolServer<any>[]; // eslint-disable-line @typescript-eslint/no-explicit-any -- servers of any state
  /** The deadline of calls for which neither the caller nor the tool sets one, in milliseconds. Default: none. */
  callTimeoutMs?: number;
  /** Passed to tools as `ctx.logger`. Default: `process.emitWarning` for warnings and errors, each text once. */
  logger?: Logger;
}

/** Options of {@link InProcessToolProvider.forProject}. */
export type ProjectProviderOptions = Omit<BuiltinServersOptions, 'projectDir'> &
  Omit<InProcessToolProviderOptions, 'servers'>;

/** How long a disconnect waits for tools that ignore their signal before it stops their servers. */
const ABANDONED_GRACE_MS = 250;

const PROVIDER_OPTIONS: OptionNames<InProcessToolProviderOptions> = {
  name: true,
  servers: true,
  callTimeoutMs: true,
  logger: true,
};

const FOR_PROJECT_OPTIONS: OptionNames<ProjectProviderOptions> = {
  name: true,
  callTimeoutMs: true,
  logger: true,
  extraRoots: true,
  allowProtected: true,
  verification: true,
  fsync: true,
  trust: true,
  profile: true,
  filesystem: true,
  bash: true,
  git: true,
  memory: true,
  diagnostics: true,
  agent: true,
};

let unnamed = 0;

/**
 * Runs tool servers in this process, without subprocesses and serialization.
 *
 * Like every provider it has no policy: add it to a {@link ToolHub} with one to have each call evaluated.
 *
 * @example
 * ```ts
 * await using provider = new InProcessToolProvider({ servers: [math] });
 * const result = await provider.callTool('math.add', { a: 1, b: 2 });
 * ```
 */
export class InProcessToolProvider implements ToolProvider {
  readonly name: string;
  readonly kind = 'in-process';
  /** @internal */
  readonly [TAKES_SCOPES] = true;
  readonly callTimeoutMs?: number;
  readonly #logger: Logger;
  /** Also set by {@link forProject}, which loads its servers on connect. */
  #names: readonly string[];
  #load: () => Promise<readonly ToolServer[]>;
  readonly #counters = new CallCounters();
  readonly #changed = new Listeners();
  readonly #inFlight = new Set<CallScope>();
  /** Tool functions that still run although their call was settled early. */
  readonly #abandoned = new Set<Promise<unknown>>();
  #running: RunningServers | undefined;
  #connecting: Promise<RunningServers> | undefined;
  #disconnecting: Promise<void> | undefined;
  #abortConnecting: AbortController | undefined;
  #disconnected = false;

  /**
   * @throws {ToolError} INVALID_ARGUMENT for an invalid name or timeout, NAME_CONFLICT for two servers of one name
   */
  constructor(options: InProcessToolProviderOptions) {
    assertOptions('new InProcessToolProvider()', options, PROVIDER_OPTIONS);
    if (!Array.isArray(options.servers) || !options.servers.every(isServer)) {
      throw new ToolError(
        'INVALID_ARGUMENT',
        'new InProcessToolProvider(): servers must be an array of servers made by defineServer().',
      );
    }
    this.name = options.name ?? `in-process-${++unnamed}`;
    const fault = nameFault('name', this.name);
    if (fault) throw new ToolError('INVALID_ARGUMENT', `new InProcessToolProvider(): ${fault}.`);
    if (options.callTimeoutMs !== undefined) {
      assertTimeout(options.callTimeoutMs, 'callTimeoutMs');
      this.callTimeoutMs = options.callTimeoutMs;
    }
    const servers = options.servers as readonly ToolServer[];
    const names = servers.map((server) => server.name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) {
      throw new ToolError(
        'NAME_CONFLICT',
        `Two servers of the provider "${this.name}" are named "${twice}"; rename one.`,
        { provider: this.name },
      );
    }
    this.#logger = options.logger ? safeLogger(options.logger) : WARNING_LOGGER;
    this.#names = Object.freeze(names);
    this.#load = () => Promise.resolve(servers);
  }

  /** The names of the servers. */
  get servers(): readonly string[] {
    return this.#names;
  }

  /** The names of the connected servers that keep state between the calls of a session. */
  get sessionServers(): readonly string[] {
    return this.#running?.sessionServers ?? [];
  }

  /**
   * Creates a provider of the built-in servers for one project directory. Synchronous and cheap: the servers are loaded by
   * `connect` or the first call, and nothing in the project is opened before a call needs it.
   *
   * @param projectDir the directory that the tools are confined to: absolute and existing
   * @throws {ToolError} INVALID_ARGUMENT when `projectDir` is relative, missing, `/` or the home directory
   */
  static forProject(projectDir: string, options: ProjectProviderOptions = {}): InProcessToolProvider {
    assertOptions('InProcessToolProvider.forProject()', options, FOR_PROJECT_OPTIONS);
    const { name, callTimeoutMs, logger, ...builtins } = options;
    const { extraRoots, allowProtected, verification } = builtins;
    new ProjectScope({ projectDir, extraRoots, allowProtected, verification }); // reports an invalid directory now rather than on the first call
    const provider = new InProcessToolProvider({
      ...(name !== undefined && { name }),
      ...(callTimeoutMs !== undefined && { callTimeoutMs }),
      ...(logger && { logger }),
      servers: [],
    });
    const isOn = (server: (typeof BUILTIN_SERVERS)[number]): boolean =>
      (builtins[server] ?? !OFF_UNLESS_ASKED.has(server)) !== false;
    provider.#names = Object.freeze(BUILTIN_SERVERS.filter(isOn));
    provider.#load = async () =>
      (await import('../servers/index.js')).createBuiltinServers({ ...builtins, projectDir });
    return provider;
  }

  async connect(options: { signal?: AbortSignal } = {}): Promise<void> {
    this.#disconnected = false;
    const scope = new CallScope(options);
    try {
      await scope.race(this.#open());
    } finally {
      scope.close();
    }
  }

  async listTools(options: { signal?: AbortSignal } = {}): Promise<readonly ToolDefinition[]> {
    if (this.#running && !this.#running.refreshing) return this.#running.definitions;
    if (this.#disconnected) throw this.#notConnected();
    await this.connect(options);
    await this.#running?.refreshing;
    if (!this.#running) throw this.#notConnected();
    return this.#running.definitions;
  }

  callTool(name: string, args: JsonObject = {}, options?: CallOptions): Promise<ToolResult> {
    const scope = new CallScope(options);
    const bound = this.#running?.tools.get(name);
    if (!bound || scope.error) return this.#callSlowly(name, args, scope);
    let parsed: ParsedArguments | Promise<ParsedArguments>;
    try {
      parsed = parseArguments(bound.tool, args);
    } catch (error) {
      return Promise.resolve(this.#refuse(error, scope, bound));
    }
    if (parsed instanceof Promise) return this.#callParsed(bound, args, parsed, scope);
    return this.#run(bound, parsed.value, scope);
  }

  prepareCall(name: string, args: JsonObject, options?: CallOptions): PreparedCall | Promise<PreparedCall> {
    const bound = this.#running?.tools.get(name);
    if (!bound || bound.tool.permission || delegationOf(bound.tool)) return this.#prepareSlowly(name, args, options);
    try {
      const parsed = parseArguments(bound.tool, args);
      if (parsed instanceof Promise) return this.#prepareSlowly(name, args, options, parsed);
      return this.#prepared(bound, parsed, bound.nameClaim);
    } catch (error) {
      // Not counted, as nothing was called.
      return rejectedCall(name, bound.definition, args, errorResult(this.#located(error, bound), performance.now()));
    }
  }

  async disconnect(): Promise<void> {
    this.#disconnected = true;
    return (this.#disconnecting ??= this.#close().finally(() => (this.#disconnecting = undefined)));
  }

  /** Calls {@link disconnect}, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
  }

  async endSession(sessionId: string): Promise<void> {
    await this.#running?.endSession(sessionId);
  }

  onToolsChanged(listener: () => void): () => void {
    return this.#changed.add(listener);
  }

  health(): ProviderHealth {
    return this.#counters.health(this.#running ? 'READY' : this.#connecting ? 'INITIALIZING' : 'COLD');
  }

  // Connecting and disconnecting.

  #open(): Promise<RunningServers> {
    if (this.#running) return Promise.resolve(this.#running);
    if (this.#connecting && !this.#abortConnecting?.signal.aborted) return this.#connecting;
    const before = this.#connecting?.catch(() => undefined); // ended by a disconnect; its callers receive the error
    const connecting = this.#start(before).finally(() => {
      if (this.#connecting === connecting) this.#connecting = undefined;
    });
    return (this.#connecting = connecting);
  }

  async #start(before: Promise<unknown> | undefined): Promise<RunningServers> {
    const abort = (this.#abortConnecting = new AbortController());
    setMaxListeners(0, abort.signal); // one listener for each server
    await Promise.all([before, this.#disconnecting]); // a later disconnect waits for this attempt
    if (this.#disconnected) throw this.#notConnected(); // a later disconnect
    const context = { logger: this.#logger, provider: this.name, signal: abort.signal };
    const running = await RunningServers.start(await this.#load(), context);
    running.changed.add(() => this.#changed.emit(this.#logger));
    return (this.#running = running);
  }

  async #close(): Promise<void> {
    this.#abortConnecting?.abort(this.#notConnected());
    await this.#connecting?.catch(() => undefined); // its callers receive the error
    const running = this.#running;
    this.#running = undefined;
    const closed = new ToolError('CONNECTION_CLOSED', `The provider "${this.name}" was disconnected during the call.`, {
      provider: this.name,
    });
    for (const scope of [...this.#inFlight]) scope.end(closed);
    if (this.#abandoned.size > 0) await settledWithin([...this.#abandoned], ABANDONED_GRACE_MS);
    await running?.stop();
  }

  // One call.

  async #callSlowly(name: string, args: JsonObject, scope: CallScope): Promise<ToolResult> {
    let bound: BoundTool | undefined;
    let parsing: ParsedArguments | Promise<ParsedArguments>;
    this.#inFlight.add(scope);
    try {
      if (scope.error) throw scope.error;
      const own = snapshot(args);
      this.#setDeadline(scope, undefined);
      bound = await this.#resolve(name, scope);
      parsing = parseArguments(bound.tool, own);
    } catch (error) {
      return this.#refuse(error, scope, bound);
    }
    return this.#callParsed(bound, args, Promise.resolve(parsing), scope);
  }

  /** @param parsing the arguments, if they are already being validated by an asynchronous schema */
  async #prepareSlowly(
    name: string,
    args: JsonObject,
    options: CallOptions | undefined,
    parsing?: Promise<ParsedArguments>,
  ): Promise<PreparedCall> {
    const scope = new CallScope(options);
    let bound: BoundTool | undefined;
    this.#inFlight.add(scope);
    try {
      scope.setDeadline();
      const given = parsing ? args : snapshot(args);
      bound = this.#running?.tools.get(name) ?? (await this.#resolve(name, scope));
      const parsed = await scope.race(parsing ?? Promise.resolve(parseArguments(bound.tool, given)));
      const context = this.#context(bound, scope);
      const delegation = delegationOf(bound.tool);
      if (delegation) {
        const call = this.#prepared(bound, parsed, bound.nameClaim);
        return await scope.race(delegatedCall(call, delegation, parsed.value, context));
      }
      const own = await scope.race(Promise.resolve(claimsOf(bound.tool, parsed.value, context)));
      if (own === undefined || (Array.isArray(own) && own.length === 0))
        return this.#prepared(bound, parsed, bound.nameClaim);
      return this.#prepared(bound, parsed, parseClaims(own, this.name, bound.definition.name));
    } catch (error) {
      return rejectedCall(name, bound?.definition, args, errorResult(this.#located(error, bound), scope.startedAt));
    } finally {
      this.#inFlight.delete(scope);
      scope.close();
    }
  }

  /** Waits for an asynchronous schema, within the deadline and until a disconnect. */
  async #callParsed(
    bound: BoundTool,
    args: JsonObject,
    parsing: Promise<ParsedArguments>,
    scope: CallScope,
  ): Promise<ToolResult> {
    this.#inFlight.add(scope);
    let value: unknown;
    try {
      this.#setDeadline(scope, ownTimeoutMs(bound.tool, args));
      value = (await scope.race(parsing)).value;
    } catch (error) {
      return this.#refuse(error, scope, bound);
    }
    return this.#run(bound, value, scope);
  }

  /** The tool, connecting first. @throws {ToolError} NOT_CONNECTED, TOOL_NOT_FOUND, or what ended the call */
  async #resolve(name: string, scope: CallScope): Promise<BoundTool> {
    if (this.#disconnected) throw this.#notConnected();
    const running = await scope.race(this.#open());
    if (running.refreshing && !running.tools.get(name)) await scope.race(running.refreshing);
    const bound = running.tools.get(name);
    if (!bound) throw running.tools.notFound(name, `The provider "${this.name}"`);
    return bound;
  }

  #run(bound: BoundTool, value: unknown, scope: CallScope): Promise<ToolResult> {
    try {
      this.#setDeadline(scope, ownTimeoutMs(bound.tool, value));
      if (scope.error) throw scope.error;
      const output = startTool(bound.tool, value, this.#context(bound, scope));
      if (isThenable(output)) return this.#await(bound, output, scope, finishTool);
      const result = finishTool(bound.tool, output);
      if (result instanceof Promise) return this.#await(bound, result, scope, (_tool, finished) => finished);
      return Promise.resolve(this.#finish(timed(result, scope), scope));
    } catch (error) {
      return Promise.resolve(this.#refuse(error, scope, bound));
    }
  }

  /** Settles with the tool's output or with what ends the call early, whichever comes first. */
  #await<Output>(
    bound: BoundTool,
    output: PromiseLike<Output>,
    scope: CallScope,
    finish: (tool: Tool, output: Output) => UntimedResult | Promise<UntimedResult>,
  ): Promise<ToolResult> {
    return new Promise<ToolResult>((resolve) => {
      let settled = false;
      const settle = (result: ToolResult): void => {
        settled = true;
        resolve(this.#finish(result, scope, bound));
      };
      const succeed = (result: UntimedResult): void => {
        try {
          if (!settled) settle(timed(result, scope));
        } catch (error) {
          fail(error);
        }
      };
      const fail = (thrown: unknown): void => {
        if (!settled) settle(errorResult(this.#located(executionFailed(bound.tool, thrown), bound), scope.startedAt));
      };
      const observed = Promise.resolve(output).then((value) => {
        try {
          const result = finish(bound.tool, value);
          return result instanceof Promise ? result.then(succeed, fail) : succeed(result);
        } catch (error) {
          return fail(error);
        }
      }, fail);
      this.#inFlight.add(scope);
      scope.onEnd((error) => {
        settle(errorResult(outcomeUnknown(error, this.name, bound.definition.name), scope.startedAt));
        this.#abandoned.add(observed);
        void observed.then(() => this.#abandoned.delete(observed));
      });
    });
  }

  #finish(result: ToolResult, scope: CallScope, bound?: BoundTool): ToolResult {
    if (result.isError && bound && scope.calledAs !== undefined)
      nameAsCalled(result, bound.definition.name, scope.calledAs);
    this.#inFlight.delete(scope);
    scope.close();
    this.#counters.record(result, scope.startedAt + result.durationMs);
    return result;
  }

  #context(bound: BoundTool, scope: CallScope): CallContext {
    return new CallContext(scope, this.name, bound.state, this.#logger);
  }

  #setDeadline(scope: CallScope, ownMs: number | undefined): void {
    scope.setDeadline(ownMs ?? this.callTimeoutMs, MAX_TOTAL_TIMEOUT_MS, ownMs === undefined);
  }

  #prepared(bound: BoundTool, parsed: ParsedArguments, claims: PreparedCall['claims']): PreparedCall {
    const timeoutMs = ownTimeoutMs(bound.tool, parsed.value);
    return {
      tool: bound.definition,
      args: copyJson(parsed.args), // changing them does not change what runs
      claims,
      ...(timeoutMs !== undefined && { timeoutMs }),
      execute: (options) => {
        const scope = new CallScope(options);
        // A prepared call is valid only for the connection that prepared it.
        if (this.#disconnected || this.#running !== bound.servers) scope.end(staleCallError(this.name));
        if (scope.error) return Promise.resolve(this.#refuse(scope.error, scope, bound));
        return this.#run(bound, parsed.value, scope);
      },
    };
  }

  /** The result of a call that did not start. */
  #refuse(error: unknown, scope: CallScope, bound: BoundTool | undefined): ToolResult {
    return this.#finish(errorResult(this.#located(error, bound), scope.startedAt), scope, bound);
  }

  #located(thrown: unknown, bound: BoundTool | undefined): ToolError {
    const error = ToolError.from(thrown);
    if (error.provider !== undefined || !bound) return error;
    const { code, message, details, retryable, cause } = error;
    return new ToolError(code, message, {
      provider: this.name,
      tool: bound.definition.name,
      details,
      retryable,
      cause,
    });
  }

  #notConnected(): ToolError {
    return new ToolError(
      'NOT_CONNECTED',
      `The provider "${this.name}" was disconnected; call connect() to use it again.`,
      { provider: this.name },
    );
  }
}

/** The built-in servers, in the order in which they are listed. */
const BUILTIN_SERVERS = ['filesystem', 'bash', 'git', 'memory', 'diagnostics', 'agent'] as const;
const OFF_UNLESS_ASKED: ReadonlySet<string> = new Set<(typeof BUILTIN_SERVERS)[number]>(['agent']);

/** Copies the result for the caller, except for its blocks and directives, so that the tool cannot change it later. */
function timed(result: UntimedResult, scope: CallScope): ToolResult {
  if (result.structuredContent !== undefined) result.structuredContent = copyAsJson(result.structuredContent);
  if (result._meta !== undefined) result._meta = copyAsJson(result._meta);
  if (result.content.length > 0) result.content = result.content.slice();
  if (result.directives.length > 0) result.directives = result.directives.slice();
  return Object.assign(result, { durationMs: performance.now() - scope.startedAt });
}

function isServer(value: unknown): boolean {
  const { name, tools, start } = Object(value) as Partial<ToolServer>;
  return typeof name === 'string' && Array.isArray(tools) && typeof start === 'function';
}
