// The way of one call through a hub, once it is routed: clock, prepare, policy, middleware, execute, output limit.

import { assertTimeout, outcomeUnknown, type CallScope } from '../call/call-scope.js';
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
import type { EarlierAnswer, PolicyGate } from './policy/policy-gate.js';
import { prepareMemberCall, PROVIDERS_DEFAULT, type ProvidersDefault } from './prepare-call.js';
import type { EffectiveLimits } from './hub-limits.js';
import type { HubMember } from './member.js';
import { runMiddleware, type Middleware, type MiddlewareCall } from './middleware.js';
import { limitOutput } from './output-limit.js';

const EXTERNAL_CALL_TIMEOUT_MS = 30_000;

/** A call that was prepared before it is made, and the answer to its verdict. */
export interface EarlierCall {
  readonly prepared: Pick<PreparedCall, 'tool' | 'claims'>;
  readonly answer?: EarlierAnswer | undefined;
}

const STALE = Symbol('prepared before');

export class CallPipeline {
  readonly #gate: PolicyGate | undefined;
  readonly #middleware: readonly Middleware[];
  readonly #limits: EffectiveLimits;

  constructor(options: { gate: PolicyGate | undefined; middleware: readonly Middleware[]; limits: EffectiveLimits }) {
    this.#gate = options.gate;
    this.#middleware = options.middleware;
    this.#limits = options.limits;
  }

  /**
   * @param name qualified, as the hub's routing resolved it
   * @param before the call as it was prepared and shown, where it was: another one does not run in its place
   * @throws {ToolError} whatever refuses or ends the call before it gives a result
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
    const answer = answerFor(prepared, before);
    const passing = this.#gate?.admit(prepared, scope, isUnchanged(member, prepared, scope), answer);
    const passed = passing instanceof Promise ? await passing : passing;
    if (passed?.args) {
      prepared = await this.#prepareEdited(member, name, passed.args, scope);
      if (prepared.refused) return this.refusal(prepared.refused, member, name);
    }
    if (scope.error) throw scope.error;
    let result = await this.#execute(member, prepared, scope);
    if (isStale(result)) result = await this.#executeStale(member, prepared, scope);
    result = withApproverMessage(stripUntrusted(result, member), passed?.message);
    return limitOutput(result, this.#limits.maxTextBytes);
  }

  /** @throws {ToolError} PERMISSION_DENIED for a listed tool that the policy denies whatever its arguments */
  assertNotHidden(member: HubMember, name: string, scope: CallScope): void {
    if (member.hidden.length === 0) return;
    const tool = member.listed(name);
    const refusal = tool && this.#gate?.denyOutright(tool, scope);
    if (refusal) throw refusal;
  }

