// Anthropic's Messages, with the package `@anthropic-ai/sdk`.
/* eslint-disable no-restricted-syntax -- a turn has few messages */

import type Anthropic from '@anthropic-ai/sdk';
import type { ToolHub } from '@toolwright/core';
import { anthropicTools } from '@toolwright/core/adapters/anthropic';

export async function askAnthropic(hub: ToolHub, client: Anthropic, model: string, sessionId: string): Promise<string> {
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'When does the deploy run?' }];
  // #region example
  const kit = await anthropicTools(hub, { sessionId });
  for (let turn; !turn?.done; messages.push(...turn.messages)) {
    const message = await client.messages.create({ model, max_tokens: 4_096, messages, tools: kit.tools });
    turn = await kit.answer(message);
  }
  // #endregion
  return JSON.stringify(messages.at(-1));
}
