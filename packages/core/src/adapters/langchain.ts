/**
 * The tools of any provider for LangChain. Needs the package `@langchain/core`, version 1 or later.
 *
 * @example
 * ```ts
 * import { langchainTools } from '@toolwright/core/adapters/langchain';
 *
 * const tools = await langchainTools(provider, { sessionId: 'chat-1' });
 * console.log(tools.map(({ name }) => name)); // ['sums__add'], for model.bindTools(tools)
 * ```
 * @module
 */

import type { DynamicStructuredTool, DynamicStructuredToolInput, ToolRunnableConfig } from '@langchain/core/tools';
import { ToolError } from '../contract/errors.js';
import type { ToolProvider } from '../contract/tool-provider.js';
import { COMMON_FORM } from './common-form.js';
import { ToolKitCore, type KitOptions } from './kit-core.js';
import { partsOf } from './result-parts.js';

type Fields = DynamicStructuredToolInput & { name: string };

/**
 * The tools of a provider as LangChain's structured tools. The list is that of this moment. A tool message has the text and
 * images of the result as its content, and the whole `ToolResult` as its artifact; a failed call has the status `"error"`.
 * The arguments are coerced and validated by the provider, not by LangChain.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option, UNAVAILABLE without the package, and why the tools could not be listed
 */
export async function langchainTools(
  provider: ToolProvider,
  options: KitOptions = {},
): Promise<DynamicStructuredTool[]> {
  const [{ DynamicStructuredTool: StructuredTool }, { ToolMessage }] = await Promise.all([
    import('@langchain/core/tools'),
    import('@langchain/core/messages'),
  ]).catch((cause: unknown) => {
    throw new ToolError('UNAVAILABLE', 'langchainTools() needs @langchain/core. Run npm install @langchain/core.', {
      cause,
    });
  });
  const core = await ToolKitCore.open('langchainTools()', provider, options, COMMON_FORM);
  core.close(); // an array does not follow changes

  /** Calls a twin that accepts any object, because LangChain would reject what the provider can coerce. */
  class CoercedTool extends StructuredTool {
    readonly #open: DynamicStructuredTool;

    constructor(fields: Fields, open: DynamicStructuredTool) {
      super(fields);
      this.#open = open;
    }

    override call(...given: Parameters<DynamicStructuredTool['call']>): ReturnType<DynamicStructuredTool['call']> {
      return this.#open.call(...given);
    }
  }

  return core.tools.map(({ modelName, definition, schema }) => {
    const func = async (input: unknown, _manager: unknown, config?: ToolRunnableConfig): Promise<unknown> => {
      const { result } = await core.call({ name: modelName, args: input }, { signal: config?.signal });
      core.reportDirectives(result.directives);
      const { text, images } = partsOf(result, !result.isError);
      const urls = images.map(({ mimeType, data }) => ({
        type: 'image_url' as const,
        image_url: { url: `data:${mimeType};base64,${data}` },
      }));
      const content = urls.length === 0 ? text : [{ type: 'text' as const, text }, ...urls];
      const id = config?.toolCall?.id;
      if (!result.isError || id === undefined) return [content, result];
      const failure = { content, artifact: result, status: 'error' as const, tool_call_id: id, name: modelName };
      return [new ToolMessage(failure), result];
    };
    const fields = {
      name: modelName,
      description: definition.description,
      responseFormat: 'content_and_artifact' as const,
      func,
    };
    const open = new StructuredTool({ ...fields, schema: { type: 'object' } as Fields['schema'] });
    return new CoercedTool({ ...fields, schema: schema as Fields['schema'] }, open);
  });
}
