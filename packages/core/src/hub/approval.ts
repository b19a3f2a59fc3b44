// The policy at work on one call: judge its claims, ask where the rules say so, record the decision.

import type { CallScope } from '../call-scope.js';
import { ToolError } from '../errors.js';
import { callSafely } from '../listeners.js';
import type { PermissionClaim, PreparedCall } from '../tool-provider.js';
import {
  PolicyRules,
  reasonOf,
  suggestRules,
  widerRules,
  type Approval,
  type Policy,
  type PolicyDecision,
  type PolicyRule,
  type Verdict,
} from './policy.js';

/** Where the gate tells what it decided. */
export interface PolicyEvents {
  onRuleAdded?: (rule: PolicyRule) => void;
  onDecision?: (event: PolicyDecision) => void;
}

/** Stands before every call of a hub that has a policy. */
export class PolicyGate {
  readonly #rules: PolicyRules;
  readonly #approve: Policy['approve'];
  readonly #events: PolicyEvents;
  readonly #warn: (message: string) => void;

  constructor(policy: Policy, events: PolicyEvents, warn: (message: string) => void) {
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
  }

  /** What the rules say, without asking anybody. */
  judge(tool: string, claims: readonly PermissionClaim[]): Verdict {
    return this.#rules.judge(tool, claims);
  }

  /** Warns of rules that match no listed tool. `unlisted`: the servers whose tools are not known yet. */
  check(names: readonly string[], unlisted: readonly string[]): void {
    this.#rules.check(names, unlisted);
  }

  /** The warnings about rules that cannot do what they say. */
  warnings(names: readonly string[], unlisted: readonly string[]): readonly string[] {
    return this.#rules.warnings(names, unlisted);
  }

  /**
   * Lets an allowed call pass, at once or after an approval.
   *
   * @throws {ToolError} PERMISSION_DENIED, APPROVAL_REQUIRED, or what ended the call while it was asked about
   */
  pass(call: PreparedCall, scope: CallScope): void | Promise<void> {
    const verdict = this.#rules.judge(call.tool.name, call.claims);
    const permits = this.#rules.permitsBelow(call.tool.name, call.claims);
    if (permits) scope.narrow(permits);
    const approve = this.#approve ?? scope.approve;
    if (verdict.action === 'ask' && approve) return this.#ask(call, verdict, approve, scope);
    this.#decided(call, verdict.action, verdict.by, scope);
    if (verdict.action === 'allow') return;
    const reason = reasonOf(call.tool, verdict);
    if (verdict.action === 'deny')
      throw this.#refusal('PERMISSION_DENIED', call, `${reason}. Do without it, or change the policy.`, verdict);
    const rules = suggestRules(call.tool.name, verdict.open);
    const hint =
      rules.length > 0
        ? ` To allow it, add ${rules.map((rule) => JSON.stringify(rule)).join(', ')} to the policy, or give it an approve callback.`
        : '';
    throw this.#refusal('APPROVAL_REQUIRED', call, `${reason}, and nobody is there to give it.${hint}`, verdict, rules);
  }

  async #ask(
    call: PreparedCall,
    verdict: Verdict,
    approve: NonNullable<Policy['approve']>,
    scope: CallScope,
  ): Promise<void> {
    const suggestedRules = suggestRules(call.tool.name, verdict.open);
    const wider = widerRules(call.tool.name, verdict.open);
    let approval: Approval;
    const resume = scope.hold(); // the clocks of hubs around this one too
    try {
      const request = {
        tool: call.tool.name,
        claims: verdict.open.map((claim) => ({ ...claim })),
        args: structuredClone(call.args),
        annotations: { ...call.tool.annotations },
        reason: reasonOf(call.tool, verdict),
        suggestedRules: suggestedRules.map((rule) => ({ ...rule })),
        ...(wider && { wider }),
      };
      const { callId, sessionId, signal } = scope;
      approval = parseApproval(await scope.race((async () => approve(request, { callId, sessionId, signal }))()));
      // What was not understood is allowed this once at most, whatever rules the answer carries.
      if (approval.decision === 'always' && verdict.open.every(({ understood }) => understood)) {
        const added = this.#rules.add(approval.rules ?? suggestedRules);
        for (const rule of added) this.#tell(() => this.#events.onRuleAdded?.({ ...rule }));
      }
    } catch (thrown) {
      if (scope.error) throw scope.error;
      // A check that fails refuses: an approval that threw, or said something else, is no approval.
      this.#decided(call, 'deny', 'approval', scope);
      const { message } = ToolError.from(thrown);
      throw this.#refusal('PERMISSION_DENIED', call, `The approval of ${call.tool.name} failed: ${message}`, verdict);
    } finally {
      resume();
    }
    if (approval.decision === 'deny') {
      this.#decided(call, 'deny', 'approval', scope);
      throw this.#refusal(
        'PERMISSION_DENIED',
        call,
        `The call of ${call.tool.name} was not approved. Do not repeat it unchanged.`,
        verdict,
      );
    }
    // Meanwhile another answer may have denied it.
    if (this.#rules.judge(call.tool.name, call.claims).action === 'deny') {
      this.#decided(call, 'deny', 'approval', scope);
      throw this.#refusal('PERMISSION_DENIED', call, `${call.tool.name} was denied while it was asked about.`, verdict);
    }
    this.#decided(call, 'allow', 'approval', scope);
  }

  #refusal(
    code: 'PERMISSION_DENIED' | 'APPROVAL_REQUIRED',
    call: PreparedCall,
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

  #decided(call: PreparedCall, decision: PolicyDecision['decision'], by: PolicyDecision['by'], scope: CallScope): void {
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
    this.#tell(() => onDecision(event));
  }

  #tell(listener: () => unknown): void {
    callSafely(listener, (message) => this.#warn(`A policy listener threw: ${message}`));
  }
}

function parseApproval(value: unknown): Approval {
  const { decision, rules } = (value ?? {}) as Partial<Approval>;
  if (decision !== 'once' && decision !== 'always' && decision !== 'deny') {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `approve() must give { decision: "once" | "always" | "deny" }, not ${JSON.stringify(value)}.`,
    );
  }
  if (rules !== undefined && !Array.isArray(rules))
    throw new ToolError('INVALID_ARGUMENT', 'the rules of an approval must be an array.');
  return rules ? { decision, rules } : { decision };
}
