// OpenApiToolProvider: the operations of an OpenAPI document as tools. Settles each call once; the folders below read the
// document, compose requests and convert responses.

import { CallCounters } from '../call/call-counters.js';
import { CallScope, MAX_TOTAL_TIMEOUT_MS, outcomeUnknown, TAKES_SCOPES } from '../call/call-scope.js';
import { Listeners, safeLogger } from '../call/host-callbacks.js';
import type { PermissionClaim } from '../contract/claims.js';
import { ToolError } from '../contract/errors.js';
import { copyArguments, snapshot } from '../contract/json-copy.js';
import type { JsonObject } from '../contract/json.js';
import { WARNING_LOGGER, type Logger } from '../contract/logger.js';
import { errorResult, nameAsCalled, type ToolResult, type UntimedResult } from '../contract/result.js';
import { withoutSecrets } from '../contract/sanitize.js';
import { quoteWord } from '../contract/shell-words.js';
import type { CallOptions, PreparedCall, ProviderHealth, ToolProvider } from '../contract/tool-provider.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import { ConnectionLifecycle } from '../provider/connection-lifecycle.js';
import { isSameListing, prepareFromListing, rejectedCall, staleCallError } from '../provider/prepared-call.js';
import { fetchDocument, readDocumentFile } from './document/read-document.js';
import {
  resolveOptions,
  sourceHashOf,
  type OpenApiToolProviderOptions,
  type ResolvedOptions,
} from './openapi-options.js';
import { serverOfDocument } from './operations/servers.js';
import { publicPart, readTools, type ApiTool, type ToolCatalog } from './operations/tool-catalog.js';
import { composeRequest, pathOf, withPairs } from './request/compose-request.js';
import { NO_CREDENTIALS, requestCredentials, type Credentials } from './request/credentials.js';
import { HttpClient } from './request/http-client.js';
import { pathPattern } from './request/request-path.js';
import { OutputCheck } from './response/output-check.js';
import { resultOf } from './response/response-result.js';

/** Credentials of calls that have ended, which later responses and errors may still contain. */
const MAX_SECRETS = 64;

/** A call in progress. */
interface PendingCall {
  readonly scope: CallScope;
  /** Set once its name is resolved. */
  tool: ApiTool | undefined;
  /** Set once the server may have received it. */
  wasSent: boolean;
  /** What its result must not contain. */
  secrets: readonly string[];
}

/** The tool and the connection that a call was prepared for. */
interface PreparedFor {
  readonly tool: ApiTool;
  readonly disconnects: number;
}

/**
 * Provides the operations of an OpenAPI document as tools, with the prefix `name.`. Requests, and with them credentials, are
 * sent to one origin only: that of `server`, else that of the document's URL. Redirects are refused.
 *
 * `connect` reads the document; called again, it reads it again and reports a changed list of tools. Like every provider it has
 * no policy: add it to a `ToolHub`, whose rules see each call as `METHOD /path`.
 *
 * @example
 * ```ts
 * await using pets = new OpenApiToolProvider({ name: 'pets', document: 'https://pets.example.com/openapi.json' });
 * const result = await pets.callTool('pets.get_pet', { id: 7 });
 * ```
 */
export class OpenApiToolProvider implements ToolProvider {
  readonly name: string;
  readonly kind = 'other';
  /** @internal */
  readonly [TAKES_SCOPES] = true;
  readonly callTimeoutMs: number;
  readonly servers: readonly string[];
  readonly sourceHash: string;
  readonly #options: ResolvedOptions;
  readonly #logger: Logger;
  readonly #lifecycle: ConnectionLifecycle<ToolCatalog>;
  readonly #client = new HttpClient();
  readonly #counters = new CallCounters();
  readonly #changed = new Listeners();
  readonly #inFlight = new Set<CallScope>();
  readonly #outputs: OutputCheck;
  /** The latest last. */
  readonly #secrets = new Set<string>();
  readonly #calls = new Set<PendingCall>();
  #catalog: ToolCatalog | undefined;
  #disconnects = 0;
  #lastFailure: ToolError | undefined;

