// The place of a watchdog's journal, which lists the processes of a host: when host and watchdog crash together, the next
// watchdog ends those processes. watchdog-script.ts writes and reads it.

import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { hostIdentity } from './host-identity.js';

/** A journal of a watchdog. */
export interface JournalPlace {
  /** The journal file of this host. */
  readonly file: string;
  /** The host: boot, PID namespace, pid and start time. Pids mean nothing in another boot or namespace. */
  readonly host: string;
}

/**
 * A new journal in `$XDG_STATE_HOME` or `~/.local/state`, where a later host finds it and no other user can write. Undefined
 * without such a directory, and where the system cannot distinguish a process from a later one with the same pid.
 */
export function journalPlace(env: NodeJS.ProcessEnv = process.env): JournalPlace | undefined {
  if (process.platform !== 'linux') return undefined;
  const directory = stateDirectory('processes', env);
  const host = thisHost();
  if (directory === undefined || host === undefined) return undefined;
  // A line break would be read as the end of the path.
  return /[\0\n]/.test(directory) ? undefined : { file: join(directory, randomBytes(8).toString('hex')), host };
}

/** The directory of this name for files that a later host of this user has to find. Undefined without a home. */
export function stateDirectory(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const { XDG_STATE_HOME: state } = env;
  const base = state !== undefined && isAbsolute(state) ? state : stateOfHome();
  return base === undefined ? undefined : join(base, 'toolwright', name);
}

function stateOfHome(): string | undefined {
  const home = homedir();
  return isAbsolute(home) && dirname(home) !== home ? join(home, '.local', 'state') : undefined;
}

function thisHost(): string | undefined {
  const host = hostIdentity();
  return host && `${host.place} ${host.pid} ${host.start}`;
}
