// What a configuration does, in lines that a person reads before they approve it: what it starts, and what it permits.

import { isJsonObject, showHidden } from '@toolwright/core/internal';
import type { PolicyConfig, ToolwrightConfig } from './config-schema.js';

/** What a configuration does. Nothing in the lines is invisible. */
export interface ConfigEffects {
  /** The command lines and addresses that it starts or calls, without their environment. */
  readonly starts: readonly string[];
  /** What it permits beyond the defaults. */
  readonly permits: readonly string[];
}

/** @param config as the file has it, so that variables stand for values that may be secrets */
export function effectsOf(config: ToolwrightConfig): ConfigEffects {
  return { starts: startsOf(config).map(shown), permits: permitsOf(config).map(shown) };
}

function shown(line: string): string {
  return showHidden(line);
}

function startsOf({ providers = {}, mcpServers = {} }: ToolwrightConfig): string[] {
  return [
    ...Object.entries(providers).map(
      ([name, { path, command, args = [] }]) => `${name}: ${[path ?? command, ...args].join(' ')}`,
    ),
    ...Object.entries(mcpServers).map(([name, { command, args = [], url, socket, container }]) => {
      const place = command === undefined ? (url ?? socket ?? container?.image) : [command, ...args].join(' ');
      return `${name}: ${place ?? ''}`;
    }),
  ];
}

function permitsOf(config: ToolwrightConfig): string[] {
  const { trust, extraRoots = [], policy, builtins, providers, mcpServers, profiles = {} } = config;
  return [
    ...(trust === 'trusted' ? ['trust: trusted'] : []),
    ...extraRoots.map((root) => `extraRoots: ${typeof root === 'string' ? root : `${root.path} (${root.mode})`}`),
    ...optionsOf('builtins', builtins),
    ...policyLines('policy', policy),
    ...Object.entries({ ...providers, ...mcpServers }).flatMap(([name, { env, trustDirectives, trustAnnotations }]) => [
      ...(env && Object.keys(env).length > 0 ? [`${name}: env ${Object.keys(env).join(', ')}`] : []),
      ...(trustDirectives === true ? [`${name}: trustDirectives`] : []),
      ...(trustAnnotations === true ? [`${name}: trustAnnotations`] : []),
    ]),
    ...Object.entries(profiles).flatMap(([name, profile]) => [
      ...optionsOf(`profiles.${name}.builtins`, profile.builtins),
      ...policyLines(`profiles.${name}.policy`, profile.policy),
    ]),
  ];
}

function optionsOf(key: string, builtins: ToolwrightConfig['builtins']): string[] {
  if (builtins === undefined || builtins === false) return [];
  return Object.entries(builtins).flatMap(([name, options]) =>
    isJsonObject(options) && Object.keys(options).length > 0 ? [`${key}.${name}: ${JSON.stringify(options)}`] : [],
  );
}

function policyLines(key: string, policy: PolicyConfig | undefined): string[] {
  const { default: fallback, rules = [] } = policy ?? {};
  return [
    ...(fallback === 'allow' ? [`${key}.default: allow`] : []),
    ...rules
      .filter(({ action }) => action === 'allow')
      .map(({ tool, pattern }) => `${key}: allow ${tool}${pattern === undefined ? '' : ` ${pattern}`}`),
  ];
}
