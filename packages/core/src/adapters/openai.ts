/**
 * The tools of any provider for OpenAI's Chat Completions and Responses APIs, and for the many servers that speak one of
 * them. Imports no package of OpenAI.
 *
 * @example
 * ```ts
 * import { openaiTools } from '@toolwright/core/adapters/openai';
 *
 * const kit = await openaiTools(provider, { sessionId: 'chat-1' });
 * const call = { id: 'call_1', type: 'function', function: { name: 'sums__add', arguments: '{"a":1,"b":2}' } };
 * const turn = await kit.answer({ role: 'assistant', content: null, tool_calls: [call] });
 * console.log(turn.outputs); // [{ role: 'tool', tool_call_id: 'call_1', content: '{"sum":3}' }]
 * ```
 * @module
 */

import { ToolError } from '../contract/errors.js';
import type { OptionNames } from '../contract/options.js';
import { isJsonObject, type JsonObject } from '../contract/json.js';
import type { ToolProvider } from '../contract/tool-provider.js';
import { KIT_OPTIONS, ToolKitCore, type KitOptions, type ModelCall, type ModelCallResult } from './kit-core.js';
import type { KitTool } from './kit-tools.js';
import { OPENAI_FORMS, splitDescription } from './openai-form.js';
import { partsOf, type ImagePart } from './result-parts.js';
import { assertAnswerable, ToolKit, type Turn } from './tool-kit.js';

/** Options of {@link openaiTools}. */
export interface OpenaiKitOptions extends KitOptions {
  /**
   * `'strict'`: OpenAI guarantees arguments that match the schema. Optional properties are sent as nullable, and their nulls
   * are removed again. A tool whose schema has no strict form is offered without it; `losses` says why. `'plain'`: none is
   * strict, for servers that do not know it. Default `'strict'`.
   */
  form?: 'strict' | 'plain';
}

const OPTIONS: OptionNames<OpenaiKitOptions> = { ...KIT_OPTIONS, form: true };

/** A tool of the Chat Completions API. https://platform.openai.com/docs/api-reference/chat/create#chat_create-tools */
export interface ChatTool {
  /** The only kind that a kit has. */
  type: 'function';
  /** The tool. */
  function: OpenaiFunction;
}

/** A tool as both APIs describe it. */
export interface OpenaiFunction {
  /** The tool's alias. */
  name: string;
  /** What the tool does. */
  description: string;
  /** The schema of the arguments. */
  parameters: JsonObject;
  /** Whether the API guarantees arguments that match the schema. */
  strict: boolean;
}

/** The message with which a model calls tools. */
export interface ChatMessage {
  /** Always the assistant. */
  role: 'assistant';
  /** The calls, if there are any. */
  tool_calls?: readonly ChatToolCall[] | null | undefined;
}

/** One call of a {@link ChatMessage}. */
export interface ChatToolCall {
  /** Identifies the call. */
  id: string;
  /** `'function'`; calls of other kinds get an error as their result. */
  type?: string;
  /** The tool's alias, and the arguments as JSON. */
  function?: ChatFunctionCall;
}

/** What a {@link ChatToolCall} calls. */
export interface ChatFunctionCall {
  /** The tool's alias. */
  name: string;
  /** The arguments, as JSON text. */
  arguments: string;
}

/** The result of one call. */
export interface ChatToolMessage {
  /** Always the tool. */
  role: 'tool';
  /** The id of the call. */
  tool_call_id: string;
  /** The text of the result. */
  content: string;
}

/** The images of a turn: a tool message has text only. */
export interface ChatImageMessage {
  /** Always the user. */
  role: 'user';
  /** A text that says what follows, then the images. */
  content: (ChatText | ChatImage)[];
}

/** A text in a message. */
export interface ChatText {
  /** Tells the kinds of content apart. */
  type: 'text';
  /** The text. */
  text: string;
}

/** An image in a message. */
export interface ChatImage {
  /** Tells the kinds of content apart. */
  type: 'image_url';
  /** The image. */
  image_url: ChatImageUrl;
}

/** Where an image is. */
export interface ChatImageUrl {
  /** A `data:` URL. */
  url: string;
}

/** A tool of the Responses API. https://platform.openai.com/docs/api-reference/responses/create#responses_create-tools */
export interface ResponsesTool extends OpenaiFunction {
  /** The only kind that a kit has. */
  type: 'function';
}

/** The call of a tool among the output of a response. */
export interface ResponsesCall extends ChatFunctionCall {
  /** Tells the kinds of output apart. */
  type: 'function_call';
  /** Identifies the call. */
  call_id: string;
}

/** What a model answered. */
export interface ResponsesResponse<Item> {
  /** Its items; calls are among them. */
  output: readonly Item[];
}

/** The result of one call, as input of the next response. */
export interface ResponsesOutput {
  /** Tells the kinds of input apart. */
  type: 'function_call_output';
  /** The id of the call. */
  call_id: string;
  /** The text of the result; with images, a list. */
  output: string | (ResponsesText | ResponsesImage)[];
}

/** A text in a result. */
export interface ResponsesText {
  /** Tells the kinds of content apart. */
  type: 'input_text';
  /** The text. */
  text: string;
}

/** An image in a result. */
export interface ResponsesImage {
  /** Tells the kinds of content apart. */
  type: 'input_image';
  /** A `data:` URL. */
  image_url: string;
  /** The API chooses the resolution. */
  detail: 'auto';
}

/** The tools of a provider for OpenAI's Chat Completions API. */
export class OpenaiKit extends ToolKit<ChatTool, ChatToolCall, ChatToolMessage> {
  /** The same tools for the Responses API. */
  readonly responses = new ResponsesKit(this.core);

