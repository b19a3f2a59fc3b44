// Where a watchdog writes down what it watches, and for which host: what a crash of both leaves is swept by the watchdog
// that starts next. It is written and read by watchdog-script.ts.

import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { hostIdentity } from './host-identity.js';

/** What a watchdog needs for a journal. */
export interface JournalPlace {
  /** The file of this host. */
  readonly file: string;
  /** The host: boot, process namespace, number and start. Numbers mean nothing in another boot or namespace. */
  readonly host: string;
}

/**
 * A new place in `$XDG_STATE_HOME` or `~/.local/state`: a later host has to find it, so it is where no other user can put
 * anything. Undefined where there is none, and where the system does not tell a process from a later one of its number.
 */
export function journalPlace(env: NodeJS.ProcessEnv = process.env): JournalPlace | undefined {
  if (process.platform !== 'linux') return undefined;
  const directory = stateDirectory('processes', env);
  const host = thisHost();
  if (directory === undefined || host === undefined) return undefined;
  // A line break would be read as the end of the path.
  return /[\0\n]/.test(directory) ? undefined : { file: join(directory, randomBytes(8).toString('hex')), host };
}

/** The directory of that name for what a later host of this user has to find. Undefined where there is no home. */
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
