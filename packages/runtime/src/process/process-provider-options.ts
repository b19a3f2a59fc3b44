// Options of ProcessToolProvider: defaults and validation.

import { createHash } from 'node:crypto';
import { isAbsolute, resolve } from 'node:path';
import { ToolError, type JsonObject, type Logger } from '@toolwright/core';
import {
  isJsonObject,
  assertOptions,
  copyJson,
  copyTexts,
  nameFault,
  type OptionNames,
} from '@toolwright/core/internal';
import type { ProviderListener } from '../wire/listener.js';
import type { ProviderSettings } from '../wire/protocol.js';
import type { ProviderProgram } from './start-process.js';
import type { ProviderRuntime } from './runtimes.js';

/** Options of {@link ProcessToolProvider}. Set `path` or `command`. */
export interface ProcessToolProviderOptions {
  /** The provider's name and the prefix of its tools; must equal the name in the file's `createProvider`. */
  name: string;
  /** The provider file: absolute, or relative to `cwd`. */
  path?: string;
  /** The runtime for the file. Default: chosen by its extension, see {@link ProviderRuntime}. */
  runtime?: ProviderRuntime;
  /** A program that is a provider itself, instead of `path`: absolute, or a name on the PATH. Never given to a shell. */
  command?: string;
  /** Arguments after the file, or of the command; visible to all users of the machine. Default: none. */
  args?: readonly string[];
  /** Passed to the provider's `initialize`. JSON. Default: `{}`. */
  config?: JsonObject;
  /** Strings by name, such as secrets, for `initialize`. They appear in no environment and no message. Default: none. */
  variables?: Readonly<Record<string, string>>;
  /** Added to the safe part of the environment (PATH, HOME, LANG, …). Default: nothing. */
  env?: Readonly<Record<string, string>>;
  /** Absolute. The default of `cwd`. */
  projectDir?: string;
  /** The working directory. Absolute. Default: `projectDir`, else that of this process. */
  cwd?: string;
  /** The time from starting the process to the end of its `initialize`, in milliseconds. Default 15,000. */
  startTimeoutMs?: number;
  /** The deadline of a call that sets none and whose tool has none, in milliseconds. Default 30,000. */
  callTimeoutMs?: number;
  /** The longest time to which progress can extend a call, in milliseconds. Default 600,000. */
  maxTotalTimeoutMs?: number;
  /** Whether to trust the tools' annotations when deciding if a call may be sent again. Default true. */
  trustAnnotations?: boolean;
  /**
   * Receives the provider's log and warnings. Default: `process.emitWarning` for warnings
   * and errors, each text once.
   */
  logger?: Logger;
  /** @internal Where processes connect to. Default: the one socket of this process. */
  listener?: ProviderListener;
}

const TIMES = ['startTimeoutMs', 'callTimeoutMs', 'maxTotalTimeoutMs'] as const;

/** The names of {@link ProcessToolProviderOptions}. */
export const PROCESS_OPTIONS: OptionNames<ProcessToolProviderOptions> = {
  name: true,
  path: true,
  runtime: true,
  command: true,
  args: true,
  config: true,
  variables: true,
  env: true,
  projectDir: true,
  cwd: true,
  startTimeoutMs: true,
  callTimeoutMs: true,
  maxTotalTimeoutMs: true,
  trustAnnotations: true,
  logger: true,
  listener: true,
};

/** The options with their defaults. */
export interface ResolvedProcessOptions {
  program: ProviderProgram;
  /** The hash of what the process runs; see {@link ToolProvider.sourceHash}. */
  sourceHash: string;
  settings: ProviderSettings;
  startTimeoutMs: number;
  callTimeoutMs: number;
  maxTotalTimeoutMs: number;
}

/** @throws {ToolError} INVALID_ARGUMENT for the first invalid option */
export function resolveProcessOptions(options: ProcessToolProviderOptions): ResolvedProcessOptions {
  assertOptions('new ProcessToolProvider()', options, PROCESS_OPTIONS);
  const fault = nameFault('name', options.name);
  if (fault !== undefined) throw wrong(fault);
  for (const key of TIMES) {
    const value: unknown = options[key];
    if (value !== undefined && !(typeof value === 'number' && value > 0))
      throw wrong(`${key} must be a number of milliseconds above 0`);
  }
  const { path, command, runtime, args = [], projectDir, cwd = projectDir ?? process.cwd() } = options;
  if ((path === undefined) === (command === undefined)) throw wrong('set either path or command');
  for (const [key, text] of Object.entries({ path, command })) {
    if (text !== undefined && (typeof text !== 'string' || text === ''))
      throw wrong(`${key} must be a non-empty string`);
  }
  for (const [key, directory] of Object.entries({ projectDir, cwd })) {
    if (directory !== undefined && !(typeof directory === 'string' && isAbsolute(directory)))
      throw wrong(`${key} must be an absolute path, not ${JSON.stringify(directory)}`);
  }
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === 'string')) throw wrong('args must be strings');
  assertRuntime(runtime, command);
  const program = {
    name: options.name,
    path: path === undefined ? undefined : resolve(cwd, path),
    command,
    runtime,
    args: [...(args as readonly string[])],
    cwd,
    env: textsOf('env', options.env),
  };
  return {
    program,
    sourceHash: createHash('sha256')
      .update(JSON.stringify({ ...program, env: undefined }))
      .digest('hex'),
    settings: settingsOf(options),
    startTimeoutMs: options.startTimeoutMs ?? 15_000,
    callTimeoutMs: options.callTimeoutMs ?? 30_000,
    maxTotalTimeoutMs: options.maxTotalTimeoutMs ?? 600_000,
  };
}

/** Config and variables, copied. @throws {ToolError} INVALID_ARGUMENT */
export function settingsOf({
  config = {},
  variables,
}: Pick<ProcessToolProviderOptions, 'config' | 'variables'>): ProviderSettings {
  if (!isJsonObject(config)) throw wrong('config must be an object');
  try {
    JSON.stringify(config);
  } catch (thrown) {
    throw wrong(`config must be plain JSON (${ToolError.from(thrown).message})`);
  }
  return { config: copyJson(config), variables: textsOf('variables', variables) };
}

function assertRuntime(runtime: unknown, command: string | undefined): void {
  if (runtime === undefined) return;
  if (command !== undefined) throw wrong('runtime applies to path only; omit it with command');
  const named = typeof runtime === 'object' && runtime !== null ? (runtime as { command?: unknown }).command : runtime;
  if (typeof named !== 'string' || named === '')
    throw wrong("runtime must be a string such as 'tsx', or { command, args }");
}

function textsOf(what: string, given: unknown): Record<string, string> {
  if (given === undefined) return {};
  const texts = copyTexts(given);
  if (!texts) throw wrong(`${what} must be an object of strings`);
  return texts;
}

function wrong(what: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `Invalid option of the provider: ${what}.`);
}