  /** Runs one call. Never rejects. A tool message has no images: `answer` puts them into another message. */
  async dispatch(call: ChatToolCall): Promise<ChatToolMessage> {
    const { result } = await this.core.call(modelCallOf(call));
    return { role: 'tool', tool_call_id: call.id, content: partsOf(result, false).text };
  }

  /**
   * Runs the calls of a message, side by side. A failed call is a result.
   *
   * @throws {ToolError} INVALID_ARGUMENT for what is not a message
   */
  async answer<Message extends ChatMessage>(
    message: Message,
  ): Promise<Turn<Message | ChatToolMessage | ChatImageMessage, ChatToolMessage>> {
    const { tool_calls: given, choices } = Object(message) as { tool_calls?: unknown; choices?: unknown };
    const isMessage = Object(message) === message && choices === undefined && Array.isArray(given ?? []);
    assertAnswerable(isMessage, "the model's message: response.choices[0].message");
    const calls = (message.tool_calls ?? []).filter(isJsonObject) as readonly ChatToolCall[];
    const turn = await this.core.callAll(calls.map(modelCallOf));
    const parts = turn.results.map(({ result }) => partsOf(result, true));
    const outputs = parts.map(({ text, images }, at): ChatToolMessage => {
      const note = images.length > 0 ? '\n(Its images are in the next message.)' : '';
      return { role: 'tool', tool_call_id: calls[at]?.id ?? '', content: `${text}${note}` };
    });
    const images = parts.flatMap((part) => part.images);
    const shown = images.length > 0 ? [imageMessage(images)] : [];
    return { ...turn, messages: [withoutNoCalls(message), ...outputs, ...shown], outputs };
  }

  /** @internal */
  protected toVendor(tools: readonly KitTool[]): ChatTool[] {
    return tools.map((tool) => ({ type: 'function', function: functionOf(tool) }));
  }
}

/** The tools of a provider for OpenAI's Responses API. */
export class ResponsesKit extends ToolKit<ResponsesTool, ResponsesCall, ResponsesOutput> {
  /** Runs one call. Never rejects. */
  async dispatch(call: ResponsesCall): Promise<ResponsesOutput> {
    return responsesOutput(call, await this.core.call({ name: call.name, args: call.arguments }));
  }

  /**
   * Runs the calls of a response, side by side. A failed call is a result. `messages` are its output and the results; with
   * `previous_response_id`, send only `outputs`.
   *
   * @throws {ToolError} INVALID_ARGUMENT for what is not a response
   */
  async answer<Item extends object>(
    response: ResponsesResponse<Item>,
  ): Promise<Turn<Item | ResponsesOutput, ResponsesOutput>> {
    const { output } = Object(response) as typeof response;
    assertAnswerable(Array.isArray(output), 'a whole response of the Responses API, which has `output`');
    const calls = (output as readonly unknown[])
      .filter(isJsonObject)
      .filter(({ type }) => type === 'function_call') as unknown as ResponsesCall[];
    const turn = await this.core.callAll(calls.map((call) => ({ name: call.name, args: call.arguments })));
    const outputs = turn.results.map((result, index) => responsesOutput(calls[index] as ResponsesCall, result));
    return { ...turn, messages: [...output, ...outputs], outputs };
  }

  /** @internal */
  protected toVendor(tools: readonly KitTool[]): ResponsesTool[] {
    return tools.map((tool) => ({ type: 'function', ...functionOf(tool) }));
  }
}

/**
 * The tools of a provider for OpenAI's APIs.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option, and why the tools could not be listed
 */
export async function openaiTools(provider: ToolProvider, options: OpenaiKitOptions = {}): Promise<OpenaiKit> {
  const form = OPENAI_FORMS.get(options?.form ?? 'strict');
  if (!form) throw new ToolError('INVALID_ARGUMENT', 'openaiTools(): form must be "strict" or "plain".');
  return new OpenaiKit(await ToolKitCore.open('openaiTools()', provider, options, form, OPTIONS));
}

/** The tool as both APIs have it. Only the strict form needs its arguments restored. */
function functionOf({ modelName, definition, schema, restore }: KitTool): OpenaiFunction {
  const { description } = splitDescription(definition.description);
  return { name: modelName, description, parameters: structuredClone(schema), strict: restore !== undefined };
}

/** Lookalikes send an empty list of calls, and the API refuses to get one back. */
function withoutNoCalls<Message extends ChatMessage>(message: Message): Message {
  if (message.tool_calls?.length !== 0) return message;
  const said = { ...message };
  delete said.tool_calls;
  return said;
}

function modelCallOf({ function: called }: ChatToolCall): ModelCall {
  return { name: called?.name, args: called?.arguments };
}

function imageMessage(images: readonly ImagePart[]): ChatImageMessage {
  const urls = images.map((image) => ({ type: 'image_url' as const, image_url: { url: dataUrl(image) } }));
  return { role: 'user', content: [{ type: 'text', text: 'The images of the results above:' }, ...urls] };
}

function responsesOutput({ call_id }: ResponsesCall, { result }: ModelCallResult): ResponsesOutput {
  const { text, images } = partsOf(result, true);
  if (images.length === 0) return { type: 'function_call_output', call_id, output: text };
  const shown = images.map((image) => ({
    type: 'input_image' as const,
    image_url: dataUrl(image),
    detail: 'auto' as const,
  }));
  return { type: 'function_call_output', call_id, output: [{ type: 'input_text', text }, ...shown] };
}

function dataUrl({ mimeType, data }: ImagePart): string {
  return `data:${mimeType};base64,${data}`;
}
