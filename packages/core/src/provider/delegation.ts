// Tools that act on a hub for their caller: what they do is a call of that hub, which judges it. A hub that lists such a tool of
// its own does not ask about it a second time.

import type { PermissionClaim } from '../contract/claims.js';
import { quoteWord } from '../contract/shell-words.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import type { CallOptions, PreparedCall } from '../contract/tool-provider.js';
import type { Tool, ToolContext } from '../tool/define-tool.js';
import { rejectedCall } from './prepared-call.js';

/** How a tool acts for its caller. */
export interface Delegation {
  /** The hub that judges what the tool does. */
  readonly hub: object;
  /** Prepares the call that a call of the tool stands for. Absent for a tool that calls nothing. */
  readonly prepare?: (args: never, context: ToolContext) => Promise<PreparedCall>;
}

/** By tool, and by its listing. Not part of either: another server cannot claim it. */
const delegations = new WeakMap<object, Delegation>();

/** Declares that a tool acts for its caller; returns the tool. */
export function delegating(tool: Tool, delegation: Delegation): Tool {
  delegations.set(tool, delegation);
  return tool;
}

/** The delegation of a tool or of its listing; undefined for most. */
export function delegationOf(tool: Tool | ToolDefinition): Delegation | undefined {
  return delegations.get(tool);
}

/** Makes the delegation of a tool known for its listing. */
export function noteListing(tool: Tool, definition: ToolDefinition): void {
  const delegation = delegations.get(tool);
  if (delegation) delegations.set(definition, delegation);
}

/**
 * A call of a tool that acts for its caller, prepared as the call that it stands for: with its claims, its deadline, and its
 * hub's verdict, whose answer it takes.
 *
 * @param own the call of the tool itself
 */
export async function delegatedCall(
  own: PreparedCall,
  { prepare }: Delegation,
  args: unknown,
  context: ToolContext,
): Promise<PreparedCall> {
  if (!prepare) return own;
  const inner = await prepare(args as never, context);
  if (inner.refused) return rejectedCall(own.tool.name, own.tool, own.args, inner.refused);
  const { name } = inner.tool;
  const { timeoutMs, verdict } = inner;
  return {
    ...own,
    claims: inner.claims.map((claim) => namedClaim(name, claim)),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(verdict && { verdict }),
    execute: (options) => (options?.approval ? inner.execute(withoutName(options)) : own.execute(options)),
  };
}

/**
 * The claim with the tool's name before it: a rule for one tool must not cover the same path of another. The name is quoted, as
 * that of a foreign tool may have spaces.
 */
function namedClaim(tool: string, claim: PermissionClaim): PermissionClaim {
  const { match, pattern, suggestedPattern, widerPattern } = claim;
  const named = (text: string): string => `${quoteWord(tool)} ${text}`;
  const namedPattern = (text: string): string =>
    `${match === 'tokens' ? quoteWord(tool) : quoteWord(tool).replace(/[*?\\]/g, '\\$&')} ${text}`;
  return Object.freeze({
    ...claim,
    pattern: named(pattern),
    ...(typeof suggestedPattern === 'string' && { suggestedPattern: namedPattern(suggestedPattern) }),
    ...(widerPattern !== undefined && { widerPattern: namedPattern(widerPattern) }),
  });
}

/** The caller's name for the tool that acts for it is not the name of the tool that is called. */
function withoutName(options: CallOptions): CallOptions {
  const { calledAs: _ofTheOther, ...others } = options;
  return others;
}
