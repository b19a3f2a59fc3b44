// Vercel's AI SDK, with the package `ai`.

import { generateText, stepCountIs, type LanguageModel } from 'ai';
import type { ToolHub } from '@toolwright/core';
import { aiSdkTools } from '@toolwright/core/adapters/ai-sdk';

export async function askAiSdk(hub: ToolHub, model: LanguageModel, sessionId: string): Promise<string> {
  const prompt = 'When does the deploy run?';
  // #region example
  const tools = await aiSdkTools(hub, { sessionId });
  const { text } = await generateText({ model, prompt, tools, stopWhen: stepCountIs(20) });
  // #endregion
  return text;
}
