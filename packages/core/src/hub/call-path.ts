// The way of one call through a hub, once it is routed: clock, prepare, policy, middleware, execute, output limit.

import { assertTimeout, outcomeUnknown, type CallScope } from '../call-scope.js';
import { parseClaims } from '../claims.js';
import { ToolError, type ToolErrorInfo } from '../errors.js';
import { InProcessToolProvider } from '../in-process-provider.js';
import type { JsonObject } from '../json.js';
import { isSameCall, wasPreparedBefore } from '../refused-call.js';
import { isContentBlock, textOf, type ToolResult } from '../result.js';
import type { PreparedCall, ToolProvider } from '../tool-provider.js';
import type { PolicyGate } from './approval.js';
import { prepareForeignCall } from './foreign-call.js';
import type { HubLimits } from './hub.js';
import type { HubMember } from './member.js';
import { runMiddleware, type Middleware, type MiddlewareCall } from './middleware.js';
import { limitOutput } from './output-limit.js';

/** The limits with their defaults filled in. */
export type EffectiveLimits = Required<Omit<HubLimits, 'callTimeoutMs'>> & Pick<HubLimits, 'callTimeoutMs'>;

const EXTERNAL_CALL_TIMEOUT_MS = 30_000;

/** On a call that a hub prepared: its deadline is the default of the provider behind that hub. A spread keeps it. */
const PROVIDERS_DEFAULT = Symbol.for('toolwright.providersDefault');

interface ProvidersDefault {
  [PROVIDERS_DEFAULT]?: true;
}

export class CallPath {
  readonly #gate: PolicyGate | undefined;
  readonly #middleware: readonly Middleware[];
  readonly #limits: EffectiveLimits;

  constructor(options: { gate: PolicyGate | undefined; middleware: readonly Middleware[]; limits: EffectiveLimits }) {
    this.#gate = options.gate;
    this.#middleware = options.middleware;
    this.#limits = options.limits;
  }

  /** @throws {ToolError} whatever refuses or ends the call before it gives a result */
  async run(member: HubMember, name: string, args: JsonObject, scope: CallScope): Promise<ToolResult> {
    this.#setDeadline(member.provider, scope);
    if (!member.connected) await scope.race(member.ready());
    const preparing = prepareCallOf(member, name, args, scope);
    const prepared = preparing instanceof Promise ? await scope.race(preparing) : preparing;
    if (prepared.refused) return this.#refusal(prepared.refused, member.provider);
    if (prepared.timeoutMs !== undefined) this.#setDeadline(member.provider, scope, prepared);
    const asked = this.#gate?.pass(prepared, scope);
    if (asked) await asked;
    if (scope.error) throw scope.error;
    let result = await this.#execute(member, prepared, scope);
    if (result.isError && wasPreparedBefore(result)) result = await this.#executeAgain(member, prepared, scope);
    if (result.directives.length > 0 && !member.trustsDirectives) result.directives = [];
    return limitOutput(result, this.#limits.maxTextBytes);
  }

  /** A refusal is a failure, whoever says it. @throws {ToolError} INTERNAL for one that is none */
  #refusal(refused: ToolResult, provider: ToolProvider): ToolResult {
    const result = parseResult(refused, provider);
    if (!result.isError)
      throw new ToolError('INTERNAL', `The provider "${provider.name}" refused a call with a success.`);
    return limitOutput(result, this.#limits.maxTextBytes);
  }

  /** What `execute` of a call that this hub prepared has as its default deadline, for a hub around it. */
  ownDeadline(provider: ToolProvider, prepared: PreparedCall): Pick<PreparedCall, 'timeoutMs'> & ProvidersDefault {
    const { ms, isProviders } = this.#defaultDeadline(provider, prepared);
    return { timeoutMs: ms, ...(isProviders && { [PROVIDERS_DEFAULT]: true }) };
  }

  /** The clock runs before connecting; the prepared call's own deadline replaces the default later. */
  #setDeadline(provider: ToolProvider, scope: CallScope, prepared?: PreparedCall): void {
    const { ms, isProviders } = this.#defaultDeadline(provider, prepared);
    scope.setDeadline(ms, this.#limits.maxTotalTimeoutMs, isProviders);
    if (scope.error) throw scope.error;
  }

  #defaultDeadline(provider: ToolProvider, prepared?: PreparedCall): { ms: number; isProviders: boolean } {
    const own = prepared?.timeoutMs;
    if (own !== undefined) {
      assertTimeout(own);
      return { ms: own, isProviders: (prepared as ProvidersDefault)[PROVIDERS_DEFAULT] === true };
    }
    const { callTimeoutMs } = this.#limits;
    if (callTimeoutMs !== undefined) return { ms: callTimeoutMs, isProviders: false };
    const fallback = provider.kind === 'in-process' ? Infinity : EXTERNAL_CALL_TIMEOUT_MS;
    return { ms: provider.callTimeoutMs ?? fallback, isProviders: true };
  }

