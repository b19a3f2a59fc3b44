// The policy's question, put to the client whose call it is: one form, three answers.

import type { Approval, ApprovalRequest, JsonObject } from '@toolwright/core';
import type { Exchange } from './mcp-server.js';

const MAX_SHOWN = 2_000;

const UNSEEN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

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
  const { suggestedRules } = request;
  const choices = suggestedRules.length > 0 ? ['once', 'always', 'deny'] : ['once', 'deny'];
  const answer = await exchange.ask(
    'elicitation/create',
    {
      message: questionOf(request),
      requestedSchema: {
        type: 'object',
        properties: {
          decision: {
            type: 'string',
            title: 'Allow it?',
            enum: choices,
            description: 'once: this call; always: this and what the rules below cover; deny: not at all',
          },
        },
        required: ['decision'],
      },
    },
    options,
  );
  const { action, content } = answer as { action?: unknown; content?: { decision?: unknown } };
  const decision = action === 'accept' ? content?.decision : 'deny';
  return { decision: decision === 'once' || (decision === 'always' && choices.includes('always')) ? decision : 'deny' };
}

function questionOf({ tool, reason, claims, args, suggestedRules }: ApprovalRequest): string {
  const lines = [
    `${reason}.`,
    `Tool: ${tool}`,
    ...claims.map(({ pattern }) => `It would do: ${pattern}`),
    `Arguments: ${shorten(JSON.stringify(args))}`,
    ...(suggestedRules.length > 0 ? [`"always" adds: ${shorten(JSON.stringify(suggestedRules))}`] : []),
  ];
  return lines.map((line) => shorten(showUnseen(line))).join('\n');
}

/** What would be invisible, or move what is shown, is written out. */
function showUnseen(line: string): string {
  return line.replace(/\n/g, '\\n').replace(UNSEEN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function shorten(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}… (${text.length} characters)` : text;
}
