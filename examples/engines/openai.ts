// OpenAI's Chat Completions, with the package `openai`.
/* eslint-disable no-restricted-syntax -- a turn has few messages */

import type OpenAI from 'openai';
import type { ToolHub } from '@toolwright/core';
import { openaiTools } from '@toolwright/core/adapters/openai';

export async function askOpenai(hub: ToolHub, client: OpenAI, model: string, sessionId: string): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'When does the deploy run?' }];
  // #region example
  const kit = await openaiTools(hub, { sessionId });
  for (let turn; !turn?.done; messages.push(...turn.messages)) {
    const { choices } = await client.chat.completions.create({ model, messages, tools: kit.tools });
    turn = await kit.answer(choices[0]!.message);
  }
  // #endregion
  return JSON.stringify(messages.at(-1));
}