  /** @throws {ToolError} INVALID_ARGUMENT naming the invalid option */
  constructor(options: OpenApiToolProviderOptions) {
    this.#options = resolveOptions(options);
    const { name, callTimeoutMs } = this.#options;
    this.name = name;
    this.callTimeoutMs = callTimeoutMs;
    this.servers = Object.freeze([name]);
    this.sourceHash = sourceHashOf(this.#options);
    this.#logger = options.logger ? safeLogger(options.logger) : WARNING_LOGGER;
    this.#lifecycle = new ConnectionLifecycle(name);
    this.#outputs = new OutputCheck(this.#options.validateOutput, this.#warn);
  }

  async connect(options: { signal?: AbortSignal; onDemand?: boolean } = {}): Promise<void> {
    this.#lifecycle.reopen();
    const scope = new CallScope(options);
    const mayHaveChanged = options.onDemand !== true && this.#options.place.kind !== 'object';
    try {
      await scope.race(this.#open(mayHaveChanged));
      if (this.#lifecycle.isDisconnected) throw this.#lifecycle.notConnected();
    } finally {
      scope.close();
    }
  }

  async listTools(options: { signal?: AbortSignal } = {}): Promise<readonly ToolDefinition[]> {
    const scope = new CallScope(options);
    try {
      return (await scope.race(this.#open())).definitions;
    } finally {
      scope.close();
    }
  }

  callTool(name: string, args: JsonObject = {}, options?: CallOptions): Promise<ToolResult> {
    return this.#run(name, args, new CallScope(options));
  }

  prepareCall(name: string, args: JsonObject, options?: CallOptions): PreparedCall | Promise<PreparedCall> {
    const tool = this.#catalog?.index.get(name);
    return tool ? this.#prepared(tool, args) : this.#prepareSlowly(name, args, options);
  }

  async disconnect(): Promise<void> {
    return this.#lifecycle.disconnect(async () => {
      this.#disconnects++;
      for (const scope of [...this.#inFlight]) scope.end(this.#lifecycle.closedDuringCall());
      await this.#lifecycle.openingSettled();
      this.#catalog = undefined;
      this.#client.close();
    });
  }

  /** Calls {@link disconnect}, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
  }

  onToolsChanged(listener: () => void): () => void {
    return this.#changed.add(listener);
  }

  health(): ProviderHealth {
    const state = this.#catalog
      ? 'READY'
      : this.#lifecycle.isOpening
        ? 'INITIALIZING'
        : this.#lastFailure
          ? 'DEAD'
          : 'COLD';
    const health = this.#counters.health(state);
    const lastError = health.lastError ?? this.#lastFailure?.message;
    return lastError === undefined ? health : { ...health, lastError };
  }

  // The document.

  /** @param again whether to read a document again that was read */
  #open(again = false): Promise<ToolCatalog> {
    return this.#lifecycle.open(again ? undefined : this.#catalog, () => this.#read());
  }

  async #read(): Promise<ToolCatalog> {
    const scope = new CallScope();
    this.#inFlight.add(scope);
    try {
      scope.setDeadline(this.#options.connectTimeoutMs, this.#options.connectTimeoutMs);
      const catalog = await scope.race(this.#readTools(scope));
      const before = this.#catalog;
      this.#catalog = catalog;
      this.#lastFailure = undefined;
      if (before && !isSameList(before.definitions, catalog.definitions)) this.#changed.emit(this.#logger);
      return catalog;
    } catch (thrown) {
      const error = this.#lifecycle.isDisconnected
        ? this.#lifecycle.notConnected()
        : ToolError.from(thrown, 'INTERNAL');
      throw (this.#lastFailure = this.#located(error));
    } finally {
      this.#inFlight.delete(scope);
      scope.close();
    }
  }

  async #readTools(scope: CallScope): Promise<ToolCatalog> {
    const { place, server, auth, maxDocumentBytes: maxBytes, name, include, exclude, outputSchemas } = this.#options;
    const document =
      place.kind === 'object'
        ? place.document
        : place.kind === 'file'
          ? await readDocumentFile(place.path, maxBytes)
          : await fetchDocument(this.#client, { url: place.url, server, auth, maxBytes }, scope);
    const base = server ?? serverOfDocument(document, (place as { url: URL }).url);
    return readTools(document, { name, base, include, exclude, outputSchemas, warn: this.#warn });
  }

  // One call.

  async #prepareSlowly(name: string, args: JsonObject, options: CallOptions | undefined): Promise<PreparedCall> {
    const scope = new CallScope(options);
    this.#inFlight.add(scope);
    try {
      this.#startClock(scope);
      const unchecked = snapshot(args); // the caller may change them while the call waits
      return this.#prepared(await this.#find(name, scope), unchecked);
    } catch (thrown) {
      const error = scope.error ?? this.#located(ToolError.from(thrown, 'INTERNAL'));
      return rejectedCall(name, undefined, args, errorResult(error, scope.startedAt));
    } finally {
      this.#inFlight.delete(scope);
      scope.close();
    }
  }

  #prepared(tool: ApiTool, args: JsonObject): PreparedCall {
    const prepared: PreparedFor = { tool, disconnects: this.#disconnects };
    const execute = (coerced: JsonObject, options?: CallOptions): Promise<ToolResult> =>
      this.#run(tool.tool, coerced, new CallScope(options), prepared);
    try {
      return prepareFromListing(
        { tool: tool.definition, claims: (coerced) => [claimOf(tool, coerced)], execute },
        args,
      );
    } catch (thrown) {
      const error = this.#located(ToolError.from(thrown, 'INTERNAL'));
      return rejectedCall(tool.tool, tool.definition, args, errorResult(error, performance.now()));
    }
  }

  /** @param prepared what the call was prepared for: a different tool of that name does not run */
  async #run(name: string, args: JsonObject, scope: CallScope, prepared?: PreparedFor): Promise<ToolResult> {
    this.#inFlight.add(scope);
    const call: PendingCall = { scope, tool: prepared?.tool, wasSent: false, secrets: [] };
    this.#calls.add(call);
    let result: ToolResult;
    try {
      this.#startClock(scope);
      const untimed = await this.#call(call, name, args, prepared);
      result = Object.assign(untimed, { durationMs: performance.now() - scope.startedAt });
    } catch (thrown) {
      result = errorResult(this.#failureOf(thrown, call), scope.startedAt);
    }
    if (result.isError && call.tool && scope.calledAs !== undefined)
      nameAsCalled(result, call.tool.tool, scope.calledAs);
    this.#inFlight.delete(scope);
    this.#calls.delete(call);
    scope.close();
    this.#counters.record(result, scope.startedAt + result.durationMs);
    return result;
  }

  #startClock(scope: CallScope): void {
    scope.setDeadline(this.callTimeoutMs, MAX_TOTAL_TIMEOUT_MS, true);
    if (scope.error) throw scope.error;
  }

  async #find(name: string, scope: CallScope): Promise<ApiTool> {
    const { index } = await scope.race(this.#open());
    const tool = index.get(name);
    if (!tool) throw index.notFound(name, `The API "${this.name}"`);
    return tool;
  }

  async #call(
    call: PendingCall,
    name: string,
    callerArgs: JsonObject,
    prepared: PreparedFor | undefined,
  ): Promise<UntimedResult> {
    const { scope } = call;
    const unchecked = snapshot(callerArgs); // the caller may change them while the call waits
    const tool = (call.tool = prepared?.tool ?? this.#catalog?.index.get(name) ?? (await this.#find(name, scope)));
    if (prepared) this.#assertUnchanged(prepared);
    const args = prepared ? unchecked : this.#checked(tool, unchecked);
    const { operation } = tool;
    const request = composeRequest(tool, args);
    const credentials = await this.#credentialsFor(tool, scope);
    call.secrets = credentials.secrets;
    const query = withPairs(request.query, credentials.query);
    const { cookie: ownCookie, ...headers } = credentials.headers;
    const cookie = [...request.cookies, ...(ownCookie === undefined ? [] : [ownCookie])].join('; ');
    const response = await this.#client.send(
      {
        method: request.method,
        origin: operation.base,
        target: query === '' ? request.path : `${request.path}?${query}`,
        headers: { 'user-agent': 'toolwright', ...request.headers, ...headers, ...(cookie !== '' && { cookie }) },
        body: request.body,
        maxBytes: this.#options.maxResponseBytes,
        onSent: () => (call.wasSent = true),
        onReceived: (progress) => scope.progress(progress),
      },
      scope,
    );
    const result = resultOf(response, {
      tool: tool.tool,
      provider: this.name,
      method: request.method,
      path: operation.path,
      address: `${operation.base.origin}${request.path}`,
      secrets: this.#allSecrets(),
      hasAuth: this.#options.auth !== undefined,
    });
    if (!result.isError) this.#outputs.check(tool.definition, result);
    return result;
  }

  /** The arguments of a call that was not prepared, validated and coerced like those of one that was. */
  #checked(tool: ApiTool, args: JsonObject): JsonObject {
    const execute = (): Promise<never> => Promise.reject(new Error('It is only prepared.'));
    return prepareFromListing({ tool: tool.definition, execute }, copyArguments(tool.tool, args)).args;
  }

  #assertUnchanged({ tool, disconnects }: PreparedFor): void {
    if (this.#disconnects !== disconnects || !this.#catalog) throw staleCallError(this.name);
    const now = this.#catalog.index.get(tool.tool);
    if (now !== tool && !isSameListing(tool.definition, now?.definition))
      throw staleCallError(this.name, `The tool "${tool.tool}" changed`);
  }

  async #credentialsFor({ operation }: ApiTool, scope: CallScope): Promise<Credentials> {
    const { auth } = this.#options;
    if (!auth) return NO_CREDENTIALS;
    const { security, base } = operation;
    const { sessionId, signal } = scope;
    const request = { operation: publicPart(operation), security, origin: base.origin, sessionId, signal };
    const credentials = await scope.race(requestCredentials(auth, request));
    for (const secret of credentials.secrets) {
      this.#secrets.delete(secret);
      this.#secrets.add(secret);
    }
    for (const oldest of this.#secrets) {
      if (this.#secrets.size <= MAX_SECRETS) break;
      this.#secrets.delete(oldest);
    }
    return credentials;
  }

  /** Those of all calls in progress, however many, and of the latest that ended. */
  #allSecrets(): string[] {
    const all = new Set(this.#secrets);
    for (const { secrets } of this.#calls) for (const secret of secrets) all.add(secret);
    return [...all];
  }

  #failureOf(thrown: unknown, { scope, tool, wasSent }: PendingCall): ToolError {
    if (scope.error) return wasSent ? outcomeUnknown(scope.error, this.name, tool?.tool ?? '') : scope.error;
    return this.#located(ToolError.from(thrown, 'INTERNAL'), tool?.tool);
  }

  #located({ code, message, details, retryable, cause }: ToolError, tool?: string): ToolError {
    return new ToolError(code, withoutSecrets(message, this.#allSecrets()), {
      provider: this.name,
      tool,
      details,
      retryable,
      cause,
    });
  }

  readonly #warn = (message: string): void => this.#logger.warn(withoutSecrets(message, this.#allSecrets()));
}

/** The claim of a call: its method and its path, as words. */
function claimOf(tool: ApiTool, args: JsonObject): PermissionClaim {
  const { method, path } = tool.operation;
  return Object.freeze({
    pattern: `${method} ${quoteWord(pathOf(tool, args))}`,
    match: 'tokens',
    understood: true,
    ...(path.includes('{') && { widerPattern: `${method} ${pathPattern(tool.operation)}` }),
  });
}

function isSameList(one: readonly ToolDefinition[], other: readonly ToolDefinition[]): boolean {
  return one.length === other.length && one.every((tool, at) => isSameListing(tool, other[at]));
}
