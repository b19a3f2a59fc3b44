// The rules of a policy: which claims are allowed, denied or need an approval. Knows claims, not tools.

import { ToolError } from '../../contract/errors.js';
import { optionFaults, type OptionNames } from '../../contract/options.js';
import { isClosed, isLiteral, showHidden } from '../../contract/shell-words.js';
import type { PermissionClaim } from '../../contract/claims.js';
import type { ToolDefinition } from '../../contract/tool-definition.js';
import { escapeGlob } from '../../provider/name-pattern.js';
import { matchesTool } from '../../provider/tool-selection.js';
import { coversClaim, coversEverything, namesNoTool } from './rule-match.js';
import type { Approval, ApprovalContext, ApprovalRequest, PolicyAction, PolicyRule } from '../../contract/approval.js';

/**
 * Decides which calls run. For each claim, the first match of this list applies: a `deny` rule, a rule that an approval
 * added, an `ask` rule, an `allow` rule, the default. A call runs when all its claims are allowed; one denied claim
 * denies it.
 */
export interface Policy {
  /** The rules, in any order. */
  rules: readonly PolicyRule[];
  /** What happens to a claim that no rule matches. */
  default: PolicyAction;
  /** Called when the verdict is `ask`; the call's deadline is paused meanwhile. Default: the caller's `approve`, else the call fails with `APPROVAL_REQUIRED`. */
  approve?: (request: ApprovalRequest, context: ApprovalContext) => Approval | Promise<Approval>;
}

/** One decision, for the audit log. */
export interface PolicyDecision {
  /** The qualified name of the tool. */
  name: string;
  /** The claims of the call. */
  claims: readonly PermissionClaim[];
  /** What was decided. */
  decision: PolicyAction;
  /** What decided it: a rule, a person or program, or the default. */
  by: 'rule' | 'approval' | 'default';
  /** The call's id in logs and events. */
  callId: string;
  /** When it was made, in ISO 8601. */
  at: string;
}

/** The outcome of evaluating one call, and the claim that decided it. */
export interface Verdict {
  action: PolicyAction;
  by: 'rule' | 'approval' | 'default';
  claim: PermissionClaim;
  rule: PolicyRule | undefined;
  /** The claims that are not yet allowed. */
  open: readonly PermissionClaim[];
}

interface ClaimVerdict {
  action: PolicyAction;
  by: 'rule' | 'approval' | 'default';
  rule: PolicyRule | undefined;
}

const ACTIONS: ReadonlySet<unknown> = new Set<PolicyAction>(['allow', 'ask', 'deny']);
const SEVERITY: Record<PolicyAction, number> = { allow: 0, ask: 1, deny: 2 };

/** The rules of one hub: its policy's, and those that approvals added. */
export class PolicyRules {
  #rules: readonly PolicyRule[] = [];
  #default: PolicyAction = 'deny';
  readonly #approved: PolicyRule[] = [];
  /** Rules whose pattern has an unclosed quote; reported when they are compared with a claim of words. */
  readonly #unclosed = new Set<PolicyRule>();
  /** The warnings so far, by rule: each rule is reported once. */
  readonly #warnings = new Map<PolicyRule, string>();
  readonly #warn: (message: string) => void;
  /** Caches the rules whose glob matches a tool. */
  readonly #byTool = new Map<string, ToolRules>();

  /** @throws {ToolError} INVALID_ARGUMENT for an invalid rule or default */
  constructor(policy: Pick<Policy, 'rules' | 'default'>, warn: (message: string) => void = () => undefined) {
    this.#warn = warn;
    this.replace(policy);
  }

