// A provider as it is passed to a hub: alone, or with the options that apply to it there.

import type { PermissionClaim } from '../contract/claims.js';
import { ToolError } from '../contract/errors.js';
import type { JsonObject } from '../contract/json.js';
import { assertOptions, type OptionNames } from '../contract/options.js';
import type { ToolProvider } from '../contract/tool-provider.js';

/** A provider with the options that apply to it in a hub. */
export interface ProviderEntry {
  /** The provider. */
  provider: ToolProvider;
  /** Whether its directives are accepted. Default: false for MCP servers and unknown kinds, true for all others. */
  trustDirectives?: boolean;
  /**
   * Whether its annotations are believed when a middleware decides if a call may be repeated or its result kept. They never
   * relax a policy. Default: true for in-process and process providers, false for all others.
   */
  trustAnnotations?: boolean;
  /**
   * Whether its tools need approval when they are new or change, and the provider when its command or URL does. Needs the
   * hub's `pins`. Default: false.
   */
  pinned?: boolean;
  /**
   * Globs over the bare names of its tools, such as `list_*`. All others are hidden: not listed, and a call fails with
   * `PERMISSION_DENIED`. Default: all tools.
   */
  allowedTools?: readonly string[];
  /**
   * Returns the claims of a call, for a provider that makes none itself. `undefined` keeps the default: one claim with the
   * tool's bare name.
   */
  permission?: (toolName: string, args: JsonObject) => readonly PermissionClaim[] | undefined;
}

const ENTRY_OPTIONS: OptionNames<ProviderEntry> = {
  provider: true,
  trustDirectives: true,
  trustAnnotations: true,
  pinned: true,
  allowedTools: true,
  permission: true,
};

/**
 * The entry of what was passed to a hub.
 *
 * @param hasPins whether the hub can pin providers
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option, and for a server, a tool or any other value that is not a provider
 */
export function parseProviderEntry(given: ToolProvider | ProviderEntry, hasPins: boolean): ProviderEntry {
  const isEntry = Object(given) === given && 'provider' in given;
  if (isEntry) assertEntry(given);
  const entry = isEntry ? given : { provider: given as ToolProvider };
  assertProvider(entry.provider);
  if (entry.pinned === true && !hasPins)
    throw new ToolError('INVALID_ARGUMENT', 'An entry of a hub: pinned requires the option pins of the hub.');
  return entry;
}

/** @throws {ToolError} INVALID_ARGUMENT */
function assertEntry(entry: ProviderEntry): void {
  assertOptions('An entry of a hub', entry, ENTRY_OPTIONS);
  const { allowedTools, permission } = entry;
  for (const flag of ['trustDirectives', 'trustAnnotations', 'pinned'] as const)
    if (entry[flag] !== undefined && typeof entry[flag] !== 'boolean')
      throw new ToolError('INVALID_ARGUMENT', `An entry of a hub: ${flag} must be true or false.`);
  if (
    allowedTools !== undefined &&
    !(Array.isArray(allowedTools) && allowedTools.every((glob) => typeof glob === 'string'))
  )
    throw new ToolError(
      'INVALID_ARGUMENT',
      'An entry of a hub: allowedTools must be an array of globs such as "list_*".',
    );
  if (permission !== undefined && typeof permission !== 'function')
    throw new ToolError('INVALID_ARGUMENT', 'An entry of a hub: permission must be a function.');
}

/** @throws {ToolError} INVALID_ARGUMENT for a server, a tool or any other value that is not a provider */
function assertProvider(provider: unknown): void {
  const { callTool, tools } = Object(provider) as { callTool?: unknown; tools?: unknown };
  if (typeof callTool === 'function') return;
  const advice =
    tools === undefined
      ? 'such as new InProcessToolProvider({ servers }) or new MCPToolProvider({ … })'
      : 'wrap a tool server in one: new InProcessToolProvider({ servers: [server] })';
  throw new ToolError('INVALID_ARGUMENT', `A hub takes providers: ${advice}.`);
}
