// loadHub: a hub from a configuration, and the application of a changed one to a running hub.

import { isAbsolute } from 'node:path';
import { ToolError, ToolHub, type HubLimits, type Logger, type Policy, type ProviderEntry } from '@toolwright/core';
import { assertOptions, isJsonObject, safeLogger, WARNING_LOGGER, type OptionNames } from '@toolwright/core/internal';
import { hubParts, type HubPart } from './hub-parts.js';
import { pinStore } from './pin-store.js';
import { withProfile } from './profiles.js';
import type { ReadConfig } from './read-config.js';
import { policyOf } from './shipped-rules.js';

/** Options of {@link loadHub}. */
export interface LoadHubOptions {
  /** The profile of the configuration to use. Default: none. */
  profile?: string;
  /** Answers where the policy asks. Default: the caller's own, else calls fail with `APPROVAL_REQUIRED`. */
  approve?: Policy['approve'];
  /** Default: `process.emitWarning` for warnings and errors, each text once. */
  logger?: Logger;
}

const OPTIONS: OptionNames<LoadHubOptions> = { profile: true, approve: true, logger: true };

/** A configuration and its project, as {@link readConfig} returns them. */
export type ConfiguredProject = Pick<ReadConfig, 'config' | 'projectDir'>;

/** What a changed configuration did to a hub. */
export interface AppliedChange {
  /** Providers that were added, by name. */
  readonly added: readonly string[];
  /** Providers that were removed. */
  readonly removed: readonly string[];
  /** Providers that were replaced, as their configuration changed. */
  readonly replaced: readonly string[];
}

/** A hub made from a configuration. */
export interface LoadedHub extends AsyncDisposable {
  /** The hub. It always has a policy; what no rule matches is asked. */
  readonly hub: ToolHub;
  /** The configuration in force, with its project. */
  readonly source: ConfiguredProject;
  /**
   * Applies a changed configuration: adds, removes and replaces the providers that differ, and replaces the rules of the policy.
   * Clients of the hub stay connected. Changes are applied one after the other.
   *
   * @throws {ToolError} INVALID_ARGUMENT or NAME_CONFLICT; nothing changes then
   */
  apply(source: ConfiguredProject): Promise<AppliedChange>;
}

/**
 * Creates a hub from a configuration that {@link readConfig} has read. Nothing is started before `connect` or the first call.
 *
 * @throws {ToolError} INVALID_ARGUMENT for an option that a provider refuses; NAME_CONFLICT for two providers of one name
 * @example
 * ```ts
 * await using loaded = loadHub(await readConfig(`${projectDir}/toolwright.yaml`));
 * const tools = await loaded.hub.listTools();
 * ```
 */
export function loadHub(source: ConfiguredProject, options: LoadHubOptions = {}): LoadedHub {
  assertOptions('loadHub()', options, OPTIONS);
  const { config, projectDir } = Object(source) as Partial<ConfiguredProject>;
  if (!isJsonObject(config) || typeof projectDir !== 'string' || !isAbsolute(projectDir))
    throw new ToolError(
      'INVALID_ARGUMENT',
      'loadHub() takes what readConfig() returns: { config, projectDir }, with an absolute projectDir.',
    );
  return new ConfiguredHub(source, options);
}

class ConfiguredHub implements LoadedHub {
  readonly hub: ToolHub;
  source: ConfiguredProject;
  readonly #options: LoadHubOptions;
  readonly #logger: Logger;
  #parts: ReadonlyMap<string, HubPart>;
  /** The providers of the parts, by name. */
  #entries: ReadonlyMap<string, ProviderEntry>;
  #applying: Promise<unknown> = Promise.resolve();

  constructor(source: ConfiguredProject, options: LoadHubOptions) {
    this.#options = options;
    this.#logger = options.logger ? safeLogger(options.logger) : WARNING_LOGGER;
    this.source = source;
    const { parts, policy } = this.#resolved(source);
    this.#parts = parts;
    this.#entries = new Map([...parts].map(([name, part]) => [name, part.create()]));
    const { pins, limits } = source.config;
    const { approve } = options;
    this.hub = new ToolHub({
      providers: [...this.#entries.values()],
      policy: { ...policy, ...(approve && { approve }) },
      ...(limits && { limits: limits as HubLimits }),
      ...(pins && { pins: pinStore(pins, source.projectDir) }),
      logger: this.#logger,
    });
  }

  apply(source: ConfiguredProject): Promise<AppliedChange> {
    const applied = this.#applying.then(() => this.#apply(source));
    this.#applying = applied.catch(() => undefined); // its caller receives the error
    return applied;
  }

  async #apply(source: ConfiguredProject): Promise<AppliedChange> {
    const { parts, policy } = this.#resolved(source);
    const changed = [...parts.values()].filter(({ name, key }) => this.#parts.get(name)?.key !== key);
    // Before anything changes, as options may be refused and prefixes may be taken.
    const created = new Map(changed.map((part) => [part.name, part.create()]));
    const entries = new Map([...parts.keys()].map((name) => [name, created.get(name) ?? this.#entries.get(name)]));
    for (const part of changed) await part.check?.();
    assertOwnPrefixes(entries as ReadonlyMap<string, ProviderEntry>);
    const removed = [...this.#parts.keys()].filter((name) => !parts.has(name));
    const replaced = changed.map(({ name }) => name).filter((name) => this.#parts.has(name));
    const added = changed.map(({ name }) => name).filter((name) => !replaced.includes(name));
    for (const key of ['limits', 'pins'] as const)
      if (JSON.stringify(source.config[key]) !== JSON.stringify(this.source.config[key]))
        this.#logger.warn(`The change of ${key} applies when the configuration is loaded the next time.`);
    this.hub.setPolicy(policy);
    this.#parts = parts;
    this.#entries = entries as ReadonlyMap<string, ProviderEntry>;
    this.source = source;
    await Promise.all([...removed, ...replaced].map((name) => this.hub.remove(name)));
    await Promise.all([...created.values()].map((entry) => this.hub.add(entry)));
    return { added, removed, replaced };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#applying;
    await this.hub.disconnect();
  }

  /** @throws {ToolError} INVALID_ARGUMENT, NAME_CONFLICT */
  #resolved({ config, projectDir }: ConfiguredProject): {
    parts: ReadonlyMap<string, HubPart>;
    policy: Pick<Policy, 'rules' | 'default'>;
  } {
    const chosen = withProfile(config, this.#options.profile);
    const parts = hubParts(chosen, projectDir, this.#logger);
    return { parts: new Map(parts.map((part) => [part.name, part])), policy: policyOf(chosen) };
  }
}

/** @throws {ToolError} NAME_CONFLICT when two providers have one prefix: a hub refuses the second when others are gone already */
function assertOwnPrefixes(entries: ReadonlyMap<string, ProviderEntry>): void {
  const owners = new Map<string, string>();
  for (const [name, { provider }] of entries)
    for (const prefix of provider.servers) {
      const owner = owners.get(prefix);
      if (owner !== undefined)
        throw new ToolError(
          'NAME_CONFLICT',
          `The prefix "${prefix}" of the provider "${name}" belongs to the provider "${owner}"; rename one.`,
          { provider: name, details: { prefix, owner } },
        );
      owners.set(prefix, name);
    }
}
