// The policy at work on one call: judge its claims, ask where the rules say so, record the decision.

import type { CallScope } from '../../call/call-scope.js';
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
import { QuestionQueue } from './question-queue.js';

/** Where the gate tells what it decided. */
export interface PolicyEvents {
  onRuleAdded?: (rule: PolicyRule) => void;
  onDecision?: (event: PolicyDecision) => void;
}

/** What an approval says beside yes. */
export interface Admission {
  /** For the model, with the result. */
  readonly message?: string;
  /** To be prepared and judged in place of the call's own. */
  readonly args?: JsonObject;
}

/** An answer that was given before the call was made, to the claims that a verdict showed. */
export interface EarlierAnswer {
  readonly approval: Approval;
  readonly claims: readonly PermissionClaim[];
}

type EvaluatedCall = Pick<PreparedCall, 'tool' | 'claims'>;
type Asker = NonNullable<Policy['approve']>;

/** Stands before every call of a hub that has a policy. */
export class PolicyGate {
  readonly #rules: PolicyRules;
  readonly #approve: Policy['approve'];
  readonly #events: PolicyEvents;
  readonly #warn: (message: string) => void;
  readonly #rulesAdded: () => void;
  /** Undefined as an answer: nothing had to be asked when the turn came. */
  readonly #questions = new QuestionQueue<Approval | undefined>();

  constructor(policy: Policy, events: PolicyEvents, warn: (message: string) => void, rulesAdded: () => void) {
    if (typeof policy !== 'object' || (policy as unknown) === null) {
      throw new ToolError('INVALID_ARGUMENT', 'policy must be { rules, default, approve? }; leave it out for none.');
    }
    if (policy.approve !== undefined && typeof policy.approve !== 'function') {
      throw new ToolError('INVALID_ARGUMENT', 'policy.approve must be a function.');
    }
    this.#rules = new PolicyRules(policy, warn);
    this.#approve = policy.approve;
    this.#events = events;
    this.#warn = warn;
    this.#rulesAdded = rulesAdded;
  }

  /** What the rules say, without asking anybody. */
  evaluate(tool: string, claims: readonly PermissionClaim[]): Verdict {
    return this.#rules.evaluate(tool, claims);
  }

  /** Why every call of a tool is denied; undefined for a tool that some arguments may allow. */
  deniedOutright(tool: string): Verdict | undefined {
    return this.#rules.deniedOutright(tool);
  }

  /** Warns of rules that match no listed tool. `unlisted`: the servers whose tools are not known yet. */
  check(names: readonly string[], unlisted: readonly string[]): void {
    this.#rules.check(names, unlisted);
  }

  /** The warnings about rules that cannot do what they say. */
  warnings(names: readonly string[], unlisted: readonly string[]): readonly string[] {
    return this.#rules.warnings(names, unlisted);
  }

  /** What a prepared call tells of its verdict, and the claims that its request shows. */
  verdictOf(call: PreparedCall): { verdict: NonNullable<PreparedCall['verdict']>; shown: readonly PermissionClaim[] } {
    const judged = this.#rules.evaluate(call.tool.name, call.claims);
    const { action } = judged;
    const reason = `${reasonOf(call.tool, judged)}.`;
    if (action !== 'ask') return { verdict: { action, reason }, shown: [] };
    return { verdict: { action, reason, request: requestOf(call, judged) }, shown: judged.open };
  }

  /** The refusal of a call that is denied whatever its arguments, recorded as a decision; undefined for any other. */
  denyOutright(tool: EvaluatedCall['tool'], scope: CallScope): ToolError | undefined {
    const verdict = this.#rules.deniedOutright(tool.name);
    return verdict && this.#refused({ tool, claims: verdict.open }, verdict, scope);
  }

  /**
   * Lets an allowed call pass, at once or after an approval, and gives what the approval says beside yes.
   *
   * @param stands whether the call is still the one that is shown, asked before an answer adds a rule
   * @param given an answer to the verdict of this very call; used where it shows every claim that needs one
   * @throws {ToolError} PERMISSION_DENIED, APPROVAL_REQUIRED, or what ended the call while it was asked about
   */
  admit(
    call: PreparedCall,
    scope: CallScope,
    stands: () => Promise<boolean>,
    given?: EarlierAnswer,
  ): Admission | undefined | Promise<Admission | undefined> {
    const verdict = this.#rules.evaluate(call.tool.name, call.claims);
    if (given && verdict.action !== 'deny') {
      const approval = this.#parse(call, given.approval, verdict, scope);
      const covers = verdict.open.every((claim) => given.claims.some((shown) => isSameClaim(shown, claim)));
      if (approval.decision === 'deny' || approval.args || covers) {
        this.#addRules(approval, call, verdict);
        return this.#settle(call, verdict, approval, scope);
      }
    }
    const approve = this.#approve ?? scope.approve;
    if (verdict.action === 'ask' && approve) return this.#ask(call, approve, scope, stands);
    if (verdict.action !== 'allow') throw this.#refused(call, verdict, scope);
    this.#allowed(call, verdict.by, scope);
    return undefined;
  }

