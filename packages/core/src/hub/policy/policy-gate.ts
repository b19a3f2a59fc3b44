// Applies the policy to a call: evaluates its claims, requests an approval where needed, records the decision.

import type { CallScope } from '../../call/call-scope.js';
import { canonicalJson } from '../../contract/canonical-json.js';
import { ToolError } from '../../contract/errors.js';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import { copyJson } from '../../contract/json-copy.js';
import { callSafely } from '../../call/host-callbacks.js';
import { optionFaults, type OptionNames } from '../../contract/options.js';
import type { PreparedCall } from '../../contract/tool-provider.js';
import type { PermissionClaim } from '../../contract/claims.js';
import {
  PolicyRules,
  reasonOf,
  suggestRules,
  widerRules,
  type Policy,
  type PolicyDecision,
  type Verdict,
} from './policy.js';
import type { Approval, ApprovalRequest, PolicyRule } from '../../contract/approval.js';
import type { EventStream } from '../events.js';
import { QuestionQueue } from './question-queue.js';

/** Callbacks for the policy's decisions. */
export interface PolicyEvents {
  /** Called with each rule that an approval adds. Default: none. */
  onRuleAdded?: (rule: PolicyRule) => void;
  /** Called with each decision, for an audit log. Default: none. */
  onDecision?: (event: PolicyDecision) => void;
}

/** What an approval adds to a call that it allows. */
export interface Admission {
  /** A message for the model, appended to the result. */
  readonly message?: string;
  /** Edited arguments, to be prepared and evaluated in place of the call's. */
  readonly args?: JsonObject;
}

/** An answer to the claims of a verdict, given before the call is made. */
export interface EarlierAnswer {
  readonly approval: Approval;
  readonly claims: readonly PermissionClaim[];
}

type EvaluatedCall = Pick<PreparedCall, 'tool' | 'claims'>;
type Asker = NonNullable<Policy['approve']>;

/** Decides about every call of a hub that has a policy. */
export class PolicyGate {
  readonly #rules: PolicyRules;
  readonly #approve: Policy['approve'];
  readonly #events: PolicyEvents;
  readonly #warn: (message: string) => void;
  readonly #rulesChanged: () => void;
  readonly #stream: EventStream;
  /** An answer is undefined when the question was no longer needed at its turn. */
  readonly #questions = new QuestionQueue<Approval | undefined>();

  constructor(
    policy: Policy,
    events: PolicyEvents,
    warn: (message: string) => void,
    rulesChanged: () => void,
    stream: EventStream,
  ) {
    this.#stream = stream;
    if (typeof policy !== 'object' || (policy as unknown) === null) {
      throw new ToolError(
        'INVALID_ARGUMENT',
        'policy must be { rules, default, approve? }; omit it to run every call.',
      );
    }
    if (policy.approve !== undefined && typeof policy.approve !== 'function') {
      throw new ToolError('INVALID_ARGUMENT', 'policy.approve must be a function.');
    }
    this.#rules = new PolicyRules(policy, warn);
    this.#approve = policy.approve;
    this.#events = events;
    this.#warn = warn;
    this.#rulesChanged = rulesChanged;
  }

  /** Replaces the rules of the policy. @throws {ToolError} INVALID_ARGUMENT as {@link PolicyRules.replace} */
  replaceRules(policy: Pick<Policy, 'rules' | 'default'>): void {
    this.#rules.replace(policy);
    this.#rulesChanged();
  }

  /** Evaluates the rules, without requesting an approval. */
  evaluate(tool: string, claims: readonly PermissionClaim[]): Verdict {
    return this.#rules.evaluate(tool, claims);
  }

  /** The verdict on a tool that is denied for all arguments; undefined for any other tool. */
  deniedOutright(tool: string): Verdict | undefined {
    return this.#rules.deniedOutright(tool);
  }

  /** Warns of rules that match no listed tool. @param unlisted the servers whose tools are not listed yet */
  check(names: readonly string[], unlisted: readonly string[]): void {
    this.#rules.check(names, unlisted);
  }

  /** The warnings about rules that have no effect. */
  warnings(names: readonly string[], unlisted: readonly string[]): readonly string[] {
    return this.#rules.warnings(names, unlisted);
  }

