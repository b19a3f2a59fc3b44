// The providers of a configuration: how each is created, and a key that changes when it must be created again.

import { resolve } from 'node:path';
import {
  InProcessToolProvider,
  ToolError,
  type Logger,
  type ProjectProviderOptions,
  type ProviderEntry,
  type ToolProvider,
} from '@toolwright/core';
import { MCPToolProvider, type MCPToolProviderOptions } from '@toolwright/core/mcp';
import { supervise, superviseProcess, type SuperviseProcessOptions } from '@toolwright/runtime';
import { claimsFromTemplates } from './claim-templates.js';
import type { ProviderConfig, ServerConfig, ToolwrightConfig } from './config-schema.js';

/** One provider of a hub, before it is created. */
export interface HubPart {
  /** The provider's name in the hub. */
  readonly name: string;
  /** Equal for parts that are configured equally. */
  readonly key: string;
  /** Creates the provider. @throws {ToolError} INVALID_ARGUMENT for options that it refuses */
  create(): ProviderEntry;
  /** Checks what {@link create} leaves to the start. Starts nothing. @throws {ToolError} INVALID_ARGUMENT */
  check?(): Promise<void>;
}

/** The name of the provider of the built-in servers. */
const BUILTINS = 'builtins';

/** The parts of a configuration; a disabled provider has none. @throws {ToolError} NAME_CONFLICT for two of one name */
export function hubParts(config: ToolwrightConfig, projectDir: string, logger: Logger): HubPart[] {
  const parts = [
    ...(config.builtins === false ? [] : [builtinsPart(config, projectDir, logger)]),
    ...Object.entries(config.providers ?? {})
      .filter(([, { disabled }]) => disabled !== true)
      .map(([name, provider]) => processPart(name, provider, projectDir, logger)),
    ...Object.entries(config.mcpServers ?? {})
      .filter(([, { disabled }]) => disabled !== true)
      .map(([name, server]) => serverPart(name, server, projectDir, logger)),
  ];
  const names = parts.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new ToolError('NAME_CONFLICT', `Two providers of the configuration are named "${twice}"; rename one.`);
  return parts;
}

function builtinsPart(config: ToolwrightConfig, projectDir: string, logger: Logger): HubPart {
  const { builtins = {}, extraRoots, trust } = config;
  const { profile, ...servers } = builtins === false ? {} : builtins;
  const options: Record<string, unknown> = {
    ...Object.fromEntries(Object.entries(servers).map(([name, given]) => [name, given === true ? {} : given])),
    ...(profile !== undefined && { profile }),
    ...(trust !== undefined && { trust }),
    ...(extraRoots && {
      extraRoots: extraRoots.map((root) => {
        const { path, mode } = typeof root === 'string' ? { path: root, mode: 'rw' } : root;
        return { path: resolve(projectDir, path), mode };
      }),
    }),
  };
  return {
    name: BUILTINS,
    key: keyOf(BUILTINS, projectDir, options),
    create: () => ({
      provider: InProcessToolProvider.forProject(projectDir, {
        ...(options as ProjectProviderOptions),
        name: BUILTINS,
        logger,
      }),
    }),
    check: async () => {
      const { createBuiltinServers } = await import('@toolwright/core/servers');
      createBuiltinServers({ ...options, projectDir });
    },
  };
}

function processPart(name: string, config: ProviderConfig, projectDir: string, logger: Logger): HubPart {
  const { disabled: _, allowedTools, claims, pinned, trustDirectives, trustAnnotations, cwd, ...rest } = config;
  const options = {
    ...rest,
    ...(trustAnnotations !== undefined && { trustAnnotations }),
    name,
    projectDir,
    cwd: resolve(projectDir, cwd ?? '.'),
  };
  return {
    name,
    key: keyOf(name, projectDir, config),
    create: () => entryOf(superviseProcess({ ...(options as SuperviseProcessOptions), logger }), config),
  };
}

function serverPart(name: string, config: ServerConfig, projectDir: string, logger: Logger): HubPart {
  const { command, args, env, cwd, url, headers, socket, container, protocol } = config;
  const { callTimeoutMs, startTimeoutMs, idleTtlMs } = config;
  const options = {
    name,
    projectDir,
    logger,
    ...(command !== undefined && { command, args, env, ...(cwd !== undefined && { cwd: resolve(projectDir, cwd) }) }),
    ...(url !== undefined && { url, headers }),
    ...(socket !== undefined && { socketPath: resolve(projectDir, socket) }),
    ...(container !== undefined && { container, env }),
    ...(protocol !== undefined && { protocol }),
    ...(startTimeoutMs !== undefined && { connectTimeoutMs: startTimeoutMs }),
    ...(callTimeoutMs !== undefined && { callTimeoutMs }),
  };
  const given = withoutUndefined(options) as unknown as MCPToolProviderOptions;
  return {
    name,
    key: keyOf(name, projectDir, config),
    create: () => {
      new MCPToolProvider(given); // refuses wrong options now; the supervisor creates its own with each start
      const times = withoutUndefined({ callTimeoutMs, startTimeoutMs, idleTtlMs });
      return entryOf(
        supervise(() => new MCPToolProvider(given), { ...times, logger }),
        config,
      );
    },
  };
}

function entryOf(provider: ToolProvider, config: ProviderConfig | ServerConfig): ProviderEntry {
  const { allowedTools, claims, pinned, trustDirectives, trustAnnotations } = config;
  return {
    provider,
    ...(allowedTools && { allowedTools }),
    ...(claims && { permission: (tool, args) => claimsFromTemplates(claims, tool, args) }),
    ...(pinned !== undefined && { pinned }),
    ...(trustDirectives !== undefined && { trustDirectives }),
    ...(trustAnnotations !== undefined && { trustAnnotations }),
  };
}

function keyOf(...parts: readonly unknown[]): string {
  return JSON.stringify(parts);
}

function withoutUndefined(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
