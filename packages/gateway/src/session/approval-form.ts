// The policy's question, put to the client whose call it is: one form, three answers.

import type { Approval, ApprovalRequest, JsonObject } from '@toolwright/core';
import type { Exchange } from '../mcp-server.js';

/** The whole question, in characters: more than any form shows at once. */
const MAX_SHOWN = 32_000;
const MIN_SHOWN = 200;
const MAX_LINES = 80;

/** Invisible, or moving what is shown: controls, formats, fillers, private use, and spaces that look like the one. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** True for a client that shows forms: `elicitation: {}` says so too. */
export function showsForms({ elicitation }: JsonObject): boolean {
  if (typeof elicitation !== 'object' || elicitation === null) return false;
  return 'form' in elicitation || !('url' in elicitation);
}

/** Asks the calling client. Whatever is no clear yes is a no. */
export async function askClient(
  exchange: Exchange,
  request: ApprovalRequest,
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<Approval> {
  const { message, isWhole } = questionOf(request);
  const { suggestedRules, wider = [] } = request;
  const mayLast = isWhole && suggestedRules.length > 0;
  const lasting = !mayLast ? [] : wider.length > 0 ? ['always', 'wider'] : ['always'];
  const answer = await exchange.ask(
    'elicitation/create',
    {
      message,
      requestedSchema: {
        type: 'object',
        properties: {
          decision: {
            type: 'string',
            title: 'Allow it?',
            enum: ['once', ...lasting, 'deny'],
            description: `once: this call; ${lasting.map((name) => `${name}: also what its rules cover; `).join('')}deny: not at all`,
          },
        },
        required: ['decision'],
      },
    },
    options,
  );
  const { action, content } = answer as { action?: unknown; content?: { decision?: unknown } };
  const decision = action === 'accept' ? content?.decision : 'deny';
  if (decision === 'wider' && lasting.includes('wider')) return { decision: 'always', rules: wider };
  if (decision === 'always') return { decision: mayLast ? 'always' : 'once' }; // only what was shown can last
  return { decision: decision === 'once' ? 'once' : 'deny' };
}

/** @returns `isWhole` is false where something of the call had to be left out */
function questionOf({ tool, reason, claims, args, suggestedRules, wider = [] }: ApprovalRequest): {
  message: string;
  isWhole: boolean;
} {
  const lines = [
    `${reason}.`,
    `Tool: ${tool}`,
    ...claims.map(({ pattern }) => `It would do: ${pattern}`),
    `Arguments: ${JSON.stringify(args)}`,
    ...(suggestedRules.length > 0 ? [`"always" adds: ${JSON.stringify(suggestedRules)}`] : []),
    ...(wider.length > 0 ? [`"wider" adds: ${JSON.stringify(wider)}`] : []),
  ].map(showUnseen);
  const length = lines.reduce((sum, line) => sum + line.length + 1, 0);
  if (length <= MAX_SHOWN) return { message: lines.join('\n'), isWhole: true };
  const notice = `This question is ${length} characters long and is shown shortened; "always" is not offered.`;
  const share = Math.floor(MAX_SHOWN / lines.length);
  const shown = lines.filter((_, at) => at < MAX_LINES).map((line) => shorten(line, Math.max(share, MIN_SHOWN)));
  const rest = lines.length > MAX_LINES ? [`… and ${lines.length - MAX_LINES} lines more`] : [];
  return { message: [notice, ...shown, ...rest].join('\n'), isWhole: false };
}

/** What would be invisible, or move what is shown, is written out. */
function showUnseen(line: string): string {
  return line.replace(UNSEEN, (one) => (one === '\n' ? '\\n' : `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`));
}

/** Its head and tail: the end of a command is as telling as its beginning. */
function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const half = Math.floor(length / 2);
  return `${text.slice(0, half)} [… ${text.length - 2 * half} characters left out …] ${text.slice(-half)}`;
}
