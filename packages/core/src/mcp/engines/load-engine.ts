// Loads an SDK when the first server is connected: the SDKs are optional peer dependencies.

import { ToolError } from '../../contract/errors.js';
import type { Engine, EngineName } from './engine.js';

const LOADERS: Readonly<Record<EngineName, () => Promise<Engine>>> = {
  v1: async () => (await import('./v1.js')).createEngine(),
  v2: async () => (await import('./v2.js')).createEngine(),
};
const loaded = new Map<EngineName, Promise<Engine>>();

/**
 * Loads the engine: the named one, else v2 where it is installed, else v1.
 *
 * @throws {ToolError} UNAVAILABLE when it is not installed
 */
export async function loadEngine(name: EngineName | undefined): Promise<Engine> {
  const names: readonly EngineName[] = name ? [name] : ['v2', 'v1'];
  let cause: unknown;
  for (const candidate of names) {
    const engine = loaded.get(candidate) ?? LOADERS[candidate]();
    loaded.set(candidate, engine);
    try {
      return await engine;
    } catch (thrown) {
      loaded.delete(candidate); // it may be installed later
      cause = thrown;
      if ((thrown as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') break; // installed, but broken
    }
  }
  const wanted =
    name === 'v1' ? '@modelcontextprotocol/sdk (1.32 or later)' : '@modelcontextprotocol/client (2.4 or later)';
  throw new ToolError(
    'UNAVAILABLE',
    `MCP servers need the package ${wanted}: npm install ${wanted.slice(0, wanted.indexOf(' '))}`,
    { cause, retryable: false },
  );
}
