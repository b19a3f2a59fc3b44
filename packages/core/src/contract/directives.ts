// Directives: typed instructions from a tool to the engine, carried beside the result and never inside its text.

import type { Logger } from './logger.js';
import { ToolError } from './errors.js';
import { isJsonObject, type JsonObject } from './json.js';
import { likelyName } from './nearest-names.js';

/**
 * The parameters of each directive type. An engine adds its own by declaration merging:
 *
 * ```ts
 * declare module '@toolwright/core' {
 *   interface DirectiveParams { play_sound: { file: string } }
 * }
 * ```
 */
export interface DirectiveParams {
  /** End the turn after this call. */
  stop_processing: Record<string, never>;
  /** Go on with another model tier. */
  tier_change: { tier: string; reason?: string };
  /** Forget the to-do items that the current tier set for itself. */
  clear_self_todos: Record<string, never>;
  /** Add a message to the conversation. `role` defaults to `'user'`. */
  inject_context: { content: string; role?: string };
  /** Drop old messages, keeping the last `keep_recent` (default 2). */
  prune_messages: { keep_recent?: number };
  /** Keep `content` under `key` in front of the model; empty content removes it. */
  context_anchor: { key: string; content: string };
  /** Tell the user interface something. */
  notify_presenter: { key: string; data?: JsonObject };
}

/** One directive. Within a process the object that the tool made is the object that the engine receives. */
export type Directive = {
  [Type in keyof DirectiveParams]: { readonly type: Type; readonly params: DirectiveParams[Type] };
}[keyof DirectiveParams];

/** A function for each directive type that an engine wants to act on. */
export type DirectiveHandlers = {
  [Type in keyof DirectiveParams]?: (params: DirectiveParams[Type]) => void | Promise<void>;
};

/** What the directives ask of the engine's loop, computed whether or not a handler was given. */
export interface DirectiveOutcome {
  /** True when one was `stop_processing`. */
  stopProcessing: boolean;
  /** True when one was `tier_change`. */
  tierChanged: boolean;
  /** The messages of every `inject_context`, in order, with the default role filled in. */
  injectedMessages: { role: string; content: string }[];
}

const BUILT_IN: ReadonlySet<string> = new Set<keyof DirectiveParams>([
  'stop_processing',
  'tier_change',
  'clear_self_todos',
  'inject_context',
  'prune_messages',
  'context_anchor',
  'notify_presenter',
]);

/**
 * Runs the handlers of `directives` in order, each awaited before the next. A type that is neither built in nor
 * handled is skipped with a warning on `logger` (default: `console`). A handler that throws rejects the whole.
 *
 * @example
 * ```ts
 * const outcome = await processDirectives(result.directives, { tier_change: ({ tier }) => useTier(tier) });
 * if (outcome.stopProcessing) return;
 * ```
 */
export async function processDirectives(
  directives: readonly Directive[],
  handlers: DirectiveHandlers = {},
  logger: Pick<Logger, 'warn'> = console,
): Promise<DirectiveOutcome> {
  const given: unknown = directives;
  if (!Array.isArray(given))
    throw new ToolError('INVALID_ARGUMENT', 'processDirectives() takes an array, such as result.directives.');
  for (const type of Object.keys(handlers)) {
    const meant = BUILT_IN.has(type) ? undefined : likelyName(type, [...BUILT_IN]);
    if (meant !== undefined) logger.warn(`There is a handler for "${type}"; the directive is called "${meant}".`);
  }
  const outcome: DirectiveOutcome = { stopProcessing: false, tierChanged: false, injectedMessages: [] };
  for (const directive of directives) {
    switch (directive.type) {
      case 'stop_processing':
        outcome.stopProcessing = true;
        break;
      case 'tier_change':
        outcome.tierChanged = true;
        break;
      case 'inject_context':
        outcome.injectedMessages.push({ role: directive.params.role ?? 'user', content: directive.params.content });
        break;
    }
    const handler = Object.hasOwn(handlers, directive.type)
      ? (handlers[directive.type] as ((params: unknown) => void | Promise<void>) | undefined)
      : undefined;
    if (handler) await handler(withDefaults(directive));
    else if (!BUILT_IN.has(directive.type)) {
      logger.warn(`Skipped a directive of the unknown type "${String(directive.type)}": no handler was given for it.`);
    }
  }
  return outcome;
}

/** The defaults of optional parameters, so that handlers need not know them. The directive itself is left as it is. */
function withDefaults({ type, params }: Directive): unknown {
  if (type === 'inject_context' && params.role === undefined) return { ...params, role: 'user' };
  if (type === 'prune_messages' && params.keep_recent === undefined) return { ...params, keep_recent: 2 };
  return params;
}

/** True for a value of the shape `{ type: string, params: object }`. */
export function isDirective(value: unknown): value is Directive {
  if (typeof value !== 'object' || value === null) return false;
  const { type, params } = value as { type?: unknown; params?: unknown };
  return typeof type === 'string' && isJsonObject(params);
}
