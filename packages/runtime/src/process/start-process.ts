// From a provider's file or program to a process that has registered, or to the reason why there is none.

import { existsSync } from 'node:fs';
import { ToolError, type JsonObject } from '@toolwright/core';
import { settledWithin, StreamTail } from '@toolwright/core/internal';
import { spawnChild, type Child } from '@toolwright/core/process';
import type { Expectation } from '../wire/listener.js';
import { NAME_VARIABLE, SOCKET_VARIABLE, TOKEN_VARIABLE, type ProviderSettings } from '../wire/protocol.js';
import { endError, howItEnded, type ProcessTrace } from './end-of-process.js';
import { resolveRuntime, type ProviderRuntime } from './runtimes.js';

/** What is started. */
export interface ProviderProgram {
  /** The provider's name. */
  name: string;
  /** The provider file, absolute; or else `command`. */
  path?: string | undefined;
  /** The runtime that runs the file. */
  runtime?: ProviderRuntime | undefined;
  /** The program. */
  command?: string | undefined;
  /** The arguments. */
  args: readonly string[];
  /** The working directory. */
  cwd: string;
  /** Added to the safe part of the environment. */
  env: Readonly<Record<string, string>>;
}

/** How long a process that has closed its socket, or a socket whose process has gone, may take to follow. */
export const FOLLOWS_WITHIN_MS = 50;
/** How long a process that has closed its socket may take to end, before it is said to run on. */
export const ENDS_WITHIN_MS = 1_000;
const OUTPUT_TAIL_BYTES = 64 * 1024;

/** A process that was spawned, and the place that is kept for it at the socket. */
export interface StartedProcess {
  child: Child;
  expectation: Expectation;
  trace: ProcessTrace;
}

/** @throws {ToolError} SPAWN_FAILED, permanent, where the provider's file is missing */
export function assertFileExists({ name, path }: ProviderProgram): void {
  if (path === undefined || existsSync(path)) return;
  throw new ToolError('SPAWN_FAILED', `Provider file not found: ${path}`, {
    provider: name,
    details: { permanent: true, path },
  });
}

/** Spawns the process; what it is told in confidence is known to its trace. */
export function spawnProvider(
  program: ProviderProgram,
  settings: ProviderSettings,
  expectation: Expectation,
): StartedProcess {
  const { name, path, runtime, env, cwd } = program;
  const { socketPath, token } = expectation;
  const line =
    path === undefined
      ? { command: program.command as string, args: [] as string[], env: {} }
      : resolveRuntime(path, runtime, env);
  const child = spawnChild({
    command: line.command,
    args: [...line.args, ...program.args],
    cwd,
    extraEnv: {
      ...env,
      ...line.env,
      [SOCKET_VARIABLE]: socketPath,
      [NAME_VARIABLE]: name,
      [TOKEN_VARIABLE]: token,
    },
    stdin: 'pipe', // its end tells a provider that has no connection yet
    stderrTailBytes: OUTPUT_TAIL_BYTES,
  });
  const stdout = new StreamTail(OUTPUT_TAIL_BYTES);
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  const secrets = [token, ...Object.values(env), ...Object.values(settings.variables)];
  const trace = { name, program: path ?? line.command, child, stdoutTail: () => stdout.text(), secrets };
  return { child, expectation, trace };
}

/** @throws {ToolError} PROCESS_EXITED, TIMED_OUT, SPAWN_FAILED, PROTOCOL_VIOLATION: why it did not register */
export async function waitForRegistration(
  { child, trace }: StartedProcess,
  { registered }: Expectation,
  startTimeoutMs: number,
): Promise<Awaited<Expectation['registered']>> {
  const ended = child.exited.then(
    async (exit) => {
      // What it registered wrongly says more than how it ended, and may be on its way.
      await settledWithin([registered], FOLLOWS_WITHIN_MS);
      throw endError(trace, 'PROCESS_EXITED', `${howItEnded(exit)} before it registered`, exit);
    },
    (thrown: unknown) => {
      const { code, message, details, cause } = ToolError.from(thrown, 'SPAWN_FAILED');
      throw new ToolError(code, message, { cause, details: { ...details, permanent: isPermanent(details) } });
    },
  );
  const first = Promise.race([registered, ended]);
  if (await settledWithin([first], startTimeoutMs)) return first;
  const hint = 'A provider file ends with startProvider(provider); raise startTimeoutMs for a slow one.';
  throw endError(trace, 'TIMED_OUT', `did not register within ${startTimeoutMs} ms`, undefined, hint);
}

/** A system that is short of something may have it the next time. */
function isPermanent(details: JsonObject | undefined): boolean {
  return !['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'ETXTBSY'].includes(String(details?.errno));
}
