// The pipeline of a call that is routed: deadline, prepare, policy, middleware, execute, output limit.

import { assertTimeout, outcomeUnknown, type CallScope } from '../call/call-scope.js';
import { callSafely } from '../call/host-callbacks.js';
import { ToolError, type ToolErrorInfo } from '../contract/errors.js';
import { InProcessToolProvider } from '../provider/in-process-provider.js';
import { copyAsJson } from '../contract/json-copy.js';
import { isJsonObject, type JsonObject } from '../contract/json.js';
import { isSameCall, isStaleCall, staleCallError } from '../provider/prepared-call.js';
import {
  isContentBlock,
  keepOrigin,
  textOf,
  withoutTrustedMeta,
  type ContentBlock,
  type ToolResult,
} from '../contract/result.js';
import type { PreparedCall, ToolProvider } from '../contract/tool-provider.js';
import { delegationOf } from '../provider/delegation.js';
import type { Admission, EarlierAnswer, PolicyGate } from './policy/policy-gate.js';
import { prepareMemberCall, PROVIDERS_DEFAULT, type ProvidersDefault } from './prepare-call.js';
import type { EffectiveLimits } from './hub-options.js';
import { reportPrepared, reportStarted } from './call-events.js';
import type { EventStream } from './events.js';
import type { HubMember } from './member.js';
import { runMiddleware, type Middleware, type MiddlewareCall, type SettledCall } from './middleware/middleware.js';
import { limitOutput } from './output-limit.js';

const EXTERNAL_CALL_TIMEOUT_MS = 30_000;

/** A call that was prepared before it is made, with the answer to its verdict. */
export interface EarlierCall {
  readonly prepared: Pick<PreparedCall, 'tool' | 'claims'>;
  readonly answer?: EarlierAnswer | undefined;
}

const STALE = Symbol('stale');

export class CallPipeline {
  readonly #hub: object;
  readonly #gate: PolicyGate | undefined;
  readonly #middleware: readonly Middleware[];
  readonly #limits: EffectiveLimits;
  readonly #events: EventStream;
  readonly #settledListeners: readonly Middleware[];
  /** What the middleware was called with. */
  readonly #entered = new WeakMap<CallScope, MiddlewareCall>();

  constructor(options: {
    hub: object;
    gate: PolicyGate | undefined;
    middleware: readonly Middleware[];
    limits: EffectiveLimits;
    events: EventStream;
  }) {
    this.#hub = options.hub;
    this.#gate = options.gate;
    this.#events = options.events;
    this.#middleware = options.middleware;
    this.#limits = options.limits;
    this.#settledListeners = options.middleware.filter((layer) => 'onSettled' in layer);
  }

