/**
 * The agent server alone: tools with which a model steers its own engine. They change only their to-do lists;
 * everything else is a directive, which the engine may follow or not. Loads no other server.
 *
 * @example
 * ```ts
 * import { InProcessToolProvider, textOf } from '@toolwright/core';
 * import { createAgentServer } from '@toolwright/core/servers/agent';
 *
 * const server = createAgentServer();
 * await using provider = new InProcessToolProvider({ servers: [server] });
 * const result = await provider.callTool('agent.prune_context', { keep_recent: 4 });
 * console.log(textOf(result), result.directives); // the engine acts on the directives
 * ```
 * @module
 */

import { ToolError } from '../../contract/errors.js';
import { assertOptions, type OptionNames } from '../../contract/options.js';
import { defineServer, type ToolServer } from '../../tool/define-server.js';
import { handoffTool } from './tools/handoff.js';
import { pruneContextTool } from './tools/prune-context.js';
import { TodoLists } from './todo-lists.js';
import { todoWriteTool } from './tools/todo-write.js';

/** What {@link createAgentServer} takes. */
export interface AgentServerOptions {
  /** The model tiers that `handoff` takes, at least one. Default: any name. */
  tiers?: readonly string[] | undefined;
}

const OPTIONS: OptionNames<AgentServerOptions> = { tiers: true };

/**
 * The tools `todo_write`, `handoff` and `prune_context`. Each session has a to-do list of its own.
 *
 * @throws {ToolError} INVALID_ARGUMENT for tiers that are no names
 * @example
 * ```ts
 * const provider = new InProcessToolProvider({ servers: [createAgentServer({ tiers: ['plan', 'code'] })] });
 * const { directives } = await provider.callTool('agent.prune_context', { keep_recent: 4 });
 * await processDirectives(directives, { prune_messages: ({ keep_recent }) => conversation.keepLast(keep_recent) });
 * ```
 */
export function createAgentServer(options: AgentServerOptions = {}): ToolServer {
  assertOptions('createAgentServer()', options, OPTIONS);
  const { tiers } = options;
  const isName = (tier: unknown): boolean => typeof tier === 'string' && tier.trim() !== '' && tier.length <= 100;
  if (tiers !== undefined && !(Array.isArray(tiers) && tiers.length > 0 && tiers.every(isName)))
    throw new ToolError(
      'INVALID_ARGUMENT',
      `tiers takes at least one name of 1 to 100 characters, not ${JSON.stringify(tiers)}.`,
    );
  const lists = new TodoLists();
  const tools = [todoWriteTool(lists), handoffTool(lists, tiers), pruneContextTool()];
  return defineServer({ name: 'agent', version: '0.2.0', tools, keepsSessionState: true });
}