  /** The call with the arguments that an approval gave in place of its own, judged again; or refused. */
  async #prepareEdited(member: HubMember, name: string, args: JsonObject, scope: CallScope): Promise<PreparedCall> {
    const prepared = await scope.race(Promise.resolve(prepareMemberCall(member, name, args, scope)));
    if (prepared.refused) return prepared;
    if (prepared.timeoutMs !== undefined) this.startClock(member.provider, scope, prepared);
    this.#gate?.admitEdited(prepared, scope);
    return prepared;
  }

  /** A refusal is a failure, whoever says it. @throws {ToolError} INTERNAL for one that is none */
  refusal(refused: ToolResult, member: HubMember, name: string): ToolResult {
    const { provider } = member;
    const result = stripUntrusted(parseResult(refused, provider), member);
    if (!result.isError)
      throw new ToolError('INTERNAL', `The provider "${provider.name}" refused a call with a success.`);
    // Its own words would suggest what is hidden.
    if (result.error?.code === 'TOOL_NOT_FOUND' && member.hidden.length > 0) throw member.notFound(name);
    return limitOutput(result, this.#limits.maxTextBytes);
  }

  /** What `execute` of a call that this hub prepared has as its default deadline, for a hub around it. */
  ownDeadline(provider: ToolProvider, prepared: PreparedCall): Pick<PreparedCall, 'timeoutMs'> & ProvidersDefault {
    const { ms, isProviders } = this.#defaultDeadline(provider, prepared);
    return { timeoutMs: ms, ...(isProviders && { [PROVIDERS_DEFAULT]: true }) };
  }

  /** The clock runs before connecting; the prepared call's own deadline replaces the default later. */
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

  /** The result, or that the provider was connected again since the call was prepared, so that nothing ran. */
  #execute(member: HubMember, prepared: PreparedCall, scope: CallScope): Promise<ToolResult | typeof STALE> {
    const { provider } = member;
    // A provider of ours ends with the scope by itself and gives a result of its own making.
    if (this.#middleware.length === 0 && provider instanceof InProcessToolProvider) return prepared.execute(scope);
    return this.#executeGuarded(member, prepared, scope);
  }

  /**
   * Runs a call whose provider was connected again since it was prepared: it is prepared anew, and judged anew when it is
   * another call than before.
   */
  async #executeStale(member: HubMember, before: PreparedCall, scope: CallScope): Promise<ToolResult> {
    const { name } = before.tool;
    let now = await scope.race(Promise.resolve(prepareMemberCall(member, name, before.args, scope)));
    if (now.refused) return this.refusal(now.refused, member, name);
    const passed = isSameCall(before, now)
      ? undefined
      : await this.#gate?.admit(now, scope, isUnchanged(member, now, scope));
    if (passed?.args) now = await this.#prepareEdited(member, name, passed.args, scope);
    if (now.refused) return this.refusal(now.refused, member, name);
    if (scope.error) throw scope.error;
    const result = await this.#execute(member, now, scope);
    if (!isStale(result)) return withApproverMessage(result, passed?.message);
    throw staleCallError(member.name);
  }

  /** Ends with the scope, whatever a stranger's provider or a middleware does, and takes nothing but a result. */
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
      const result = parseResult(await scope.race(this.#runMiddleware(prepared, scope, execute)), provider);
      // The call that is prepared anew is another one to the middleware, which sees this one fail.
      return wasBefore && result.isError ? STALE : result;
    } catch (thrown) {
      throw scope.error ? outcomeUnknown(scope.error, provider.name, prepared.tool.name) : thrown;
    }
  }

  #runMiddleware(prepared: PreparedCall, scope: CallScope, execute: () => Promise<ToolResult>): Promise<ToolResult> {
    if (this.#middleware.length === 0) return execute();
    return runMiddleware(this.#middleware, middlewareCall(prepared, scope), execute);
  }
}

/**
 * The answer that was given to this very call. A yes to another one does not count: it is judged anew.
 *
 * @throws {ToolError} NOT_CONNECTED for another call without an answer: whoever prepared it has to look at it again
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

/** Directives, also those in `_meta` that the next hop would read, count only from a provider that is trusted. */
function stripUntrusted(result: ToolResult, member: HubMember): ToolResult {
  if (member.trustsDirectives) return result;
  // What a policy offers, and whom it asks, is for this hub to say.
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

/** What the one who approved has to say, for the model. */
function withApproverMessage(result: ToolResult, message: string | undefined): ToolResult {
  if (message === undefined) return result;
  const { content, structuredContent } = result;
  const said: ContentBlock = { type: 'text', text: `Message from the person who approved the call: ${message}` };
  // Where there is no content, the structured form is what a model reads.
  const before: ContentBlock[] =
    content.length === 0 && structuredContent !== undefined
      ? [{ type: 'text', text: JSON.stringify(structuredContent) }]
      : content;
  return { ...result, content: [...before, said] };
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
    directives: Array.isArray(directives) ? directives.slice() : [],
    durationMs: 0,
  };
  if (isJsonObject(structuredContent)) result.structuredContent = copyAsJson(structuredContent);
  if (isJsonObject(_meta)) result._meta = copyAsJson(_meta);
  if (isError) result.error = parseError(error, result);
  return keepOrigin(given, result);
}

/** A failure always has a code of the list; a foreign one without is a failure of the tool. */
function parseError(error: unknown, result: ToolResult): ToolErrorInfo {
  const { code, message, retryable, details } = (error ?? {}) as Partial<ToolErrorInfo>;
  const words =
    typeof message === 'string' ? message : textOf(result) || 'The tool reported a failure and said nothing more.';
  return new ToolError(ToolError.isCode(code) ? code : 'EXECUTION_FAILED', words, {
    ...(typeof retryable === 'boolean' && { retryable }),
    ...(isJsonObject(details) && { details }),
  }).toInfo();
}
