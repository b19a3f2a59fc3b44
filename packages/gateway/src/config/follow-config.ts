// Applies a configuration file to a running hub each time that it is saved. An invalid file changes nothing.

import { ToolError } from '@toolwright/core';
import { assertOptions, callSafely, WARNING_LOGGER, type OptionNames } from '@toolwright/core/internal';
import { FileWatch } from '@toolwright/runtime';
import type { AppliedChange, LoadedHub } from './load-hub.js';
import { readConfig, type ReadConfig, type ReadConfigOptions } from './read-config.js';

/** Options of {@link followConfig}. */
export interface FollowConfigOptions extends ReadConfigOptions {
  /** Called before a changed file is applied; what it throws refuses the change, such as `assertApproved`. Default: none. */
  check?: (source: ReadConfig) => void | Promise<void>;
  /** Called with each change that was applied. What it throws is a warning. */
  onApplied?: (change: AppliedChange, source: ReadConfig) => void;
  /** Called with what refused a change; the configuration before stays in force. What it throws is a warning. */
  onRefused?: (error: ToolError) => void;
}

const OPTIONS: OptionNames<FollowConfigOptions> = {
  env: true,
  projectDir: true,
  check: 'function',
  onApplied: 'function',
  onRefused: 'function',
};

/** A file that is followed. */
export interface FollowedConfig extends AsyncDisposable {
  /** Resolves when the changes that were noticed so far are applied or refused. */
  settled(): Promise<void>;
  /** Stops following. Idempotent. */
  close(): Promise<void>;
}

/**
 * Follows a file, however an editor saves it; changes that occur together are applied once. It does not keep the process
 * running.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option
 */
export async function followConfig(
  loaded: LoadedHub,
  file: string,
  options: FollowConfigOptions = {},
): Promise<FollowedConfig> {
  assertOptions('followConfig()', options, OPTIONS);
  const { check, onApplied, onRefused, ...reading } = options;
  let work: Promise<void> = Promise.resolve();
  let hash: string | undefined;
  const warn = (message: string): void => WARNING_LOGGER.warn(`A callback of followConfig() threw: ${message}`);
  const refuse = (error: ToolError): void => callSafely(() => onRefused?.(error), warn);
  const apply = async (): Promise<void> => {
    try {
      const source = await readConfig(file, reading);
      if (source.sha256 === hash) return;
      await check?.(source);
      const change = await loaded.apply(source);
      hash = source.sha256;
      callSafely(() => onApplied?.(change, source), warn);
    } catch (thrown) {
      refuse(ToolError.from(thrown));
    }
  };
  const watch = new FileWatch(
    () => (work = work.then(apply)),
    (message) => refuse(new ToolError('UNAVAILABLE', message)),
  );
  await watch.watch(new Set([file]));
  const close = async (): Promise<void> => {
    await watch.close();
    await work;
  };
  return { settled: () => work, close, [Symbol.asyncDispose]: close };
}
