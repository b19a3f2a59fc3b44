// Applies a configuration file to a running hub each time that it is saved. An invalid file changes nothing.

import { ToolError } from '@toolwright/core';
import { FileWatch } from '@toolwright/runtime';
import type { AppliedChange, LoadedHub } from './load-hub.js';
import { readConfig, type ReadConfig, type ReadConfigOptions } from './read-config.js';

/** Options of {@link followConfig}. */
export interface FollowConfigOptions extends ReadConfigOptions {
  /** Called before a changed file is applied; what it throws refuses the change, such as `assertApproved`. Default: none. */
  check?: (source: ReadConfig) => void | Promise<void>;
  /** Called with each change that was applied. */
  onApplied?: (change: AppliedChange, source: ReadConfig) => void;
  /** Called with what refused a change; the configuration before stays in force. */
  onRefused?: (error: ToolError) => void;
}

/** A file that is followed. */
export interface FollowedConfig extends AsyncDisposable {
  /** Resolves when the changes that were noticed so far are applied or refused. */
  settled(): Promise<void>;
  /** Stops following. Idempotent. */
  close(): Promise<void>;
}

/** Follows a file, however an editor saves it; changes that occur together are applied once. */
export async function followConfig(
  loaded: LoadedHub,
  file: string,
  options: FollowConfigOptions = {},
): Promise<FollowedConfig> {
  const { check, onApplied, onRefused, ...reading } = options;
  let work: Promise<void> = Promise.resolve();
  let hash: string | undefined;
  const apply = async (): Promise<void> => {
    try {
      const source = await readConfig(file, reading);
      if (source.sha256 === hash) return;
      await check?.(source);
      const change = await loaded.apply(source);
      hash = source.sha256;
      onApplied?.(change, source);
    } catch (thrown) {
      onRefused?.(ToolError.from(thrown));
    }
  };
  const watch = new FileWatch(
    () => (work = work.then(apply)),
    (message) => onRefused?.(new ToolError('UNAVAILABLE', message)),
  );
  await watch.watch(new Set([file]));
  const close = async (): Promise<void> => {
    await watch.close();
    await work;
  };
  return { settled: () => work, close, [Symbol.asyncDispose]: close };
}
