// What tools cost a model: an estimate of the tokens of their listings.

import { aliasOf } from '../adapters/alias.js';
import { ToolError } from '../contract/errors.js';
import type { ToolDefinition } from '../contract/tool-definition.js';

/**
 * Measured over the listings of 744 tools, of 26 MCP servers and the built-in ones, 984,543 characters: 4.43 characters
 * a token with OpenAI's o200k_base, 4.29 with the tokenizer that Anthropic has published. Of single tools, nine in ten are
 * between 4.0 and 5.0. docs/hub.md#tokens
 */
const CHARACTERS_PER_TOKEN = 4.3;

/**
 * Estimates the tokens that these tools cost in each request: the JSON of their names as models see them, their descriptions and
 * their arguments, at 4.3 characters a token. Vendors add a little of their own, which is not counted; strict schemas and texts
 * in scripts other than Latin cost more.
 *
 * @throws {ToolError} INVALID_ARGUMENT for anything but an array of tools, such as the result of `listTools`
 */
export function estimateTokens(tools: readonly Pick<ToolDefinition, 'name' | 'description' | 'inputSchema'>[]): number {
  if (
    !Array.isArray(tools) ||
    !tools.every((tool) => typeof (tool as Partial<ToolDefinition> | null)?.name === 'string')
  )
    throw new ToolError('INVALID_ARGUMENT', 'estimateTokens() takes an array of tools, such as await hub.listTools().');
  let characters = 0;
  for (const { name, description, inputSchema } of tools as readonly ToolDefinition[])
    characters += JSON.stringify({ name: aliasOf(name), description, parameters: inputSchema }).length;
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}