  /** Reports the final result of a call to the middleware. */
  reportSettled(member: HubMember | undefined, name: string, scope: CallScope, result: ToolResult): void {
    if (this.#settledListeners.length === 0) return;
    const { callId, sessionId } = scope;
    const tool = member?.tools.get(name);
    const settled: SettledCall = {
      tool,
      provider: tool && member?.name,
      callId,
      sessionId,
      get meta() {
        return structuredClone(scope.meta);
      },
      call: this.#entered.get(scope),
      result,
    };
    for (const middleware of this.#settledListeners) {
      try {
        middleware.onSettled?.(settled);
      } catch {
        // The call has its result.
      }
    }
  }

  /**
   * @param name qualified, as the hub's routing resolved it
   * @param before the prepared call that was shown, if there was one; a different call does not run in its place
   * @throws {ToolError} what refuses or ends the call before it has a result
   */
  async run(
    member: HubMember,
    name: string,
    args: JsonObject,
    scope: CallScope,
    before?: EarlierCall,
  ): Promise<ToolResult> {
    this.startClock(member.provider, scope);
    if (!member.connected) await scope.race(member.ready());
    this.assertNotHidden(member, name, scope);
    const preparing = prepareMemberCall(member, name, args, scope);
    let prepared = preparing instanceof Promise ? await scope.race(preparing) : preparing;
    if (prepared.refused) return this.refusal(prepared.refused, member, name);
    if (prepared.timeoutMs !== undefined) this.startClock(member.provider, scope, prepared);
    if (this.#events.hasListeners) reportPrepared(this.#events, member.name, prepared, scope);
    const answer = answerFor(prepared, before);
    const passing = this.#admit(member, prepared, scope, answer);
    const passed = passing instanceof Promise ? await passing : passing;
    if (passed?.args) {
      prepared = await this.#prepareEdited(member, name, passed.args, scope);
      if (prepared.refused) return this.refusal(prepared.refused, member, name);
    }
    if (scope.error) throw scope.error;
    if (this.#events.hasListeners) reportStarted(this.#events, member.name, prepared, scope);
    let result = await this.#execute(member, prepared, scope);
    if (isStale(result)) result = await this.#executeStale(member, prepared, scope);
    result = withApproverMessage(stripUntrusted(result, member), passed?.message);
    return limitOutput(result, this.#limits.maxTextBytes);
  }

  /** @throws {ToolError} PERMISSION_DENIED for a listed tool that is quarantined, or denied whatever its arguments */
  assertNotHidden(member: HubMember, name: string, scope: CallScope): void {
    if (member.tools.hidden.length === 0) return;
    const tool = member.tools.get(name);
    const refusal = tool && (member.tools.refusalOf(tool) ?? this.#gate?.denyOutright(tool, scope));
    if (refusal) throw refusal;
  }

  /** Admits the call, immediately or after an approval. What acts for its caller on this very hub is judged there. */
  #admit(
    member: HubMember,
    prepared: PreparedCall,
    scope: CallScope,
    answer?: EarlierAnswer,
  ): Admission | undefined | Promise<Admission | undefined> {
    if (delegationOf(prepared.tool)?.hub === this.#hub) return this.#gate?.admitDelegating(prepared, scope);
    return this.#gate?.admit(prepared, scope, isUnchanged(member, prepared, scope), answer);
  }

  /** Prepares the call again with the arguments that the approver edited, and evaluates it again. */
  async #prepareEdited(member: HubMember, name: string, args: JsonObject, scope: CallScope): Promise<PreparedCall> {
    const prepared = await scope.race(Promise.resolve(prepareMemberCall(member, name, args, scope)));
    if (prepared.refused) return prepared;
    if (prepared.timeoutMs !== undefined) this.startClock(member.provider, scope, prepared);
    this.#gate?.admitEdited(prepared, scope);
    return prepared;
  }

  /** The result of a call that its provider refused. @throws {ToolError} INTERNAL when that result is a success */
  refusal(refused: ToolResult, member: HubMember, name: string): ToolResult {
    const { provider } = member;
    const result = stripUntrusted(parseResult(refused, provider), member);
    if (!result.isError)
      throw new ToolError(
        'INTERNAL',
        `The provider "${provider.name}" refused a call with a result that is not an error.`,
      );
    // The provider's own message would suggest hidden names.
    if (result.error?.code === 'TOOL_NOT_FOUND' && member.tools.hidden.length > 0) throw member.tools.notFound(name);
    return limitOutput(result, this.#limits.maxTextBytes);
  }

  /** The default deadline of a call that this hub prepared, for an outer hub. */
  ownDeadline(provider: ToolProvider, prepared: PreparedCall): Pick<PreparedCall, 'timeoutMs'> & ProvidersDefault {
    const { ms, isProviders } = this.#defaultDeadline(provider, prepared);
    return { timeoutMs: ms, ...(isProviders && { [PROVIDERS_DEFAULT]: true }) };
  }

  /** Starts the deadline, before connecting; once the call is prepared, its own deadline replaces the default. */
  startClock(provider: ToolProvider, scope: CallScope, prepared?: PreparedCall): void {
    const { ms, isProviders } = this.#defaultDeadline(provider, prepared);
    scope.setDeadline(ms, this.#limits.maxTotalTimeoutMs, isProviders);
    if (scope.error) throw scope.error;
  }

  #defaultDeadline(provider: ToolProvider, prepared?: PreparedCall): { ms: number; isProviders: boolean } {
    const own = prepared?.timeoutMs;
    const { callTimeoutMs } = this.#limits;
    const isDefault = (prepared as ProvidersDefault | undefined)?.[PROVIDERS_DEFAULT] === true;
    if (own !== undefined && !(isDefault && callTimeoutMs !== undefined)) {
      assertTimeout(own);
      return { ms: own, isProviders: isDefault };
    }
    if (callTimeoutMs !== undefined) return { ms: callTimeoutMs, isProviders: false };
    const fallback = provider.kind === 'in-process' ? Infinity : EXTERNAL_CALL_TIMEOUT_MS;
    return { ms: provider.callTimeoutMs ?? fallback, isProviders: true };
  }

  /** Returns `STALE`, and runs nothing, when the provider was reconnected after the call was prepared. */
  #execute(member: HubMember, prepared: PreparedCall, scope: CallScope): Promise<ToolResult | typeof STALE> {
    const { provider } = member;
    // An in-process provider settles with the scope by itself, and its results need no parsing.
    if (this.#middleware.length === 0 && provider instanceof InProcessToolProvider) return prepared.execute(scope);
    return this.#executeGuarded(member, prepared, scope);
  }

  /** Prepares a stale call again and runs it; evaluates it again when its tool or its claims have changed. */
  async #executeStale(member: HubMember, before: PreparedCall, scope: CallScope): Promise<ToolResult> {
    const { name } = before.tool;
    let now = await scope.race(Promise.resolve(prepareMemberCall(member, name, before.args, scope)));
    if (now.refused) return this.refusal(now.refused, member, name);
    const passed = isSameCall(before, now) ? undefined : await this.#admit(member, now, scope);
    if (passed?.args) now = await this.#prepareEdited(member, name, passed.args, scope);
    if (now.refused) return this.refusal(now.refused, member, name);
    if (scope.error) throw scope.error;
    const result = await this.#execute(member, now, scope);
    if (!isStale(result)) return withApproverMessage(result, passed?.message);
    throw staleCallError(member.name);
  }

  /** Settles with the scope even if a foreign provider or a middleware does not, and rejects what is not a result. */
  async #executeGuarded(
    member: HubMember,
    prepared: PreparedCall,
    scope: CallScope,
  ): Promise<ToolResult | typeof STALE> {
    const { provider } = member;
    let wasBefore = false;
    const execute = async (): Promise<ToolResult> => {
      const result = await prepared.execute(scope.inwardFor(provider));
      wasBefore = isStaleCall(result);
      return result;
    };
    try {
      const result = parseResult(await scope.race(this.#runMiddleware(member, prepared, scope, execute)), provider);
      // To the middleware, the call that is prepared again is a new one; it sees this one fail.
      return wasBefore && result.isError ? STALE : result;
    } catch (thrown) {
      throw scope.error ? outcomeUnknown(scope.error, provider.name, prepared.tool.name) : thrown;
    }
  }

  #runMiddleware(
    member: HubMember,
    prepared: PreparedCall,
    scope: CallScope,
    execute: () => Promise<ToolResult>,
  ): Promise<ToolResult> {
    if (this.#middleware.length === 0) return execute();
    const parsed = async (): Promise<ToolResult> => parseResult(await execute(), member.provider);
    const delegation = delegationOf(prepared.tool);
    const isDelegating = delegation?.hub === this.#hub && delegation.prepare !== undefined;
    const call = middlewareCall(member, prepared, scope, isDelegating, this.#entered.get(scope));
    this.#entered.set(scope, call);
    return runMiddleware(this.#middleware, call, parsed);
  }
}

/**
 * The answer to this very call. An approval of a different call does not count: this one is evaluated again.
 *
 * @throws {ToolError} NOT_CONNECTED when the call differs from the prepared one and has no answer: prepare it again
 */
function answerFor(prepared: PreparedCall, before: EarlierCall | undefined): EarlierAnswer | undefined {
  if (!before || isSameCall(before.prepared, prepared)) return before?.answer;
  const { name } = prepared.tool;
  if (!before.answer) throw staleCallError(name.slice(0, name.indexOf('.')), `The tool "${name}" was changed`);
  return before.answer.approval.decision === 'deny' ? before.answer : undefined;
}

function isStale(result: ToolResult | typeof STALE): result is typeof STALE {
  return result === STALE || (result.isError && isStaleCall(result));
}

/** Whether preparing a call again gives the same call. */
function isUnchanged(member: HubMember, prepared: PreparedCall, scope: CallScope): () => Promise<boolean> {
  return async () => {
    const now = await prepareMemberCall(member, prepared.tool.name, prepared.args, scope);
    return !now.refused && isSameCall(prepared, now);
  };
}

/** Removes directives, and the `_meta` keys that the next hop would read as directives, unless the provider is trusted. */
function stripUntrusted(result: ToolResult, member: HubMember): ToolResult {
  if (member.trustsDirectives) return result;
  // Only the policy of this hub suggests rules.
  if (result.error?.details?.suggestedRules !== undefined) {
    const { suggestedRules: _foreign, ...details } = result.error.details;
    result.error = { ...result.error, details };
  }
  if (result.directives.length > 0) result.directives = [];
  if (result._meta) {
    const meta = withoutTrustedMeta(result._meta);
    if (meta) result._meta = meta;
    else delete result._meta;
  }
  return result;
}

/** Appends the approver's message to the result, for the model. */
function withApproverMessage(result: ToolResult, message: string | undefined): ToolResult {
  if (message === undefined) return result;
  const { content, structuredContent } = result;
  const note: ContentBlock = { type: 'text', text: `Message from the person who approved the call: ${message}` };
  // Without content, models read the structured content: it must not be hidden by the message.
  const before: ContentBlock[] =
    content.length === 0 && structuredContent !== undefined
      ? [{ type: 'text', text: JSON.stringify(structuredContent) }]
      : content;
  return { ...result, content: [...before, note] };
}

function middlewareCall(
  member: HubMember,
  prepared: PreparedCall,
  scope: CallScope,
  isDelegating: boolean,
  previous: MiddlewareCall | undefined,
): MiddlewareCall {
  let args: JsonObject | undefined;
  return {
    previous,
    name: prepared.tool.name,
    tool: prepared.tool,
    provider: member.name,
    kind: member.provider.kind,
    trustsAnnotations: member.trustsAnnotations,
    isDelegating,
    waitedMs: performance.now() - scope.startedAt,
    addMeta: (meta) => scope.addMeta(meta),
    onProgress: (listener) => scope.observe({ onProgress: (progress) => callSafely(() => listener({ ...progress })) }),
    claims: prepared.claims,
    callId: scope.callId,
    sessionId: scope.sessionId,
    get meta() {
      return structuredClone(scope.meta);
    },
    // A copy, made on first access: the call itself was evaluated and must not change.
    get args() {
      return (args ??= structuredClone(prepared.args));
    },
    get signal() {
      return scope.signal;
    },
    get remainingMs() {
      return Math.max(0, scope.dueAt - performance.now());
    },
  };
}

/** Parses what a provider or a middleware returned into a new result: the hub sets its duration. */
function parseResult(value: unknown, { name }: ToolProvider): ToolResult {
  const given = (value ?? {}) as Partial<ToolResult>;
  const { content, isError, error, directives, structuredContent, _meta } = given;
  if (!Array.isArray(content) || !content.every(isContentBlock) || typeof isError !== 'boolean') {
    throw new ToolError(
      'INTERNAL',
      `The provider "${name}", or a middleware, returned something that is not a ToolResult.`,
      {
        provider: name,
      },
    );
  }
  const result: ToolResult = {
    content,
    isError,
    directives: Array.isArray(directives) ? directives.slice() : [],
    durationMs: 0,
  };
  if (isJsonObject(structuredContent)) result.structuredContent = copyAsJson(structuredContent);
  if (isJsonObject(_meta)) result._meta = copyAsJson(_meta);
  if (isError) result.error = parseError(error, result);
  return keepOrigin(given, result);
}

/** A failure always has a known code; EXECUTION_FAILED where a foreign provider gave none. */
function parseError(error: unknown, result: ToolResult): ToolErrorInfo {
  const { code, message, retryable, details } = (error ?? {}) as Partial<ToolErrorInfo>;
  const text = typeof message === 'string' ? message : textOf(result) || 'The tool failed and gave no message.';
  return new ToolError(ToolError.isCode(code) ? code : 'EXECUTION_FAILED', text, {
    ...(typeof retryable === 'boolean' && { retryable }),
    ...(isJsonObject(details) && { details }),
  }).toInfo();
}
