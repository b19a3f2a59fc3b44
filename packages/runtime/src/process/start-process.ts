// Starts a provider's process and waits for its registration.

import { existsSync } from 'node:fs';
import { ToolError, type JsonObject } from '@toolwright/core';
import { settledWithin, StreamTail } from '@toolwright/core/internal';
import { spawnChild, type Child } from '@toolwright/core/process';
import type { Expectation } from '../wire/listener.js';
import { NAME_VARIABLE, SOCKET_VARIABLE, TOKEN_VARIABLE, type ProviderSettings } from '../wire/protocol.js';
import { endError, howItEnded, type ProcessTrace } from './end-of-process.js';
import { resolveRuntime, type ProviderRuntime } from './runtimes.js';

/** The program to start. */
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

/** How long to wait for the exit after the socket closed, or for the socket after the exit. */
export const FOLLOWS_WITHIN_MS = 50;
/** How long a process that has closed its socket may take to exit before it is reported as still running. */
export const ENDS_WITHIN_MS = 1_000;
const OUTPUT_TAIL_BYTES = 64 * 1024;

/** A spawned process and its reservation at the socket. */
export interface StartedProcess {
  child: Child;
  expectation: Expectation;
  trace: ProcessTrace;
}

/** @throws {ToolError} SPAWN_FAILED, permanent, if the provider's file is missing */
export function assertFileExists({ name, path }: ProviderProgram): void {
  if (path === undefined || existsSync(path)) return;
  throw new ToolError('SPAWN_FAILED', `Provider file not found: ${path}`, {
    provider: name,
    details: { permanent: true, path },
  });
}

/** Spawns the process; its trace knows the secrets to redact. */
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
    stdin: 'pipe', // its end is the signal for a provider without a connection
    stderrTailBytes: OUTPUT_TAIL_BYTES,
  });
  const stdout = new StreamTail(OUTPUT_TAIL_BYTES);
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  const secrets = [token, ...Object.values(env), ...Object.values(settings.variables)];
  const trace = { name, program: path ?? line.command, child, stdoutTail: () => stdout.text(), secrets };
  return { child, expectation, trace };
}

/** @throws {ToolError} PROCESS_EXITED, TIMED_OUT, SPAWN_FAILED or PROTOCOL_VIOLATION when it does not register */
export async function waitForRegistration(
  { child, trace }: StartedProcess,
  { registered }: Expectation,
  startTimeoutMs: number,
): Promise<Awaited<Expectation['registered']>> {
  const ended = child.exited.then(
    async (exit) => {
      // An invalid registration is more informative than the exit, and may still arrive.
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

/** True for a temporary shortage of the system. */
function isPermanent(details: JsonObject | undefined): boolean {
  return !['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'ETXTBSY'].includes(String(details?.errno));
}
