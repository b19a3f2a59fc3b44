// What a person is asked before a call runs, and the answer. The rules themselves are judged by hub/policy/.

import type { ToolAnnotations } from './tool-definition.js';
import type { JsonObject } from './json.js';
import type { PermissionClaim } from './claims.js';

export type PolicyAction = 'allow' | 'ask' | 'deny';

/** One rule. Without a `pattern` it holds for every claim of its tools. */
export interface PolicyRule {
  /** A glob over the qualified name: `filesystem.read_*`. Without a dot it names a server: `bash` is `bash.*`. */
  tool: string;
  /**
   * Matches the whole claim: `*` is any run of characters, `?` is one, `\` escapes, nothing else is special. For a claim
   * of words (bash, git) both are split as a shell splits them, quotes make literal, an unquoted `*` stays inside its word
   * or, as a word of its own, is any number of words; `deny` and `ask` also cover words that follow.
   */
  pattern?: string;
  action: PolicyAction;
}

/** What a person is shown before a call runs. */
export interface ApprovalRequest {
  /** The qualified name. */
  tool: string;
  /** The claims that need an answer. */
  claims: readonly PermissionClaim[];
  /** The arguments as they will be used; a copy. */
  args: JsonObject;
  /** Hints of the tool's author. They may be wrong. */
  annotations: Required<ToolAnnotations>;
  /** Why it is asked, in words. */
  reason: string;
  /**
   * What `always` would add. Empty when not all of the call was understood, or no rule would say what was meant:
   * `always` then counts as `once`.
   */
  suggestedRules: readonly PolicyRule[];
  /** Wider rules, with a `*`, that a person may choose in place of {@link suggestedRules}. Absent where there are none. */
  wider?: readonly PolicyRule[];
}

/** Whose call it is, and how long the answer is wanted. */
export interface ApprovalContext {
  callId: string;
  sessionId: string | undefined;
  /** Aborted when the call ends before it is answered. */
  signal: AbortSignal;
}

/** The answer. `always` adds the rules that were shown, or `rules` in their place. */
export interface Approval {
  decision: 'once' | 'always' | 'deny';
  rules?: readonly PolicyRule[];
  /** Shown to the model with the result or the refusal. */
  message?: string;
  /** Replaces the arguments: the call is prepared and judged again. `always` then counts as `once`. */
  args?: JsonObject;
}
