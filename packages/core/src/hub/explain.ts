// explain(): why a call would run, need an approval or be refused, as a sentence and as data.

import { aliasOf } from '../adapters/alias.js';
import { isMadeBy } from '../contract/brand.js';
import { CallScope } from '../call/call-scope.js';
import { ToolError, type ToolErrorInfo } from '../contract/errors.js';
import type { JsonObject } from '../contract/json.js';
import type { PreparedCall, ProviderState, ToolProvider } from '../contract/tool-provider.js';
import type { PermissionClaim } from '../contract/claims.js';
import { isForViewsOnly, type ToolDefinition } from '../contract/tool-definition.js';
import { delegatingReason, type PolicyGate } from './policy/policy-gate.js';
import { prepareMemberCall } from './prepare-call.js';
import { delegationOf } from '../provider/delegation.js';
import { nameClaim, validatorOf } from '../provider/prepared-call.js';
import type { HubMember } from './member.js';
import { reasonOf, type Verdict } from './policy/policy.js';
import type { PolicyAction, PolicyRule } from '../contract/approval.js';
import type { Route } from './routing.js';
import { estimateTokens } from './token-estimate.js';

/** What {@link ToolHub.explain} returns. */
export interface Explanation {
  /** The name that `explain` was called with, qualified where the tool is known. */
  name: string;
  /** The provider that the name is routed to. */
  provider?: string;
  /** The providers on the way to the tool, from {@link provider} inwards. Present if that is a hub. */
  route?: readonly string[];
  /** That provider's state. */
  state?: ProviderState;
  /** True when the tool is listed from before a failure of its provider. */
  stale?: true;
  /** Whether the tool is approved as it is now. Absent if its provider is not pinned. */
  pin?: 'approved' | 'quarantined';
  /** The tool's name for model APIs that do not allow a dot. */
  alias?: string;
  /** True for a tool that is not listed: it is quarantined, or the policy denies it for all arguments. */
  hidden?: true;
  /** True for a tool that is listed for views of MCP Apps only, not for models. */
  viewsOnly?: true;
  /** True when a call would run, immediately or once approved. */
  available: boolean;
  /** One sentence: why the call runs, needs an approval, or cannot be made. */
  reason: string;
  /** The policy's verdict; absent without a policy, and when the arguments were rejected before it. */
  policy?: {
    /** What the policy does with the call. */
    action: PolicyAction;
    /** What decided it. */
    by: 'rule' | 'approval' | 'default';
    /** The rule that decided it, if one did. */
    rule?: PolicyRule;
    /** The claims that were evaluated. */
    claims: readonly PermissionClaim[];
  };
  /** Why the call would be refused before the policy is evaluated. */
  error?: ToolErrorInfo;
  /** False when the schema of a foreign tool cannot be enforced, so that its arguments are sent unchecked. */
  schemaEnforced?: boolean;
  /** Why the schema is not enforced. */
  schemaFault?: string;
  /** Rules of the policy that have no effect: they match no tool, or their pattern has an unclosed quote. */
  warnings?: readonly string[];
  /** What the tool's listing costs in each request, as {@link estimateTokens} estimates. Absent if it is not listed. */
  tokenEstimate?: number;
}

const PREPARE_TIMEOUT_MS = 10_000;

export async function explainCall(
  name: string,
  args: JsonObject | undefined,
  route: Route | undefined,
  hub: object,
  gate: PolicyGate | undefined,
  notFound: () => ToolError,
): Promise<Explanation> {
  if (!route) {
    const error = notFound().toInfo();
    return { name, available: false, reason: error.message, error };
  }
  const { member, name: qualified } = route;
  const { state, stale, error } = member.status();
  const tool = member.tools.get(qualified);
  const routed = { provider: member.name, state, ...(stale && { stale }) };
  const named = tool ? { name: tool.name, alias: aliasOf(tool.name), ...routed } : { name, ...routed };
  if (error && !member.connected) {
    const reason = `The provider "${member.name}" is ${state}: ${error.message}`;
    return { ...named, available: false, reason, error };
  }
  if (!tool) {
    if (member.connected) {
      const unknown = member.tools.notFound(qualified).toInfo();
      return { ...named, available: false, reason: unknown.message, error: unknown };
    }
    const reason = `The provider "${member.name}" is ${state}; its tools are known once it connects.`;
    return { ...named, available: false, reason };
  }
  const refusal = member.tools.refusalOf(tool);
  if (refusal) {
    const isQuarantined = member.tools.quarantined.some((row) => row.name === tool.name);
    const refused = { hidden: true, available: false, reason: refusal.message, error: refusal.toInfo() } as const;
    return { ...named, ...(isQuarantined && { pin: 'quarantined' }), ...refused };
  }
  const pin = member.isPinned ? ({ pin: 'approved' } as const) : undefined;
  const denied = gate?.deniedOutright(tool.name);
  if (gate && denied) {
    return {
      ...named,
      ...pin,
      hidden: true,
      ...explained(tool, denied, denied.open),
      reason: `${reasonOf(tool, denied)}, for all arguments, so it is not listed.`,
    };
  }
  const known = {
    ...named,
    ...pin,
    ...schemaEnforcement(member, tool),
    ...(isForViewsOnly(tool)
      ? { viewsOnly: true as const }
      : { tokenEstimate: estimateTokens([member.tools.shown(tool)]) }),
  };
  let claims: readonly PermissionClaim[] | undefined;
  if (args !== undefined) {
    const prepared = await prepare(member, tool.name, args);
    const refusal = prepared instanceof ToolError ? prepared.toInfo() : prepared.refused?.error;
    if (refusal) return { ...known, available: false, reason: refusal.message, error: refusal };
    claims = (prepared as PreparedCall).claims;
  }
  const own = !gate
    ? { available: true, reason: `${tool.name} runs: the hub has no policy.` }
    : delegationOf(tool)?.hub === hub && gate.evaluate(tool.name, claims ?? nameClaims(tool)).action !== 'deny'
      ? { available: true, reason: delegatingReason(tool) }
      : evaluated(tool, claims, gate);
  const inner = isMadeBy('ToolHub', member.provider)
    ? await (member.provider as ToolProvider & Explaining).explain(tool.name, args)
    : undefined;
  if (!inner) return { ...known, ...own };
  const innermost = inner.provider === undefined ? [] : [inner.provider];
  const found = { route: [member.name, ...(inner.route ?? innermost)], ...(inner.pin && { pin: inner.pin }) };
  return { ...known, ...found, ...stricter(own, inner), ...schemaOf(inner) };
}