  /**
   * The verdict on a prepared call, and the claims that its approval request shows.
   *
   * @param isDelegating whether the call only makes another call of this hub, whose verdict it has
   */
  verdictOf(
    call: PreparedCall,
    isDelegating = false,
  ): { verdict: NonNullable<PreparedCall['verdict']>; shown: readonly PermissionClaim[] } {
    const verdict = this.#rules.evaluate(call.tool.name, call.claims);
    const { action } = verdict;
    if (isDelegating && action !== 'deny')
      return { verdict: call.verdict ?? { action: 'allow', reason: delegatingReason(call.tool) }, shown: [] };
    const reason = `${reasonOf(call.tool, verdict)}.`;
    if (action !== 'ask') return { verdict: { action, reason }, shown: [] };
    return { verdict: { action, reason, request: requestOf(call, verdict) }, shown: verdict.open };
  }

  /** The error for a tool that is denied for all arguments, recorded as a decision; undefined for any other tool. */
  denyOutright(tool: EvaluatedCall['tool'], scope: CallScope): ToolError | undefined {
    const verdict = this.#rules.deniedOutright(tool.name);
    return verdict && this.#refused({ tool, claims: verdict.open }, verdict, scope);
  }

  /**
   * Admits an allowed call, immediately or after an approval, and returns what the approval adds.
   *
   * @param isUnchanged whether the call is still the one that was shown; checked before an answer adds a rule
   * @param earlier an answer to the verdict on this very call; used if it covers every claim that needs one
   * @throws {ToolError} PERMISSION_DENIED, APPROVAL_REQUIRED, or what ended the call while its approval was pending
   */
  admit(
    call: PreparedCall,
    scope: CallScope,
    isUnchanged: () => Promise<boolean>,
    earlier?: EarlierAnswer,
  ): Admission | undefined | Promise<Admission | undefined> {
    const verdict = this.#rules.evaluate(call.tool.name, call.claims);
    if (earlier && verdict.action !== 'deny') {
      const approval = this.#parse(call, earlier.approval, verdict, scope);
      const covers = verdict.open.every((claim) => earlier.claims.some((shown) => isSameClaim(shown, claim)));
      if (approval.decision === 'deny' || approval.args || covers) {
        this.#addRules(approval, call, verdict);
        return this.#settle(call, verdict, approval, scope);
      }
    }
    const approve = this.#approve ?? scope.approve;
    if (verdict.action === 'ask' && approve) return this.#ask(call, approve, scope, isUnchanged);
    if (verdict.action !== 'allow') throw this.#refused(call, verdict, scope);
    this.#allowed(call, verdict.by, scope);
    return undefined;
  }

  /**
   * Admits a call that only makes another call of this hub, unless a rule denies it: the other one is evaluated itself.
   *
   * @throws {ToolError} PERMISSION_DENIED
   */
  admitDelegating(call: PreparedCall, scope: CallScope): undefined {
    const verdict = this.#rules.evaluate(call.tool.name, call.claims);
    if (verdict.action === 'deny') throw this.#refused(call, verdict, scope);
  }

  /**
   * Admits a call whose arguments an approver edited.
   *
   * @throws {ToolError} PERMISSION_DENIED for a call that is denied, or whose effects the tool cannot tell
   */
  admitEdited(call: PreparedCall, scope: CallScope): void {
    const verdict = this.#rules.evaluate(call.tool.name, call.claims);
    if (verdict.action === 'deny') throw this.#refused(call, verdict, scope);
    const unknown = call.claims.find(({ understood }) => !understood);
    if (unknown) {
      this.#decided(call, 'deny', 'approval', scope);
      const why = `The edited arguments of ${call.tool.name} do not run: ${reasonOf(call.tool, { ...verdict, claim: unknown })}`;
      throw this.#refusal('PERMISSION_DENIED', call, `${why}.`, verdict);
    }
    this.#allowed(call, 'approval', scope);
  }

