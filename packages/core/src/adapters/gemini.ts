/**
 * The tools of any provider for Google's Gemini API. Imports no package of Google.
 *
 * @example
 * ```ts
 * import { geminiTools } from '@toolwright/core/adapters/gemini';
 *
 * const kit = await geminiTools(provider, { sessionId: 'chat-1' });
 * const call = { functionCall: { name: 'sums__add', args: { a: 1, b: 2 } } };
 * const turn = await kit.answer({ role: 'model', parts: [call] });
 * console.log(turn.outputs[0]?.response); // { output: '{"sum":3}' }
 * ```
 * @module
 */

import { isJsonObject, type JsonObject } from '../contract/json.js';
import type { ToolProvider } from '../contract/tool-provider.js';
import { GEMINI_FORM } from './gemini-form.js';
import { ToolKitCore, type KitOptions } from './kit-core.js';
import type { KitTool } from './kit-tools.js';
import { partsOf, type ImagePart } from './result-parts.js';
import { assertAnswerable, ToolKit, type Turn } from './tool-kit.js';

export type { ImagePart } from './result-parts.js';

/** The declaration of one tool. https://ai.google.dev/api/caching#FunctionDeclaration */
export interface GeminiFunction {
  /** The tool's alias. */
  name: string;
  /** What the tool does. */
  description: string;
  /** The schema of the arguments, with the keywords that the API knows. */
  parametersJsonSchema: JsonObject;
}

/** A model's call of a tool. */
export interface GeminiCall {
  /** Identifies the call; absent from older models. */
  id?: string | undefined;
  /** The tool's alias. */
  name?: string | undefined;
  /** The arguments. Default: none. */
  args?: Record<string, unknown> | undefined;
}

/** The result of one call: `output` or `error`. */
export interface GeminiResponse {
  /** The id of the call, if it had one. */
  id?: string;
  /** The name in the call. */
  name: string;
  /** The text of the result, or of the failure. */
  response: GeminiOutput;
}

/** The text of a result. */
export interface GeminiOutput {
  /** The result of a call that succeeded. */
  output?: string;
  /** Why the call failed. */
  error?: string;
  /** Nothing else. */
  [key: string]: unknown;
}

/** The entry of `config.tools` with every tool. */
export interface GeminiTool {
  /** The tools. */
  functionDeclarations: GeminiFunction[];
}

/** A part of a message. */
export interface GeminiPart {
  /** A call, if the part is one. */
  functionCall?: GeminiCall | undefined;
}

/** A message. */
export interface GeminiContent {
  /** `'model'`, or `'user'`. */
  role?: string | undefined;
  /** Its parts; calls are among those of a model. */
  parts?: GeminiPart[] | undefined;
}

/** What a model answered. */
export interface GeminiAnswer<Content> {
  /** The first is used. */
  candidates?: GeminiCandidate<Content>[] | undefined;
}

/** One answer. */
export interface GeminiCandidate<Content> {
  /** The message. */
  content?: Content | undefined;
}

/** The user's message with the results of a turn, and their images. */
export interface GeminiResultContent {
  /** Always the user. */
  role: 'user';
  /** First every result, then the images. */
  parts: GeminiResultPart[];
}

/** A result, or an image. */
export interface GeminiResultPart {
  /** The result of a call. */
  functionResponse?: GeminiResponse;
  /** An image in base64. */
  inlineData?: ImagePart;
}

/** The tools of a provider for the Gemini API. */
export class GeminiKit extends ToolKit<GeminiTool, GeminiCall, GeminiResponse> {
  /** Runs one call. Never rejects. A function response has no images: `answer` adds them to its message. */
  async dispatch(call: GeminiCall): Promise<GeminiResponse> {
    const { name, args = {} } = call; // null is no object of arguments
    const { result } = await this.core.call({ name, args });
    const { text } = partsOf(result, false);
    return responseOf(call, text, result.isError);
  }

  /**
   * Runs the calls of a response's first candidate, or of a message, side by side. A failed call is a result.
   *
   * @throws {ToolError} INVALID_ARGUMENT for what is neither
   */
  async answer<Content extends GeminiContent>(
    response: Content | GeminiAnswer<Content>,
  ): Promise<Turn<Content | GeminiResultContent, GeminiResponse>> {
    assertAnswerable(Object(response) === response && !Array.isArray(response), 'a response, or a message of it');
    const content = messageOf(response);
    const parts: readonly GeminiPart[] = (content?.parts ?? []).filter(isJsonObject);
    const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
    const turn = await this.core.callAll(calls.map(({ name, args = {} }) => ({ name, args })));
    const shown = turn.results.map(({ result }) => ({ ...partsOf(result, true), isError: result.isError }));
    const outputs = shown.map(({ text, isError }, at) => responseOf(calls[at] as GeminiCall, text, isError));
    const images = shown.flatMap((part) => part.images);
    const answers = [
      ...outputs.map((functionResponse) => ({ functionResponse })),
      ...images.map((inlineData) => ({ inlineData })),
    ];
    const results: GeminiResultContent[] = answers.length > 0 ? [{ role: 'user', parts: answers }] : [];
    return { ...turn, messages: [...(content ? [content] : []), ...results], outputs };
  }

  /** @internal */
  protected toVendor(tools: readonly KitTool[]): GeminiTool[] {
    if (tools.length === 0) return [];
    const functionDeclarations = tools.map(({ modelName, definition, schema }) => ({
      name: modelName,
      description: definition.description,
      parametersJsonSchema: structuredClone(schema),
    }));
    return [{ functionDeclarations }];
  }
}

/**
 * The tools of a provider for the Gemini API.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option, and why the tools could not be listed
 */
export async function geminiTools(provider: ToolProvider, options: KitOptions = {}): Promise<GeminiKit> {
  return new GeminiKit(await ToolKitCore.open('geminiTools()', provider, options, GEMINI_FORM));
}

/** The message with parts: a blocked prompt has none, and the API refuses to get a message without parts back. */
function messageOf<Content extends GeminiContent>(response: Content | GeminiAnswer<Content>): Content | undefined {
  const isMessage = 'parts' in response || 'role' in response;
  const content = isMessage ? response : (response as GeminiAnswer<Content>).candidates?.[0]?.content;
  return content?.parts && content.parts.length > 0 ? content : undefined;
}

function responseOf({ id, name }: GeminiCall, text: string, isError: boolean): GeminiResponse {
  return {
    ...(id !== undefined && { id }),
    name: name ?? '',
    response: isError ? { error: text } : { output: text },
  };
}
