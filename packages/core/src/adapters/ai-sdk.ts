/**
 * The tools of any provider for Vercel's AI SDK. Needs the package `ai`, version 6 or later.
 *
 * @example
 * ```ts
 * import { aiSdkTools } from '@toolwright/core/adapters/ai-sdk';
 *
 * const tools = await aiSdkTools(provider, { sessionId: 'chat-1' });
 * console.log(Object.keys(tools)); // ['sums__add'], for generateText({ model, tools, … })
 * ```
 * @module
 */

import type { dynamicTool } from 'ai';
import { ToolError } from '../contract/errors.js';
import type { ToolResult } from '../contract/result.js';
import type { ToolProvider } from '../contract/tool-provider.js';
import { COMMON_FORM } from './common-form.js';
import { ToolKitCore, type KitOptions } from './kit-core.js';
import { isApproved, questionsAbout } from './ai-sdk-approvals.js';
import { partsOf } from './result-parts.js';

/** A tool of the AI SDK whose output is a {@link ToolResult}. */
export type AiSdkTool = ReturnType<typeof dynamicTool>;

/**
 * The tools of a provider as a record of AI SDK tools, by the names that a model uses. The list is that of this moment. A tool
 * returns the whole {@link ToolResult}; the model gets its text and images, or its error. Where the provider's policy asks,
 * the SDK asks: `needsApproval` is true, and its approval of a call runs that call without another question. Any other call
 * for which the policy asks is a question for the hub's `approve`.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option, UNAVAILABLE without the package `ai`, and why the tools could not be
 *   listed
 */
export async function aiSdkTools(provider: ToolProvider, options: KitOptions = {}): Promise<Record<string, AiSdkTool>> {
  const sdk = await import('ai').catch((cause: unknown) => {
    throw new ToolError('UNAVAILABLE', 'aiSdkTools() needs the package ai. Run npm install ai.', { cause });
  });
  const { dynamicTool: toTool, jsonSchema } = sdk;
  const isVersion6 = !('isStepCount' in sdk);
  const core = await ToolKitCore.open('aiSdkTools()', provider, options, COMMON_FORM);
  core.close(); // a record does not follow changes
  const questions = questionsAbout(provider);
  const entries = core.tools.map(({ modelName, definition, schema }) => {
    const tool = toTool({
      description: definition.description,
      ...(definition.title !== undefined && { title: definition.title }),
      inputSchema: jsonSchema(schema),
      needsApproval: async (input, { toolCallId, messages }) => {
        const asks = await core.needsApproval({ name: modelName, args: input });
        if (asks && !isApproved(messages, toolCallId, input)) questions.add(toolCallId, modelName, input);
        return asks;
      },
      execute: async (input, { toolCallId, abortSignal, messages }) => {
        const called = { name: modelName, args: input };
        const isAnswered = isApproved(messages, toolCallId, input) && questions.isNoOther(toolCallId, modelName, input);
        const callOptions = { callId: toolCallId, signal: abortSignal };
        const { result } = await (isAnswered ? core.callApproved(called, callOptions) : core.call(called, callOptions));
        core.reportDirectives(result.directives);
        return result;
      },
      toModelOutput: ({ output }) => modelOutputOf(output as ToolResult, isVersion6),
    });
    return [modelName, tool] as const;
  });
  return Object.fromEntries(entries);
}

type ModelOutput = ReturnType<NonNullable<AiSdkTool['toModelOutput']>>;

function modelOutputOf(result: ToolResult, isVersion6: boolean): ModelOutput {
  const { text, images } = partsOf(result, !result.isError);
  if (result.isError) return { type: 'error-text', value: text };
  if (images.length === 0) return { type: 'text', value: text };
  const shown = images.map(({ mimeType: mediaType, data }) =>
    isVersion6 ? { type: 'image-data', data, mediaType } : { type: 'file', mediaType, data: { type: 'data', data } },
  );
  return { type: 'content', value: [{ type: 'text', text }, ...shown] } as ModelOutput;
}
