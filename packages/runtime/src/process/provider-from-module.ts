// A provider file in the host's own process: the same file, no subprocess, no JSON. For tests, and for tools that are
// called so often that a socket would be too slow.

import { pathToFileURL } from 'node:url';
import { isAbsolute } from 'node:path';
import { defineServer, InProcessToolProvider, ToolError, type JsonObject, type Logger } from '@toolwright/core';
import { assertOptions, type OptionNames } from '@toolwright/core/internal';
import { isProvider, type AnyProvider, type DisposeContext } from '../provider/provider.js';
import { settingsOf } from './process-provider-options.js';

/** Options of {@link providerFromModule}. */
export interface ModuleProviderOptions {
  /** Passed to the provider's `initialize`. Default: `{}`. */
  config?: JsonObject;
  /** Strings by name, for `initialize`. Default: none. */
  variables?: Readonly<Record<string, string>>;
  /** The deadline of a call that sets none and whose tool has none, in milliseconds. Default: none. */
  callTimeoutMs?: number;
  /** Passed to tools as `ctx.logger`. Default: `process.emitWarning` for warnings and errors, each text once. */
  logger?: Logger;
}

const OPTIONS: OptionNames<ModuleProviderOptions> = {
  config: true,
  variables: true,
  callTimeoutMs: true,
  logger: true,
};

/**
 * Loads a provider file, or takes a provider, and runs it in this process. Its `initialize` runs when the provider
 * connects, `dispose` when it disconnects. It shares this process's memory and modules: a changed file is not read
 * again, and its faults affect this process.
 *
 * @param module the absolute path of a file whose default export is a provider, or that provider
 * @throws {ToolError} NOT_FOUND, EXECUTION_FAILED or INVALID_ARGUMENT for a file without a provider
 */
export async function providerFromModule(
  module: string | URL | AnyProvider,
  options: ModuleProviderOptions = {},
): Promise<InProcessToolProvider> {
  assertOptions('providerFromModule()', options, OPTIONS);
  const { callTimeoutMs, logger } = options;
  const settings = settingsOf(options);
  const provider = isProvider(module) ? module : await loadProvider(module);
  let unsubscribe = (): void => undefined;
  const server = defineServer<unknown>({
    name: provider.name,
    version: provider.version,
    tools: provider.tools,
    start: async ({ logger: own, signal }) => {
      unsubscribe();
      unsubscribe = provider.onToolsChanged(() => follow());
      follow();
      const context = { logger: own, signal, reason: 'start', isReinitialization: false } as const;
      return provider.options.initialize?.(settings, null, context) as unknown;
    },
    endSession: async (state, sessionId) => provider.options.endSession?.({ ...ending(state), sessionId }),
    stop: async (state) => {
      unsubscribe();
      await provider.options.dispose?.(ending(state));
    },
  });
  function ending<State>(state: State): DisposeContext<State> {
    return { state, logger: logger ?? SILENT, signal: AbortSignal.timeout(DISPOSE_MS) };
  }
  /** Keeps the server's tools equal to the provider's. */
  function follow(): void {
    const wanted = new Set(provider.tools);
    for (const tool of server.tools) if (!wanted.has(tool)) server.removeTool(tool.name);
    const has = new Set(server.tools);
    for (const tool of wanted) if (!has.has(tool)) server.addTool(tool);
  }
  return new InProcessToolProvider({
    name: provider.name,
    servers: [server],
    ...(callTimeoutMs !== undefined && { callTimeoutMs }),
    ...(logger && { logger }),
  });
}

const DISPOSE_MS = 2_000;
const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

async function loadProvider(file: string | URL): Promise<AnyProvider> {
  if (typeof file === 'string' && !isAbsolute(file))
    throw new ToolError('INVALID_ARGUMENT', `The path of a provider file must be absolute, not ${file}.`);
  const url = typeof file === 'string' ? pathToFileURL(file).href : file.href;
  let loaded: { default?: unknown };
  try {
    loaded = (await import(url)) as { default?: unknown };
  } catch (thrown) {
    const { code, message } = ToolError.from(thrown);
    const isMissing = (thrown as { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND';
    throw new ToolError(isMissing ? 'NOT_FOUND' : code, `The provider file cannot be loaded: ${message}`, {
      cause: thrown,
    });
  }
  if (isProvider(loaded.default)) return loaded.default;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `${url} does not export a provider as its default; export the result of createProvider().`,
  );
}
