// Profiles: named variants of one configuration, with fewer servers and another policy.

import { ToolError } from '@toolwright/core';
import type { ToolwrightConfig } from './config-schema.js';

/**
 * A configuration as one of its profiles has it.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a profile that the configuration does not have, or that names an unknown server
 */
export function withProfile(config: ToolwrightConfig, name: string | undefined): ToolwrightConfig {
  if (name === undefined) return config;
  const profile = config.profiles && Object.hasOwn(config.profiles, name) ? config.profiles[name] : undefined;
  if (!profile) {
    const known = Object.keys(config.profiles ?? {}).join(', ') || 'none';
    throw new ToolError('INVALID_ARGUMENT', `The configuration has no profile "${name}"; it has: ${known}.`);
  }
  const { servers, exclude = [], builtins = config.builtins, policy = config.policy } = profile;
  const all = [...Object.keys(config.providers ?? {}), ...Object.keys(config.mcpServers ?? {})];
  const unknown = servers?.find((server) => !all.includes(server));
  if (unknown !== undefined)
    throw new ToolError(
      'INVALID_ARGUMENT',
      `The profile "${name}" names the server "${unknown}", which the configuration does not have.`,
    );
  const isChosen = ([server]: readonly [string, unknown]): boolean => servers?.includes(server) ?? true;
  return {
    ...config,
    ...(builtins !== undefined && { builtins }),
    providers: Object.fromEntries(Object.entries(config.providers ?? {}).filter(isChosen)),
    mcpServers: Object.fromEntries(Object.entries(config.mcpServers ?? {}).filter(isChosen)),
    policy: {
      ...policy,
      rules: [...exclude.map((tool) => ({ tool, action: 'deny' as const })), ...(policy?.rules ?? [])],
    },
  };
}
