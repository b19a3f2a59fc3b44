/**
 * Hubs from configuration files: `toolwright.json`, `.jsonc` and `.yaml`, and the `mcpServers` files of other tools.
 *
 * @example
 * ```ts
 * import { followConfig, loadHub, readConfig } from '@toolwright/gateway/config';
 *
 * const source = await readConfig(`${projectDir}/toolwright.yaml`);
 * await using loaded = loadHub(source);
 * await using followed = await followConfig(loaded, source.file); // saving the file applies it
 * const tools = await loaded.hub.listTools();
 * ```
 * @module
 */

export { approveConfig, assertApproved, isInsideProject, type ApprovalOptions } from './config-approval.js';
export type { ConfigEffects } from './config-effects.js';
export type { PolicyConfig, ProviderConfig, ServerConfig, ToolwrightConfig } from './config-schema.js';
export { followConfig, type FollowConfigOptions, type FollowedConfig } from './follow-config.js';
export {
  loadHub,
  type AppliedChange,
  type ConfiguredProject,
  type LoadedHub,
  type LoadHubOptions,
} from './load-hub.js';
export { parseConfig, readConfig, type ReadConfig, type ReadConfigOptions } from './read-config.js';