  /**
   * Replaces the rules of the policy, and keeps those that approvals added.
   *
   * @throws {ToolError} INVALID_ARGUMENT for an invalid rule or default; nothing is replaced then
   */
  replace(policy: Pick<Policy, 'rules' | 'default'>): void {
    if (!ACTIONS.has(policy.default)) {
      throw new ToolError(
        'INVALID_ARGUMENT',
        `policy.default must be "allow", "ask" or "deny", not ${JSON.stringify(policy.default)}.`,
      );
    }
    if (!Array.isArray(policy.rules))
      throw new ToolError('INVALID_ARGUMENT', 'policy.rules must be an array of rules.');
    // Copies, so that the rules that were checked are the rules that apply.
    const rules = (policy.rules as readonly PolicyRule[]).map((rule, index) =>
      parseRule(rule, `policy.rules[${index}]`),
    );
    this.#rules = rules;
    this.#default = policy.default;
    this.#unclosed.clear();
    this.#warnings.clear();
    for (const rule of [...rules, ...this.#approved]) this.#noteUnclosed(rule);
    this.#byTool.clear();
  }

  /** The strictest verdict over all claims. */
  evaluate(tool: string, claims: readonly PermissionClaim[]): Verdict {
    const rules = this.#rulesFor(tool);
    let strictest: Verdict | undefined;
    const open: PermissionClaim[] = [];
    for (const claim of claims) {
      if (this.#unclosed.size > 0) this.#warnOfUnclosed(tool, claim);
      const verdict = this.#evaluateClaim(rules, claim);
      if (verdict.action !== 'allow') open.push(claim);
      if (!strictest || SEVERITY[verdict.action] > SEVERITY[strictest.action]) {
        strictest = { action: verdict.action, by: verdict.by, rule: verdict.rule, claim, open };
      }
    }
    if (!strictest)
      throw new ToolError(
        'INTERNAL',
        `The call of "${tool}" has no claims; a call without claims cannot be evaluated.`,
      );
    return strictest;
  }

  /** The verdict on a tool that is denied for all arguments; undefined for any other tool. */
  deniedOutright(tool: string): Verdict | undefined {
    const { outright } = this.#rulesFor(tool);
    if (!outright) return undefined;
    const claim: PermissionClaim = { pattern: bareName(tool), match: 'glob', understood: true };
    return { ...outright, claim, open: [claim] };
  }

  /**
   * Returns a predicate for what an allowed call with these claims may access below them (the files of a directory, say):
   * everything but what a rule with a pattern denies, or asks about without having matched these claims. Undefined when no
   * rule restricts it. The default does not apply: a claim covers what is below it.
   */
  permitsBelow(tool: string, claims: readonly PermissionClaim[]): ((pattern: string) => boolean) | undefined {
    const { deniedInPart, askedInPart, allowedByApproval } = this.#rulesFor(tool);
    if (deniedInPart.length === 0 && askedInPart.length === 0) return undefined;
    const asked = askedInPart.filter((rule) => !claims.some((claim) => find([rule], claim)));
    return (pattern) => {
      const claim: PermissionClaim = { pattern, match: 'glob', understood: true };
      if (find(deniedInPart, claim)) return false;
      return !find(asked, claim) || find(allowedByApproval, claim) !== undefined;
    };
  }

  /** Adds the rules of an approval; returns those that are new. @throws {ToolError} INVALID_ARGUMENT for an invalid rule */
  add(rules: readonly PolicyRule[]): readonly PolicyRule[] {
    const parsed = rules.map((rule, index) => parseRule(rule, `rules[${index}] of the approval`));
    const added: PolicyRule[] = [];
    for (const rule of parsed) {
      if (this.#approved.some((known) => isSameRule(known, rule))) continue;
      this.#noteUnclosed(rule);
      this.#approved.push(rule);
      added.push(rule);
    }
    if (added.length > 0) this.#byTool.clear();
    return added;
  }

  /** Warns once of each rule that matches no listed tool. See {@link namesNoTool}. */
  check(names: readonly string[], unlisted: readonly string[]): void {
    for (const rule of [...this.#rules, ...this.#approved]) {
      if (this.#warnings.has(rule) || !namesNoTool(rule.tool, names, unlisted)) continue;
      this.#noteProblem(rule, `matches no tool: there is no tool "${rule.tool}". Check the server's name`);
    }
  }

  /** The warnings that still apply. */
  warnings(names: readonly string[], unlisted: readonly string[]): readonly string[] {
    this.check(names, unlisted);
    return [...this.#warnings]
      .filter(([rule]) => this.#unclosed.has(rule) || namesNoTool(rule.tool, names, unlisted))
      .map(([, warning]) => warning);
  }

  #noteUnclosed(rule: PolicyRule): void {
    if (rule.pattern !== undefined && !isClosed(rule.pattern)) this.#unclosed.add(rule);
  }

  #warnOfUnclosed(tool: string, claim: PermissionClaim): void {
    if (claim.match !== 'tokens') return;
    for (const rule of this.#unclosed) {
      if (this.#warnings.has(rule) || !matchesTool(rule.tool, tool)) continue;
      const effect = rule.action === 'allow' ? 'allows no command' : 'matches every command';
      this.#noteProblem(rule, `has an unclosed quote in its pattern, so it ${effect}. Close the quote`);
    }
  }

  #noteProblem(rule: PolicyRule, problem: string): void {
    const warning = `The policy's rule ${describeRule(rule)} ${problem}.`;
    this.#warnings.set(rule, warning);
    this.#warn(warning);
  }

  #rulesFor(tool: string): ToolRules {
    let rules = this.#byTool.get(tool);
    if (!rules) {
      const matching = (from: readonly PolicyRule[], action: PolicyAction): PolicyRule[] =>
        from.filter((rule) => rule.action === action && matchesTool(rule.tool, tool));
      const deny = matching(this.#rules, 'deny');
      const ask = matching(this.#rules, 'ask');
      const allow = matching(this.#rules, 'allow');
      const deniedByApproval = matching(this.#approved, 'deny');
      const allowedByApproval = matching(this.#approved, 'allow');
      const deniedOutright = (): ClaimVerdict | undefined => {
        const denied = deny.find(coversEverything);
        if (denied) return { action: 'deny', by: 'rule', rule: denied };
        const refused = deniedByApproval.find(coversEverything);
        if (refused) return { action: 'deny', by: 'approval', rule: refused };
        const hasExceptions = ask.length > 0 || allow.length > 0 || allowedByApproval.length > 0;
        return this.#default === 'deny' && !hasExceptions
          ? { action: 'deny', by: 'default', rule: undefined }
          : undefined;
      };
      rules = {
        deny,
        ask,
        allow,
        deniedByApproval,
        allowedByApproval,
        deniedInPart: [...deny, ...deniedByApproval].filter(hasPattern),
        askedInPart: ask.filter(hasPattern),
        outright: deniedOutright(),
      };
      if (this.#byTool.size >= MAX_REMEMBERED_TOOLS) this.#byTool.clear(); // a server may list any number of names
      this.#byTool.set(tool, rules);
    }
    return rules;
  }

  #evaluateClaim(
    { deny, deniedByApproval, allowedByApproval, ask, allow }: ToolRules,
    claim: PermissionClaim,
  ): ClaimVerdict {
    const denied = find(deny, claim);
    if (denied) return { action: 'deny', by: 'rule', rule: denied };
    const refused = find(deniedByApproval, claim);
    if (refused) return { action: 'deny', by: 'approval', rule: refused };
    const approved = find(allowedByApproval, claim);
    if (approved) return { action: atMostAsk(claim), by: 'approval', rule: approved };
    const asked = find(ask, claim);
    if (asked) return { action: 'ask', by: 'rule', rule: asked };
    const allowed = find(allow, claim);
    if (allowed) return { action: atMostAsk(claim), by: 'rule', rule: allowed };
    return { action: this.#default === 'allow' ? atMostAsk(claim) : this.#default, by: 'default', rule: undefined };
  }
}

/** The rules of one tool, by action. */
interface ToolRules {
  deny: readonly PolicyRule[];
  ask: readonly PolicyRule[];
  allow: readonly PolicyRule[];
  deniedByApproval: readonly PolicyRule[];
  allowedByApproval: readonly PolicyRule[];
  /** Rules with a pattern: they may match a part of what a call accesses. */
  deniedInPart: readonly PolicyRule[];
  askedInPart: readonly PolicyRule[];
  /** Set when every call of the tool is denied. */
  outright: ClaimVerdict | undefined;
}

/** The rules that `always` adds for these claims; they match exactly what is shown. Empty when a claim has no exact rule. */
export function suggestRules(tool: string, claims: readonly PermissionClaim[]): PolicyRule[] {
  return rulesOf(tool, claims.map(suggestedPattern));
}

/** The rules of {@link suggestRules} with the wider patterns of the claims; undefined when there are none. */
export function widerRules(tool: string, claims: readonly PermissionClaim[]): PolicyRule[] | undefined {
  if (!claims.some(({ widerPattern }) => widerPattern !== undefined)) return undefined;
  const exact = claims.map(suggestedPattern);
  if (exact.includes(undefined)) return undefined;
  return rulesOf(
    tool,
    exact.map((pattern, index) => claims[index]?.widerPattern ?? pattern),
  );
}

function rulesOf(tool: string, patterns: readonly (string | undefined)[]): PolicyRule[] {
  const rules: PolicyRule[] = [];
  for (const pattern of new Set(patterns)) {
    if (pattern === undefined) return [];
    rules.push({ tool: escapeGlob(tool), pattern, action: 'allow' });
  }
  return rules;
}

/** The pattern that matches only this claim; undefined when there is none. */
function suggestedPattern(claim: PermissionClaim): string | undefined {
  if (!claim.understood || claim.suggestedPattern === null) return undefined;
  if (claim.suggestedPattern !== undefined) return claim.suggestedPattern;
  if (claim.match === 'glob') return escapeGlob(claim.pattern);
  return isLiteral(claim.pattern) ? claim.pattern : undefined;
}

/** Why a call is allowed, denied or needs an approval, for a person or a model. */
export function reasonOf(tool: ToolDefinition | string, { action, by, claim, rule }: Verdict): string {
  const name = typeof tool === 'string' ? tool : tool.name;
  const what = claim.pattern === bareName(name) ? name : `${name} (${showHidden(claim.pattern)})`;
  const why =
    !claim.understood && action === 'ask' ? (claim.reason ?? 'some of its effects are unknown') : claim.reason;
  const source = rule
    ? `the rule ${describeRule(rule)}`
    : by === 'default'
      ? `the policy's default "${action}"`
      : 'an approval';
  const verb = action === 'deny' ? 'is denied by' : action === 'ask' ? 'needs an approval because of' : 'is allowed by';
  return `${what} ${verb} ${source}${why ? ` (${why})` : ''}`;
}

function describeRule({ tool, pattern, action }: PolicyRule): string {
  return `{ tool: "${tool}"${pattern === undefined ? '' : `, pattern: "${pattern}"`}, action: "${action}" }`;
}

/** A claim that the tool does not fully understand always needs an approval, whatever the rules allow. */
function atMostAsk(claim: PermissionClaim): 'allow' | 'ask' {
  return claim.understood ? 'allow' : 'ask';
}

function find(rules: readonly PolicyRule[], claim: PermissionClaim): PolicyRule | undefined {
  for (const rule of rules) if (coversClaim(rule, claim)) return rule;
  return undefined;
}

function hasPattern({ pattern }: PolicyRule): boolean {
  return pattern !== undefined;
}

function isSameRule(one: PolicyRule, other: PolicyRule): boolean {
  return one.tool === other.tool && one.pattern === other.pattern && one.action === other.action;
}

function bareName(tool: string): string {
  return tool.slice(tool.indexOf('.') + 1);
}

const MAX_REMEMBERED_TOOLS = 20_000;
const RULE_KEYS: OptionNames<PolicyRule> = { tool: true, pattern: true, action: true };

function parseRule(rule: PolicyRule, where: string): PolicyRule {
  const { tool, pattern, action } = (rule ?? {}) as Partial<PolicyRule>;
  // Ignoring a misspelt `pattern` would make the rule match every call of the tool.
  const faults = optionFaults(Object(rule) as object, RULE_KEYS);
  if (faults.length > 0)
    throw new ToolError('INVALID_ARGUMENT', `${where}: ${faults.join('; ')}.`, { details: { faults } });
  if (
    typeof tool !== 'string' ||
    tool === '' ||
    !ACTIONS.has(action) ||
    !(pattern === undefined || typeof pattern === 'string')
  ) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${where} must be { tool: glob, pattern?: text, action: "allow" | "ask" | "deny" }, not ${JSON.stringify(rule)}.`,
    );
  }
  return pattern === undefined
    ? { tool, action: action as PolicyAction }
    : { tool, pattern, action: action as PolicyAction };
}