/** Whether the schema of a foreign tool is enforced. */
function schemaEnforcement(
  member: HubMember,
  tool: ToolDefinition,
): Pick<Explanation, 'schemaEnforced' | 'schemaFault'> {
  const { provider } = member;
  const isListed = !provider.prepareCall || provider.kind === 'process' || provider.kind === 'mcp';
  const validator = isListed ? validatorOf(tool) : undefined;
  return validator instanceof Error
    ? { schemaEnforced: false, schemaFault: validator.message }
    : { schemaEnforced: true };
}

interface Explaining {
  explain(name: string, args?: JsonObject): Promise<Explanation>;
}

const STRICTNESS: readonly PolicyAction[] = ['allow', 'ask', 'deny'];

/** A call passes both hubs, so the stricter verdict holds. */
function stricter(
  outer: Pick<Explanation, 'available' | 'reason' | 'policy'>,
  inner: Explanation,
): Pick<Explanation, 'available' | 'reason' | 'policy' | 'error'> {
  const strictnessOf = ({ available, policy }: Pick<Explanation, 'available' | 'policy'>): number =>
    available ? STRICTNESS.indexOf(policy?.action ?? 'allow') : STRICTNESS.length;
  const isInner = strictnessOf(inner) > strictnessOf(outer) || (!outer.policy && inner.policy !== undefined);
  if (!isInner) return outer;
  const { available, reason, policy, error } = inner;
  return { available, reason, ...(policy && { policy }), ...(error && { error }) };
}

function schemaOf({ schemaEnforced, schemaFault }: Explanation): Pick<Explanation, 'schemaEnforced' | 'schemaFault'> {
  return { ...(schemaEnforced !== undefined && { schemaEnforced }), ...(schemaFault !== undefined && { schemaFault }) };
}

/** Prepares the call, within a time limit, or returns why it cannot be prepared. */
async function prepare(member: HubMember, name: string, args: JsonObject): Promise<PreparedCall | ToolError> {
  const scope = new CallScope();
  scope.setDeadline(PREPARE_TIMEOUT_MS);
  try {
    return await scope.race(Promise.resolve(prepareMemberCall(member, name, args, scope)));
  } catch (thrown) {
    return ToolError.from(thrown, 'INTERNAL');
  } finally {
    scope.close();
  }
}

function evaluated(
  tool: ToolDefinition,
  claims: readonly PermissionClaim[] | undefined,
  gate: PolicyGate,
): Pick<Explanation, 'available' | 'reason' | 'policy'> {
  const evaluatedClaims = claims ?? nameClaims(tool);
  const explanation = explained(tool, gate.evaluate(tool.name, evaluatedClaims), evaluatedClaims);
  return claims
    ? explanation
    : { ...explanation, reason: `${explanation.reason.slice(0, -1)}; rules with a pattern depend on the arguments.` };
}

function nameClaims(tool: ToolDefinition): readonly PermissionClaim[] {
  return [nameClaim(tool.name)];
}

function explained(
  tool: ToolDefinition,
  verdict: Verdict,
  claims: readonly PermissionClaim[],
): Pick<Explanation, 'available' | 'reason' | 'policy'> {
  const { action, by, rule } = verdict;
  return {
    available: action !== 'deny',
    reason: `${reasonOf(tool, verdict)}.`,
    policy: { action, by, ...(rule && { rule }), claims },
  };
}