  /**
   * Lets a call pass whose arguments a person gave.
   *
   * @throws {ToolError} PERMISSION_DENIED for one that is denied, or not understood
   */
  admitEdited(call: PreparedCall, scope: CallScope): void {
    const verdict = this.#rules.evaluate(call.tool.name, call.claims);
    if (verdict.action === 'deny') throw this.#refused(call, verdict, scope);
    const unclear = call.claims.find(({ understood }) => !understood);
    if (unclear) {
      this.#decided(call, 'deny', 'approval', scope);
      const why = `The edited arguments of ${call.tool.name} do not run: ${reasonOf(call.tool, { ...verdict, claim: unclear })}`;
      throw this.#refusal('PERMISSION_DENIED', call, `${why}.`, verdict);
    }
    this.#allowed(call, 'approval', scope);
  }

  async #ask(
    call: PreparedCall,
    approve: Asker,
    scope: CallScope,
    stands: () => Promise<boolean>,
  ): Promise<Admission | undefined> {
    const release = scope.hold();
    try {
      for (;;) {
        const answer = await this.#answerOf(call, approve, scope, stands);
        const verdict = this.#rules.evaluate(call.tool.name, call.claims);
        if (answer) return this.#settle(call, verdict, answer, scope);
        // An answer to another question has decided this one.
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
    stands: () => Promise<boolean>,
  ): Promise<Approval | undefined> {
    const { name } = call.tool;
    const { callId, sessionId } = scope;
    const args = canonicalJson(call.args);
    // Arguments that JSON cannot tell apart are equal to none.
    const key = JSON.stringify([sessionId ?? null, name, args ?? `call ${callId}`, args !== undefined, call.claims]);
    try {
      return await this.#questions.ask(approve, key, scope, async (signal) => {
        const verdict = this.#rules.evaluate(name, call.claims);
        if (verdict.action !== 'ask') return undefined;
        const approval = parseApproval(await approve(requestOf(call, verdict), { callId, sessionId, signal }));
        // "Always" is about what was shown: a call that has ended, or is another one by now, adds no rule.
        if (approval.decision === 'always' && !signal.aborted && (await stands()))
          this.#addRules(approval, call, verdict);
        return approval;
      });
    } catch (thrown) {
      if (scope.error) throw scope.error;
      throw this.#approvalFailed(call, thrown, this.#rules.evaluate(name, call.claims), scope);
    }
  }

  #parse(call: PreparedCall, given: unknown, verdict: Verdict, scope: CallScope): Approval {
    try {
      return parseApproval(given);
    } catch (thrown) {
      throw this.#approvalFailed(call, thrown, verdict, scope);
    }
  }

  /** A check that fails refuses: an approval that threw, or said something else, is no approval. */
  #approvalFailed(call: PreparedCall, thrown: unknown, verdict: Verdict, scope: CallScope): ToolError {
    this.#decided(call, 'deny', 'approval', scope);
    const { message } = ToolError.from(thrown);
    return this.#refusal('PERMISSION_DENIED', call, `The approval of ${call.tool.name} failed: ${message}`, verdict);
  }

  /** What was not understood, or is changed by the answer, is allowed this once at most, whatever rules it carries. */
  #addRules({ decision, rules, args }: Approval, call: EvaluatedCall, { open }: Verdict): void {
    if (decision !== 'always' || args !== undefined || !open.every(({ understood }) => understood)) return;
    const added = this.#rules.add(rules ?? suggestRules(call.tool.name, open));
    if (added.length === 0) return;
    for (const rule of added) this.#notify(() => this.#events.onRuleAdded?.({ ...rule }));
    this.#rulesAdded();
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
    const said = message === undefined ? undefined : { message };
    if (args !== undefined) return { ...said, args };
    // Another answer may have denied it meanwhile.
    if (this.#rules.evaluate(name, call.claims).action === 'deny') {
      this.#decided(call, 'deny', 'approval', scope);
      throw this.#refusal('PERMISSION_DENIED', call, `${name} was denied while it was asked about.`, verdict);
    }
    this.#allowed(call, 'approval', scope);
    return said;
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
      return this.#refusal('PERMISSION_DENIED', call, `${reason}. Do without it, or change the policy.`, verdict);
    const rules = suggestRules(call.tool.name, verdict.open);
    const hint =
      rules.length > 0
        ? ` To allow it, add ${rules.map((rule) => JSON.stringify(rule)).join(', ')} to the policy, or give it an approve callback.`
        : '';
    return this.#refusal(
      'APPROVAL_REQUIRED',
      call,
      `${reason}, and nobody is there to give it.${hint}`,
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

/** What a person is shown: copies, whole and never shortened. */
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
      `approve() must give { decision: "once" | "always" | "deny" }, not ${JSON.stringify(value)}.`,
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

/** JSON text that is the same for equal values, whatever the order of their keys; undefined for what is no JSON. */
function canonicalJson(value: unknown): string | undefined {
  let isJson = true;
  const sorted = (each: unknown): unknown => {
    if (Array.isArray(each)) return each.map(sorted);
    if (typeof each === 'object' && each !== null) {
      const prototype: unknown = Object.getPrototypeOf(each);
      if (prototype !== Object.prototype && prototype !== null) isJson = false;
      const entries = Object.entries(each).filter(([, item]) => item !== undefined);
      return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, sorted(item)]));
    }
    if (!(each === null || ['string', 'boolean'].includes(typeof each) || Number.isFinite(each))) isJson = false;
    return isJson ? each : null;
  };
  const text = JSON.stringify(sorted(value));
  return isJson ? text : undefined;
}