  async #ask(
    call: PreparedCall,
    approve: Asker,
    scope: CallScope,
    isUnchanged: () => Promise<boolean>,
  ): Promise<Admission | undefined> {
    const release = scope.hold();
    try {
      for (;;) {
        const answer = await this.#answerOf(call, approve, scope, isUnchanged);
        const verdict = this.#rules.evaluate(call.tool.name, call.claims);
        if (answer) return this.#settle(call, verdict, answer, scope);
        // A rule added by another answer has decided this call.
        if (verdict.action === 'deny') throw this.#refused(call, verdict, scope);
        if (verdict.action === 'allow') {
          this.#allowed(call, 'approval', scope);
          return undefined;
        }
      }
    } finally {
      release();
    }
  }

  async #answerOf(
    call: PreparedCall,
    approve: Asker,
    scope: CallScope,
    isUnchanged: () => Promise<boolean>,
  ): Promise<Approval | undefined> {
    const { name } = call.tool;
    const { callId, sessionId } = scope;
    const args = canonicalJson(call.args);
    // Arguments that are not JSON cannot be compared: such a question is never shared.
    const key = JSON.stringify([sessionId ?? null, name, args ?? `call ${callId}`, args !== undefined, call.claims]);
    try {
      return await this.#questions.ask(approve, key, scope, async (signal) => {
        const verdict = this.#rules.evaluate(name, call.claims);
        if (verdict.action !== 'ask') return undefined;
        const approval = parseApproval(await this.#reported(call, scope, approve, requestOf(call, verdict), signal));
        // "Always" applies to what was shown: a call that has ended or changed adds no rule.
        if (approval.decision !== 'always' || signal.aborted || !(await isUnchanged())) return approval;
        // Nor does one that the policy, which may have been replaced meanwhile, now denies.
        if (this.#rules.evaluate(name, call.claims).action !== 'deny') this.#addRules(approval, call, verdict);
        return approval;
      });
    } catch (thrown) {
      if (scope.error) throw scope.error;
      throw this.#approvalFailed(call, thrown, this.#rules.evaluate(name, call.claims), scope);
    }
  }

  /** Asks the question, and reports that it was asked and how that ended. */
  async #reported(
    call: PreparedCall,
    { callId, sessionId }: CallScope,
    approve: Asker,
    request: ApprovalRequest,
    signal: AbortSignal,
  ): Promise<unknown> {
    const about = { callId, ...(sessionId !== undefined && { sessionId }), tool: call.tool.name };
    const { reason, claims } = request;
    this.#stream.emit('approval.asked', { ...about, data: { reason, claims: claims.map(({ pattern }) => pattern) } });
    const expired = (): void => this.#stream.emit('approval.expired', about);
    signal.addEventListener('abort', expired, { once: true });
    try {
      const answer: unknown = await approve(request, { callId, sessionId, signal });
      const { decision } = Object(answer) as Partial<Approval>;
      if (!signal.aborted) this.#stream.emit('approval.answered', { ...about, data: { decision: decision ?? 'none' } });
      return answer;
    } finally {
      signal.removeEventListener('abort', expired);
    }
  }

  #parse(call: PreparedCall, given: unknown, verdict: Verdict, scope: CallScope): Approval {
    try {
      return parseApproval(given);
    } catch (thrown) {
      throw this.#approvalFailed(call, thrown, verdict, scope);
    }
  }

  /** An approve callback that throws, or returns something invalid, denies the call. */
  #approvalFailed(call: PreparedCall, thrown: unknown, verdict: Verdict, scope: CallScope): ToolError {
    this.#decided(call, 'deny', 'approval', scope);
    const { message } = ToolError.from(thrown);
    return this.#refusal('PERMISSION_DENIED', call, `The approval of ${call.tool.name} failed: ${message}`, verdict);
  }

  /** Adds the rules of an "always"; none for a call with unknown effects or edited arguments, which is allowed only once. */
  #addRules({ decision, rules, args }: Approval, call: EvaluatedCall, { open }: Verdict): void {
    if (decision !== 'always' || args !== undefined || !open.every(({ understood }) => understood)) return;
    const added = this.#rules.add(rules ?? suggestRules(call.tool.name, open));
    if (added.length === 0) return;
    for (const rule of added) {
      this.#stream.emit('policy.rule', { tool: call.tool.name, data: { rule: { ...rule } } });
      this.#notify(() => this.#events.onRuleAdded?.({ ...rule }));
    }
    this.#rulesChanged();
  }

  #settle(call: PreparedCall, verdict: Verdict, approval: Approval, scope: CallScope): Admission | undefined {
    const { decision, message, args } = approval;
    const { name } = call.tool;
    if (decision === 'deny') {
      this.#decided(call, 'deny', 'approval', scope);
      const why = message === undefined ? '' : ` The answer: ${message}`;
      const text = `The call of ${name} was not approved. Do not repeat it unchanged.${why}`;
      throw this.#refusal('PERMISSION_DENIED', call, text, verdict);
    }
    const admission = message === undefined ? undefined : { message };
    if (args !== undefined) return { ...admission, args };
    // Another answer may have denied it meanwhile.
    if (this.#rules.evaluate(name, call.claims).action === 'deny') {
      this.#decided(call, 'deny', 'approval', scope);
      throw this.#refusal('PERMISSION_DENIED', call, `${name} was denied while its approval was pending.`, verdict);
    }
    this.#allowed(call, 'approval', scope);
    return admission;
  }

  #allowed(call: PreparedCall, by: PolicyDecision['by'], scope: CallScope): void {
    const permits = this.#rules.permitsBelow(call.tool.name, call.claims);
    if (permits) scope.narrow(permits);
    this.#decided(call, 'allow', by, scope);
  }

  #refused(call: EvaluatedCall, verdict: Verdict, scope: CallScope): ToolError {
    this.#decided(call, verdict.action, verdict.by, scope);
    const reason = reasonOf(call.tool, verdict);
    if (verdict.action === 'deny')
      return this.#refusal('PERMISSION_DENIED', call, `${reason}. Continue without it, or change the policy.`, verdict);
    const rules = suggestRules(call.tool.name, verdict.open);
    const hint =
      rules.length > 0
        ? ` To allow it, add ${rules.map((rule) => JSON.stringify(rule)).join(', ')} to the policy, or give it an approve callback.`
        : '';
    return this.#refusal(
      'APPROVAL_REQUIRED',
      call,
      `${reason}, but nothing can answer: the policy has no approve callback.${hint}`,
      verdict,
      rules,
    );
  }

  #refusal(
    code: 'PERMISSION_DENIED' | 'APPROVAL_REQUIRED',
    call: EvaluatedCall,
    message: string,
    verdict: Verdict,
    rules: readonly PolicyRule[] = [],
  ): ToolError {
    return new ToolError(code, message, {
      tool: call.tool.name,
      details: {
        claim: verdict.claim.pattern,
        ...(verdict.rule && { rule: { ...verdict.rule } }),
        ...(rules.length > 0 && { suggestedRules: rules }),
      },
    });
  }

  #decided(
    call: EvaluatedCall,
    decision: PolicyDecision['decision'],
    by: PolicyDecision['by'],
    scope: CallScope,
  ): void {
    if (this.#stream.hasListeners) {
      const { callId, parentCallId, sessionId } = scope;
      const claims = call.claims.map(({ pattern }) => pattern);
      const data = { decision, by, claims };
      this.#stream.emit('call.judged', { callId, parentCallId, sessionId, tool: call.tool.name, data });
    }
    const { onDecision } = this.#events;
    if (!onDecision) return;
    const event = {
      name: call.tool.name,
      claims: call.claims,
      decision,
      by,
      callId: scope.callId,
      at: new Date().toISOString(),
    };
    this.#notify(() => onDecision(event));
  }

  #notify(listener: () => unknown): void {
    callSafely(listener, (message) => this.#warn(`A policy listener threw: ${message}`));
  }
}