  #execute(member: HubMember, prepared: PreparedCall, scope: CallScope): Promise<ToolResult> {
    const { provider } = member;
    // A provider of ours ends with the scope by itself and gives a result of its own making.
    if (this.#middleware.length === 0 && provider instanceof InProcessToolProvider) return prepared.execute(scope);
    return this.#executeGuarded(member, prepared, scope);
  }

  /**
   * Runs a call whose provider was connected again since it was prepared: it is prepared anew, and judged anew when it is
   * another call than before.
   */
  async #executeAgain(member: HubMember, before: PreparedCall, scope: CallScope): Promise<ToolResult> {
    const { provider } = member;
    const now = await scope.race(Promise.resolve(prepareCallOf(member, before.tool.name, before.args, scope)));
    if (now.refused) return this.#refusal(now.refused, provider);
    if (!isSameCall(before, now)) await this.#gate?.pass(now, scope);
    if (scope.error) throw scope.error;
    return now.execute(scope.inwardFor(provider));
  }

  /** Ends with the scope, whatever a stranger's provider or a middleware does, and takes nothing but a result. */
  async #executeGuarded(member: HubMember, prepared: PreparedCall, scope: CallScope): Promise<ToolResult> {
    const { provider } = member;
    const execute = async (): Promise<ToolResult> => {
      const result = await prepared.execute(scope.inwardFor(provider));
      return wasPreparedBefore(result) ? this.#executeAgain(member, prepared, scope) : result;
    };
    try {
      return parseResult(await scope.race(this.#runMiddleware(prepared, scope, execute)), provider);
    } catch (thrown) {
      throw scope.error ? outcomeUnknown(scope.error, provider.name, prepared.tool.name) : thrown;
    }
  }

  #runMiddleware(prepared: PreparedCall, scope: CallScope, execute: () => Promise<ToolResult>): Promise<ToolResult> {
    if (this.#middleware.length === 0) return execute();
    return runMiddleware(this.#middleware, middlewareCall(prepared, scope), execute);
  }
}

/** Resolves and validates a call: by the provider where it does so itself, else by the listed schema. */
export function prepareCallOf(
  member: HubMember,
  name: string,
  args: JsonObject,
  scope: CallScope,
): PreparedCall | Promise<PreparedCall> {
  const { provider } = member;
  if (!provider.prepareCall) return prepareForeignCall(member, name, args);
  if (provider instanceof InProcessToolProvider) return provider.prepareCall(name, args, scope);
  const prepared = provider.prepareCall(name, args, scope.inwardFor(provider));
  return prepared instanceof Promise
    ? prepared.then((settled) => checked(settled, provider))
    : checked(prepared, provider);
}

function checked(prepared: PreparedCall, { name }: ToolProvider): PreparedCall {
  if (prepared.refused) return prepared;
  return {
    ...prepared,
    claims: parseClaims(prepared.claims, name, prepared.tool.name),
    execute: (options) => prepared.execute(options),
  };
}

function middlewareCall(prepared: PreparedCall, scope: CallScope): MiddlewareCall {
  let args: JsonObject | undefined;
  return {
    name: prepared.tool.name,
    tool: prepared.tool,
    claims: prepared.claims,
    callId: scope.callId,
    sessionId: scope.sessionId,
    get meta() {
      return structuredClone(scope.meta);
    },
    // A copy, made when somebody looks: the call itself was judged and stays as it is.
    get args() {
      return (args ??= structuredClone(prepared.args));
    },
    get signal() {
      return scope.signal;
    },
  };
}

/** What a provider or a middleware gave, as a result of our own: the hub writes its clock into it. */
function parseResult(value: unknown, { name }: ToolProvider): ToolResult {
  const given = (value ?? {}) as Partial<ToolResult>;
  const { content, isError, error, directives, structuredContent, _meta } = given;
  if (!Array.isArray(content) || !content.every(isContentBlock) || typeof isError !== 'boolean') {
    throw new ToolError('INTERNAL', `The provider "${name}", or a middleware, gave something that is not a result.`, {
      provider: name,
    });
  }
  const result: ToolResult = {
    content,
    isError,
    directives: Array.isArray(directives) ? directives : [],
    durationMs: 0,
  };
  if (isRecord(structuredContent)) result.structuredContent = structuredContent;
  if (isRecord(_meta)) result._meta = _meta;
  if (isError) result.error = parseError(error, result);
  return result;
}

/** A failure always has a code of the list; a foreign one without is a failure of the tool. */
function parseError(error: unknown, result: ToolResult): ToolErrorInfo {
  const { code, message, retryable, details } = (error ?? {}) as Partial<ToolErrorInfo>;
  const words =
    typeof message === 'string' ? message : textOf(result) || 'The tool reported a failure and said nothing more.';
  return new ToolError(ToolError.isCode(code) ? code : 'EXECUTION_FAILED', words, {
    ...(typeof retryable === 'boolean' && { retryable }),
    ...(isRecord(details) && { details }),
  }).toInfo();
}

function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
