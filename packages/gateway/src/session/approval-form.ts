// Asks the calling client for the approval that the policy requires: one form with up to four answers.

import type { Approval, ApprovalRequest, JsonObject } from '@toolwright/core';
import type { Exchange } from '../engines/port.js';

/** The longest message, in characters; more than any form shows at a time. */
const MAX_SHOWN = 32_000;
const MIN_SHOWN = 200;
const MAX_LINES = 80;

/** Invisible or repositioning characters: controls, formats, fillers, private use, and spaces other than U+0020. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** True for a client that shows forms. `elicitation: {}` means forms too. */
export function showsForms({ elicitation }: JsonObject): boolean {
  if (typeof elicitation !== 'object' || elicitation === null) return false;
  return 'form' in elicitation || !('url' in elicitation);
}

/** A form to send to a client, and what its answer means. */
export interface ApprovalForm {
  /** The parameters of `elicitation/create`. */
  readonly params: JsonObject;
  /** The approval that an answer gives. Any answer but an explicit permission denies. */
  readonly parse: (answer: unknown) => Approval;
}

/** The form that shows the whole call and asks for a decision. */
export function approvalForm(request: ApprovalRequest): ApprovalForm {
  const { message, isComplete } = messageFor(request);
  const { suggestedRules, wider = [] } = request;
  const mayPersist = isComplete && suggestedRules.length > 0; // only rules that were shown in full
  const persistent = !mayPersist ? [] : wider.length > 0 ? ['always', 'wider'] : ['always'];
  const params = {
    message,
    requestedSchema: {
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: 'Allow this call?',
          enum: ['once', ...persistent, 'deny'],
          description: `once: allow this call; ${persistent.map((name) => `${name}: allow it and add the rules of "${name}"; `).join('')}deny: do not run it`,
        },
      },
      required: ['decision'],
    },
  };
  const parse = (answer: unknown): Approval => {
    const { action, content } = (answer ?? {}) as { action?: unknown; content?: { decision?: unknown } };
    const decision = action === 'accept' ? content?.decision : 'deny';
    if (decision === 'wider' && persistent.includes('wider')) return { decision: 'always', rules: wider };
    if (decision === 'always') return { decision: mayPersist ? 'always' : 'once' };
    return { decision: decision === 'once' ? 'once' : 'deny' };
  };
  return { params, parse };
}

/** Asks the calling client by a request. */
export async function requestApproval(
  exchange: Exchange,
  request: ApprovalRequest,
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<Approval> {
  const { params, parse } = approvalForm(request);
  return parse(await exchange.request('elicitation/create', params, options));
}

/** @returns `isComplete` is false when part of the call was left out */
function messageFor({ tool, reason, claims, args, suggestedRules, wider = [] }: ApprovalRequest): {
  message: string;
  isComplete: boolean;
} {
  const lines = [
    `${reason}.`,
    `Tool: ${tool}`,
    ...claims.map(({ pattern }) => `Claim: ${pattern}`),
    `Arguments: ${JSON.stringify(args)}`,
    ...(suggestedRules.length > 0 ? [`"always" adds: ${JSON.stringify(suggestedRules)}`] : []),
    ...(wider.length > 0 ? [`"wider" adds: ${JSON.stringify(wider)}`] : []),
  ].map(escapeInvisible);
  const length = lines.reduce((sum, line) => sum + line.length + 1, 0);
  if (length <= MAX_SHOWN) return { message: lines.join('\n'), isComplete: true };
  const notice = `This request is ${length} characters long and is shortened here; "always" is not offered.`;
  const share = Math.floor(MAX_SHOWN / lines.length);
  const shown = lines.filter((_, at) => at < MAX_LINES).map((line) => shorten(line, Math.max(share, MIN_SHOWN)));
  const rest = lines.length > MAX_LINES ? [`… and ${lines.length - MAX_LINES} more lines`] : [];
  return { message: [notice, ...shown, ...rest].join('\n'), isComplete: false };
}

function escapeInvisible(line: string): string {
  return line.replace(INVISIBLE, (character) =>
    character === '\n' ? '\\n' : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Keeps the head and the tail: the end of a command matters as much as its beginning. */
function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const half = Math.floor(length / 2);
  return `${text.slice(0, half)} [… ${text.length - 2 * half} characters omitted …] ${text.slice(-half)}`;
}
