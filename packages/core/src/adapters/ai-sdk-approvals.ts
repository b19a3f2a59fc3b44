// Which calls the AI SDK has approved. The SDK runs what the conversation says was approved, and conversations come from
// clients, so a call of which this process remembers the question runs only as it was asked about.

import { canonicalJson } from '../contract/canonical-json.js';
import type { ToolProvider } from '../contract/tool-provider.js';

/** Older questions are forgotten: their calls then run as the conversation has them. */
const MAX_QUESTIONS = 10_000;
const MAX_REPEATED = 100;

/** What people were asked about. Ids may repeat in other conversations. */
export class Questions {
  readonly #calls = new Map<string, (string | undefined)[]>();

  /** Remembers a question. */
  add(toolCallId: string, name: string, input: unknown): void {
    const asked = this.#calls.get(toolCallId) ?? [];
    this.#calls.delete(toolCallId); // the newest are last
    this.#calls.set(toolCallId, [...asked, canonicalJson([name, input])].slice(-MAX_REPEATED));
    if (this.#calls.size > MAX_QUESTIONS) this.#calls.delete(this.#calls.keys().next().value as string);
  }

  /** False if the questions about the call were about other arguments, or another tool. */
  isNoOther(toolCallId: string, name: string, input: unknown): boolean {
    return this.#calls.get(toolCallId)?.includes(canonicalJson([name, input])) ?? true;
  }
}

const byProvider = new WeakMap<ToolProvider, Questions>();

/** The questions about a provider's calls. They outlive a record of tools, as each request may make another one. */
export function questionsAbout(provider: ToolProvider): Questions {
  let questions = byProvider.get(provider);
  if (!questions) byProvider.set(provider, (questions = new Questions()));
  return questions;
}

/** The parts of the SDK's messages that approvals are about. */
interface Part {
  readonly type?: unknown;
  readonly toolCallId?: unknown;
  readonly approvalId?: unknown;
  readonly approved?: unknown;
  readonly input?: unknown;
}

/** Whether the conversation has an approval of this call with this input. */
export function isApproved(messages: readonly unknown[], toolCallId: string, input: unknown): boolean {
  const parts = messages.flatMap((message) => {
    const { content } = message as { content?: unknown };
    return Array.isArray(content) ? (content as Part[]) : [];
  });
  const isCalled = parts.some(
    (part) =>
      part.type === 'tool-call' && part.toolCallId === toolCallId && canonicalJson(part.input) === canonicalJson(input),
  );
  return (
    isCalled &&
    parts.some(
      (request) =>
        request.type === 'tool-approval-request' &&
        request.toolCallId === toolCallId &&
        parts.some(
          ({ type, approvalId, approved }) =>
            type === 'tool-approval-response' && approvalId === request.approvalId && approved === true,
        ),
    )
  );
}
