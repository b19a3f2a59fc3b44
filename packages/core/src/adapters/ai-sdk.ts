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
import { isCommonImage, partsOf } from './result-parts.js';
import { ToolKitCore, type KitOptions } from './tool-kit.js';

/** A tool of the AI SDK whose output is a {@link ToolResult}. */
export type AiSdkTool = ReturnType<typeof dynamicTool>;

/**
 * The tools of a provider as a record of AI SDK tools, by the names that a model uses. The list is that of this moment. A tool
 * returns the whole {@link ToolResult}; the model gets its text and images, or its error. Where the provider's policy asks,
 * the SDK asks: `needsApproval` is true, and an approval of the SDK is one for this call.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option, UNAVAILABLE without the package `ai`, and why the tools could not be
 *   listed
 */
export async function aiSdkTools(provider: ToolProvider, options: KitOptions = {}): Promise<Record<string, AiSdkTool>> {
  const { dynamicTool: toTool, jsonSchema } = await import('ai').catch((cause: unknown) => {
    throw new ToolError('UNAVAILABLE', 'aiSdkTools() needs the package ai. Run npm install ai.', { cause });
  });
  const core = await ToolKitCore.open('aiSdkTools()', provider, options, (schema) => ({ schema }));
  core.close(); // a record does not follow changes
  const entries = core.tools.map(({ modelName, definition, schema }) => {
    const tool = toTool({
      description: definition.description,
      ...(definition.title !== undefined && { title: definition.title }),
      inputSchema: jsonSchema(schema),
      needsApproval: (input) => core.needsApproval({ name: modelName, args: input }),
      execute: async (input, { toolCallId, abortSignal }) => {
        const called = { name: modelName, args: input };
        const { result } = await core.callApproved(called, { callId: toolCallId, signal: abortSignal });
        if (result.directives.length > 0) options.onDirectives?.(result.directives);
        return result;
      },
      toModelOutput: ({ output }) => modelOutputOf(output as ToolResult),
    });
    return [modelName, tool] as const;
  });
  return Object.fromEntries(entries);
}

function modelOutputOf(result: ToolResult): ReturnType<NonNullable<AiSdkTool['toModelOutput']>> {
  const { text, images } = partsOf(result, isCommonImage);
  if (result.isError) return { type: 'error-text', value: text };
  if (images.length === 0) return { type: 'text', value: text };
  const shown = images.map(({ mimeType, data }) => ({ type: 'image-data' as const, data, mediaType: mimeType }));
  return { type: 'content', value: [{ type: 'text', text }, ...shown] };
}
