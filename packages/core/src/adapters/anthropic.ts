/**
 * The tools of any provider for Anthropic's Messages API. Imports no package of Anthropic.
 *
 * @example
 * ```ts
 * import { anthropicTools } from '@toolwright/core/adapters/anthropic';
 *
 * const kit = await anthropicTools(provider, { sessionId: 'chat-1' });
 * const call = { type: 'tool_use', id: 'toolu_1', name: 'sums__add', input: { a: 1, b: 2 } };
 * const turn = await kit.answer({ role: 'assistant', content: [call] });
 * console.log(turn.messages.length); // 2: the model's message, and one with every result
 * ```
 * @module
 */

import { isJsonObject } from '../contract/json.js';
import type { ToolProvider } from '../contract/tool-provider.js';
import { COMMON_FORM } from './common-form.js';
import { ToolKitCore, type KitOptions, type ModelCallResult } from './kit-core.js';
import type { KitTool } from './kit-tools.js';
import { partsOf, type ImageType } from './result-parts.js';
import { assertAnswerable, ToolKit, type Turn } from './tool-kit.js';

export type { ImageType } from './result-parts.js';

/** A tool of the Messages API. https://docs.anthropic.com/en/api/messages#body-tools */
export interface AnthropicTool {
  /** The tool's alias. */
  name: string;
  /** What the tool does. */
  description: string;
  /** The schema of the arguments. */
  input_schema: AnthropicSchema;
}

/** The schema of arguments. */
export interface AnthropicSchema {
  /** Arguments are an object. */
  type: 'object';
  /** Any other keyword of JSON Schema. */
  [keyword: string]: unknown;
}

/** The call of a tool among the content of a message. */
export interface ToolUseBlock {
  /** Tells the kinds of content apart. */
  type: 'tool_use';
  /** Identifies the call. */
  id: string;
  /** The tool's alias. */
  name: string;
  /** The arguments, an object. */
  input: unknown;
}

/** A text in a result. */
export interface ResultText {
  /** Tells the kinds of content apart. */
  type: 'text';
  /** The text. */
  text: string;
}

/** An image in a result. */
export interface ResultImage {
  /** Tells the kinds of content apart. */
  type: 'image';
  /** The image, in base64. */
  source: ImageSource;
}

/** The bytes of an image. */
export interface ImageSource {
  /** The only kind of source that results have. */
  type: 'base64';
  /** The media type. */
  media_type: ImageType;
  /** The bytes, in base64. */
  data: string;
}

/** A model's message that may call tools. */
export interface AnthropicMessage<Block> {
  /** Always the assistant. */
  role: 'assistant';
  /** Its content; calls are among it. */
  content: Block[];
  /** Why the model stopped. `'pause_turn'`: the API continues when the message is sent back. */
  stop_reason?: string | null;
}

/** The result of one call. */
export interface ToolResultBlock {
  /** Tells the kinds of content apart. */
  type: 'tool_result';
  /** The id of the call. */
  tool_use_id: string;
  /** True for a failed call; absent otherwise. */
  is_error?: boolean;
  /** A text, then the images. */
  content: (ResultText | ResultImage)[];
}

/** The user's message with every result: the API refuses results that are spread over several messages. */
export interface ToolResultMessage {
  /** Always the user. */
  role: 'user';
  /** The results, in the order of the calls. */
  content: ToolResultBlock[];
}

/** The tools of a provider for Anthropic's Messages API. */
export class AnthropicKit extends ToolKit<AnthropicTool, ToolUseBlock, ToolResultBlock> {
  /** Runs one call. Never rejects: a failure has `is_error`. */
  async dispatch(call: ToolUseBlock): Promise<ToolResultBlock> {
    return resultBlock(call, await this.core.call({ name: call.name, args: call.input }));
  }

  /**
   * Runs the calls of a message, side by side. A failed call is a result. `done` is false also for `stop_reason: "pause_turn"`.
   *
   * @throws {ToolError} INVALID_ARGUMENT for what is not a message
   */
  async answer<Block extends object>(
    message: AnthropicMessage<Block>,
  ): Promise<Turn<AnthropicMessage<Block> | ToolResultMessage, ToolResultBlock>> {
    const { content, stop_reason: reason } = Object(message) as typeof message;
    assertAnswerable(Array.isArray(content), "the model's message, whose `content` is an array");
    const calls = (content as unknown[])
      .filter(isJsonObject)
      .filter(({ type }) => type === 'tool_use') as unknown as ToolUseBlock[];
    const turn = await this.core.callAll(calls.map(({ name, input }) => ({ name, args: input })));
    const outputs = turn.results.map((result, index) => resultBlock(calls[index] as ToolUseBlock, result));
    // The API refuses the other fields of a response, and later requests with an empty message.
    const said = content.length > 0 ? [{ role: 'assistant' as const, content }] : [];
    const results: ToolResultMessage[] = outputs.length > 0 ? [{ role: 'user', content: outputs }] : [];
    const done = turn.done && !(calls.length === 0 && reason === 'pause_turn');
    return { ...turn, messages: [...said, ...results], outputs, done };
  }

  /** @internal */
  protected toVendor(tools: readonly KitTool[]): AnthropicTool[] {
    return tools.map(({ modelName, definition, schema }) => ({
      name: modelName,
      description: definition.description,
      input_schema: { ...structuredClone(schema), type: 'object' },
    }));
  }
}

/**
 * The tools of a provider for Anthropic's Messages API.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option, and why the tools could not be listed
 */
export async function anthropicTools(provider: ToolProvider, options: KitOptions = {}): Promise<AnthropicKit> {
  return new AnthropicKit(await ToolKitCore.open('anthropicTools()', provider, options, COMMON_FORM));
}

function resultBlock({ id }: ToolUseBlock, { result }: ModelCallResult): ToolResultBlock {
  const { text, images } = partsOf(result, !result.isError); // the API refuses images in a failed result
  const shown = images.map(({ mimeType, data }) => ({
    type: 'image' as const,
    source: { type: 'base64' as const, media_type: mimeType, data },
  }));
  return {
    type: 'tool_result',
    tool_use_id: id,
    content: [{ type: 'text', text }, ...shown],
    ...(result.isError && { is_error: true }),
  };
}
