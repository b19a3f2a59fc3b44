// OpenAI's Responses, with the package `openai`.
/* eslint-disable no-restricted-syntax -- a turn has few messages */

import type OpenAI from 'openai';
import type { ToolHub } from '@toolwright/core';
import { openaiTools } from '@toolwright/core/adapters/openai';

type Input = OpenAI.Responses.ResponseInputItem;

export async function askResponses(hub: ToolHub, client: OpenAI, model: string, sessionId: string): Promise<string> {
  const input: Input[] = [{ role: 'user', content: 'When does the deploy run?' }];
  // #region example
  const { responses: kit } = await openaiTools(hub, { sessionId });
  for (let turn; !turn?.done; input.push(...(turn.messages as Input[]))) {
    const response = await client.responses.create({ model, input, tools: kit.tools });
    turn = await kit.answer(response);
  }
  // #endregion
  return JSON.stringify(input.at(-1));
}
