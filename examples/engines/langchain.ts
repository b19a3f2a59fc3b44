// LangChain, with the package `@langchain/core`.
/* eslint-disable no-restricted-syntax -- a turn has few messages */

import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { HumanMessage, type BaseMessage } from '@langchain/core/messages';
import type { ToolHub } from '@toolwright/core';
import { langchainTools } from '@toolwright/core/adapters/langchain';

export async function askLangchain(hub: ToolHub, model: BaseChatModel, sessionId: string): Promise<string> {
  const messages: BaseMessage[] = [new HumanMessage('When does the deploy run?')];
  // #region example
  const tools = await langchainTools(hub, { sessionId });
  for (;;) {
    const said = await model.bindTools!(tools).invoke(messages);
    const calls = said.tool_calls ?? [];
    const run = calls.map(async (call) =>
      tools.find(({ name }) => name === call.name)!.invoke({ ...call, type: 'tool_call' }),
    );
    messages.push(said, ...((await Promise.all(run)) as BaseMessage[]));
    if (calls.length === 0) break;
  }
  // #endregion
  return messages.at(-1)!.text;
}
