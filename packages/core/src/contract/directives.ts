// Directives: typed instructions from a tool to the engine, separate from the text of a result.

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
  /** Continue with another model tier. */
  tier_change: {
    /** The tier, as the engine names it. */
    tier: string;
    /** Why, for people. */
    reason?: string;
  };
  /** Clear the to-do items that the current tier set for itself. */
  clear_self_todos: Record<string, never>;
  /** Add a message to the conversation. */
  inject_context: {
    /** The text of the message. */
    content: string;
    /** Its role. Default: `'user'`. */
    role?: string;
  };
  /** Drop old messages. */
  prune_messages: {
    /** How many of the latest messages remain. Default 2. */
    keep_recent?: number;
  };
  /** Keep a text in front of the model. */
  context_anchor: {
    /** Identifies the text: a later one with this key replaces it. */
    key: string;
    /** The text; empty to remove it. */
    content: string;
  };
  /** Notify the user interface. */
  notify_presenter: {
    /** Which notification. */
    key: string;
    /** What belongs to it. */
    data?: JsonObject;
  };
}

/** One directive. In process, the engine receives the same object that the tool returned. */
export type Directive = {
  [Type in keyof DirectiveParams]: {
    /** A key of {@link DirectiveParams}. */
    readonly type: Type;
    /** The parameters of that type. */
    readonly params: DirectiveParams[Type];
  };
}[keyof DirectiveParams];

/** A function for each directive type that an engine wants to act on. */
export type DirectiveHandlers = {
  [Type in keyof DirectiveParams]?: (params: DirectiveParams[Type]) => void | Promise<void>;
};

/** A message of an `inject_context` directive. */
export interface InjectedMessage {
  /** Its role in the conversation. */
  role: string;
  /** Its text. */
  content: string;
}

/** What the directives request of the engine's loop; computed with and without handlers. */
export interface DirectiveOutcome {
  /** True when one was `stop_processing`. */
  stopProcessing: boolean;
  /** True when one was `tier_change`. */
  tierChanged: boolean;
  /** The messages of every `inject_context`, in order, with the default role filled in. */
  injectedMessages: InjectedMessage[];
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
 * Runs the handlers of `directives` in order, awaiting each. Skips a directive whose type is neither built in nor handled, with
 * a warning on `logger` (default: `console`). Rejects when a handler throws.
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
    throw new ToolError(
      'INVALID_ARGUMENT',
      'processDirectives(): directives must be an array, such as result.directives.',
    );
  for (const type of Object.keys(handlers)) {
    const meant = BUILT_IN.has(type) ? undefined : likelyName(type, [...BUILT_IN]);
    if (meant !== undefined)
      logger.warn(`processDirectives(): unknown directive type "${type}"; did you mean "${meant}"?`);
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

/** Fills in optional parameters for handlers, in a copy. */
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
