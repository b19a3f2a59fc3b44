// Policy rules, the approval request that a person sees before a call runs, and the answer. hub/policy/ evaluates them.

import type { ToolAnnotations } from './tool-definition.js';
import type { JsonObject } from './json.js';
import type { PermissionClaim } from './claims.js';

/** What a rule does with a claim: allows it, requires an approval, or denies it. */
export type PolicyAction = 'allow' | 'ask' | 'deny';

/** One rule. Without a `pattern` it applies to every claim of its tools. */
export interface PolicyRule {
  /** A glob for the qualified name: `filesystem.read_*`. Without a dot it matches servers: `bash` means `bash.*`. */
  tool: string;
  /**
   * Matches the whole claim: `*` matches any characters, `?` one character, `\` escapes; nothing else is special. For
   * commands (bash, git) claim and pattern are split into words as a shell splits them: quotes make characters literal, an
   * unquoted `*` matches within its word or, as a word by itself, any number of words; the pattern of a `deny` or `ask` rule
   * need only match the first words.
   */
  pattern?: string;
  /** What happens to the calls that match. */
  action: PolicyAction;
}

/** What a person sees before a call runs. */
export interface ApprovalRequest {
  /** The qualified name. */
  tool: string;
  /** The claims that need an answer. */
  claims: readonly PermissionClaim[];
  /** The arguments as they will be used; a copy. */
  args: JsonObject;
  /** The hints of the tool's author, which may be wrong. */
  annotations: Required<ToolAnnotations>;
  /** Why an approval is needed, in one sentence. */
  reason: string;
  /**
   * The rules that `always` adds. Empty when some effects of the call are unknown, or no rule matches exactly what is shown:
   * `always` then counts as `once`.
   */
  suggestedRules: readonly PolicyRule[];
  /** Wider rules, with a `*`, that a person may choose in place of {@link suggestedRules}. Absent when there are none. */
  wider?: readonly PolicyRule[];
}

/** The call that an approval request belongs to. */
export interface ApprovalContext {
  /** The call's id in logs and events. */
  callId: string;
  /** The call's session, if the caller set one. */
  sessionId: string | undefined;
  /** Aborted when the call ends before the answer. */
  signal: AbortSignal;
}

/** The answer to an approval request. `always` adds the suggested rules, or `rules` in their place. */
export interface Approval {
  /** `once` runs this call, `always` also adds rules, `deny` refuses the call. */
  decision: 'once' | 'always' | 'deny';
  /** The rules to add with `always`. Default: `suggestedRules` of the request. */
  rules?: readonly PolicyRule[];
  /** Shown to the model with the result or the error. */
  message?: string;
  /** Replaces the arguments: the call is prepared and evaluated again, and `always` counts as `once`. */
  args?: JsonObject;
}
