// Gemini's generateContent, with the package `@google/genai`.
/* eslint-disable no-restricted-syntax -- a turn has few messages */

import type { Content, GoogleGenAI } from '@google/genai';
import type { ToolHub } from '@toolwright/core';
import { geminiTools } from '@toolwright/core/adapters/gemini';

export async function askGemini(hub: ToolHub, client: GoogleGenAI, model: string, sessionId: string): Promise<string> {
  const contents: Content[] = [{ role: 'user', parts: [{ text: 'When does the deploy run?' }] }];
  // #region example
  const kit = await geminiTools(hub, { sessionId });
  for (let turn; !turn?.done; contents.push(...turn.messages)) {
    const response = await client.models.generateContent({ model, contents, config: { tools: kit.tools } });
    turn = await kit.answer(response);
  }
  // #endregion
  return JSON.stringify(contents.at(-1));
}