/** Why a tool that only makes another call of its hub is not asked about. */
export function delegatingReason({ name }: EvaluatedCall['tool']): string {
  return `${name} runs: the policy judges the call that it makes.`;
}

/** The request that a person is shown: copies, never shortened. */
function requestOf(call: PreparedCall, verdict: Verdict): ApprovalRequest {
  const { name, annotations } = call.tool;
  const wider = widerRules(name, verdict.open);
  return {
    tool: name,
    claims: verdict.open.map((claim) => ({ ...claim })),
    args: structuredClone(call.args),
    annotations: { ...annotations },
    reason: reasonOf(call.tool, verdict),
    suggestedRules: suggestRules(name, verdict.open),
    ...(wider && { wider }),
  };
}

const APPROVAL_KEYS: OptionNames<Approval> = { decision: true, rules: true, message: true, args: true };

function parseApproval(value: unknown): Approval {
  const { decision, rules, message, args } = (value ?? {}) as Partial<Approval>;
  const faults = optionFaults(Object(value) as object, APPROVAL_KEYS);
  if (faults.length > 0) throw new ToolError('INVALID_ARGUMENT', `approve(): ${faults.join('; ')}.`);
  if (decision !== 'once' && decision !== 'always' && decision !== 'deny') {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `approve() must return { decision: "once" | "always" | "deny" }, not ${JSON.stringify(value)}.`,
    );
  }
  if (rules !== undefined && !Array.isArray(rules))
    throw new ToolError('INVALID_ARGUMENT', 'the rules of an approval must be an array.');
  if (message !== undefined && typeof message !== 'string')
    throw new ToolError('INVALID_ARGUMENT', 'the message of an approval must be a string.');
  if (args !== undefined && !isJsonObject(args))
    throw new ToolError('INVALID_ARGUMENT', 'the args of an approval must be an object of arguments.');
  return {
    decision,
    ...(rules && { rules }),
    ...(message !== undefined && message !== '' && { message }),
    ...(args && { args: copyJson(args) }),
  };
}

function isSameClaim(one: PermissionClaim, other: PermissionClaim): boolean {
  return one.pattern === other.pattern && one.match === other.match && one.understood === other.understood;
}
